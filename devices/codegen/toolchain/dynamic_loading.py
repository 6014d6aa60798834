"""Compiled libraries in this process: opened by ctypes, called through cffi.

cffi calls a C function in half the time that ctypes takes. ctypes opens a library without being told what is in it, for which
cffi would first load a parser of C.
"""

import ctypes
import functools


@functools.cache
def ffi():
    """The one interface of this process for calls of C: cffi's, as its generated modules use it."""
    try:
        from _cffi_backend import FFI  # without cffi's parser of C, which takes longer to import than all of this
    except ImportError:
        from cffi import FFI
    return FFI()


class Opened:
    """A library. path: its file, in which what it calls must be found. Raises OSError."""

    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))

    def address(self, name):
        """Return the address of a function."""
        return ctypes.cast(getattr(self.library, name), ctypes.c_void_p).value

    def call(self, name, *arguments):
        """Call a function of addresses and small numbers that returns nothing."""
        function = getattr(self.library, name)
        function.restype = None
        function(*[ctypes.c_void_p(x) for x in arguments])

    def addresses(self, name, count):
        """Return the addresses that a function of a number gives for the first `count` numbers."""
        function = getattr(self.library, name)
        function.restype = ctypes.c_void_p
        return [function(k) for k in range(count)]

    def fill(self, name, addresses):
        """Set the elements of an array of addresses."""
        if addresses:
            (ctypes.c_void_p * len(addresses)).in_dll(self.library, name)[:] = addresses


def function(address, count, first="void *", firsts=0):
    """The C function at an address, of `count` pointers, of which the first ones are given as `first`; it returns an int."""
    kinds = [first] * firsts + ["void *"] * (count - firsts)
    return ffi().cast(ffi().typeof(f"int (*)({', '.join(kinds)})"), address)


def pointers(addresses):
    """An array of addresses for C."""
    made = ffi().new("void *[]", max(len(addresses), 1))
    for k, address in enumerate(addresses):
        made[k] = ffi().cast("void *", address)
    return made
