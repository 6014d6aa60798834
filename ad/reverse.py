"""Reverse mode: values that record, per operation, how a cotangent goes back; and the walk back over the record.

The record (tape) is a list of nodes `(vjp, xs, y, parent)`, or `(vjps, xs, y, parents)` where several arguments are followed:
the function of the cotangent, and the place of the argument's own node. In place of the tuple of functions may stand an object
that hands the cotangent on by itself (nodes.py). Values are unwrapped on it: the walk can be differentiated and traced itself.
"""

from functools import partial
from typing import Any

from numpy import float64, ndarray

from ..dispatch import Layer, MissingRuleError, Run, captured, check_runs, settled, several, snapshot, watchers
from ..dsl import add
from ..dsl.avals import dtype_of
from ..dsl.axes import in_lanes
from ..dsl.batching import concrete
from ..dsl.debugging import watching
from ..dsl.ops.create import zeros_like
from ..dsl.slopes import look_for_lost
from .nodes import PART, Joint
from .origins import noting, watched_walk
from .owned import Own
from .residuals import LARGE, elements, leaner, total
from .roots import keeping_roots, same_node
from .rules import (
    constant,
    differentiable,
    joint_rule,
    jvp_rule,
    match_cotangent,
    match_tangent,
    matched,
    nothing,
    reads_values,
    unfollowed,
    vjp_rule,
)
from .selections import selection
from .typed_rules import implementation, one_each, opted_out, reverse_typed
from .watched import readers, watched


class Reverse(Layer):
    """A value and the place of its node on the tape; `Reverse[d]` belongs to a reverse transformation of depth d."""

    __slots__ = ("index", "run", "value")
    holds = "value"
    follows = True
    sees_inner = True

    def __init__(self, value, run, index):
        self.value = value
        self.run = run
        self.index = index

    def concrete(self):
        return concrete(self.value)

    def made_as(self, other, alike):
        return same_node(self.run.tape, self.index, other.index, alike) and alike(self.value, other.value)

    @classmethod
    def target(cls, generic, types):
        return keeping_roots(cls, generic, types.index(cls), cls._target(generic, types))

    @classmethod
    def _target(cls, generic, types):
        mine = [t is cls for t in types]
        if generic.rules:
            return captured(generic, mine.index(True), _general(cls, generic, mine))
        if not differentiable(generic):
            return captured(generic, mine.index(True), unfollowed(cls, generic, types))
        if "accumulate" in generic.card.rules and mine[0] and not any(mine[1:]):
            return selection(cls, generic, rule_for(generic, 0), len(types) == 1)
        plain = not generic.params and generic.card.kind != "opaque"  # which may give several results
        if plain and generic.arity == 2:
            return _binary(cls, generic, types)
        if len(types) == 1 and generic.card.kind != "opaque":
            return _single(cls, generic)
        return captured(generic, mine.index(True), _general(cls, generic, mine))


def _binary(cls, generic, types, look=None, made=None):
    """Two arrays and no parameters: `_general` in three forms, since lists of arguments would make the gradient of small
    operations 1.7 times as slow. look: see `keeping_roots`; made: its rules, the same ones with and without."""
    op = generic.function
    first, second = [t is cls for t in types]
    # a Python number changes neither shape nor, if it is no complex one, dtype
    same_space = generic.card.partials is not None and (types[0] in (int, float) or types[1] in (int, float))
    rules = lambda large: tuple([rule_for(generic, i, same_space, large) if t is cls else None for i, t in enumerate(types)])
    made = made or (rules(False), rules(True), leaner(generic, [i for i, t in enumerate(types) if t is cls], 2))
    vjps, large, lean = made
    if not second:
        vjp = vjps[0]

        def run(x, y):
            r = x.run
            if r.inner is not None:
                return r.inner.capture(generic, (x, y), {})
            if look is not None and r.rooted:
                return look(x, y)
            v = x.value
            z = op(v, y)
            if (z.size if type(z) is ndarray else 0 if type(z) is float64 else elements(z)) >= LARGE:
                r.append((large[0], *lean((v, y), z), x.index))
            else:
                r.append((vjp, (v, y), z, x.index))
            return cls(z, r, len(r.tape) - 1)

    elif not first:
        vjp = vjps[1]

        def run(x, y):
            r = y.run
            if r.inner is not None:
                return r.inner.capture(generic, (x, y), {})
            if look is not None and r.rooted:
                return look(x, y)
            v = y.value
            z = op(x, v)
            if (z.size if type(z) is ndarray else 0 if type(z) is float64 else elements(z)) >= LARGE:
                r.append((large[1], *lean((x, v), z), y.index))
            else:
                r.append((vjp, (x, v), z, y.index))
            return cls(z, r, len(r.tape) - 1)

    else:

        def run(x, y):
            r = x.run
            if y.run is not r:
                raise r.foreign(y.run)
            if r.inner is not None:
                return r.inner.capture(generic, (x, y), {})
            if look is not None and r.rooted:
                return look(x, y)
            v, w = x.value, y.value
            z = op(v, w)
            if (z.size if type(z) is ndarray else 0 if type(z) is float64 else elements(z)) >= LARGE:
                r.append((large, *lean((v, w), z), (x.index, y.index)))
            else:
                r.append((vjps, (v, w), z, (x.index, y.index)))
            return cls(z, r, len(r.tape) - 1)

    run.asking = partial(_binary, cls, generic, types, made=made)
    return run


def _single(cls, generic, look=None, made=None):
    """One array and parameters: `_general` without lists of arguments and rules, for speed as `_binary`."""
    spread, known, required = generic.spread, generic.table, generic.card.collective
    bare = not generic.params and not generic.keywords
    same_space = generic.card.partials is not None and bare
    made = made or (rule_for(generic, 0, same_space), rule_for(generic, 0, same_space, large=True), leaner(generic, [0], 1))
    rule, large, lean = made
    converts = "dtype" in generic.params  # possibly to integers

    def simple(x):
        r = x.run
        if r.inner is not None:
            return r.inner.capture(generic, (x,), {})
        if look is not None and r.rooted:
            return look(x)
        v = x.value
        y = spread(v)
        if (v.size if type(v) is ndarray else 0 if type(v) is float64 else elements(v)) >= LARGE:
            r.append((large, *lean((v,), y), x.index))
        else:
            r.append((rule, (v,), y, x.index))
        return cls(y, r, len(r.tape) - 1)

    simple.asking = partial(_single, cls, generic, made=made)
    if bare and not required:
        return simple

    def run(x, **params):
        r = x.run
        if r.inner is not None:
            return r.inner.capture(generic, (x,), params)
        if look is not None and r.rooted:
            return look(x, **params)
        v = x.value
        target = known.get(type(v))  # as the operation's entry has it, whose parameters are complete already
        y = spread(v, **params) if target is None else target(v, **params)
        if converts and params["dtype"] is not None and dtype_of(y).kind not in "fc":  # nothing to follow
            return y
        if (v.size if type(v) is ndarray else 0 if type(v) is float64 else elements(v)) >= LARGE:
            r.append((partial(large, **params) if params else large, *lean((v,), y), x.index))
        else:
            r.append((partial(rule, **params) if params else rule, (v,), y, x.index))
        if required:
            r.required.append(len(r.tape) - 1)
        return cls(y, r, len(r.tape) - 1)

    run.asking = simple.asking
    return run


def _general(cls, generic, mine):
    spread = generic.spread
    places = [i for i, m in enumerate(mine) if m]
    rules = _rules(generic, places)
    required = generic.card.collective
    lean = leaner(generic, places, len(mine))

    def run(*args, **params):
        r = args[places[0]].run
        check_runs(r, args, cls)
        xs = tuple([a.value if m else a for a, m in zip(args, mine, strict=True)])
        y = spread(*xs, **params)
        several_results = isinstance(y, tuple)
        if not several_results and dtype_of(y).kind not in "fc":  # converted to integers: nothing to follow
            return y
        r.append((rules(params), *lean(xs, y), tuple([args[i].index for i in places])))
        if several_results:
            return several_values(cls, r, y)
        if required and (required is True or required(params)):
            r.required.append(len(r.tape) - 1)
        return cls(y, r, len(r.tape) - 1)

    return run


def _rules(generic, places, by_type=True):
    """A function of the parameters that gives the rules of a node, for the arrays at these places."""
    together = reverse_by_type(generic, places) if generic.rules and by_type else joint_rule(generic, places)
    if together is None and generic.arity is None and vjp_rule(generic, places[0]) is None:
        together = _transposed(generic, places)
    if together is not None:
        if reads_values(generic, places[0]):
            readers[together] = generic.name
        return lambda params: Joint(partial(together, **params) if params else together)
    rules: Any = tuple([rule_for(generic, i) for i in places])
    return lambda params: tuple([partial(rule, **params) for rule in rules]) if params else rules


def reverse_by_type(generic, places):
    """One rule for the arrays at these places: that for the types of what it meets, else the card's."""

    def pull(ct, y, *xs, **params):
        rule, forward = reverse_typed(generic, xs)
        if rule is opted_out:
            cts = pulled(generic.name, lambda *xs: implementation(generic, xs)(*xs, **params), xs, ct)
            return [cts[i] for i in places]
        found = NotImplemented if rule is None else rule(ct, y, *xs, **params)
        if found is not NotImplemented:
            found = one_each(found, xs, f"{generic.name}.vjp")
            return [match_cotangent(found[i], y, xs[i], generic.name, i) for i in places]
        if forward is not None:
            return _transposed(generic, places, forward)(ct, y, *xs, **params)
        if not differentiable(generic):
            return [None] * len(places)
        rules = _rules(generic, places, by_type=False)(params)
        return rules.rule(ct, y, *xs) if isinstance(rules, Joint) else [rule(ct, y, *xs) for rule in rules]

    return pull


def several_values(cls, r, y, followed=None, keep=lambda part: part):
    """The results of the operation recorded last, of which there are several: each has a node that hands its cotangent to the
    operation's own.

    followed: whether each is, None: those of floating numbers. keep: what its node keeps of one.
    """
    main, values = len(r.tape) - 1, []
    for j, part in enumerate(y):
        if followed[j] if followed is not None else dtype_of(part).kind in "fc":
            r.append((PART, (j, len(y)), keep(part), (main,)))
            part = cls(part, r, len(r.tape) - 1)
        values.append(part)
    return several(y, values)


def rule_for(generic, i, same_space=False, large=False) -> Any:
    """The reverse rule for array i, its result brought to the array's space unless it is there already. large: for large
    arrays."""
    rule, name = vjp_rule(generic, i, large), generic.name
    if rule is nothing:
        return rule
    if rule is None:
        transposed = _transposed(generic, [i])
        rule = lambda ct, y, *xs, **params: transposed(ct, y, *xs, **params)[0]
    elif not same_space:
        rule = matched(rule, i, generic)
    if reads_values(generic, i):
        readers[rule] = name
    return rule


def _transposed(generic, places, jvp=None):
    """The reverse rule, for the arrays at these places, of an operation that has a forward rule only: that rule, linear
    in its tangents, transposed. It returns a list. jvp: the rule, None for the card's."""
    try:
        jvp = jvp_rule(generic) if jvp is None else jvp
    except MissingRuleError as error:
        raise MissingRuleError(
            f"{generic.name} has no reverse derivative; add @{generic.name}.rule('vjp') or @{generic.name}.rule('jvp') "
            "under its declaration, or say differentiable=False"
        ) from error

    def vjp(ct, y, *xs, **params):
        look_for_lost(generic, "lost_back", ct, y, xs, params)

        def tangent(*followed):
            dxs = [None] * len(xs)
            for i, dx in zip(places, followed, strict=True):
                dxs[i] = dx
            dy = jvp(tuple(dxs), y, *xs, **params)
            if dy is None or isinstance(y, tuple):
                return dy
            return match_tangent(dy, y, generic.name)

        cts = transpose(f"transpose of {generic.name}", tangent, [xs[i] for i in places], ct)
        return [match_cotangent(c, y, xs[i], generic.name, i) for i, c in zip(places, cts, strict=True)]

    return vjp


def transpose(name, linear, xs, ct):
    """The transpose of a linear function of values like xs, applied to ct: a list, with None for zero. A function of several
    results takes a tuple of cotangents, None where there is none."""
    return pulled(name, linear, [in_lanes(zeros_like(x)) for x in xs], ct)


def pulled(name, f, xs, ct):
    """Cotangents of xs, None for zero and for integers, by differentiating f at xs.

    ct: a cotangent of f's result; of several results a tuple, None where there is none.
    """
    with ReverseRun(name) as run:
        places = [i for i, x in enumerate(xs) if dtype_of(x).kind in "fc"]
        seen = list(xs)
        for i in places:
            seen[i] = run.input(xs[i])
        out = f(*seen)
        pairs = [(out, ct)] if not isinstance(out, tuple) else zip(out, ct, strict=True)
        followed = [(run.unwrap(v)[1], c) for v, c in pairs if c is not None]
    seeds, cts = [(index, c) for index, c in followed if index is not None], [None] * len(xs)
    if seeds:
        for i, c in zip(places, run.walk_back(seeds, len(places)), strict=True):
            cts[i] = c
    return cts


def refusal(name, place):
    """What a run that has ended appends nodes with: it says where that was, without the tape. A stored method of the run would
    make a cycle, and the tape's arrays would wait for the garbage collector."""

    def refuse(node):
        ended = Run.__new__(Run)
        ended.name, ended.place = name, place
        raise ended.leaked()

    return refuse


class ReverseRun(Run):
    """One execution of a reverse transformation: its tape."""

    __slots__ = ("append", "origins", "required", "tangents", "tape")
    tape: Any
    origins: Any
    kind: Any = Reverse  # of its values

    def __init__(self, name):
        super().__init__(name)
        self.tape, self.tangents = [], False  # tangents: whether those alone are asked for, of the inputs' cotangents
        self.append = watched(self.tape) if watching.get() else self.tape.append
        self.origins = None  # place on the tape -> where the node comes from, while calls are watched
        if watchers:
            self.origins, self.append = noting(self.tape, self.append)
        self.required = []  # nodes that must be walked even with a zero cotangent: collectives across processes

    def close(self):
        super().close()
        self.append = refusal(self.name, self.place)

    def input(self, value):
        """Follow a value from here."""
        self.append(None)
        cls = self.kind.classes.get(self.depth) or self.kind[self.depth]  # hot: the first is a tenth of the second
        return cls(snapshot(value), self, len(self.tape) - 1)

    def inputs(self, values):
        """Those of some values that have derivatives, followed from here; the others as they are."""
        cls = self.kind.classes.get(self.depth) or self.kind[self.depth]
        append, tape, seen = self.append, self.tape, []
        for x in values:
            if (x.dtype if type(x) is ndarray else dtype_of(x)).kind in "fc":
                append(None)
                x = cls(snapshot(x), self, len(tape) - 1)
            seen.append(x)
        return seen

    def constant(self, value):
        """A value without parents."""
        if dtype_of(value).kind not in "fc":
            return super().constant(value)
        self.append(((), (), value, ()))
        return self.kind[self.depth](snapshot(value), self, len(self.tape) - 1)

    def unwrap(self, x):
        """(value, place on the tape or None) of a result of the function."""
        x = settled(x)
        if type(x) is self.kind.classes.get(self.depth):
            if x.run is not self:
                raise self.foreign(x.run)
            return snapshot(x.value), x.index
        return constant(x), None

    def walk_back(self, seeds, inputs):
        """Cotangents of the inputs, from those of results; None where an input has none.

        seeds: pairs (place, cotangent). inputs: how many were followed; they are the first nodes.
        """
        return watched_walk(self, seeds, inputs) if watchers else self.walk(self.tape, seeds, inputs)

    def walk(self, tape, seeds, inputs):
        """`walk_back` over a tape that may be another view of one's own."""
        cts: list[Any] = [None] * len(tape)
        own = Own()
        if self.tangents:
            own.tangents = inputs
        last = -1
        for index, ct in seeds:
            cts[index] = ct if cts[index] is None else add(cts[index], ct)
            last = max(last, index)
        for index in self.required:
            y = tape[index][2]
            if cts[index] is None:
                cts[index] = [None] * len(y) if type(y) is tuple else zeros_like(y)
            last = max(last, index)
        for index in range(last, inputs - 1, -1):
            ct = cts[index]
            if ct is None:
                continue
            node = tape[index]
            cts[index] = None  # its memory is free from here on
            vjp, xs, y, parent = node
            if type(parent) is int:
                c = vjp(ct, y, *xs)
                if c is not None:
                    cts[parent] = c if cts[parent] is None else total(cts, own, parent, c)
                continue
            if type(vjp) is not tuple:
                vjp.hand_on(cts, own, ct, y, xs, parent)
                continue
            ct = tuple(ct) if type(ct) is list else ct
            for rule, place in zip(vjp, parent):  # noqa: B905  equal by construction, and hot
                c = rule(ct, y, *xs)
                if c is not None:
                    cts[place] = c if cts[place] is None else total(cts, own, place, c)
        return cts[:inputs]
