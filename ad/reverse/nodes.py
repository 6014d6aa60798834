"""Nodes of the tape that are no plain rules: in their place stands an object that hands the cotangent on by itself.

`hand_on(cts, own, ct, y, xs, parent)` adds to the list `cts` of cotangents by place. own: place -> the array that the walk
made for it and may write to.
"""

import numpy as np

from ...dispatch import isa
from ...dsl.array_libraries import bottom
from ...dsl.avals import aval_of
from ...dsl.layers.tracing import Traced
from ..rules.residuals import light, like, parts_of, total


class Part:
    """One of several results; `xs` is (its number, how many there are), the parent the operation's own node."""

    __slots__ = ()

    def hand_on(self, cts, own, ct, y, xs, parent):
        (j, count), (place,) = xs, parent
        known = cts[place] = cts[place] or [None] * count
        known[j] = ct


PART = Part()


class Joint:
    """An operation with one rule for all its arrays: `rule(ct, y, *xs)` returns their cotangents, in the parents' order.

    With a rule for each of n arrays, the walk over a sequence of them would take n² steps.
    """

    __slots__ = ("rule",)

    def __init__(self, rule):
        self.rule = rule

    def hand_on(self, cts, own, ct, y, xs, parent):
        ct = tuple(ct) if type(ct) is list else ct
        for c, place in zip(self.rule(ct, y, *xs), parent, strict=True):
            if c is not None:
                cts[place] = c if cts[place] is None else total(cts, own, place, c)

    def through(self, wrap):
        """The same with its rule wrapped."""
        return Joint(wrap(self.rule))


class Selection:
    """An operation whose cotangent is zero but for a few elements; `xs` is (arguments, parameters).

    rule: the reverse rule. accumulate: `accumulate(total, ct, y, *xs, **params)` adds what it returns to `total` in place.
    It is used where all are plain NumPy arrays, and total one that the walk itself made: a loop over the elements of x
    then takes as many steps as it reads elements, while summing full cotangents takes as many for each. add_to: the same for
    programs, where it is the compiler that finds memory: `add_to(total, ct, y, *xs, **params)` returns the sum.
    """

    __slots__ = ("accumulate", "add_to", "rule")

    def __init__(self, rule, accumulate, add_to):
        self.rule, self.accumulate, self.add_to = rule, accumulate, add_to

    def hand_on(self, cts, own, ct, y, xs, parent):
        (xs, params), (place,) = xs, parent
        known = cts[place]
        if type(ct) is np.ndarray is type(xs[0]) and len(xs) == 1 and ct.dtype is xs[0].dtype or _plain(ct, xs):
            mine = known if known is not None and known is own.get(place) else _writable(known, xs[0])
            if mine is not None:
                cts[place] = own[place] = mine
                self.accumulate(mine, ct, y, *xs, **params)
                return
        elif (parts := parts_of(ct)) and self._by_parts(known, place, cts, own, ct, parts, y, xs, params):
            return
        elif isinstance(ct, Traced) and type(known) is type(ct) and _same_space(known, xs[0], ct):
            cts[place] = self.add_to(known, ct, y, *xs, **params)
            return
        c = self.rule(ct, y, *xs, **params)
        if c is not None:
            cts[place] = c if known is None else total(cts, own, place, c)

    def _by_parts(self, known, place, cts, own, ct, parts, y, xs, params):
        """Do the same for a number and its tangent, one by one, where both are plain; whether it was done."""
        x, *others = arrays = [bottom(xs[0]), *xs[1:]]
        number, tangent = parts
        if not (_plain(number, arrays) and _plain(tangent, arrays)):
            return False
        asked = place >= own.tangents  # for the number, too
        if known is None:
            zeros = np.zeros(x.shape, x.dtype)
            known = own[place] = cts[place] = like(ct, [np.zeros(x.shape, x.dtype) if asked else light(zeros), zeros])
        if known is not own.get(place) or type(known) is not type(ct):
            return False
        into, along = parts_of(known)
        if asked:
            self.accumulate(into, number, y, x, *others, **params)
        self.accumulate(along, tangent, y, x, *others, **params)
        return True

    def through(self, wrap):
        return Selection(wrap(self.rule), wrap(self.accumulate), self.add_to)


def _plain(ct, xs):
    """Return whether a cotangent and the arguments are NumPy's, on no layer and no device, and of one dtype."""
    if type(ct) is not np.ndarray and not isa(ct, np.generic):
        return False
    for x in xs:
        if type(x) is not np.ndarray:
            return False
    return ct.dtype == xs[0].dtype


def _same_space(known, x, ct):
    """Return whether a cotangent so far has x's shape and dtype, as has a part of another."""
    return known.variable.aval == aval_of(x) and ct.dtype == known.dtype


def _writable(known, x):
    """An array with the cotangent so far, in a memory of its own, or None where it is of another kind than x."""
    if known is None:
        return np.zeros(x.shape, x.dtype)
    fits = type(known) is np.ndarray and known.shape == x.shape and known.dtype == x.dtype
    return known.copy() if fits else None
