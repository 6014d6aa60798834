"""The part of a record that leads from some sources to some results, as a record of its own.

A `Pullback` wants the sources to be the first nodes. Here they may lie anywhere: where the record is one list (a tape), and
where nodes hold their parents (variables).
"""

from functools import partial
from typing import Any

from ..dispatch import DTypeError, ShapeError, describe, tree
from ..dsl.avals import dtype_of, shape_of
from .inputs import fitted, inexact, unit_tangent
from .reverse.tape import ReverseRun
from .sweeps import Pullback

NOWHERE = ((), (), None, ())  # a node that hands its cotangent to nobody


def parents(node):
    """The parents of a node as a tuple."""
    if node is None:
        return ()
    parent = node[3]
    return parent if type(parent) is tuple else (parent,)


def ancestors(node_of, roots):
    """Collect the keys that the nodes of these keys depend on, themselves included, as a set. node_of: key -> node, None for
    inputs."""
    found, waiting = set(), list(roots)
    while waiting:
        key = waiting.pop()
        if key not in found:
            found.add(key)
            waiting += parents(node_of(key))
    return found


def portion(name, node_of, order, sources, results, required=()):
    """(run, places of the results or None): a record that begins with one input per source, in their order.

    node_of: key -> node. order: key -> a number that is larger than those of the node's parents. sources, results: keys,
    None for what is not on the record. required: keys of nodes that are walked even with a zero cotangent.
    """
    reached = sorted(ancestors(node_of, [k for k in (*results, *required) if k is not None]), key=order)
    inputs = {}
    for i, key in enumerate(sources):
        inputs.setdefault(key, []).append(i)
    run = ReverseRun(name)
    tape: list[Any] = [None] * len(sources)
    places, needed = {}, set()
    for key in reached:
        node = node_of(key)
        if key in inputs or not needed.isdisjoint(parents(node)):
            needed.add(key)
        node = _moved(node, places, needed) if key in needed else NOWHERE
        if key in inputs:
            node = _to_inputs(tape, node, inputs[key])
        tape.append(node)
        places[key] = len(tape) - 1
    run.tape, run.required = tape, [places[key] for key in required if key in needed]
    run.close()
    return run, [places[key] if key in needed else None for key in results]


def _moved(node, places, needed):
    """A node with the new places of its parents, without the rules for those that lead to no source."""
    if node is None:
        return NOWHERE
    rule, xs, y, parent = node
    if type(parent) is not tuple:
        return rule, xs, y, places[parent]
    if type(rule) is tuple:
        kept = [(r, p) for r, p in zip(rule, parent, strict=True) if p in needed]
        return tuple([r for r, _ in kept]), xs, y, tuple([places[p] for _, p in kept])
    return rule, xs, y, tuple([places[p] for p in parent])


def _to_inputs(tape, node, inputs):
    """A node that hands its cotangent to inputs too: the derivative by it counts all ways on which it acts."""
    tape.append(node)
    places = (*inputs, len(tape) - 1)
    return (_passed_on,) * len(places), (), node[2], places


def _passed_on(ct, y):
    return ct


class Between(Pullback):
    """The pullback from results to sources on a record.

    sources, results: triples (leaves, structure, keys) as `flattened` gives them; the other arguments as for `portion`.
    """

    def __init__(self, name, node_of, order, sources, results, required=()):
        leaves, structure, keys = sources
        values, shape, ends = results
        starts = [key for x, key in zip(leaves, keys, strict=True) if inexact(x)]
        if leaves and not starts:
            raise DTypeError(
                f"{name}: {describe(leaves[0])}, by which to differentiate, is no floating number, so there is no derivative; "
                "leave it out"
            )
        run, places = portion(name, node_of, order, starts, ends, required)
        super().__init__(name, run, [(leaves, structure)], len(starts), list(zip(values, places, strict=True)), shape)
        read = {p for node in run.tape for p in parents(node)}
        self.missing = [i for i in range(len(starts)) if i not in read]  # inputs on which no result depends

    def seeds(self, ct):
        """Return the cotangents with which the walk begins, from those of the results, or None for the gradient of one
        number."""
        if ct is None:
            value, place = _scalar_result(self.name, self.outputs)
            return [] if place is None else [(place, unit_tangent(value))]
        cts = tree.match(self.shape, ct, f"{self.name}: ct")
        where = lambda i: f"{self.name}: ct{tree.paths(ct)[i]}"
        fits = [fitted(c, v, partial(where, i)) for i, (c, (v, _)) in enumerate(zip(cts, self.outputs, strict=True))]
        places = [place for _, place in self.outputs]
        return [(place, c) for place, c in zip(places, fits, strict=True) if place is not None and c is not None]

    def gradient(self, ct, unconnected):
        """The sources' cotangents as one tree; unconnected: "zero" or "none", what stands for those without any."""
        if not isinstance(unconnected, str) or unconnected not in ("zero", "none"):
            raise ValueError(f'{self.name}: unconnected is "zero" or "none", not {unconnected!r}')
        (found,) = self.pull(self.seeds(ct))
        if unconnected == "zero" or not self.missing:
            return found
        cts, structure = tree.flatten(found)
        followed = [i for i, x in enumerate(self.inputs[0][0]) if inexact(x)]
        missing = {followed[i] for i in self.missing}
        return tree.unflatten(structure, [None if i in missing else c for i, c in enumerate(cts)])


def _scalar_result(name, outputs):
    """The one result that has a gradient, as (value, place). Raises ShapeError, DTypeError."""
    advice = "reduce it with sum or mean, or give its cotangent ct"
    if len(outputs) != 1:
        raise ShapeError(f"{name}: a tree of {len(outputs)} arrays, where a gradient is that of one real number; {advice}")
    value = outputs[0][0]
    if shape_of(value) != ():
        raise ShapeError(f"{name}: {describe(value)}, where a gradient is that of one real number; {advice}")
    if dtype_of(value).kind != "f":
        raise DTypeError(f"{name}: {describe(value)}, where a gradient is that of one real number; take .real or abs of it")
    return outputs[0]


def flattened(x, read):
    """(values, structure, keys) of a tree. read: (leaf, its path) -> (value, key)."""
    leaves, structure = tree.flatten(x)
    pairs = [read(leaf, path) for leaf, path in zip(leaves, tree.paths(x), strict=True)]
    return [v for v, _ in pairs], structure, [k for _, k in pairs]
