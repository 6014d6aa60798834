"""A warning for mapped functions that draw from NumPy's or Python's generators: all lanes of a pass get the same number."""

import functools
import inspect
import random
import sys
import types
import weakref

from ...dispatch import PolyadWarning
from ...dispatch.callers import warn
from ..ops.effects import callbacks

LOOKS = 3  # calls of one function in which it is looked whether it draws

_looked = weakref.WeakKeyDictionary()  # code of a function -> in how many calls


def looked_at(name, f, axis):
    """f, or in its first calls f with a look at the generators before and after it. name: of the map; axis: its lanes."""
    inner = f
    while hasattr(inner, "__wrapped__"):
        inner = inner.__wrapped__
    if not hasattr(inner, "__code__"):
        inner = inner.__call__
    code = getattr(inner, "__code__", None)
    if code is None or _looked.get(code, 0) >= LOOKS:
        return f
    _looked[code] = _looked.get(code, 0) + 1
    generators = [("Python's module random", random.getstate), *_numpys(), *_generators_of(inner)]

    @functools.wraps(f)
    def look(*args, **kwargs):
        before, called = [state() for _, state in generators], callbacks[0]
        y = f(*args, **kwargs)
        drawn = [what for (what, state), known in zip(generators, before, strict=True) if state() != known]
        if drawn and callbacks[0] == called:  # else one of these may have drawn, which is called for each lane
            _looked[code] = LOOKS
            here = "all lanes of a process" if axis.spans_processes else "all lanes"
            warn(
                f"{name}: the function draws random numbers from {' and '.join(drawn)}: one draw for {here}, where a loop over "
                "the lanes draws for each; draw all numbers before the map and map over them, or give each lane a key of "
                "polyad.random",
                PolyadWarning,
            )
        return y

    return look


def _numpys():
    module = sys.modules.get("numpy.random")
    return [("numpy.random", functools.partial(_generator_state, module.mtrand._rand))] if module is not None else []


def _generators_of(f):
    """Generators that f holds: in variables of enclosing functions and globals, and attributes of these and of its object."""
    module = sys.modules.get("numpy.random")
    if module is None:
        return []
    held = inspect.getclosurevars(f) if isinstance(f, types.FunctionType) else None
    places = {} if held is None else {**held.globals, **held.nonlocals}
    owner = getattr(f, "__self__", None)
    if owner is not None:
        places["self"] = owner
    found = {}
    for name, value in places.items():
        own = {} if isinstance(value, (types.ModuleType, type)) else getattr(value, "__dict__", {})
        for what, part in [(name, value), *[(f"{name}.{k}", v) for k, v in own.items()]]:
            if isinstance(part, (module.Generator, module.RandomState)):
                found[what] = functools.partial(_generator_state, part)
    return [(f"the generator {what!r}", state) for what, state in found.items()]


def _generator_state(generator):
    legacy = hasattr(generator, "get_state")  # it keeps every second normal number itself
    state = generator.get_state(legacy=False) if legacy else generator.bit_generator.state
    arrays = {k: x for k, x in state["state"].items() if hasattr(x, "tobytes")}
    rest = {k: x for k, x in state["state"].items() if k not in arrays}  # the text of arrays takes a millisecond
    return repr({**state, "state": rest}), *[x.tobytes() for x in arrays.values()]
