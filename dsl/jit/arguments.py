"""The arguments of a jitted function: which are static, and what of each decides about the program."""

import inspect
import types
from typing import Any

import numpy as np

from ...dispatch import Layer, StructureError, isa, layers_of, type_name
from ...dispatch import tree as pytree
from ..array_libraries import bottom
from ..avals import aval_of, is_number, standing_of
from ..ir.programs import Var
from ..layers.batching import lanes_of
from .contents import holds
from .globals_key import Held, exact

INT64_BOUND = 2**63


class Static:
    """A static argument among the leaves."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


class Arguments:
    """The way in which a function takes its arguments. static, donated: positions and names."""

    def __init__(self, f, name, static_argnums, static_argnames, donate_argnums, donate_argnames):
        self.name = name
        self.parameters = _parameters(f)
        self.static = self._places("static", static_argnums, static_argnames)
        self.donated = self._places("donate", donate_argnums, donate_argnames)
        both = self.static & self.donated
        if both:
            raise StructureError(f"{name}: argument {min(both, key=str)} is static and donated; only arrays can be donated")

    def _places(self, what, numbers, names):
        """Positions, and names, of the arguments meant: one given by position may be passed by name, and the other way
        round."""
        numbers = (numbers,) if hasattr(numbers, "__index__") else tuple(numbers)
        names = (names,) if isinstance(names, str) else tuple(names)
        found, known = set(), self.parameters
        positional = [p.name for p in known if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        variadic = not known or any(p.kind is p.VAR_POSITIONAL for p in known)
        for n in numbers:
            if not hasattr(n, "__index__") or not variadic and not -len(positional) <= n < len(positional):
                raise StructureError(f"{self.name}: {what}_argnums {n!r} is no position among its {len(positional)} parameters")
            n = n % len(positional) if n < 0 else n
            found |= {n, positional[n]} if n < len(positional) else {n}
        for name in names:
            if known and name not in [p.name for p in known] and not any(p.kind is p.VAR_KEYWORD for p in known):
                raise StructureError(f"{self.name}: {what}_argnames {name!r} is none of its parameters")
            found |= {name, positional.index(name)} if name in positional else {name}
        return found

    def flatten(self, args, kwargs):
        """The leaves of the arguments, static ones wrapped, and their structure: that of (args, kwargs), or of args alone."""
        if self.static:
            args = tuple([Static(x) if i in self.static else x for i, x in enumerate(args)])
            kwargs = {k: Static(x) if k in self.static else x for k, x in kwargs.items()}
        return pytree.flatten((args, kwargs) if kwargs else args)

    def given(self, args, kwargs, leaves):
        """The ids of the arrays in the arguments that are donated; none of them if one shares memory with another argument."""
        donated = [x for i, x in enumerate(args) if i in self.donated] + [x for k, x in kwargs.items() if k in self.donated]
        arrays = [x for x in pytree.leaves(donated) if type(x) is np.ndarray]
        all_ = [x for x in leaves if isa(x, np.ndarray)]
        apart = all([sum([np.may_share_memory(x, y) for y in all_]) == 1 for x in arrays])
        return {id(x) for x in arrays} if apart else set()

    def unhashable(self, leaves):
        """The error for an argument that cannot be part of a key."""
        for x in leaves:
            try:
                hash(kind_of(x))
            except TypeError:
                value = x.value if type(x) is Static else x
                return StructureError(
                    f"{self.name}: an argument of type {type_name(type(value))} is static and cannot be hashed; give its class "
                    "__hash__ beside __eq__, make it a tree of arrays (polyad.tree.register), or pass a tuple"
                )
        raise AssertionError("every argument can be hashed")


def _parameters(f):
    try:
        return list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        return []


def is_array(x):
    """Return whether an argument is followed by the trace."""
    if isa(x, (np.ndarray, np.generic, Layer)):
        return True
    return not isinstance(x, type) and not holds(type(x)) and has(x, "shape") and has(x, "dtype")


def has(x, name):
    """Return whether an object has an attribute; one whose `__getattr__` fails otherwise has not."""
    try:
        return hasattr(x, name)
    except Exception:
        return False


def kind_of(x) -> Any:
    """Return what of an argument decides about the program: of arrays shape and dtype, of numbers their type, of all else the
    value."""
    kind = type(x)
    if is_number(x):
        return kind
    if isinstance(x, Layer):
        return aval_of(x), type(bottom(x)), x.standing(), tuple(lanes_of(x).items())
    if is_array(x):
        return kind, aval_of(x)
    value = x.value if kind is Static else x
    if kind is Static and holds(type(value)):
        return exact(value)
    return Held(value) if by_identity(value) else exact(value)


def by_identity(x):
    """Return whether an object counts by which one it is: a function, or an object that says nothing else of equality."""
    if isinstance(x, types.FunctionType) or holds(type(x)):  # what a container holds is read at each call
        return not isinstance(x, (tuple, frozenset))
    return type(x).__hash__ is object.__hash__ and not isinstance(x, type)


def objects_among(leaves):
    """The arguments that are objects or functions, through which f may read more."""
    found = []
    for x in leaves:
        if not is_array(x) and not is_number(x):
            value = x.value if type(x) is Static else x
            if not isa(value, (str, bytes, tuple, type(None), np.dtype, int, float, complex)):
                found.append(value)
    return found


def fits_numpy(x):
    """Return whether a Python number can be computed with as a NumPy one."""
    return type(x) is not int or -INT64_BOUND <= x < INT64_BOUND


def variable_for(x):
    """The Var of an argument, None for a static one."""
    if is_number(x):
        return Var(aval_of(x), {}, type(x))
    return Var(aval_of(x), lanes_of(x), None, standing_of(x)) if is_array(x) else None


def stepwise(x):
    """Return whether a value must see each operation, the same ones at each call."""
    return any(part.stepwise for part in layers_of(x))
