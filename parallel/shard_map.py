"""`shard_map`: a function of blocks becomes a function of whole arrays, run at each position of a mesh on its own block.

It is a map along each axis of the mesh, one in the other, of arrays whose axes are cut into blocks first; what holds for `pmap`
holds for it (collectives, derivatives, jit, lanes that go different ways).
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

from ..dispatch import ShapeError, StructureError, describe, is_container, tree
from ..dsl import moveaxis, reshape
from ..dsl.avals import shape_of
from ..dsl.layers.mapped_inputs import MappedInputs, argument_paths
from ..dsl.layers.vmap import title
from .mesh import current_mesh
from .pmap import map_over
from .sharded import PartitionSpec, Sharded
from .sharded.partition_spec import require_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from .mesh import Mesh


def shard_map(f: Callable[..., Any], mesh: Mesh | None = None, *, in_specs: Any, out_specs: Any) -> Callable[..., Any]:
    """Run f at each position of a mesh, on its block of each argument; blocks of the results are put together.

    f: function of arrays or trees of arrays. mesh: a `Mesh`, by default that of the enclosing `with`. in_specs: a
    `PartitionSpec` for each argument, or a tree whose upper part is that of the arguments; a `PartitionSpec()` gives each
    position the whole argument. out_specs: the same for the results; a result must be equal along the axes of the mesh that its
    spec does not name. f sees blocks with as many axes as the whole; collectives find the axes of the mesh by their names.
    Returns a function of whole arrays. Raises StructureError for specs that do not fit, ShapeError for an axis that cannot be
    cut into equal blocks or a result that differs where its spec says it does not; else what `pmap` does.

    >>> import numpy as np, polyad as pa
    >>> P, mesh = pa.PartitionSpec, pa.Mesh(("i", "j"), (2, 2))
    >>> product = pa.shard_map(lambda a, b: pa.psum(a @ b, "j"), mesh, in_specs=(P("i", "j"), P("j")), out_specs=P("i"))
    >>> product(np.arange(8.0).reshape(2, 4), np.ones(4))
    array([ 6., 22.])
    """
    name = title("shard_map", f)

    @functools.wraps(f)
    def mapped(*args):
        grid = mesh if mesh is not None else current_mesh()
        if grid is None:
            raise StructureError(f"{name}: there is no mesh here; give one, or call it inside `with Mesh(…):`")
        leaves, structure = tree.flatten(args, is_container)
        given = tuple(in_specs) if isinstance(in_specs, list) else in_specs
        specs = tree.broadcast_prefix(given, args, f"{name}: in_specs", is_container)
        where = [f"{name}: argument {path}" for path in argument_paths(args, {})]
        rows = [_cut(x, spec, grid, place) for x, spec, place in zip(leaves, specs, where, strict=True)]
        results = _Results(name, grid, out_specs)
        whole = _nested(name, grid, grid.axis_names, lambda *xs: f(*tree.unflatten(structure, xs)), specs, results)(*rows)
        return results.joined(whole)

    return mapped


def _nested(name, mesh, axes, f, specs, results):
    """The map along these axes of the mesh, the first outside, of a function of arrays."""
    if not axes:
        return f
    axis, *inner = axes
    f = _nested(name, mesh, inner, f, specs, results)
    in_axes = [0 if axis in spec.names else None for spec in specs]

    def mapped(*xs):
        inputs = MappedInputs(name, xs, {}, in_axes, mesh.shape[axis])
        return map_over(mesh.along(axis), (mesh, axis), f, inputs, axis, results.axes_of(axis), "out_specs")

    return mapped


def _check_spec(spec, mesh, place):
    """Check that a spec names axes of the mesh, each once. Raises StructureError."""
    if type(spec) is not PartitionSpec:
        raise StructureError(f"{place} has the spec {spec!r}; give a PartitionSpec")
    if spec.partial:
        raise StructureError(f"{place} has {spec}; blocks of a map are no partial sums: psum them in it")
    require_names(spec, mesh, place)


def _cut(x, spec, mesh, place):
    """x with an axis for each axis of the mesh that its spec names, in the order of the mesh, before those of the blocks."""
    _check_spec(spec, mesh, place)
    if not spec.names:
        return x
    if is_container(x) and not isinstance(x, Sharded):
        raise StructureError(f"{place}: {describe(x)} cannot be cut into blocks; give it PartitionSpec(), or its arrays")
    shape = shape_of(x)
    if len(spec.parts) > len(shape):
        raise StructureError(f"{place}: {spec} has {len(spec.parts)} parts for the {len(shape)} axes of {describe(x)}")
    cut, at = [], {}
    for axis, (length, part) in enumerate(zip(shape, [*spec.parts, *[()] * (len(shape) - len(spec.parts))], strict=True)):
        count = math.prod([mesh.shape[name] for name in part])
        if length % count:
            raise ShapeError(
                f"{place}: axis {axis} of {describe(x)} has length {length}, which cannot be cut into {count} equal blocks "
                f"along {', '.join(map(repr, part))}; pad it, or map single elements with pmap, which spreads any number"
            )
        for name in part:
            at[name] = len(cut)
            cut.append(mesh.shape[name])
        cut.append(length // count)
    x = reshape(x, shape=tuple(cut))
    return moveaxis(x, tuple([at[name] for name in mesh.axis_names if name in at]), tuple(range(len(at))))


class _Results:
    """The results of a call, with an axis for each axis of the mesh that their specs name, in its order, and then those of a
    block."""

    def __init__(self, name, mesh, specs):
        self.name, self.mesh, self.specs = name, mesh, specs
        for spec in tree.leaves(specs):
            _check_spec(spec, mesh, f"{name}: out_specs")

    def axes_of(self, axis):
        """The out_axes of the map along an axis of the mesh."""
        return tree.map(lambda spec: 0 if axis in spec.names else None, self.specs)

    def joined(self, results):
        """Put the blocks together."""
        leaves, structure = tree.flatten(results, is_container)
        specs = tree.broadcast_prefix(self.specs, results, f"{self.name}: out_specs", is_container)
        return tree.unflatten(structure, [self._joined(x, spec) for x, spec in zip(leaves, specs, strict=True)])

    def _joined(self, x, spec):
        if not spec.names:
            return x
        if is_container(x) and not isinstance(x, Sharded):
            raise StructureError(f"{self.name}: out_specs: blocks of {describe(x)} cannot be joined; return its arrays")
        order = [name for name in self.mesh.axis_names if name in spec.names]
        block = shape_of(x)[len(order) :]
        if len(spec.parts) > len(block):
            raise StructureError(
                f"{self.name}: out_specs: {spec} has {len(spec.parts)} parts for the {len(block)} axes of a result; return a "
                "block with an axis for each part"
            )
        places, at = [], 0
        for part in spec.parts:
            places += [(name, at + k) for k, name in enumerate(part)]
            at += len(part) + 1
        x = moveaxis(x, tuple([order.index(name) for name, _ in places]), tuple([to for _, to in places]))
        counts = [math.prod([self.mesh.shape[name] for name in part]) for part in spec.parts]
        counts += [1] * (len(block) - len(counts))
        return reshape(x, shape=tuple([count * length for count, length in zip(counts, block, strict=True)]))
