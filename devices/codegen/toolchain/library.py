"""From C text to a library in this process: found or compiled, opened, told where the functions it calls are."""

import contextlib
import functools
import hashlib
import os
import threading
import warnings
from typing import Any

from ...compilers import compile_c, compiler_version, find_compiler, flag_sets, processor
from ...standby import Standby, can_wait
from ..text.system import address
from ..text.threads import wanted
from . import compiler_probes, runtime
from .cache import Cache
from .dynamic_loading import Opened


class NoCompiler(Exception):
    """There is no compiler, or it does not compile."""


# warned: reasons that were told; flags: compiler -> which of its sets of options works; missed:
# whether the last library looked for was not on the disk
_state = {"warned": (), "flags": {}, "cache": None, "runtime": None, "missed": None, "standby": None}
_lock = threading.Lock()  # of the runtime's making
_loaded = {}  # key -> library
_openmp = []  # those whose threads are OpenMP's


def cache():
    """The directory of compiled libraries, made at first use."""
    if _state["cache"] is None:
        _state["cache"] = Cache()
    return _state["cache"]


class Loading:
    """A library of a C source on its way: what is not on the disk is compiled from now on, while Python goes on.

    names: of the functions that the source calls by pointer; needs: parts of the runtime that it needs.
    """

    def __init__(self, text, names, needs=()):
        self.text, self.names, self.needs = text, names, needs
        self.library: Any = None
        self.error = self.thread = None
        words = find_compiler()
        if words is None:
            self.error = NoCompiler("there is no C compiler; install gcc or clang, or the package ziglang, or set CC")
            return
        flags = _flags_of(words)[0]
        key = key_of(text, words, flags)
        self.library, _state["missed"] = _loaded.get(key), False
        if self.library is None:
            found = None if compiler_probes.verdict(words, cache()) is None else _found(key)
            if found is not None:
                self.library = _ready(found, key, words, flags, needs)
            else:
                _state["missed"] = True
                self.thread = threading.Thread(target=self._make, args=(words,), name="polyad compiles")
                self.thread.start()

    def _make(self, words):
        try:
            self.library = _made_and_ready(self.text, words, self.needs)
        except BaseException as error:
            self.error = error

    def result(self):
        """The library. Raises NoCompiler."""
        if self.error is None:
            addresses = [address(name) for name in self.names]  # SciPy may have to be imported for them: meanwhile
        if self.thread is not None:
            self.thread.join()
        if self.error is not None:
            raise self.error
        self.library.fill("pointers", addresses)
        return self.library


def load(text, names):
    """The library of a C source; names: of the functions that it calls by pointer. Raises NoCompiler."""
    return Loading(text, names).result()


@contextlib.contextmanager
def standby():
    """A block in which C will be written: a compiler waits for it if it is to be expected that it must be compiled, and
    after it one for the next."""
    if _state["missed"] is None:
        _state["missed"] = cache().empty()
    _stand_by()
    try:
        yield
    finally:
        _stand_by()


def _stand_by():
    words, waiting = find_compiler(), _state["standby"]
    if words is not None and _state["missed"] and can_wait(words) and (waiting is None or not waiting.waits):
        _state["standby"] = None
        if waiting is not None:
            waiting.stop()  # it waited too long
        with contextlib.suppress(OSError):
            _state["standby"] = Standby(words, _flags_of(words)[0], cache().path)


def _flags_of(words):
    """The sets of options to try, from the first one on that was not seen to fail, without what a compiler gets wrong."""
    sets = flag_sets(words)[_state["flags"].get(words, 0) :]
    return [compiler_probes.without(flags) for flags in sets] if compiler_probes.verdict(words, cache()) is False else sets


def _made_and_ready(text, words, needs):
    """The library of C that is not on the disk, by the first options with which it is compiled."""
    serving = probing = complaint = None
    if _state["runtime"] is None:  # a later program may need it: both are compiled at the same time
        serving = threading.Thread(target=_try_runtime, args=(words,), name="polyad compiles its runtime")
        serving.start()
    if compiler_probes.verdict(words, cache()) is None:  # so is what decides about the options, first of all
        probing = threading.Thread(target=compiler_probes.settle, args=(words, cache()), name="polyad tries its compiler")
        probing.start()
    tried = _flags_of(words)
    first = len(flag_sets(words)) - len(tried)
    try:
        for k, flags in enumerate(tried, first):
            key = key_of(text, words, flags)
            found, complaint = _made(key, words, flags, text)
            if found is not None:
                _state["flags"][words] = k
                break
    finally:
        if serving is not None and needs:
            serving.join()
        if probing is not None:
            probing.join()
    if probing is not None and not compiler_probes.verdict(words, cache()):
        return _made_and_ready(text, words, needs)
    if found is None:
        raise NoCompiler(f"{' '.join(words)} does not compile: {first_error(complaint)}")
    return _ready(found, key, words, flags, needs)


def first_error(complaint):
    """Return what a compiler says first against a text, without the place."""
    lines = (complaint or "").splitlines()
    return next((x.partition("error: ")[2] for x in lines if "error: " in x), *lines[:1] or [""])


def _ready(library, key, words, flags, needs):
    """A library just opened, with all that it needs beside its foreign functions."""
    if "-DPOOL" not in flags:
        _openmp.append(library)
    if needs:
        library.fill("runtime", functions(words))
    return _loaded.setdefault(key, library)


def functions(words):
    """Addresses of the functions of the library that serves all others (runtime.py), which is made at first use."""
    with _lock:
        return _functions(words)


@functools.cache
def _functions(words):
    key = key_of(runtime.SOURCE, words, runtime.FLAGS)
    library, complaint = _made(key, words, runtime.FLAGS, runtime.SOURCE)
    if library is None:
        raise NoCompiler(f"{' '.join(words)} does not compile the pool of threads: {complaint}")
    library.call("set_up", wanted())
    _state["runtime"] = library
    return library.addresses("function", runtime.COUNT)


def _try_runtime(words):
    with contextlib.suppress(NoCompiler):  # who needs it tries again, and says so
        functions(words)


def release_memory():
    """Give back the memory that is kept for temporaries of compiled programs."""
    if _state["runtime"] is not None:
        _state["runtime"].call("empty_shelf")


def _made(key, words, flags, text):
    """(library, complaint) from the disk, or else compiled: one of them is None."""
    found = _found(key)
    return (found, None) if found is not None else _built(key, lambda target: _compile(words, flags, text, target))


def _found(key):
    """The library from the disk; None if it is not there, or was taken away just now."""
    path = cache().find(key)
    with contextlib.suppress(OSError):
        return None if path is None else Opened(path)


def _built(key, make):
    """(library, complaint), made anew: one of them is None."""
    path, complaint = cache().build(key, make)
    try:
        return (None, complaint) if path is None else (Opened(path), None)
    except OSError as error:
        return None, str(error)


def _compile(words, flags, text, target):
    waiting = _state["standby"]
    if waiting is not None and waiting.flags == (words, flags) and waiting.compile(text, target):
        return None
    source = target.with_suffix(".c")
    source.write_text(text)
    return compile_c(words, flags, source, target)


def key_of(text, words, flags):
    """Name of a library: a hash of all it depends on."""
    parts = (text, " ".join(words), " ".join(flags), compiler_version(words), processor())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]


def warn_once(error):
    """Say that programs run operation by operation, once for each reason."""
    if str(error) not in _state["warned"]:
        _state["warned"] = (*_state["warned"], str(error))
        warnings.warn(f"programs run operation by operation: {error}", RuntimeWarning, stacklevel=2)


def _after_fork():
    """In the child the threads of OpenMP are gone: it does without. A lock that another thread held is free."""
    global _lock
    _lock = threading.Lock()
    compiler_probes.in_child()
    _state["standby"] = None
    for library in _openmp:
        library.call("one_thread")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
