"""Where arrays are to lie: said in a program, around it, and for what it makes; and what a program moves for that."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ...dispatch import ShapeError
from ...dsl import eval_shape
from ...dsl.array_libraries import namespace
from ...dsl.placement import new_arrays, placed
from ..mesh import mesh_here
from .array import Sharded, shard
from .layout import Layout
from .partition_spec import PartitionSpec
from .steps import shown_bytes, told_moves

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def with_sharding_constraint(x: Any, spec: Any, mesh: Any = None) -> Any:
    """Return the same arrays, lying as a spec says, at this point of a program: moved there if they do not.

    x: array or tree of arrays, plain (the same on all ranks) or Sharded. spec, mesh: as for `shard`. Cotangents come back to
    where the arguments lie. Raises what `shard` does.

    >>> import numpy as np, polyad as pa
    >>> f = pa.jit(lambda x: pa.with_sharding_constraint(x * 2, pa.PartitionSpec("ranks")))
    >>> f(np.ones(4)).spec
    PartitionSpec('ranks')
    """
    return shard(x, spec, mesh)


@placed.method
def placed_by_spec(x: object, where: PartitionSpec, /):
    return shard(x, where)


class _Creation:
    """The creation functions within `default_sharding`: each rank makes its own block."""

    def __init__(self, spec, mesh):
        self.spec, self.mesh = spec, mesh

    def _block(self, shape, make):
        shape = (shape,) if hasattr(shape, "__index__") else tuple(shape)
        spec = PartitionSpec(*self.spec.parts[: len(shape)])
        layout = Layout(self.mesh, shape, spec, where="default_sharding")
        return Sharded(make(layout), layout)

    def zeros(self, shape, dtype=None):
        return self._block(shape, lambda layout: namespace.get().zeros(layout.block_shape, dtype=dtype))

    def ones(self, shape, dtype=None):
        return self._block(shape, lambda layout: namespace.get().ones(layout.block_shape, dtype=dtype))

    def empty(self, shape, dtype=None):
        return self._block(shape, lambda layout: namespace.get().empty(layout.block_shape, dtype=dtype))

    def full(self, shape, value, dtype=None):
        return self._block(shape, lambda layout: namespace.get().full(layout.block_shape, value, dtype=dtype))

    def arange(self, start, stop, step, dtype=None):
        kind = np.arange(start, stop, step, dtype=dtype).dtype if dtype is None else np.dtype(dtype)
        length = len(range(start, stop, step)) if all(type(n) is int for n in (start, stop, step)) else None
        length = max(int(np.ceil((stop - start) / step)), 0) if length is None else length

        def make(layout):
            (first,), (count,) = layout.start, layout.block_shape
            return namespace.get().asarray(start + step * np.arange(first, first + count)).astype(kind)

        return self._block(length, make)

    def __getattr__(self, name):
        whole = getattr(namespace.get(), name)
        return lambda *args, **params: self._cut(whole(*args, **params))

    def _cut(self, x):
        return shard(x, PartitionSpec(*self.spec.parts[: x.ndim]), self.mesh) if getattr(x, "ndim", 0) else x


@contextmanager
def default_sharding(spec: Any, mesh: Any = None) -> Iterator[None]:
    """Have polyad make Sharded arrays within it (`zeros`, `ones`, `full`, `empty`, `arange`, `linspace`, `eye`).

    spec: `PartitionSpec`; of an array with fewer axes its first parts count. mesh: as for `shard`. Each rank makes its own
    block. NumPy's own functions go on making plain arrays. Raises StructureError for a spec that does not fit the mesh.

    >>> import polyad as pa
    >>> with pa.default_sharding(pa.PartitionSpec("ranks")):
    ...     x = pa.zeros((4, 2))
    >>> type(x).__name__, x.spec
    ('Sharded', PartitionSpec('ranks', None))
    """
    mesh = mesh_here() if mesh is None else mesh
    if spec.partial:
        raise ShapeError(f"default_sharding: {spec}: a new array is no partial sum")
    Layout(mesh, (1,) * len(spec.parts), spec, where="default_sharding")
    token = new_arrays.set(_Creation(spec, mesh))
    try:
        yield
    finally:
        new_arrays.reset(token)


def explain_sharding(f: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    """Say what a function of Sharded arrays moves between the ranks: each move in order, with the bytes that each rank gets.

    f: function, args, kwargs: its arguments. It is run on shapes alone: nothing is computed and nothing is sent. Where an
    operation could have been laid out in other ways, the cheapest of these is told as well. What derivatives move on their way
    back is not in it: each move has its opposite there. Python's questions about values (`if x > 0`) cannot be answered, as in
    `eval_shape`.

    >>> import numpy as np, polyad as pa
    >>> x = pa.shard(np.ones((4, 2)))
    >>> print(pa.explain_sharding(lambda x: pa.sum(x * x), x))
    multiply: PartitionSpec('ranks', None) × PartitionSpec('ranks', None) -> PartitionSpec('ranks', None)
    sum: PartitionSpec('ranks', None) -> PartitionSpec(partial='ranks')
      the sum over ranks to every rank: 0 bytes
    in all: 0 bytes to each rank
    """
    lines: list[Any] = []
    token = told_moves.set(lines)
    try:
        eval_shape(f, *args, **kwargs)
    finally:
        told_moves.reset(token)
    total = sum([line.bytes for line in lines if not isinstance(line, str)])
    shown = [line if isinstance(line, str) else f"  {line}" for line in lines]
    return "\n".join([*shown, f"in all: {shown_bytes(total)} to each rank"])
