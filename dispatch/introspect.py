"""Looking at generic functions: their methods, which one a call takes, what a type can do, where choice is unclear."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from .arrays import Array, HostArray
from .containers import Container
from .errors import MethodError, type_name
from .generic import Generic, all_generics
from .layers import Layer
from .order import is_narrower
from .resolve import choose, container_claim, lookup, prepare, resolve
from .signatures import parts

if TYPE_CHECKING:
    from .generic import Method


class Target:
    """The function that carries out calls where no method is written for their types; it prints what that is.

    types: of the arguments; told: what it does; implementation: the function.
    """

    def __init__(self, generic: Any, types: tuple[type, ...], told: str, implementation: Any) -> None:
        self.generic, self.types, self.told, self.implementation = generic, types, told, implementation

    def __call__(self, *args: Any, **params: Any) -> Any:
        return self.implementation(*args, **params)

    def __repr__(self):
        return f"{self.generic.name}({', '.join(map(type_name, self.types))}): {self.told}"


def methods(function: Any) -> list[Method | Target]:
    """The methods of a generic function, each printed with its signature and file:line.

    An operation that has its C expression as its kernel has that in place of a method, as a `Target` that says so.

    >>> import polyad as pa
    >>> "matmul(HostArray, HostArray)" in map(str, pa.methods(pa.matmul))
    True
    """
    generic = _generic_of(function)
    if not generic.methods and getattr(generic.card, "c", None) is not None:
        told = f"compiled from c={generic.card.c!r} at {_place(generic.prototype)}"
        return [Target(generic, (HostArray,) * (generic.arity or 0), told, generic.function)]
    return list(generic.methods)


def _place(function):
    return f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"


def _generic_of(function):
    """The state of a generic function. Raises MethodError for anything else."""
    generic = getattr(function, "generic", None)
    if not isinstance(generic, Generic):
        raise MethodError(f"{function!r} is not a generic function of polyad; declare one with @polyad.generic")
    return generic


def which(function: Any, *args: Any) -> Any:
    """The method or target that a call takes; arguments are values, or classes standing for values (what follows the
    dispatched arguments does not matter).

    Returns the `Method` where one is chosen by type; a `Target`, which says what it is, where there is none: the C expression
    of an operation, compiled, or the dense form of an array type; else the function of the layer that carries it out.
    Raises MethodError or AmbiguousMethodError as the call would.
    """
    generic = _generic_of(function)
    if generic.sequence and len(args) == 1 and isinstance(args[0], (list, tuple)):
        args = tuple(args[0])
    args = args[: generic.arity]  # what follows are static parameters
    types = tuple(a if isinstance(a, type) else type(a) for a in args)
    prepare(types)
    layered = generic.card is not None and any(issubclass(t, Layer) for t in types)
    contained = any(issubclass(t, Container) for t in types)
    if contained and generic.card is not None:
        claim = container_claim(generic, types)
        if claim is not None:
            found = claim.slot.methods.get(None)
            return found if found is not None else choose(generic, claim.slot, types, args)
    elif not layered:
        slot = lookup(generic, types)
        if slot is not None:
            found = choose(generic, slot, types, args)
            return next((m for m in slot.methods.values() if m.implementation is found), found)
    found = resolve(generic, types, args)
    told = getattr(found, "told", None)
    return found if told is None else Target(generic, types, told, found)


def methodswith(cls: Any) -> list[Method]:
    """Every method of every generic function that names the class in its signature."""
    found = []
    for generic in all_generics():
        found += [m for m in generic.methods if any(cls in parts(t) for t in (*m.types, m.varargs))]
    return found


def ambiguities(module: Any = None) -> list[Any]:
    """Pairs of methods of one generic function that fit a common call while neither is more specific.

    module: only what concerns this module and those below it (a module or its name): pairs of a generic function or a
        method defined there, with no method of a third party. None for all.
    Returns a list of texts, each naming the two methods and the method to write. Empty is good.
    """
    prefix = getattr(module, "__name__", module)
    return [text for generic in all_generics() for text in _ambiguities_of(generic, prefix)]


_library = __name__.partition(".")[0]


def _concerns(prefix, generic, pair):
    inside = lambda home, top: home == top or home.startswith(f"{top}.")
    homes = [_home(method) for method in pair]
    third = [home for home in homes if not inside(home, prefix) and not inside(home, _library)]
    return not third and any(inside(home, prefix) for home in (generic.function.__module__, *homes))


def _home(method):
    """The module of a method; what is no Python function (a library's own kernel) counts as its generic function's."""
    function = method.implementation
    home = function.__module__ if hasattr(function, "__code__") else None
    return home or method.generic.function.__module__


def _ambiguities_of(generic, prefix):
    found = {}
    pairs = [(a, b, 0) for a, b in itertools.combinations(generic.methods, 2) if a.kind is b.kind]
    pairs += [(a, b, 1) for family in generic.families for a in generic.methods for b in family.methods if not a.kind]
    looked_at = set()
    for a, b, skip in pairs:
        if prefix is not None and not _concerns(prefix, generic, (a, b)):
            continue
        for meet in _meets(a, b, skip):
            if (meet, skip) in looked_at:  # many pairs meet at the same signature
                continue
            looked_at.add((meet, skip))
            try:
                if generic.card is not None and any(isinstance(t, type) and issubclass(t, Container) for t in meet):
                    container_claim(generic, meet)
                elif not skip:
                    lookup(generic, meet)
            except MethodError as error:
                found[meet] = f"{a} and {b}: {error}"
    return list(found.values())


def _meets(a, b, skip=0):
    """The signatures at which two methods meet, argument by argument; `skip`: b is of a family and takes the
    operation."""
    n = max(1, len(a.types), len(b.types) - skip)
    for length in (n, n + 1) if a.varargs and b.varargs else (n,):  # at n + 1 the variable ones meet
        first, second = _expand(a, length), _expand(b, length + skip)
        if first is not None and second is not None:
            yield from itertools.product(*[_common(s, t) for s, t in zip(first, second[skip:], strict=True)])


def _expand(method, n):
    types = list(method.types)
    if len(types) < n:
        if method.varargs is None:
            return None
        types += [method.varargs] * (n - len(types))
    return types


def _common(s, t):
    """The classes that are both s and t: the narrower one, or loaded classes that inherit from both."""
    if is_narrower(s, t):
        return [s]
    if is_narrower(t, s):
        return [t]
    if len(parts(s)) + len(parts(t)) > 2:  # unions
        return list(dict.fromkeys(c for a in parts(s) for b in parts(t) for c in _common(a, b)))
    return [c for c in _subclasses(s) if issubclass(c, t) and not issubclass(c, Layer)]


def _subclasses(cls):
    """The classes below a class, each once."""
    found = {}
    for c in type.__subclasses__(cls):
        found[c] = None
        found.update(dict.fromkeys(_subclasses(c)))
    return list(found)


def table(function):
    """Return what a generic function has resolved so far: types -> target, for a look at the cache."""
    generic = _generic_of(function)
    if generic.arity != 2:
        return dict(generic.table)
    return {(s, t): target for s, row in generic.table.items() for t, target in row.items()}


def show(function):
    """A table of the methods as text."""
    lines = [f"{function.generic.name}: {len(function.generic.methods)} methods"]
    lines += [f"  {m}  at {m.where}" for m in function.generic.methods]
    return "\n".join(lines)


__all__ = ["Array", "Target", "ambiguities", "methods", "methodswith", "show", "table", "type_name", "which"]
