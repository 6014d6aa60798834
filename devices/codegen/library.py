"""From C text to a function in this process: compile or find, load, set what the code calls by pointer."""

import functools
import hashlib
import os
import warnings

from ..compilers import compile_c, compiler_version, find_compiler, flag_sets, processor
from .cache import Cache
from .system import address


class NoCompiler(Exception):
    """There is no compiler, or it does not compile."""


_state = {"warned": False, "flags": {}, "cache": None}
_loaded = {}  # key -> library
_libraries = []  # all that have threads


@functools.cache
def ffi():
    """The one cffi interface of this process."""
    import cffi

    made = cffi.FFI()
    made.cdef("void one_thread(void); void release(void *); void *run_address(void); void *run_arrays_address(void);")
    made.cdef("extern void *pointers[];")
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
        path = cache().find(key)
        if path is None:
            path, complaint = cache().build(key, lambda target, flags=flags: _compile(words, flags, text, target))
        if path is not None:
            try:
                library = _open(path)
            except OSError as error:
                complaint, path = str(error), None
        if path is not None:
            _state["flags"][words] = sets.index(flags)
            _set_pointers(library, pointers)
            _loaded[key] = library
            _libraries.append(library)
            return library
    raise NoCompiler(f"{' '.join(words)} does not compile: {(complaint or '').splitlines()[:1]}")


SPIN = "GOMP_SPINCOUNT"  # rounds for which an idle thread of OpenMP waits actively; a millisecond unless it is set


def _open(path):
    """Load a library; the OpenMP that comes with the first one is told not to keep other threads from the processor."""
    if _libraries or SPIN in os.environ or "OMP_WAIT_POLICY" in os.environ:
        return ffi().dlopen(str(path))
    os.environ[SPIN] = "20000"
    try:
        return ffi().dlopen(str(path))
    finally:
        del os.environ[SPIN]


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
    for library in _libraries:
        library.one_thread()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
