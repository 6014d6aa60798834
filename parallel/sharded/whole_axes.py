"""Operations that need some axes of their arguments whole, and treat each place of the others by itself: sorting, transforms,
matrices, convolutions. What is cut along such an axis is cut along another instead, where there is one."""

import numpy as np

from ...dispatch import Array
from ...dsl import argsort, conv, conv_input, conv_weight, cumprod, insertion_places, linalg, overlap_add, sliding_windows
from ...dsl import fft as transforms
from ...dsl.avals import normalize_axis, shape_of
from .array import Sharded
from .either import of_either
from .propagate import Pattern, arranged, batch_letters


def by_places(op, xs, inputs, output, call, whole=(), combine=""):
    """The results of `call` on blocks that are whole along axes without a letter; output: letters of the first axes of each
    result. NotImplemented where nothing would stay cut, though it was."""
    pattern = Pattern(inputs, output, whole=frozenset(whole), combine=combine)
    there = arranged(op.__name__, pattern, xs)
    if not there.plan.cuts and not there.plan.partial and any([isinstance(x, Sharded) and x.spec.names for x in xs]):
        return NotImplemented
    y = call(*there.blocks)
    lengths = {}
    for letters, x in zip(inputs, xs, strict=True):
        lengths.update({letter: n for letter, n in zip(letters, shape_of(x), strict=True) if letter is not None})

    def whole_of(block):
        letters = (*output, *[None] * (len(shape_of(block)) - len(output)))
        return there.result(block, letters, [lengths[k] if k in there.plan.cuts else None for k in letters])

    if isinstance(y, tuple):
        made = [whole_of(block) for block in y]
        return type(y)(*made) if hasattr(y, "_fields") else tuple(made)
    return whole_of(y)


def _of_one_axis(op, x, axis, call):
    """Of an operation along one axis, of any length before and after."""
    axis = normalize_axis(op.__name__, axis, x.ndim)
    letters = tuple([None if k == axis else k for k in range(x.ndim)])
    return by_places(op, (x,), (letters,), letters, call)


# ---------------------------------------------------------------------- along one axis
@argsort.method
def argsort_sharded(x: Sharded, /, axis=-1, kind=None, stable=True, descending=False):
    if axis is None:
        return NotImplemented
    return _of_one_axis(
        argsort, x, axis, lambda block: argsort(block, axis=axis, kind=kind, stable=stable, descending=descending)
    )


@cumprod.method
def cumprod_sharded(x: Sharded, /, axis=None, dtype=None):
    if axis is None:
        return NotImplemented if x.ndim != 1 else cumprod_sharded(x, 0, dtype)
    return _of_one_axis(cumprod, x, axis, lambda block: cumprod(block, axis=axis, dtype=dtype))


def _transform(op):
    @op.method
    def transform_sharded(x: Sharded, /, n=None, axis=-1, norm=None):
        return _of_one_axis(op, x, axis, lambda block: op(block, n=n, axis=axis, norm=norm))


for op in (transforms.fft, transforms.ifft, transforms.rfft, transforms.irfft):
    _transform(op)


@insertion_places.method
def insertion_places_sharded(a: Array, v: Sharded, /, side):
    letters = tuple(range(v.ndim))
    return by_places(
        insertion_places, (a, v), ((None,) * len(shape_of(a)), letters), letters, lambda a, v: insertion_places(a, v, side=side)
    )


# ---------------------------------------------------------------------- matrices
def _of_matrices(op, core=2):
    @op.method
    def batched(x: Sharded, /, *args, **params):
        letters = (*range(x.ndim - core), *[None] * core)
        return by_places(op, (x,), (letters,), letters[: x.ndim - core], lambda block: op(block, *args, **params))


def _of_systems(op):
    def batched(a, b, *args, **params):
        vector = len(shape_of(b)) == 1
        leads = [shape_of(a)[:-2], () if vector else shape_of(b)[:-2]]
        lead = np.broadcast_shapes(*leads)
        cores = ((None, None), (None,) if vector else (None, None))
        inputs = [(*batch_letters(own, lead), *core) for own, core in zip(leads, cores, strict=True)]
        return by_places(op, (a, b), tuple(inputs), tuple(range(len(lead))), lambda a, b: op(a, b, *args, **params))

    of_either(op, batched)


for op in (linalg.inv, linalg.cholesky, linalg.qr, linalg.lu, linalg.svd, linalg.svdvals, linalg.det, linalg.adjugate,
           linalg.slogdet, linalg.expm, linalg.pinv, linalg.eigh, linalg.eigvalsh, linalg.eig, linalg.eigvals):  # fmt: skip
    _of_matrices(op)
for op in (linalg.solve, linalg.solve_triangular):
    _of_systems(op)


# ---------------------------------------------------------------------- windows and convolutions
def _of_windows(op, parameter, each):
    """Of an operation over the last axes of a stack, as many as the parameter has entries, `each` axes for one."""

    @op.method
    def windowed(x: Sharded, /, *args, **params):
        over = params[parameter] if parameter in params else args[0]
        core = each * (1 if hasattr(over, "__index__") else len(over))
        letters = (*range(x.ndim - core), *[None] * core)
        return by_places(op, (x,), (letters,), letters[: x.ndim - core], lambda block: op(block, *args, **params))


_of_windows(sliding_windows, "window", 1)
_of_windows(overlap_add, "space", 2)

BATCH, INNER, OUTER = range(3)  # letters of convolutions: examples, channels and channels of the result
CONVOLUTIONS = {conv: ((BATCH, INNER), (OUTER, INNER), (BATCH, OUTER)),
                conv_input: ((BATCH, OUTER), (OUTER, INNER), (BATCH, INNER)),
                conv_weight: ((BATCH, INNER), (BATCH, OUTER), (OUTER, INNER))}  # fmt: skip


def _of_convolutions(op):
    first, second, output = CONVOLUTIONS[op]

    def convolved(x, y, *args, **params):
        whole = (INNER, OUTER) if params.get("groups", 1) != 1 else ()
        inputs = [(*letters, *[None] * (len(shape_of(z)) - 2)) for letters, z in ((first, x), (second, y))]
        call = lambda x, y: op(x, y, *args, **params)
        return by_places(op, (x, y), tuple(inputs), output, call, whole, combine="sum")

    of_either(op, convolved)


for op in CONVOLUTIONS:
    _of_convolutions(op)
