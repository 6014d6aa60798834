"""Promotion: the common type of two types and conversion to it, by rules registered per pair.

Rules are symmetric and their results are cached; two rules that disagree are refused when the second is registered.
Numeric dtypes are not promoted here: they follow NumPy 2 (NEP 50).
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from .containers import Container
from .errors import PromotionError, RegistrationError, describe, type_name
from .generic import generic
from .replaced_methods import announce

if TYPE_CHECKING:
    from collections.abc import Callable

    from .annotations import F, T
_promotion_rules = {}  # (type, type) -> common type
_cache = {}  # (type, type) -> common type, both ways round
_converters = {}  # (from, to) -> function


def promotion_rule(first: type, second: type, common: type) -> None:
    """Say that values of `first` and `second` have the common type `common`, in either order.

    Raises RegistrationError if another common type was registered for the pair.
    """
    global _cache
    for pair in ((first, second), (second, first)):
        known = _promotion_rules.get(pair)
        if known is not None and known is not common:
            raise RegistrationError(
                f"promotion of {type_name(first)} and {type_name(second)} is {type_name(known)} already, not "
                f"{type_name(common)}"
            )
    _promotion_rules[first, second] = _promotion_rules[second, first] = common
    _cache = {}  # a new one: a search under way in another thread ends up in the old one


def conversion(source: type, target: type) -> Callable[[F], F]:
    """Decorator: register the function that converts a value of class `source` to class `target`."""

    def register(function):
        old = _converters.get((source, target))
        if old is not None:
            announce(f"conversion of {type_name(source)} to {type_name(target)}", old, function)
        _converters[source, target] = function
        return function

    return register


def promote_type(first: type, *others: type) -> type:
    """The common type of the given types, from left to right: equal types, the rule for the closest pair of their base
    classes, or one that is a superclass of the other.

    Raises PromotionError if there is none, or if rules for equally close pairs disagree.

    >>> import polyad as pa
    >>> pa.promote_type(bool, int, float).__name__
    'float'
    """
    for t in (first, *others):
        if not isinstance(t, type):
            raise PromotionError(f"promote_type takes classes such as float, not {t!r}; for values use polyad.promote")
    return functools.reduce(_pair, others, first)


def _pair(first, second):
    if first is second:
        return first
    known = _cache
    common = known.get((first, second))
    if common is None:
        common = known[first, second] = known[second, first] = _find(first, second)
    return common


def _find(first, second):
    if issubclass(first, np.generic) and issubclass(second, np.generic):
        return np.promote_types(first, second).type
    pairs = [(a, b) for a in first.__mro__ for b in second.__mro__ if (a, b) in _promotion_rules]
    closest = [p for p in pairs if not any(q != p and issubclass(q[0], p[0]) and issubclass(q[1], p[1]) for q in pairs)]
    found = {_promotion_rules[pair] for pair in closest}
    if len(found) == 1:
        return found.pop()
    names = f"{type_name(first)} and {type_name(second)}"
    if found:
        rules = ", ".join(sorted(f"({type_name(a)}, {type_name(b)}): {type_name(_promotion_rules[a, b])}" for a, b in closest))
        raise PromotionError(f"the rules {rules} disagree on {names}; say which with polyad.promotion_rule")
    if issubclass(first, second):
        return second
    if issubclass(second, first):
        return first
    raise PromotionError(f"no common type of {names}; say one with polyad.promotion_rule")


def promote(*values: Any) -> tuple[Any, ...]:
    """The values converted to their common type, as a tuple.

    Raises PromotionError if there is no common type, or if converting changed no type (a rule that would recurse).
    """
    types = [type(v) for v in values]
    if all(t is types[0] for t in types):
        return values
    common = promote_type(*types)
    converted = tuple(convert(v, common) for v in values)
    if [type(v) for v in converted] == types:
        raise PromotionError(
            f"promotion of {', '.join(map(type_name, types))} did not change any type; register conversions to "
            f"{type_name(common)} with polyad.conversion"
        )
    return converted


def convert(value: Any, target: type[T]) -> T:
    """The value as an instance of class `target`. Raises PromotionError without a registered conversion.

    >>> import polyad as pa
    >>> pa.convert(2, float)
    2.0
    """
    if isinstance(value, target):
        return value
    for source in type(value).__mro__:
        for wanted in (target, *target.__subclasses__()):
            function = _converters.get((source, wanted))
            if function is not None:
                converted = function(value)
                if isinstance(converted, target):
                    return converted
                raise PromotionError(
                    f"the conversion of {type_name(source)} to {type_name(wanted)} returned {describe(converted)}"
                )
    raise PromotionError(
        f"no conversion of {type_name(type(value))} to {type_name(target)}; register one with polyad.conversion"
    )


for narrow, wide in ((bool, int), (bool, float), (bool, complex), (int, float), (int, complex), (float, complex)):
    promotion_rule(narrow, wide, wide)
    conversion(narrow, wide)(wide)
for number in (bool, int, float, complex, np.generic):
    promotion_rule(number, np.ndarray, np.ndarray)
    conversion(number, np.ndarray)(np.asarray)


@generic
def dense(x, /):
    """The array without structure: `x.dense()` for a container, `x` itself for anything dense."""


dense.generic.add(lambda x: x, (object,))
dense.generic.add(lambda x: x.dense(), (Container,))
