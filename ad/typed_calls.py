"""Calls of operations that have a derivative rule for their array types: one node over the flattened leaves.

The node is an operation like any other, `ruled_call(*leaves, call=…)`, so each layer carries it as it carries all: both
modes, lanes, traces, in any nesting. What it computes stands in its parameter, a `TypedCall`.
"""

from contextvars import ContextVar
from typing import Any

from ..dispatch import Array, Container, Layer, RuleTable, generic, is_number, tree
from ..dispatch.generic import Generic
from ..dispatch.signatures import parts
from ..dsl import sum, vmap
from ..dsl.avals import Aval, aval_of
from ..dsl.card import Card
from ..dsl.ir.programs import Program, Var, without_dead_code
from ..dsl.layers.tracing import Traced, TraceRun
from .forward.duals import ForwardRun
from .forward.rules import forward_rule
from .inputs import NoTangent, inexact
from .reverse.rules import pulled, rule_for, transpose
from .rules.by_type import one_each, opted_out, typed_rule, without_derivative
from .rules.from_cards import vjp_rule
from .rules.projection import match_tangent
from .spaces import cotangent_leaves, in_space, tangent_leaves

_transposing = ContextVar("polyad_transposing", default=frozenset())  # forward rules that are being transposed
SLOT = object()  # where a leaf stands in the arguments


class TypedCall:
    """One call of an operation as a function of its flat leaves: its value and its rules.

    target: what runs without a rule. jvp, vjp: the rules, either may be None.
    """

    def __init__(self, generic, target, args, params, jvp, vjp):
        self.generic, self.target, self.params, self.rules = generic, target, params, (jvp, vjp)
        self.name, self.args, self.leaves = generic.name, [], []
        for x in args:
            leaves, structure = tree.flatten(x)
            self.args.append((structure, [x if is_number(x) else SLOT for x in leaves]))
            self.leaves += [x for x in leaves if not is_number(x)]
        self.out = None  # the structure of the result, known once it was computed

    def __repr__(self):
        return self.name

    def arguments(self, leaves):
        """The operation's arguments from the flat leaves."""
        given = iter(leaves)
        return [tree.unflatten(s, [next(given) if k is SLOT else k for k in kept]) for s, kept in self.args]

    def value(self, *leaves):
        """The leaves of the result: an array, or a tuple of them."""
        values, self.out = tree.flatten(self.target(*self.arguments(leaves), **self.params))
        return values[0] if self.out is tree.LEAF else tuple(values)

    def result(self, y):
        """The operation's result from its leaves."""
        return tree.unflatten(self.out, list(y) if isinstance(y, tuple) else [y])

    def results(self, y):
        """The results one by one: one, or those of an operation that gives several."""
        return list(y) if isinstance(y, tuple) else [y]

    def jvp(self, dxs, y, *leaves):
        """The forward rule over leaves."""
        rule, args, whole = self.rules[0], self.arguments(leaves), self.result(y)
        given = iter(dxs)
        entries = [[next(given) if k is SLOT else None for k in kept] for _, kept in self.args]
        tangents = tuple([in_space(x, ts) for x, ts in zip(args, entries, strict=True)])
        dy = rule(tangents, whole, *args, **self.params)
        if dy is NotImplemented:
            return self.through(dxs, leaves)
        if not isinstance(y, tuple):
            return None if dy is NoTangent else tangent_leaves(dy, whole, f"{self.name}.jvp")[0]
        parts = self.results(whole)
        dys = [None] * len(parts) if dy is None else list(dy) if isinstance(whole, tuple) else [dy]
        return tuple([t for v, d in zip(parts, dys, strict=True) for t in tangent_leaves(d, v, f"{self.name}.jvp")])

    def vjp(self, ct, y, *leaves):
        """The reverse rule over leaves: a cotangent for each, None for zero."""
        rule, args, whole = self.rules[1], self.arguments(leaves), self.result(y)
        given = iter(ct if isinstance(y, tuple) else (ct,))
        cts = [in_space(v, [next(given) for _ in tree.leaves(v)]) for v in self.results(whole)]
        found = rule(tuple(cts) if isinstance(whole, tuple) else cts[0], whole, *args, **self.params)
        if found is NotImplemented:
            return pulled(self.name, self.value, leaves, ct)
        name, labels = f"{self.name}.vjp", self.generic.arrays
        flat = []
        for i, (c, x, (_, kept)) in enumerate(zip(one_each(found, args, name), args, self.args, strict=True)):
            label = repr(labels[i]) if self.generic.arity is not None else i
            flat += [v for v, k in zip(cotangent_leaves(c, x, name, label), kept, strict=True) if k is SLOT]
        return flat

    def through(self, dxs, leaves):
        """The tangents by differentiating the implementation."""
        with ForwardRun(self.name) as run:
            out = self.value(*[x if dx is None else run.wrap(x, dx) for x, dx in zip(leaves, dxs, strict=True)])
            pairs = [run.unwrap(v)[1] for v in (out if isinstance(out, tuple) else (out,))]
        return tuple(pairs) if isinstance(out, tuple) else pairs[0]


class Lanes:
    """A call in lanes: that of one lane, mapped, its rules too. batched: which leaves have lanes, as axis 0."""

    def __init__(self, call, size, batched):
        self.call, self.size, self.batched, self.rules = call, size, list(batched), call.rules

    def __repr__(self):
        return repr(self.call)

    def _axes(self, entries):
        return [0 if b and x is not None else None for x, b in zip(entries, self.batched, strict=True)]

    def _map(self, f, axes):
        return vmap(f, in_axes=tuple(axes), axis_size=self.size)

    def value(self, *leaves):
        return self._map(self.call.value, self._axes(leaves))(*leaves)

    def jvp(self, dxs, y, *leaves):
        n = len(leaves)
        one = lambda y, *rest: self.call.jvp(rest[:n], y, *rest[n:])
        return self._map(one, [0, *self._axes(dxs), *self._axes(leaves)])(y, *dxs, *leaves)

    def vjp(self, ct, y, *leaves):
        one = lambda ct, y, *leaves: list(self.call.vjp(ct, y, *leaves))
        cts = self._map(one, [0, 0, *self._axes(leaves)])(ct, y, *leaves)
        return [c if c is None or b else sum(c, axis=0) for c, b in zip(cts, self.batched, strict=True)]


# ---------------------------------------------------------------------- the node
def _node(*rules):
    """The operation for calls with these rules; the other mode follows by transposition."""

    def ruled_call(*leaves, call):
        """A call of an operation by the rules that its array types have."""

    function: Any = generic(ruled_call)
    card = function.card = function.generic.card = Card("ruled_call", "opaque", differentiable=bool(rules))
    function.generic.add(lambda *leaves, call: call.value(*leaves), (), Array)
    card.rules["batch"] = lambda size, xs, batched, call: function(*xs, call=Lanes(call, size, batched))
    card.rules["shape"] = lambda *avals, call: _abstract(avals, call)[1]
    card.rules["inline"] = lambda *avals, call: _inlined(avals, call)
    if "jvp" in rules:
        card.rules["jvp"] = lambda dxs, y, *xs, call: call.jvp(dxs, y, *xs)
    if "vjp" in rules:
        card.rules["vjp_all"] = lambda ct, y, *xs, call: call.vjp(ct, y, *xs)
    elif rules:
        card.rules["vjp_all"] = lambda ct, y, *xs, call: _by_transposition(call, ct, y, xs)
    return function


def _by_transposition(call, ct, y, xs):
    """Cotangents of the leaves by the forward rule. Where it calls the operation itself, as rules of products do, the
    implementation is followed."""
    places = [i for i, x in enumerate(xs) if inexact(x)]

    def tangent(*followed):
        dxs = [None] * len(xs)
        for i, dx in zip(places, followed, strict=True):
            dxs[i] = dx
        dy = call.jvp(dxs, y, *xs)
        fit = lambda d, v: None if d is None else match_tangent(d, v, repr(call))
        return tuple([fit(d, v) for d, v in zip(dy, y, strict=True)]) if isinstance(y, tuple) else fit(dy, y)

    token = _transposing.set(_transposing.get() | {call.rules[0]})
    try:
        found = iter(transpose(f"transpose of {call!r}", tangent, [xs[i] for i in places], ct))
    finally:
        _transposing.reset(token)
    return [next(found) if i in places else None for i in range(len(xs))]


def _abstract(avals, call):
    """(the trace of a call, the shapes and dtypes of its results)."""
    with TraceRun(repr(call)) as run:
        inputs = [Var(aval if isinstance(aval, Aval) else aval_of(aval)) for aval in avals]
        out = call.value(*[Traced[run.depth](var, run) for var in inputs])
        atoms = [run.atom(v) for v in (out if isinstance(out, tuple) else (out,))]
    shapes = [v.aval if isinstance(v, Var) else aval_of(v) for v in atoms]
    return (run, inputs, atoms), (tuple(shapes) if isinstance(out, tuple) else shapes[0])


def _inlined(avals, call):
    """The call as a program of other operations."""
    (run, inputs, outputs), _ = _abstract(avals, call)
    equations, needed = without_dead_code(run.equations, outputs)
    constants = [pair for pair in run.constants.values() if pair[0] in needed]
    return Program(repr(call), inputs, constants, equations, outputs, None, None)


NODES = {(): _node(), ("jvp",): _node("jvp"), ("vjp",): _node("vjp"), ("jvp", "vjp"): _node("jvp", "vjp")}


# ---------------------------------------------------------------------- which calls
def follow(generic, target):
    """The target of a call, made one node where the arguments have a rule by type and some are followed."""

    def run(*args, **params):
        if not any(isinstance(leaf, Layer) for x in args for leaf in tree.leaves(x)):
            return target(*args, **params)
        jvp, vjp = _rules_by_type(generic, args)
        if {jvp, vjp} <= {None, opted_out} or (vjp is None and jvp in _transposing.get()):
            return target(*args, **params)
        constant = {jvp, vjp} <= {None, without_derivative}
        node = NODES[() if constant else tuple(m for m, rule in (("jvp", jvp), ("vjp", vjp)) if rule is not None)]
        call = TypedCall(generic, target, args, params, jvp, vjp)
        return call.result(node(*call.leaves, call=call))

    return run


def _rules_by_type(generic, args):
    """(forward rule, reverse rule) by the types of the arguments; for a composite operation its card's, if it has any."""
    found = []
    contained = any(isinstance(x, Container) for x in args)
    for mode in ("jvp", "vjp"):
        method = typed_rule(generic, mode, args)
        if contained and method is not None:
            named = [p for t in (*method.types, method.varargs) if t is not None for p in parts(t)]
            method = method if any(Container in p.__mro__ for p in named) else None
        found.append(None if method is None else method.implementation)
    if found == [None, None] and not contained:
        found = _card_rules(generic)
    return found


def _card_rules(generic):
    rules = generic.card.rules
    if not {"vjp", "vjp_all"} & rules.keys():
        return rules.get("jvp"), None
    together = rules.get("vjp_all")
    one = lambda i, *given, **params: vjp_rule(generic, i)(*given, **params)
    each = lambda ct, y, *xs, **params: tuple([one(i, ct, y, *xs, **params) for i in range(len(xs))])
    return rules.get("jvp"), together or each


def run_rule(table, leading, y, args, params):
    """Call the derivative rule that an operation has for these arguments: `op.vjp(ct, y, *xs, **params)`."""
    generic, mode = table.operation, table.mode
    method = typed_rule(generic, mode, args)
    found = NotImplemented if method is None else method.implementation(leading, y, *args, **params)
    if found is not NotImplemented:
        return one_each(found, args, table.__name__) if mode == "vjp" else found
    if any(isinstance(x, Container) for x in args):
        return _run_through(generic, mode, leading, y, args, params)
    if mode == "jvp":
        return forward_rule(generic)(tuple(leading), y, *args, **params)
    return tuple([rule_for(generic, i)(leading, y, *args, **params) for i in range(len(args))])


def _run_through(generic, mode, leading, y, args, params):
    """The same by differentiating what the operation does with these array types."""
    call = TypedCall(generic, generic.spread, args, params, None, None)
    flat = lambda t, x, i: cotangent_leaves(t, x, f"{generic.name}.{mode}", i)
    if mode == "jvp":
        kept = [k for _, keep in call.args for k in keep]
        dxs = [t for i, (t, x) in enumerate(zip(leading, args, strict=True)) for t in flat(t, x, i)]
        dys = call.through([t for t, k in zip(dxs, kept, strict=True) if k is SLOT], call.leaves)
        return in_space(y, list(dys) if isinstance(dys, tuple) else [dys])
    cts = flat(leading, y, 0)
    found = iter(pulled(generic.name, call.value, call.leaves, tuple(cts) if tree.structure(y) is not tree.LEAF else cts[0]))
    entries = [[next(found) if k is SLOT else None for k in kept] for _, kept in call.args]
    return tuple([in_space(x, ts) for x, ts in zip(args, entries, strict=True)])


Generic.follow = staticmethod(follow)
RuleTable.run = staticmethod(run_rule)
