"""Operations that fill an array part by part, or in an order of their own: each as a list of nests."""

from ....dsl.avals import normalize_axis
from ....dsl.ir.programs import Var
from ....dsl.ops.indexing import result_aval
from ..loops.index_maps import selected
from ..loops.nests import Nest, Store
from .contractions import matmul
from .random_bits import random_bits
from .scans import argmax, argmin, cumprod, cumsum
from .searching import insertion_places
from .solving import cholesky, det, inv, slogdet, solve, solve_triangular
from .sorting import argsort


def concatenate(e, graph):
    """One nest for each array, which stores into its part of the result."""
    out, axis, start = e.outputs[0], e.params.get("axis", 0), 0
    nests = []
    for x in e.inputs:
        if axis is None:
            source, shape = graph.flat(x), (x.aval.size,)
        else:
            source, shape = x, x.aval.shape
        along = 0 if axis is None else normalize_axis("concatenate", axis, len(shape))
        nests.append(Nest(shape, [Store(out, source, shifted(along, start))]))
        start += shape[along]
    return nests


def shifted(axis, by):
    """The place in the whole of an element of a part."""
    return lambda body, idx: tuple(i + by if a == axis else i for a, i in enumerate(idx))


def _write(add):
    def write(e, graph):
        x, v, *arrays = e.inputs
        out, spec = e.outputs[0], e.params["spec"]
        shape = result_aval(out.aval, [a.aval if isinstance(a, Var) else a for a in arrays], spec).shape
        place = lambda body, idx: selected(body, out.aval.shape, arrays, spec, idx)
        copy = [] if e in graph.in_place else [Nest(out.aval.shape, [Store(out, x)])]
        return [*copy, Nest(shape, [Store(out, v, place, add)], sequential=bool(arrays))]

    return write


index_set, index_add = _write(False), _write(True)
BLOCKS = {
    "concatenate": concatenate, "index_set": index_set, "index_add": index_add, "matmul": matmul,
    "cumsum": cumsum, "cumprod": cumprod, "argmax": argmax, "argmin": argmin,
    "cholesky": cholesky, "det": det, "inv": inv, "slogdet": slogdet, "solve": solve, "solve_triangular": solve_triangular,
    "random_bits": random_bits, "insertion_places": insertion_places, "argsort": argsort,
}  # fmt: skip
MATRICES = {"matmul", "cholesky", "det", "inv", "slogdet", "solve", "solve_triangular"}
STRIDED = MATRICES | {"insertion_places"}  # names of operations that read arrays as they lie, transposed, say
WHOLE = set()  # names of operations that read all their arguments from memory


def in_memory(e):
    """The arguments that an equation of these reads from memory, rather than element by element."""
    name = e.op.__name__
    if name in WHOLE or name in MATRICES or (name == "concatenate" and e.params.get("axis", 0) is None):
        return list(e.inputs)
    if name == "insertion_places":
        return [e.inputs[0]]
    if name in ("cumsum", "cumprod", "argmax", "argmin") and e.params.get("axis") is None:
        return list(e.inputs)
    if name == "argsort" and e.params.get("axis", -1) is None:
        return list(e.inputs)
    return []
