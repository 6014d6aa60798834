"""Looking at generic functions: their methods, which one a call takes, what a type can do, where choice is unclear."""

import itertools

import plum

from .containers import Container
from .errors import MethodError, type_name
from .generic import all_generics
from .layers import Array, Layer
from .resolve import choose, lookup, resolve


def methods(function):
    """The methods of a generic function, each printed with its signature and file:line.

    >>> import polyad as pa
    >>> str(pa.methods(pa.matmul)[0])
    'matmul(HostArray, HostArray)'
    """
    return list(function.generic.methods)


def which(function, *args):
    """The method or target that a call takes; arguments are values, or classes standing for values.

    Returns the `Method` where one is chosen by type, else the function of the layer or fallback that carries it out.
    Raises MethodError or AmbiguousMethodError as the call would.
    """
    generic = function.generic
    if generic.sequence and len(args) == 1 and isinstance(args[0], (list, tuple)):
        args = tuple(args[0])
    types = tuple(a if isinstance(a, type) else type(a) for a in args)
    layered = generic.card is not None and any(issubclass(t, Layer) for t in types)
    contained = any(issubclass(t, Container) for t in types)
    if not layered or contained:
        slot = lookup(generic, types)
        if slot is not None:
            found = choose(generic, slot, types, args)
            return next((m for m in slot.methods.values() if m.implementation is found), found)
    return resolve(generic, types, args)


def methodswith(cls):
    """Every method of every generic function that names the class in its signature."""
    found = []
    for generic in all_generics():
        found += [m for m in generic.methods if any(t is cls for t in (*m.types, m.varargs))]
    return found


def ambiguities(module=None):
    """Pairs of methods of one generic function that fit a common call while neither is more specific.

    module: only generic functions whose defining module is this one or lies below it (a module or its name);
        None for all.
    Returns a list of texts, each naming the two methods and the method to write. Empty is good.
    """
    prefix = getattr(module, "__name__", module)
    found = []
    for generic in all_generics():
        home = generic.prototype.__module__
        if prefix is None or home == prefix or home.startswith(f"{prefix}."):
            found += _ambiguities_of(generic)
    return found


def _ambiguities_of(generic):
    found = {}
    for a, b in itertools.combinations(generic.methods, 2):
        if a.kind is not b.kind:
            continue
        for meet in _meets(a, b):
            try:
                lookup(generic, meet)
            except MethodError as error:
                found[meet] = f"{a} and {b}: {error}"
    return list(found.values())


def _meets(a, b):
    """The signatures at which two methods meet, argument by argument, and are not ordered."""
    n = max(len(a.types), len(b.types))
    first, second = _expand(a, n), _expand(b, n)
    if first is None or second is None:
        return
    columns = [_common(s, t) for s, t in zip(first, second, strict=True)]
    yield from itertools.product(*columns)


def _expand(method, n):
    types = list(method.types)
    if len(types) < n:
        if method.varargs is None:
            return None
        types += [method.varargs] * (n - len(types))
    return types


def _common(s, t):
    """The classes that are both s and t: the narrower one, or loaded classes that inherit from both."""
    if plum.Signature(s) <= plum.Signature(t):
        return [s]
    if plum.Signature(t) <= plum.Signature(s):
        return [t]
    if not (isinstance(s, type) and isinstance(t, type)):
        return []
    return [c for c in _subclasses(s) if issubclass(c, t) and not issubclass(c, Layer)]


def _subclasses(cls):
    below = type.__subclasses__(cls)
    return list(itertools.chain(below, *(_subclasses(c) for c in below)))


def table(function):
    """What a generic function has resolved so far: types -> target, for a look at the cache."""
    generic = function.generic
    if generic.arity != 2:
        return dict(generic.table)
    return {(s, t): target for s, row in generic.table.items() for t, target in row.items()}


def show(function):
    """A table of the methods as text."""
    lines = [f"{function.generic.name}: {len(function.generic.methods)} methods"]
    lines += [f"  {m}  at {m.where}" for m in function.generic.methods]
    return "\n".join(lines)


__all__ = ["Array", "ambiguities", "methods", "methodswith", "show", "table", "type_name", "which"]
