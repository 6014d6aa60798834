"""Reverse mode for operations that pick a few elements of one followed array, as indexing does.

The most frequent call, of one small array, is made without what the others need.
"""

from numpy import float64, ndarray

from ..rules.residuals import LARGE, elements, leaner
from .mutation_checks import readers
from .nodes import Selection


def selection(cls, generic, rule, single):
    """The target of such an operation at a class of `Reverse`, the first array being followed. rule: its reverse rule;
    single: whether there is no other array."""
    one = generic.arity == 1  # else the operation's table is by tuples of types
    spread, accumulate = generic.spread, generic.card.rules["accumulate"]
    node = Selection(rule, accumulate, generic.card.rules["add_to"])
    readers[accumulate] = generic.name
    known = generic.table
    leaners = {}  # by the number of arrays

    def alone(x, **params):
        r = x.run
        if r.inner is not None:
            return r.inner.capture(generic, (x,), params)
        v = x.value
        kind = type(v)
        target = known.get(kind if one else (kind,))  # as the operation's entry has it, whose parameters are complete already
        if target is None or (v.size if kind is ndarray else elements(v)) >= LARGE:
            return run(x, **params)
        y = target(v, **params) if kind is ndarray else getattr(target, "unlinked", target)(v, **params)
        r.append((node, ((v,), params), y, (x.index,)))
        return cls(y, r, len(r.tape) - 1)

    def run(x, *others, **params):
        r = x.run
        if r.inner is not None:
            return r.inner.capture(generic, (x, *others), params)
        v = x.value
        y = spread(v, *others, **params) if others else spread(v, **params)
        xs = (v, *others)
        if (v.size if type(v) is ndarray else 0 if type(v) is float64 else elements(v)) >= LARGE:
            lean = leaners.get(len(xs)) or leaners.setdefault(len(xs), leaner(generic, [0], len(xs)))
            xs, y_kept = lean(xs, y)
            r.append((node, (xs, params), y_kept, (x.index,)))
        else:
            r.append((node, (xs, params), y, (x.index,)))
        return cls(y, r, len(r.tape) - 1)

    return alone if single else run
