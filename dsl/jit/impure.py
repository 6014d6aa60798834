"""What gives something else at each call and leaves no trace in what a function reads: random numbers, clocks, files, and
code that jit cannot see into. A function that uses it runs eagerly, with a warning that names it."""

import builtins
import importlib
import os
import pathlib
import random
import sys
import types
from datetime import date

import numpy as np

from ...dispatch import isa

NOISE = "draw with polyad.random from a key that is an argument, or make the noise an argument"
ARGUMENT = "make what it gives an argument"
NAMED = "read by name what it reads, or make that an argument"
CLOCKS = ("time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time",
          "process_time_ns", "thread_time", "thread_time_ns", "localtime", "gmtime", "ctime", "strftime")  # fmt: skip
TODAY = ("now", "today", "utcnow")
OUTSIDE = ("os", "posix", "nt", "genericpath", "glob", "shutil", "tempfile", "socket", "subprocess", "_io", "io", "select")
FILES = {(np, "load"), (np, "loadtxt"), (np, "genfromtxt"), (np, "fromfile"), (np, "memmap"), (builtins, "input")}
HIDDEN = {(builtins, "eval"), (builtins, "exec"), (builtins, "globals"), (builtins, "__import__"),
          (importlib, "import_module"), (importlib, "reload"), (sys, "_getframe"), (sys, "modules")}  # fmt: skip
SETTINGS = (("numpy", "geterr"), ("numpy", "geterrcall"), ("numpy", "getbufsize"), ("numpy", "get_printoptions"),
            ("sys", "getrecursionlimit"), ("locale", "getlocale"), ("decimal", "getcontext"), ("decimal", "localcontext"),
            ("_decimal", "getcontext"), ("_decimal", "localcontext"))  # fmt: skip
SHARED = ("queue", "_queue", "asyncio.queues", "multiprocessing.queues", "multiprocessing.connection")  # modules
# modules that have such functions
CHANGING_MODULES = ("random", "secrets", "time", "uuid", "os", "datetime", "importlib", "sys", "pathlib")
PATHS = ("exists", "read_text", "read_bytes", "open", "stat", "lstat", "iterdir", "glob", "rglob", "walk", "is_file", "is_dir",
         "is_symlink", "readlink", "resolve", "absolute", "cwd", "home", "owner", "samefile")  # fmt: skip


def generators():
    """Classes of generators of random numbers."""
    np_random = np.random
    return (random.Random, np_random.Generator, np_random.RandomState, np_random.BitGenerator)


def changing(value, called=False):
    """(what it does, advice) if a value is a function or object that gives something else at each call; else None. called:
    it is called without arguments."""
    owner = value.__self__ if isinstance(value, (types.BuiltinFunctionType, types.MethodType)) else None
    if isinstance(value, generators()) or isinstance(owner, generators()):
        return "draws random numbers", NOISE
    seeded = value is np.random.default_rng or value is np.random.SeedSequence
    if seeded or isinstance(value, type) and issubclass(value, generators()):
        return ("makes a generator from a new seed", NOISE) if called else None
    if isinstance(value, os._Environ):
        return "is the process's environment", ARGUMENT
    if value is sys.modules:
        return "leads to anything", NAMED
    decimals = getattr(sys.modules.get("decimal"), "Decimal", ())
    if value is decimals or isa(value, decimals):
        return "computes as decimal's context says", ARGUMENT
    mro: tuple[type, ...] = type(value).__mro__  # type: ignore[assignment]
    kinds = {base.__module__ for base in mro}
    if not kinds.isdisjoint(SHARED):
        return "gives what others put into it", ARGUMENT
    if "_ctypes" in kinds and not isinstance(value, type) and not callable(value):
        return "is memory that C code may write to", ARGUMENT
    if not isinstance(value, (types.FunctionType, types.BuiltinFunctionType, type)):
        return None
    module, name = getattr(value, "__module__", None) or "", getattr(value, "__name__", "")
    if module in ("secrets", "uuid") and isinstance(value, types.FunctionType):
        return "draws random numbers", NOISE
    if module == "time" and name in CLOCKS or isinstance(owner, type) and issubclass(owner, date) and name in TODAY:
        return "asks a clock", ARGUMENT
    if (module, name) in SETTINGS:
        return "asks for a setting of the process", ARGUMENT
    if _is_among(HIDDEN, value, name):
        return "reads what jit cannot see", NAMED
    if module in OUTSIDE and not isinstance(value, type) or _is_among(FILES, value, name):
        return "asks for what lies outside the program", ARGUMENT
    return None


def _is_among(known, value, name):
    return any([vars(home).get(name) is value for home, one in known if one == name])


def along(value, attributes, called, names):
    """The same for a chain of attributes from a value on, as (attributes up to there, what it does, advice). names: that occur
    in the code, of which any may be used where the chain ends at a module."""
    for i in range(len(attributes) + 1):
        last = i == len(attributes)
        found = changing(value, called and last)
        if found is not None:
            return attributes[:i], *found
        if isinstance(value, pathlib.Path) and not last and attributes[i] in PATHS:
            return attributes[: i + 1], "asks for what lies outside the program", ARGUMENT
        later = of_class(value, names) if last and isinstance(value, type) else None
        if later is not None:
            return (*attributes, *later[0]), *later[1:]
        if last or not isinstance(value, (types.ModuleType, type)):
            break
        value = getattr(value, attributes[i], None)
    return of_module(value, names, attributes) if last and isinstance(value, types.ModuleType) else None


def of_class(cls, names):
    """The same for a class of a library whose objects the code may make, and use by any of the names in it."""
    used = [name for name in PATHS if name in names] if issubclass(cls, pathlib.PurePath) else []
    if used:
        return (used[0],), "asks for what lies outside the program", ARGUMENT
    if cls is np.datetime64 and not {"now", "today"}.isdisjoint(names):
        return (), "asks a clock", ARGUMENT
    return None


def of_module(module, names, attributes=()):
    """The same for a module that the code may use by any of the names in it."""
    if module is np:
        return of_module(np.random, names, (*attributes, "random")) if "random" in names else None
    if module is not np.random and module.__name__ not in CHANGING_MODULES:
        return None
    for name in names:
        found = changing(vars(module).get(name))
        if found is not None:
            return (*attributes, name), *found
        later = of_class(vars(module)[name], names) if isinstance(vars(module).get(name), type) else None
        if later is not None:
            return (*attributes, name, *later[0]), *later[1:]
    if module.__name__ == "datetime" and not set(TODAY).isdisjoint(names):
        return (*attributes, "datetime"), "asks a clock", ARGUMENT
    return None


def drawn():
    """The state of the generators that all share, to be compared with a later one."""
    return _hashable_state(np.random.get_state(legacy=False)), random.getstate()  # noqa: NPY002


def _hashable_state(state):
    """The state of one of NumPy's generators as tuples and bytes."""
    if isinstance(state, dict):
        return tuple([(k, _hashable_state(v)) for k, v in state.items()])
    return state.tobytes() if type(state) is np.ndarray else state


def draw_again(state):
    """Set these generators back to a state."""
    if state != drawn():
        theirs, own = state
        fields = {k: v for k, v in theirs if k != "state"}
        inner = {k: np.frombuffer(v, np.uint32) if isinstance(v, bytes) else v for k, v in dict(theirs)["state"]}
        np.random.set_state({**fields, "state": inner})  # noqa: NPY002
        random.setstate(own)


class Doubt(Exception):
    """Raised where what the function reads cannot be looked up. args: what it does, advice."""
