"""Reverse mode: values that record, per operation, how a cotangent goes back; and the walk back over the record.

The record (tape) is a list of nodes `(vjp, xs, y, parent)`, or `(vjps, xs, y, parents)` where several arguments are
followed: the function of the cotangent, and the place of the argument's own node. In place of the tuple of functions may
stand an object that hands the cotangent on by itself (nodes.py). Values are unwrapped on it, so the
walk is made of ordinary operations and can be differentiated, batched and traced itself.
"""

import weakref
from functools import partial

from ..dispatch import Layer, MissingRuleError, Run, check_runs, several, snapshot
from ..dsl import add
from ..dsl.avals import dtype_of
from ..dsl.batching import concrete
from ..dsl.debugging import check_sealed, sealed, watching
from ..dsl.ops.create import zeros_like
from .nodes import PART, Joint, Selection
from .rules import (
    constant,
    differentiable,
    joint_rule,
    jvp_rule,
    match_cotangent,
    match_tangent,
    nothing,
    reads_values,
    unshared,
    vjp_rule,
)


class Reverse(Layer):
    """A value and the place of its node on the tape; `Reverse[d]` belongs to a reverse transformation of depth d."""

    __slots__ = ("index", "run", "value")

    def __init__(self, value, run, index):
        self.value = value
        self.run = run
        self.index = index

    @property
    def shape(self):
        return self.value.shape

    @property
    def dtype(self):
        return self.value.dtype

    @property
    def below(self):
        return self.value

    def concrete(self):
        return concrete(self.value)

    def __repr__(self):
        return f"{type(self).__name__}({self.value!r})"

    @classmethod
    def target(cls, generic, types):
        mine = [t is cls for t in types]
        if not differentiable(generic):
            return _constant(cls, generic, mine)
        if "accumulate" in generic.card.rules and mine[0] and not any(mine[1:]):
            return _selection(cls, generic)
        plain = not generic.params and generic.card.kind != "opaque"  # which may give several results
        if plain and generic.arity == 2:
            return _binary(cls, generic, types)
        if len(types) == 1 and generic.card.kind != "opaque" and "dtype" not in generic.params:
            return _single(cls, generic)
        return _general(cls, generic, mine)


def _constant(cls, generic, mine):
    """An operation without derivative: its result is a constant."""
    spread, whose = generic.spread, mine.index(True)

    def run(*args, **params):
        check_runs(args[whose].run, args, cls)
        xs = [a.value if m else a for a, m in zip(args, mine, strict=True)]
        return unshared(spread(*xs, **params), xs)

    return run


def _binary(cls, generic, types):
    """Two arrays and no parameters: `_general` in three forms, since lists of arguments would make the gradient of small
    operations 1.7 times as slow."""
    op = generic.function
    first, second = [t is cls for t in types]
    # a Python number changes neither shape nor, if it is no complex one, dtype
    same_space = generic.card.partials is not None and (types[0] in (int, float) or types[1] in (int, float))
    vjps = tuple([_rule(generic, i, same_space) if t is cls else None for i, t in enumerate(types)])
    if not second:
        vjp = vjps[0]

        def run(x, y):
            r = x.run
            v = x.value
            z = op(v, y)
            r.append((vjp, (v, y), z, x.index))
            return cls(z, r, len(r.tape) - 1)

    elif not first:
        vjp = vjps[1]

        def run(x, y):
            r = y.run
            v = y.value
            z = op(x, v)
            r.append((vjp, (x, v), z, y.index))
            return cls(z, r, len(r.tape) - 1)

    else:

        def run(x, y):
            r = x.run
            if y.run is not r:
                raise r.foreign(y.run)
            v, w = x.value, y.value
            z = op(v, w)
            r.append((vjps, (v, w), z, (x.index, y.index)))
            return cls(z, r, len(r.tape) - 1)

    return run


def _single(cls, generic):
    """One array and parameters: `_general` without lists of arguments and rules, for speed as `_binary`."""
    spread, required = generic.spread, generic.card.collective
    rule = _rule(generic, 0, same_space=generic.card.partials is not None and not generic.params)

    def run(x, **params):
        r = x.run
        v = x.value
        y = spread(v, **params)
        r.append((partial(rule, **params) if params else rule, (v,), y, x.index))
        if required:
            r.required.append(len(r.tape) - 1)
        return cls(y, r, len(r.tape) - 1)

    return run


def _selection(cls, generic):
    """One followed array, a few elements of which are picked."""
    spread, accumulate = generic.spread, generic.card.rules["accumulate"]
    node = Selection(_rule(generic, 0), accumulate)
    _readers[accumulate] = generic.name

    def run(x, *others, **params):
        r = x.run
        xs = (x.value, *others)
        y = spread(*xs, **params)
        r.append((node, (xs, params), y, (x.index,)))
        return cls(y, r, len(r.tape) - 1)

    return run


def _general(cls, generic, mine):
    spread = generic.spread
    places = [i for i, m in enumerate(mine) if m]
    rules = _rules(generic, places)
    required = generic.card.collective

    def run(*args, **params):
        r = args[places[0]].run
        check_runs(r, args, cls)
        xs = tuple([a.value if m else a for a, m in zip(args, mine, strict=True)])
        y = spread(*xs, **params)
        several_results = isinstance(y, tuple)
        if not several_results and dtype_of(y).kind not in "fc":  # converted to integers: nothing to follow
            return y
        vjps = rules(params)
        r.append((vjps, xs, y, tuple([args[i].index for i in places])))
        if several_results:
            return _parts(cls, r, y)
        if required and (required is True or required(params)):
            r.required.append(len(r.tape) - 1)
        return cls(y, r, len(r.tape) - 1)

    return run


def _rules(generic, places):
    """A function of the parameters that gives the rules of a node, for the arrays at these places."""
    together = joint_rule(generic, places)
    if together is None and generic.arity is None and vjp_rule(generic, places[0]) is None:
        together = _transposed(generic, places)
    if together is not None:
        if reads_values(generic, places[0]):
            _readers[together] = generic.name
        return lambda params: Joint(partial(together, **params) if params else together)
    rules = tuple([_rule(generic, i) for i in places])
    return lambda params: tuple([partial(rule, **params) for rule in rules]) if params else rules


def _parts(cls, r, y):
    """The results of an operation that gives several: each has a node that hands its cotangent to the operation's own."""
    main, followed = len(r.tape) - 1, []
    for j, part in enumerate(y):
        if dtype_of(part).kind not in "fc":
            followed.append(part)
            continue
        r.append((PART, (j, len(y)), part, (main,)))
        followed.append(cls(part, r, len(r.tape) - 1))
    return several(y, followed)


def _rule(generic, i, same_space=False):
    """The reverse rule for array i, its result brought to the array's space unless it is there already."""
    rule, name = vjp_rule(generic, i), generic.name
    if rule is nothing:
        return rule
    if rule is None:
        rule = _alone(_transposed(generic, [i]))
    elif not same_space:
        rule = _matched(rule, i, name)
    if reads_values(generic, i):
        _readers[rule] = name
    return rule


def _matched(rule, i, name):
    return lambda ct, y, *xs, **params: match_cotangent(rule(ct, y, *xs, **params), y, xs[i], name)


def _alone(rule):
    return lambda ct, y, *xs, **params: rule(ct, y, *xs, **params)[0]


_readers = weakref.WeakKeyDictionary()  # reverse rule -> its operation, for rules that read the numbers they are given


def _transposed(generic, places):
    """The reverse rule, for the arrays at these places, of an operation that has a forward rule only: that rule, linear
    in its tangents, transposed. It returns a list."""
    try:
        jvp = jvp_rule(generic)
    except MissingRuleError as error:
        raise MissingRuleError(
            f"{generic.name} has no reverse derivative; add @{generic.name}.rule('vjp') or @{generic.name}.rule('jvp') "
            "under its declaration, or say differentiable=False"
        ) from error

    def vjp(ct, y, *xs, **params):
        def tangent(*followed):
            dxs = [None] * len(xs)
            for i, dx in zip(places, followed, strict=True):
                dxs[i] = dx
            dy = jvp(tuple(dxs), y, *xs, **params)
            if dy is None or isinstance(y, tuple):
                return dy
            return match_tangent(dy, y, generic.name)

        cts = transpose(f"transpose of {generic.name}", tangent, [xs[i] for i in places], ct)
        return [match_cotangent(c, y, xs[i], generic.name) for i, c in zip(places, cts, strict=True)]

    return vjp


def forward_rule(generic):
    """The forward rule of an operation; where the card has reverse rules only, those, linear in ct, transposed."""
    try:
        return jvp_rule(generic)
    except MissingRuleError:
        if not {"vjp", "vjp_all", "transpose"} & generic.card.rules.keys():
            raise

    def jvp(dxs, y, *xs, **params):
        if not isinstance(y, tuple):
            return _pushed(generic, dxs, y, xs, params, y, lambda c: c)
        alone = lambda j: lambda c: tuple([c if k == j else None for k in range(len(y))])
        return tuple([_pushed(generic, dxs, part, xs, params, y, alone(j)) for j, part in enumerate(y)])

    return jvp


def _pushed(generic, dxs, result, xs, params, y, as_cotangent):
    """The tangent of one result from the reverse rules, transposed. as_cotangent: of all results, from that of this one."""
    dy, places = None, [i for i, dx in enumerate(dxs) if dx is not None]
    together = joint_rule(generic, places)
    if together is not None:
        pull = lambda c: tuple(together(as_cotangent(c), y, *xs, **params))
        return transpose(f"transpose of {generic.name}", pull, [result], [dxs[i] for i in places])[0]
    for i, dx in enumerate(dxs):
        if dx is not None:
            pull = lambda c, i=i: _rule(generic, i)(as_cotangent(c), y, *xs, **params)
            (part,) = transpose(f"transpose of {generic.name}", pull, [result], dx)
            dy = part if dy is None else dy if part is None else add(dy, part)
    return dy


def transpose(name, linear, xs, ct):
    """The transpose of a linear function of values like xs, applied to ct: a list, with None for zero.

    A function of several results takes a tuple of cotangents, None where there is none.
    """
    with ReverseRun(name) as run:
        out = linear(*[run.input(zeros_like(x)) for x in xs])
        pairs = [(out, ct)] if not isinstance(out, tuple) else zip(out, ct, strict=True)
        followed = [(run.unwrap(v)[1], c) for v, c in pairs if c is not None]
    seeds = [(index, c) for index, c in followed if index is not None]
    return run.walk_back(seeds, len(xs)) if seeds else [None] * len(xs)


def _refuse(run, node):
    raise run.leaked()


def _watched(tape):
    """`tape.append` under `debug_mutation`: the arrays that a rule reads are checked before it reads them."""

    def append(node):
        if node is not None and node[0] is not PART:
            vjp, xs, y, parent = node
            used, results = xs[0] if isinstance(vjp, Selection) else xs, y if isinstance(y, tuple) else (y,)
            seals = sealed((*used, *results))
            if isinstance(vjp, (Joint, Selection)):
                vjp = vjp.through(lambda rule: _checked(rule, seals))
            else:
                vjp = tuple([_checked(rule, seals) for rule in vjp]) if isinstance(vjp, tuple) else _checked(vjp, seals)
            node = (vjp, xs, y, parent)
        tape.append(node)

    return append


def _checked(rule, seals):
    name = _readers.get(rule.func if isinstance(rule, partial) else rule)
    if name is None or not seals:
        return rule

    def check(*args, **params):
        check_sealed(seals, name, "its derivative")
        return rule(*args, **params)

    return check


class ReverseRun(Run):
    """One execution of a reverse transformation: its tape."""

    __slots__ = ("append", "required", "tape")

    def __init__(self, name):
        super().__init__(name)
        self.tape = []
        self.append = _watched(self.tape) if watching.get() else self.tape.append
        self.required = []  # nodes that must be walked even with a zero cotangent: collectives across processes

    def close(self):
        super().close()
        ended = Run.__new__(Run)  # says where, without the tape: a stored method of self would make a cycle, and the
        ended.name, ended.place = self.name, self.place  # tape's arrays would wait for the garbage collector
        self.append = partial(_refuse, ended)

    def input(self, value):
        """Follow a value from here."""
        self.append(None)
        return Reverse[self.depth](snapshot(value), self, len(self.tape) - 1)

    def constant(self, value):
        """A value without parents."""
        if dtype_of(value).kind not in "fc":
            return super().constant(value)
        self.append(((), (), value, ()))
        return Reverse[self.depth](snapshot(value), self, len(self.tape) - 1)

    def unwrap(self, x):
        """(value, place on the tape or None) of a result of the function."""
        if type(x) is Reverse[self.depth]:
            if x.run is not self:
                raise self.foreign(x.run)
            return snapshot(x.value), x.index
        return constant(x), None

    def walk_back(self, seeds, inputs):
        """Cotangents of the inputs, from those of results; None where an input has none.

        seeds: pairs (place, cotangent). inputs: how many were followed; they are the first nodes.
        """
        tape = self.tape
        cts, own = [None] * len(tape), {}
        last = -1
        for index, ct in seeds:
            cts[index] = ct if cts[index] is None else add(cts[index], ct)
            last = max(last, index)
        for index in self.required:
            y = tape[index][2]
            cts[index] = zeros_like(y) if cts[index] is None else cts[index]
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
                    known = cts[parent]
                    cts[parent] = c if known is None else add(known, c)
                continue
            if type(vjp) is not tuple:
                vjp.hand_on(cts, own, ct, y, xs, parent)
                continue
            ct = tuple(ct) if type(ct) is list else ct
            for rule, place in zip(vjp, parent):  # noqa: B905  equal by construction, and hot
                c = rule(ct, y, *xs)
                if c is not None:
                    known = cts[place]
                    cts[place] = c if known is None else add(known, c)
        return cts[:inputs]
