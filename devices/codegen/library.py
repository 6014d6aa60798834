"""From C text to a function in this process: compile or find, load, set what the code calls by pointer."""

import contextlib
import functools
import hashlib
import os
import warnings

from ..compilers import compile_c, compiler_version, find_compiler, flag_sets, processor
from . import runtime
from .cache import Cache
from .system import address
from .threads import wanted


class NoCompiler(Exception):
    """There is no compiler, or it does not compile."""


_state = {"warned": False, "flags": {}, "cache": None, "runtime": None}
_loaded = {}  # key -> library
_openmp = []  # those whose threads are OpenMP's


@functools.cache
def ffi():
    """The one cffi interface of this process."""
    import cffi

    made = cffi.FFI()
    made.cdef("void one_thread(void); void release(void *); void *run_address(void); void *run_arrays_address(void);")
    made.cdef("extern void *pointers[]; extern void *runtime[4];")
    made.cdef("void set_up(int); void *function(int); void empty_shelf(void);")
    return made


def cache():
    """The directory of compiled libraries, made at first use."""
    if _state["cache"] is None:
        _state["cache"] = Cache()
    return _state["cache"]


def load(text, pointers):
    """The library of a C source. pointers: names of the functions it calls by pointer. Raises NoCompiler."""
    words = find_compiler()
    if words is None:
        raise NoCompiler("there is no C compiler; install gcc or clang, or the package ziglang, or set CC")
    sets = flag_sets(words)
    complaint = None
    for flags in sets[_state["flags"].get(words, 0) :]:
        key = key_of(text, words, flags)
        if key in _loaded:
            return _loaded[key]
        library, complaint = _made(key, words, flags, text)
        if library is not None:
            _state["flags"][words] = sets.index(flags)
            _set_pointers(library, pointers)
            if "-DPOOL" not in flags:
                _openmp.append(library)
            if runtime.serves(text):
                library.runtime[0:4] = functions(words)
            _loaded[key] = library
            return library
    raise NoCompiler(f"{' '.join(words)} does not compile: {(complaint or '').splitlines()[:1]}")


@functools.cache
def functions(words):
    """The functions of the library that serves all others (runtime.py), which is made at first use."""
    key = key_of(runtime.SOURCE, words, runtime.FLAGS)
    library, complaint = _made(key, words, runtime.FLAGS, runtime.SOURCE)
    if library is None:
        raise NoCompiler(f"{' '.join(words)} does not compile the pool of threads: {complaint}")
    library.set_up(wanted())
    _state["runtime"] = library
    return [library.function(k) for k in range(4)]


def release_memory():
    """Give back the memory that is kept for temporaries of compiled programs."""
    if _state["runtime"] is not None:
        _state["runtime"].empty_shelf()


def _made(key, words, flags, text):
    """(library, complaint) from the disk, or else compiled: one of them is None."""
    return _found(key) or _built(key, lambda target: _compile(words, flags, text, target))


def _found(key):
    """(library, None) from the disk; None if it is not there, or was taken away just now."""
    path = cache().find(key)
    with contextlib.suppress(OSError):
        return None if path is None else (_open(path), None)


def _built(key, make):
    """(library, complaint), made anew: one of them is None."""
    path, complaint = cache().build(key, make)
    try:
        return (None, complaint) if path is None else (_open(path), None)
    except OSError as error:
        return None, str(error)


def _open(path):
    return ffi().dlopen(str(path), ffi().RTLD_NOW)  # what it calls must be there


def _compile(words, flags, text, target):
    source = target.with_suffix(".c")
    source.write_text(text)
    return compile_c(words, flags, source, target)


def key_of(text, words, flags):
    """Name of a library: a hash of all it depends on."""
    parts = (text, " ".join(words), " ".join(flags), compiler_version(words), processor())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]


def _set_pointers(library, names):
    for k, name in enumerate(names):
        library.pointers[k] = ffi().cast("void *", address(name))


def warn_once(error):
    """Say once that programs run operation by operation."""
    if not _state["warned"]:
        _state["warned"] = True
        warnings.warn(f"programs run operation by operation: {error}", RuntimeWarning, stacklevel=2)


def _after_fork():
    """The threads of OpenMP do not survive a fork: the child does without."""
    for library in _openmp:
        library.one_thread()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
