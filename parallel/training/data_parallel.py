"""`data_parallel`: value and gradient of a loss whose examples lie on several ranks."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ad import grad_hook, value_and_grad
from ...dispatch import ShapeError, describe, tree
from ...dsl import multiply
from ...dsl.avals import dtype_of, shape_of
from ..checksums import checksum
from ..communicator import world
from ..errors import CollectiveError
from ..mesh import mesh_here
from ..together import on_all_ranks
from .buckets import FIRST, MOST, Buckets, Sums

if TYPE_CHECKING:
    from collections.abc import Callable


def data_parallel(
    loss: Callable[..., Any], axis: Any = None, mesh: Any = None, *, bucket: int = MOST, has_aux: bool = False
) -> Callable[..., Any]:
    """A function like `value_and_grad(loss)`, of the mean over the examples of all ranks.

    loss: function (params, *batch) -> number, a mean over the examples of the batch. axis, mesh: the axis of a mesh along whose
    ranks the examples lie; by default all ranks. bucket: bytes of gradients that are added up together. has_aux: loss returns
    (number, anything), of which each rank gets its own.

    Returns step(params, *batch, weight=None) -> (value, gradients). params: a tree of arrays, the same on all ranks, which is
    compared at the first call. batch: the examples of this rank, along axis 0; the ranks may have different numbers of them.
    weight: how much those of this rank count, by default their number, so that the result is that of one batch of all examples.
    value and gradients are equal on all ranks, bit for bit. Gradients are sent in buckets while the walk back goes on, and a
    parameter that the loss of some rank does not depend on counts as zero there, and so does all of a rank without examples,
    whose loss is not called. Three small messages go beside them. The loss is that of the own examples: it has no collectives
    over these ranks. With one rank it is value_and_grad. Raises, on all ranks, CollectiveError for parameters that differ and
    for a rank's own error of this kind, ShapeError without examples to count.

    >>> import numpy as np, polyad as pa
    >>> step = pa.data_parallel(lambda w, x, y: pa.mean((x @ w - y) ** 2))
    >>> value, slope = step(np.zeros(2), np.eye(2), np.ones(2))
    >>> float(value), slope
    (1.0, array([-1., -1.]))
    """
    made: dict[Any, Buckets] = {}
    links: dict[Any, Any] = {}  # of a communicator: one for gradients alone, apart from what goes on over other axes

    @functools.wraps(loss)
    def step(params, *batch, weight=None):
        comm = world() if axis is None else (mesh or mesh_here()).along(axis)
        if comm.size == 1:
            _weight_of(batch, weight)
            return value_and_grad(loss, has_aux=has_aux)(params, *batch)
        if comm not in links:
            links[comm] = comm.split(0, comm.rank, name="gradients")
        comm = links[comm]
        with on_all_ranks("data_parallel", comm):
            weight = _weight_of(batch, weight)
        leaves, structure = tree.flatten(params)
        forms = tuple([(tuple(shape_of(x)), str(dtype_of(x))) for x in leaves])
        if (forms, comm) not in made:
            _require_equal(leaves, comm)
            made[forms, comm] = Buckets(forms, first=min(FIRST, bucket), most=bucket)
        whole = float(comm.allreduce(np.array(weight), label="the weights of a data_parallel step"))
        if not whole > 0:
            raise ShapeError("data_parallel: no rank has an example that counts; give one of them a batch, or weight=")
        sums = Sums(made[forms, comm], comm.begin_sum)
        try:
            here, aux = 0.0, None
            if weight:  # of no examples a mean is no number
                hooked = functools.partial(_hooked_tree, sums, structure)
                scaled = functools.partial(_scaled, loss, hooked, weight / whole, has_aux)
                value, _ = value_and_grad(scaled, has_aux=has_aux)(params, *batch)
                here, aux = value if has_aux else (value, None)
        except Exception:
            sums.give_up()
            raise
        found = sums.finish()
        gradients = tree.unflatten(structure, [found[k] for k in range(len(leaves))])
        total = comm.allreduce(np.array(here, np.float64), label="the value of a data_parallel step")[()]
        return ((total, aux), gradients) if has_aux else (total, gradients)

    return step


def _scaled(loss, hooked, share, has_aux, params, *batch):
    """The part of the loss that the examples of this rank make up."""
    y = loss(hooked(params), *batch)
    return (multiply(y[0], share), y[1]) if has_aux else multiply(y, share)


def _hooked_tree(sums, structure, params):
    """The parameters, of which each tells the sums its gradient on the walk back."""
    leaves = [grad_hook(x, f=functools.partial(_note, sums, k)) for k, x in enumerate(tree.leaves(params))]
    return tree.unflatten(structure, leaves)


def _note(sums, k, gradient):
    sums.take(k, gradient)


def _weight_of(batch, weight):
    """Return how much the examples of this rank count: as given, or their number."""
    if weight is not None:
        if not 0 <= float(weight) < float("inf"):
            raise ValueError(f"data_parallel: weight is a number of at least 0, not {weight!r}")
        return float(weight)
    for leaf in tree.leaves(batch):
        if shape_of(leaf):
            return float(shape_of(leaf)[0])
    shown = ", ".join([describe(leaf) for leaf in tree.leaves(batch)])
    raise ShapeError(f"data_parallel: a batch without axes to count examples along ({shown or 'none is given'}); give weight=")


def _require_equal(leaves, comm):
    """Raise CollectiveError, on all ranks, for parameters that are not the same on all of them."""
    marks = [checksum(np.asarray(x)) for x in leaves]
    if not comm.same(repr(marks).encode(), label="the parameters of a data_parallel step"):
        least = comm.allreduce(np.array(marks, np.int64), "min", label="the parameters of a data_parallel step")
        most = comm.allreduce(np.array(marks, np.int64), "max", label="the parameters of a data_parallel step")
        places = [k for k in range(len(leaves)) if least[k] != most[k]]
        raise CollectiveError(
            f"data_parallel: parameters {places} (of {len(leaves)}) differ between the ranks: initialise them alike, or give "
            "all ranks those of one, pa.tree.map(pa.world().bcast, params)"
        )
