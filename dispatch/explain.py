"""What the errors of dispatch say: the types of the call, the closest methods, the method to write."""

import numpy as np

from .arrays import Array, HostArray
from .errors import AmbiguousMethodError, MethodError, describe, type_name
from .order import is_narrower


def no_method(generic, args, hint=None, types=None):
    """`MethodError` with the three closest methods, their mismatches marked, and a hint.

    types: those of the arguments, needed only where classes stand for them.
    """
    types = tuple([type(x) for x in args]) if types is None else types
    given = [type_name(t) if x is t else describe(x) for x, t in zip(args, types, strict=True)]
    lines = [f"no method {generic.name}({', '.join(given)})"]
    for method in sorted(generic.methods, key=lambda m: _distance(m, types))[:3]:
        lines.append(f"  closest: {_marked(method, types)}  at {method.where}")
    lines.append(f"  hint: {hint or _hint(generic, types)}")
    return MethodError("\n".join(lines))


def _expected(method, n):
    types = list(method.types)
    return types + [method.varargs] * (n - len(types)) if method.varargs else types


def _distance(method, types):
    expected = _expected(method, len(types))
    return abs(len(expected) - len(types)) + sum(not is_narrower(s, t) for s, t in zip(types, expected, strict=False))


def _marked(method, types):
    expected = _expected(method, len(types))
    fits = [i < len(types) and is_narrower(types[i], t) for i, t in enumerate(expected)]
    parts = [f"{'' if fit else '!'}{type_name(t)}" for fit, t in zip(fits, expected, strict=True)]
    return f"{method.generic.name}({', '.join(parts)})"


def _hint(generic, types):
    if any(issubclass(t, (list, tuple)) for t in types):
        return "lists and tuples are not arrays: convert with polyad.asarray(…)"
    if generic.card is not None and any(issubclass(t, (str, type(None))) for t in types):
        return "the operation takes arrays and numbers only"
    for method in generic.methods:
        met = [(t, s) for t, s in zip(types, _expected(method, len(types)), strict=False) if not is_narrower(t, s)]
        if met and all([s is np.ndarray and issubclass(t, HostArray) for t, s in met]):
            return (
                "a NumPy scalar or a Python number is no np.ndarray; annotate the method with polyad.HostArray, which is "
                "NumPy's arrays and both of these"
            )
    if not generic.methods:
        return f"register one with @{generic.name}.method"
    convert = "convert the argument"
    if any(hasattr(t, "__array__") and not issubclass(t, Array) for t in types):
        convert += " with polyad.asarray(…)"
    return f"register one for this type with @{generic.name}.method, or {convert}"


def ambiguous(generic, types, signatures):
    """`AmbiguousMethodError` naming the method that would decide."""
    candidates = [s.expand(len(types)) for s in signatures]
    meet = []
    for called, column in zip(types, zip(*candidates, strict=True), strict=True):
        narrowest = [t for t in column if all(is_narrower(t, other) for other in column)]
        meet.append(type_name(narrowest[0] if narrowest else called))
    shown = sorted(f"  candidate: {generic.name}({', '.join(map(type_name, c))})" for c in candidates)
    whole = ", or polyad.combine_rule for the whole family (which may return NotImplemented: dense, guarded)"
    family = whole if generic.families or generic.members else ""
    return AmbiguousMethodError(
        "\n".join([f"{generic.name}({', '.join(map(type_name, types))}) is ambiguous", *shown])
        + f"\n  hint: define {generic.name}({', '.join(meet)}){family}"
    )


def describe_function(function):
    """A function by name, never by the repr of what it is bound to."""
    return getattr(function, "__qualname__", None) or type_name(type(function))
