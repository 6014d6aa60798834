"""What operations do at values of forward mode: they compute the result of the values, and its tangent.

One text serves small arrays, whichever have tangents, where the card has a formula; it is written out for each operation
(rules/written.py). Large arrays, whose memory is used again, and everything else take the general way.
"""

from functools import partial

from numpy import float64, ndarray

from ...dispatch import captured, check_level, check_runs, several
from ...dsl.debug.conventions import look_for_lost
from ..reverse.roots import keeping_roots
from ..rules.buffer_reuse import computed
from ..rules.formulas import tangent
from ..rules.from_cards import differentiable, unfollowed
from ..rules.projection import match_tangent
from ..rules.written import MAX_NAMED, SIZE, SPACE, Names, written
from .duals import Dual, unread
from .rules import forward_rule
from .shared_derivatives import shares, sharing

ONE_RESULT = ("elementwise", "linear", "reduction", "bilinear")  # kinds of operations with one result


def target(cls, generic, types):
    """The target of an operation at a class of `Dual`."""
    mine = [t is cls for t in types]
    whose = mine.index(True)
    if not generic.dense_rules and not differentiable(generic):
        return captured(generic, whose, unfollowed(cls, generic, types))  # no roots: those have derivatives
    otherwise, formula = _general(cls, generic, mine), _formula(generic, mine)
    otherwise = sharing(cls, generic, otherwise) if shares(generic) else otherwise

    def make(look):
        if formula is not None:
            return _written(cls, generic, types, formula, otherwise, look)
        rooted = lambda *args, **params: (look if args[whose].run.rooted else otherwise)(*args, **params)
        return captured(generic, whose, rooted if look else otherwise)

    return keeping_roots(cls, generic, whose, make)


Dual.target = classmethod(target)


def _formula(generic, mine):
    """(text of the tangent, what it names) for arrays at these places; None where there is no formula."""
    card, made = generic.card, {}
    if generic.dense_rules or card.kind not in ONE_RESULT or card.collective or len(mine) > MAX_NAMED:
        return None
    names = Names(generic, len(mine)).below(mine)
    text = tangent(generic, [f"t{i}" if m else None for i, m in enumerate(mine)], "y", names, made)
    return text and (text, made, names.given)


def _written(cls, generic, types, formula, otherwise, look):
    """The target for small arrays. otherwise: for large ones and within slopes; look: where the run has roots, or None."""
    text, made, values = formula
    names, places = Names(generic, len(types)), [i for i, t in enumerate(types) if t is cls]
    unusual = [*[f"t{i} is None" for i in places], "r.closed", *[f"x{i}.run is not r" for i in places[1:]]]
    sizes = [SIZE.format(f"v{i}") for i in places]
    if generic.card.kind != "bilinear":  # where a large constant makes all that is computed large
        sizes += [SIZE.format(x) for x, t in zip(names.arrays, types, strict=True) if t not in (cls, float, int, float64)]
    lines = [
        f"def written({names.given}):",
        f"    r = x{places[0]}.run",
        f"    if r.inner is not None: return r.inner.capture(generic, {names.all}, {'params' if names.params else '{}'})",
        f"    if r.rooted: return look({names.given})" if look else "",
        *[f"    v{i}, t{i} = x{i}.primal, x{i}.tangent" for i in places],
        f"    if {' or '.join(unusual)}: return otherwise({names.given})",
        f"    if {' or '.join(f'{size} >= LARGE' for size in sizes)}: return otherwise({names.given})",
        f"    y = op({values})",
        f"    t = {text}",
        "    kind = type(t)",
        "    if kind is type(y) and (kind is float64 or kind is ndarray and t.shape == y.shape and t.dtype is y.dtype):",
        "        return cls(y, t, r)",
        f"    return otherwise({names.given}) if isinstance(y, tuple) else with_tangent(cls, generic, y, t, r)",
    ]
    return written(
        f"{generic.name}: at {cls.__name__}, followed {places}", "\n".join(filter(None, lines)),
        **{**made, "cls": cls, "generic": generic, "op": generic.spread, "otherwise": otherwise, "look": look},
    )  # fmt: skip


def with_tangent(cls, generic, y, t, r):
    """The value y with a tangent brought to its space; y itself if that is None."""
    if t is None:
        return y
    check_level(generic, t, cls)
    return cls(y, match_tangent(t, y, generic.name), r)


SPACE.update(with_tangent=with_tangent, float64=float64, ndarray=ndarray)


def _general(cls, generic, mine):
    """The target for any arguments."""
    spread, whose, rule = generic.spread, mine.index(True), forward_rule(generic)
    loses = "lost_ahead" in generic.card.rules
    made = partial(computed, generic.function) if generic.arity in (1, 2) and not generic.params else spread

    def run(*args, **params):
        r = args[whose].run
        check_runs(r, args, cls)
        xs = [a.primal if m else a for a, m in zip(args, mine, strict=True)]
        y = spread(*xs, **params) if params else made(*xs)
        if args[whose].tangent is None:  # within a slope that is shared
            return y
        dxs = tuple([a.tangent if m else None for a, m in zip(args, mine, strict=True)])
        dy = rule(dxs, y, *xs, **params)
        if not isinstance(y, tuple) or dy is None:
            return with_tangent(cls, generic, y, dy, r)
        check_level(generic, dy, cls)
        parts = [with_tangent(cls, generic, v, t, r) for v, t in zip(y, dy, strict=True)]
        if loses:
            unread(parts, lambda: look_for_lost(generic, "lost_ahead", dxs, y, xs, params))
        return several(y, parts)

    return run
