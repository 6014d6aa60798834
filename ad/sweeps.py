"""One pass of either mode over a user's function, on flat lists of leaves; the transformations are made of these."""

import functools
import itertools
from operator import itemgetter
from typing import Any

import numpy as np

from ..dispatch import Layer, StructureError, as_tangent, describe, is_container, isa, tree
from ..dispatch.containers import is_linear, rebuild
from ..dsl.avals import dtype_of
from ..dsl.axes import enclosing_axes
from .forward.duals import ForwardRun
from .inputs import NoTangent, fitted, inexact, inputs_of, is_function, made_of_arrays, scalar, split_aux, zero
from .locks import owner_of, resumable, walk_alone
from .reverse.tape import ReverseRun
from .reverse.walk import nan_safe_walk
from .rules.buffer_reuse import begin
from .rules.projection import match_dtype


def results_of(run, f, seen, has_aux):
    """(unwrapped leaves, structure, aux) of f's result in a run, or None if it is a function."""
    out = f(*seen)
    if not has_aux:
        if Layer in type(out).__mro__:  # the most usual
            return [run.unwrap(out)], tree.LEAF, None
        if is_function(out):
            return None
    out, aux = split_aux(run.name, out, has_aux)
    values, shape = tree.flatten(out)
    if has_aux:
        aux = tree.map(lambda v: run.unwrap(_checked_leaf(run, v))[0], aux)
    return [run.unwrap(_checked_leaf(run, v)) for v in values], shape, aux


def _checked_leaf(run, x):
    """x, a leaf of a result; an error if it is an object or a set that keeps followed values where no tree shows them."""
    kind = type(x)
    if kind.__dictoffset__ or kind is set or kind is frozenset:
        for held in x if isinstance(x, (set, frozenset)) else vars(x).values():
            if isinstance(held, Layer) and held.run is run:
                raise StructureError(
                    f"{run.name}: the function returns {describe(x)}, which is no tree of arrays but holds a value whose "
                    f"derivative would be lost, {describe(held)}; return that, make the type a dataclass, or name its arrays "
                    "with polyad.tree.register"
                )
    return x


def push(name, f, inputs, dxs, has_aux=False) -> Any:
    """One forward pass: (values, tangents or None, structure, aux), or None if f's result is a function.

    inputs: pairs (leaves, structure), one per argument. dxs: their tangents, None where zero.
    """
    with ForwardRun(name) as run:
        seen = []
        for (xs, structure), ts in zip(inputs, dxs, strict=True):
            wrapped = [x if t is None else run.wrap(x, t) for x, t in zip(xs, ts, strict=True)]
            seen.append(tree.unflatten(structure, wrapped))
        results = results_of(run, f, seen, has_aux)
    if results is None:
        return None
    pairs, shape, aux = results
    values, slopes = [v for v, _ in pairs], [t for _, t in pairs]
    return values, apart(slopes, [t for ts in dxs for t in ts]), shape, aux


def in_structure(structure, tangents, primals, dual=False):
    """Leaves' tangents, or cotangents (dual), as a tree; linear containers keep their type, and the primal's integer leaves."""
    whole = tree.unflatten(structure, tangents)
    if structure is tree.LEAF or made_of_arrays(whole) or not any(map(is_container, tree.leaves(whole, is_container))):
        return whole
    found = as_tangent(tree.map(_with_statics, whole, tree.unflatten(structure, primals), is_leaf=is_container))
    return tree.map(_of_dual, found, is_leaf=is_container) if dual else found


def _of_dual(c):
    return c.as_cotangent() if is_container(c) else c


def _with_statics(c, p):
    """A linear container of tangents with the leaves of its primal that have none; so of those inside others."""
    if not is_container(c):
        return c
    if is_linear(c):
        return tree.map(lambda a, b: b if a is NoTangent else a, c, p)
    return rebuild(type(c), [_with_statics(getattr(c, name), getattr(p, name)) for name in c.leaves], c._statics())


def tangent_of(value, t):
    """The tangent of a result, with a symbolic zero written out."""
    if t is not None:
        return scalar(t)
    return zero(value) if inexact(value) else NoTangent


def complex_slope(along, across):
    """The derivative by z = x + iy from those by x and by y: ∂f/∂x - i ∂f/∂y of a real f, as `grad` has it, and half of
    that (Wirtinger's ∂f/∂z, which is f' where f is complex differentiable) of a complex f."""
    if along is NoTangent:
        return along
    both = along - 1j * across
    return both / 2 if dtype_of(along).kind == "c" else both


def record(name, f, positions, primals, has_aux=False, allow_int=True) -> Any:
    """One recorded evaluation: (pullback, aux), or None if f's result is a function.

    positions: the numbers of the arguments, for errors. allow_int: whether some may be without tangent space.
    """
    inputs = inputs_of(name, positions, primals, allow_int)
    with ReverseRun(name) as run:
        if type(run.outer) is ForwardRun and run.outer.store is None:
            run.outer.store = begin()
        seen = []
        for leaves, shape in inputs:
            xs = run.inputs(leaves)
            seen.append(xs[0] if shape is tree.LEAF else tree.unflatten(shape, xs))
        followed = len(run.tape)
        results = results_of(run, f, seen, has_aux)
    if results is None:
        return None
    outputs, shape, aux = results
    return Pullback(name, run, inputs, followed, outputs, shape), aux


class Pullback:
    """The reverse function of one evaluation; call it with a cotangent of the value.

    inputs: pairs (leaves, structure), one per argument; followed: how many of the leaves are on the tape.
    outputs: pairs (value, place on the tape or None); shape: their structure.
    """

    def __init__(self, name, run, inputs, followed, outputs, shape):
        self.name, self.run, self.inputs, self.followed = name, run, inputs, followed
        self.outputs, self.shape = outputs, shape
        self.owner = owner_of(run) if resumable.data else None

    def value(self):
        """The function's value."""
        return tree.unflatten(self.shape, [v for v, _ in self.outputs])

    def __call__(self, ct) -> tuple:
        cts = tree.match(self.shape, ct, f"{self.name}: cotangent")
        where = lambda i: f"{self.name}: the cotangent{tree.paths(ct)[i]}"
        seeds = []
        for i, ((value, index), c) in enumerate(zip(self.outputs, cts, strict=True)):
            c = fitted(c, value, functools.partial(where, i))
            if index is not None and c is not None:
                seeds.append((index, c))
        return self.pull(seeds)

    def cotangents(self, seeds):
        """A list of the leaves' cotangents, None for integers, from pairs (place on the tape, cotangent)."""
        walk = functools.partial(self.run.walk_back, seeds, self.followed)
        found = iter(self._walked(walk) if resumable.data else nan_safe_walk(walk, self._alone))
        cts = []
        for leaves, _ in self.inputs:
            for x in leaves:
                if type(x) is np.ndarray and x.dtype.kind in "fc":  # hot
                    ct = next(found)
                    cts.append(ct if type(ct) is np.ndarray and ct.ndim and ct.dtype is x.dtype else _in_space(ct, x))
                else:
                    cts.append(_in_space(next(found), x) if inexact(x) else None)
        return cts

    def tangents(self, seeds, forward, leaves):
        """A list of the tangents of the leaves' cotangents in a forward pass that the evaluation lies in; None for integers.

        leaves: those of the only argument, as they are outside of that pass.
        """
        self.run.tangents = True
        along = lambda ct: None if ct is None else forward.unwrap(ct)[1]
        found = iter(self._walked(lambda: list(map(along, self.run.walk_back(seeds, self.followed)))))
        return [_in_space(next(found), x) if inexact(x) else None for x in leaves]

    def _walked(self, walk):
        with walk_alone(self.run):
            return nan_safe_walk(walk, self._alone)

    def _alone(self):
        """Return whether no other process may have to take part in the walk; else it must not depend on the numbers here."""
        return not self.run.required and not any([axis.spans_processes for axis in enclosing_axes()])

    def pull(self, seeds):
        """Cotangents of the arguments from pairs (place on the tape, cotangent)."""
        found = iter(apart(self.cotangents(seeds), map(itemgetter(1), seeds)))
        cts = []
        for leaves, structure in self.inputs:
            if structure is tree.LEAF:  # hot
                ct = next(found)
                cts.append(NoTangent if ct is None else ct)
            else:
                parts = [NoTangent if ct is None else ct for ct in itertools.islice(found, len(leaves))]
                cts.append(in_structure(structure, parts, leaves, dual=True))
        return tuple(cts)


def apart(cts, given):
    """Tangents or cotangents whose memory is theirs alone, so that writing to one changes neither another nor what was
    given."""
    taken = set()
    for ct in given:
        if type(ct) is not np.float64:
            taken.add(id(_owner(ct)))
    for i, ct in enumerate(cts):
        if type(ct) is np.ndarray:
            owner = id(ct) if ct.base is None else id(_owner(ct))
            if owner in taken or not ct.flags.writeable:
                ct = cts[i] = ct.copy()
                owner = id(ct)
            taken.add(owner)
    return cts


def _owner(x):
    """The array, or other object, whose memory x looks at."""
    while (type(x) is np.ndarray or not isa(x, Layer)) and getattr(x, "base", None) is not None:
        x = x.base  # more than one where memory is a file's or a buffer's
    return x


def _in_space(ct, x):
    """The cotangent of a leaf in its dtype, zero for None, and a number for an array without axes."""
    if type(ct) is np.ndarray and ct.ndim and ct.dtype is x.dtype:
        return ct
    if type(ct) is type(x) is not np.ndarray and ct.dtype is x.dtype:
        return ct
    return zero(x) if ct is None else scalar(match_dtype(ct, x))
