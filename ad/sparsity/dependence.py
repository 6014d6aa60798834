"""From cards to dependence: which elements of an operation's result read which elements of its arguments.

No operation is known here by name. Elementwise operations read where their partial is not zero for good; reductions along
their axes; a linear operation is asked what it does with the numbers of the elements. What a card cannot say so it says by
its rule `depends`; an opaque operation without one reads what its derivative rule reads.
"""

import functools
import math
from contextvars import ContextVar
from typing import Any

import numpy as np

from ...dispatch import Layer, MissingRuleError
from ...dsl import vmap
from ...dsl.array_libraries import host_copy
from ...dsl.avals import dtype_of, is_number, reduced_axes, shape_of
from ...dsl.layers.splitting import concrete
from ...dsl.ops.create import ones_like, zeros_like
from ..forward.rules import forward_rule
from ..reverse.rules import rule_for, transpose
from ..rules.from_cards import joint_rule, vjp_rule
from . import patterns

MAX_NESTED_RULES = 8  # derivative rules inside of one another
_nested = ContextVar("polyad_dependence", default=0)
MAX_PROBED_ELEMENTS = 512  # elements of a linear operation whose matrix is made, where nothing shorter tells its structure


class TrackedCall:
    """One operation on followed values.

    args: its arrays as the layer has them. xs: their values. sets: their elements' inputs, None where there are none. y: the
    result, a tuple if there are several. run: the transformation.
    """

    __slots__ = ("args", "generic", "params", "run", "sets", "xs", "y")

    def __init__(self, run, generic, args, xs, sets, y, params):
        self.run, self.generic, self.args, self.xs, self.sets, self.y = run, generic, args, xs, sets, y
        self.params = params

    def followed(self):
        """Pairs (place, sets) of the arrays that depend on inputs."""
        return [(i, s) for i, s in enumerate(self.sets) if s is not None]

    def known_values(self):
        """The arrays as rules see them that ask whether what they compute is the same for all inputs: those that are not
        are followed, if the pattern is to hold for all of them."""
        return [self.run.varying(x) if isinstance(a, Layer) else x for a, x in zip(self.args, self.xs, strict=True)]

    def known_result(self):
        """The result in the same way."""
        return tuple(map(self.run.varying, self.y)) if isinstance(self.y, tuple) else self.run.varying(self.y)


def dependence_rule(generic) -> Any:
    """The rule of an operation: function(call) -> the sets of its result, or a list of them if it gives several."""
    card = generic.card
    general = _DEPENDENCE_RULES.get(card.kind, _opaque)
    said = card.rules.get("depends")
    if said is None:
        return general(generic) if general is _elementwise else general

    def rule(call):
        found = said if isinstance(said, str) else said(*call.args, **call.params)
        if found is None:
            return general(call)
        if isinstance(found, str):
            return _by_letters(call, found)
        parts = [call.run.sets_of(part) for part in (found if isinstance(found, tuple) else (found,))]
        return parts if isinstance(found, tuple) else parts[0]

    return rule


# ---------------------------------------------------------------------- elementwise
def _elementwise(generic):
    partials, jvp = generic.card.partials, forward_rule(generic)

    def rule(call):
        found, shape = None, shape_of(call.y)
        constants = any(not isinstance(a, Layer) for a in call.args)
        for i, sets in call.followed():
            live = None
            if partials is None or constants or call.run.local or partials[i] is None:
                live = _live(jvp, call, i)
                if live is False:
                    continue
            found = patterns.union(found, patterns.broadcast(sets, shape_of(call.xs[i]), shape, live))
        return found

    return rule


def _live(jvp, call, i):
    """Find where the derivative by array i is not zero for all inputs: a mask of the result's shape, None everywhere, False
    nowhere."""
    one = ones_like(call.xs[i])
    if dtype_of(one).kind == "c":
        one = one * (0.6 + 0.8j)  # along neither axis: real and imag both see it
    dxs = tuple([one if k == i else None for k in range(len(call.xs))])
    dy = jvp(dxs, call.known_result(), *call.known_values(), **call.params)
    if dy is None:
        return False
    if isinstance(dy, Layer):
        return None
    live = np.broadcast_to(concrete(dy) != 0, shape_of(call.y))
    return None if live.all() else live if live.any() else False


# ---------------------------------------------------------------------- reductions
def _reduction(call):
    (sets,), (x,) = call.sets, call.xs
    shape, axes = shape_of(x), reduced_axes(call.generic.name, x, call.params.get("axis"))
    kept = tuple(1 if a in axes else n for a, n in enumerate(shape))
    groups = np.broadcast_to(patterns.numbered(kept), shape).ravel()
    if call.run.local and not call.generic.card.linear:
        slope = vjp_rule(call.generic, 0)
        if slope is not None:
            at = slope(ones_like(call.y), call.y, x, **call.params)
            if not isinstance(at, Layer):
                groups = np.where(np.broadcast_to(concrete(at) != 0, shape).ravel(), groups, -1)
    return patterns.grouped(sets, groups, math.prod(kept))


# ---------------------------------------------------------------------- linear
def _linear(call) -> Any:
    """Of all arguments in which it is linear together."""
    places = call.generic.card.linear
    places = range(len(call.args)) if places is None else places
    return _of_matrix(call, list(places))


def _bilinear(call) -> Any:
    """Of each argument, with the other one as it is, or as some array without zeros if that depends on the inputs."""
    found = None
    for i, _ in call.followed():
        found = patterns.union(found, _of_matrix(call, [i]))
    return found


def _of_matrix(call, places) -> Any:
    fixed = [a for k, a in enumerate(call.args) if k not in places and isinstance(a, Layer)]
    if isinstance(call.y, tuple) or any(dtype_of(a).kind not in "fc" for a in fixed):
        return _dense(call)  # its matrix depends on positions that are not known
    xs = [_random(shape_of(a)) if isinstance(a, Layer) else a if is_number(a) else host_copy(a) for a in call.args]
    shapes = [shape_of(call.xs[i]) for i in places]
    sizes = [math.prod(shape) for shape in shapes]
    total, result = sum(sizes), shape_of(call.y)

    def apply(values):
        full = list(xs)
        for i, v in zip(places, values, strict=True):
            full[i] = v
        return call.generic.spread(*full, **call.params)

    def parts(flat):
        return [part.reshape(shape) for part, shape in zip(np.split(flat, np.cumsum(sizes)[:-1]), shapes, strict=True)]

    sets = patterns.stacked([(call.sets[i], n) for i, n in zip(places, sizes, strict=True)], call.run.columns)
    forth = lambda flat: np.ravel(concrete(apply(parts(flat))))
    numbers = _selection(forth, total)
    if numbers is not None:
        same = len(numbers) == total and np.array_equal(numbers, np.arange(total))
        return sets if same else patterns.rows(sets, numbers)

    def back(flat):
        pulled = transpose(call.generic.name, lambda *v: apply(v), parts(np.zeros(total)), flat.reshape(result))
        return np.concatenate([np.zeros(n) if c is None else np.ravel(concrete(c)) for c, n in zip(pulled, sizes, strict=True)])

    count = math.prod(result)
    numbers = _selection(back, count)
    if numbers is not None:
        return patterns.grouped(sets, numbers, count)
    if total > MAX_PROBED_ELEMENTS:
        return _dense(call)
    matrix = concrete(vmap(lambda flat: apply(parts(flat)))(np.eye(total))).reshape(total, count)
    elements, results = np.nonzero(matrix)
    return patterns.related(sets, results, elements, count)


def _random(shape):
    """Numbers of which no two sums of a few are equal, always the same ones."""
    count = math.prod(shape)
    return _stream(1 << max(10, count.bit_length()))[:count].reshape(shape)


@functools.lru_cache(4)
def _stream(count):
    numbers = np.random.default_rng(0).uniform(1.0, 2.0, count)
    numbers.flags.writeable = False
    return numbers


def _selection(function, count):
    """If a linear function of `count` numbers only picks some of them and puts zeros elsewhere: which ones, -1 for a zero.

    It is asked to move the numbers of the elements. That it does nothing else with them is tested on random numbers: another
    linear function would have to agree with the selection on them to the last bit.
    """
    found = function(np.arange(1.0, count + 1))
    if not np.isrealobj(found) or not np.array_equal(found, np.rint(found)):
        return None
    numbers = found.astype(patterns.ELEMENT)
    if numbers.size and (numbers.min() < 0 or numbers.max() > count):
        return None
    some = _random((count,))
    return numbers - 1 if np.array_equal(function(some), np.concatenate([[0.0], some])[numbers]) else None


# ---------------------------------------------------------------------- all else
def _by_letters(call, said) -> Any:
    """Dependence in the letters of the last axes, "ij,jk->ik": result [i, k] reads x[i, j] and y[j, k] for all j."""
    inputs, outputs = [part.split(",") for part in said.replace(" ", "").split("->")]
    several = isinstance(call.y, tuple)
    found = []
    for y, out in zip(call.y if several else (call.y,), outputs, strict=True):
        sets = None
        for i, own in call.followed():
            letters, shape, result = inputs[i], shape_of(call.xs[i]), shape_of(y)
            zeros = _zeros(call, i)
            if zeros is None:
                part = patterns.along_letters(own, letters, shape, out, result)
            else:
                part = patterns.through_constant(own, letters, shape, out, result, zeros, inputs[1 - i])
            sets = patterns.union(sets, part)
        found.append(sets)
    return found if several else found[0]


def _zeros(call, i):
    """The other array of a product, if it is constant and many of its elements are zero."""
    other = call.args[1 - i] if call.generic.card.kind == "bilinear" else None
    if other is None or isinstance(other, Layer):
        return None
    other = concrete(other)
    return other if np.count_nonzero(other) < 0.8 * other.size else None


def _opaque(call) -> Any:
    """Find what the derivative rule reads: it is linear in the tangents, so it is run with the arguments' sets in their place.
    An operation whose rule is made of itself again and again ends as one of which nothing is known."""
    if _nested.get() == MAX_NESTED_RULES:
        return _dense(call)
    token = _nested.set(_nested.get() + 1)
    try:
        return _through_forward(call)
    except MissingRuleError:
        return _through_reverse(call)
    finally:
        _nested.reset(token)


def _through_forward(call) -> Any:
    run = call.run
    dxs = [None if s is None else run.depending(ones_like(x), s) for x, s in zip(call.xs, call.sets, strict=True)]
    dy = forward_rule(call.generic)(tuple(dxs), call.known_result(), *call.known_values(), **call.params)
    if isinstance(call.y, tuple):
        return [_matching(run, t, y) for t, y in zip(dy or [None] * len(call.y), call.y, strict=True)]
    return _matching(run, dy, call.y)


def _matching(run, t, y):
    """The sets of a tangent, broadcast to its value."""
    sets = None if t is None else run.sets_of(t)
    return None if sets is None else patterns.broadcast(sets, shape_of(t), shape_of(y))


def _through_reverse(call) -> Any:
    """By the reverse rules alone: the pattern of the cotangents, transposed."""
    places = [i for i, _ in call.followed()]
    results = list(call.y) if isinstance(call.y, tuple) else [call.y]
    inexact = [j for j, y in enumerate(results) if dtype_of(y).kind in "fc"]
    xs, y = call.known_values(), call.known_result()

    def pull(cts):
        given = [None] * len(results)
        for j, ct in zip(inexact, cts, strict=True):
            given[j] = ct
        given = tuple(given) if isinstance(call.y, tuple) else given[0]
        together = joint_rule(call.generic, places)
        if together is not None:
            found = together(given, y, *xs, **call.params)
        else:
            found = [rule_for(call.generic, i)(given, y, *xs, **call.params) for i in places]
        return [zeros_like(call.xs[i]) if c is None else c for i, c in zip(places, found, strict=True)]

    try:
        back = call.run.pattern_of(pull, [ones_like(results[j]) for j in inexact])
    except MissingRuleError:
        return _dense(call)
    stacked = patterns.stacked([(s, s.shape[0]) for _, s in call.followed()], call.run.columns)
    whole = back.T.tocsr() @ stacked
    ends = np.cumsum([0, *[math.prod(shape_of(results[j])) for j in inexact]])
    parts = {j: whole[a:b] for j, a, b in zip(inexact, ends, ends[1:], strict=False)}
    return [parts.get(j) for j in range(len(results))] if isinstance(call.y, tuple) else parts[0]


def _dense(call) -> Any:
    """Each element reads every element."""
    sets = None
    for _, own in call.followed():
        sets = patterns.union(sets, patterns.grouped(own, np.zeros(own.shape[0], int), 1))
    spread = lambda y: patterns.rows(sets, np.zeros(math.prod(shape_of(y)), int))
    return [spread(y) for y in call.y] if isinstance(call.y, tuple) else spread(call.y)


_DEPENDENCE_RULES = {
    "elementwise": _elementwise, "reduction": _reduction, "linear": _linear, "bilinear": _bilinear, "opaque": _opaque,
}  # fmt: skip
