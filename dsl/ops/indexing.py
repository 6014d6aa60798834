"""Reading and functional writing by index: `x[i]`, `take`, `at(x, i).set(v)`.

An index is split into arrays of integers, which are arguments of the operation, and a static `spec` of everything else,
so that indices may be batched or traced like any other array. Boolean arrays become integer positions first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...dispatch import Array, DTypeError, Layer, ShapeError, describe, isa
from ..array_libraries import asarray_like, host_copy
from ..avals import UNKNOWN, Aval, dtype_of, ndim_of, normalize_axis, shape_of
from ..card import composite, linear
from ..roots import picking
from ..samples import case, integers, normal
from .arithmetic import add, multiply
from .compare import equal
from .complex import astype
from .create import arange_like, zeros_like
from .reduce import sum as total
from .shape import broadcast_to, moveaxis, reshape

if TYPE_CHECKING:
    from ...dispatch.annotations import AnyArray
ARRAY = "array"  # place of the next index array in a spec


class Slice(tuple):
    """A slice as a hashable (start, stop, step), so that specs are static parameters."""

    def __repr__(self):
        return ":".join("" if n is None else str(n) for n in self)


def hashable(part):
    """A slice as a `Slice`."""
    a, b, step = ends = part.start, part.stop, part.step
    if (a is None or type(a) is int) and (b is None or type(b) is int) and (step is None or type(step) is int):
        return Slice(ends)
    return Slice([None if n is None else n.__index__() for n in ends])


def split_index(x, index):
    """An index as (spec, index arrays). Raises DTypeError for what does not index, IndexError for unfitting masks."""
    parts = index if isinstance(index, tuple) else (index,)
    spec, arrays, masks = [], [], []
    for part in parts:
        if part is None or part is Ellipsis or type(part) is int:
            spec.append(part)
        elif type(part) is slice:
            spec.append(hashable(part))
        elif isa(part, (int, np.integer)) and not isa(part, (bool, np.bool_)):
            spec.append(int(part))
        elif isa(part, (bool, np.bool_, list, tuple, np.ndarray, Array)):
            place = len(spec)
            if _add_array(spec, arrays, part, x):
                masks.append((place, np.shape(part) if isinstance(part, (list, tuple)) else shape_of(part)))
        else:
            raise DTypeError(f"an index of {describe(x)} is {describe(part)}; indices are integers, slices, …, None or arrays")
    for place, shape in masks:
        _check_mask(x, spec, place, shape)
    return tuple(spec), arrays


def _check_mask(x, spec, place, shape):
    """A mask stands for as many axes of x as it has, and has their lengths: its positions alone would not tell."""
    axes = lambda part: part is not None
    if Ellipsis in spec[:place]:
        axis = ndim_of(x) - sum(map(axes, spec[place:]))
    else:
        axis = sum(map(axes, spec[:place]))
    found = shape_of(x)[axis : axis + len(shape)]
    if found != tuple(shape):
        raise IndexError(f"index: a mask of shape {list(shape)} does not fit the axes {list(found)} of {describe(x)}")


def _add_array(spec, arrays, part, x):
    """Add one index array and say whether it is a mask. Lists become arrays on x's device, masks positions there."""
    listed = isa(part, (list, tuple, bool, np.bool_))
    if listed:
        part = np.asarray(part, dtype=np.intp if isinstance(part, (list, tuple)) and not part else None)
    kind = dtype_of(part).kind
    if kind == "b":
        if not ndim_of(part):
            raise DTypeError(f"an index of {describe(x)} is a single boolean; use polyad.where, or x[None] for an axis")
        if not listed and type(part) is not np.ndarray:
            part = host_copy(part)
            listed = True
        for positions in np.nonzero(part):
            spec.append(ARRAY)
            arrays.append(asarray_like(positions, x) if listed else positions)
    elif kind in "iu":
        spec.append(ARRAY)
        arrays.append(asarray_like(part, x) if listed else part)
    else:
        raise DTypeError(f"an index array has dtype {dtype_of(part)}; index arrays hold integers or booleans")
    return kind == "b"


def join_index(spec, arrays) -> Any:
    """The index that NumPy takes, from a spec and its arrays, as `index` has them."""
    if len(spec) == 1 and not arrays:
        return (slice(*spec[0]),) if type(spec[0]) is Slice else spec
    left = iter(arrays)
    return tuple([next(left) if part is ARRAY else slice(*part) if type(part) is Slice else part for part in spec])


def result_aval(x, arrays, spec):
    """Shape and dtype of x[index], found by indexing an array without memory of its own."""
    shape, most = shape_of(x), None
    if UNKNOWN in shape:  # stands for a length beyond all others
        most = max([1, *shape, *[n for a in arrays for n in shape_of(a)]])
        shape = tuple([1000 * most if n == UNKNOWN else n for n in shape])
    model = np.broadcast_to(np.zeros((), np.bool_), shape)
    zeros = [np.zeros(shape_of(a), np.intp) for a in arrays]
    try:
        found = model[join_index(spec, zeros)].shape
        return Aval(found if most is None else tuple([UNKNOWN if n > most else n for n in found]), dtype_of(x))
    except IndexError as error:
        raise IndexError(f"index: {error} (indexing {describe_shape(x)})") from None


def describe_shape(x):
    """An array's type, dtype and shape; an Aval's dtype and shape."""
    return str(x) if isinstance(x, Aval) else describe(x)


# ---------------------------------------------------------------------- reading
_reads = [
    case(normal(3, 4), spec=(1,)),
    case(normal(3, 4), spec=(Slice((None, None, 2)), None, -1)),
    case(normal(3, 4), integers(2, 2, high=3), spec=(ARRAY,)),
    case(normal(2, 3, 4), integers(2, high=3), integers(2, high=4), spec=(Ellipsis, ARRAY, ARRAY)),
    case(normal(2, 3, 4), integers(2, high=2), integers(2, high=4), spec=(ARRAY, Slice((None, None, None)), ARRAY)),
    case(normal(2, 3, 4), integers(2, high=3), spec=(Slice((None, None, None)), ARRAY)),
]


@linear(linear=(0,), kernel=None, numpy=(), samples=_reads)
def index(x, /, *arrays, spec):
    """Elements of x at an index given as a static spec and its integer arrays; `x[i]` and `getitem` make them.

    arrays: arrays of integers, in the order of their places. spec: tuple with an entry for each part of the index: an int,
    None, Ellipsis, a `Slice` (start, stop, step) for a slice, and "array" in the place of each of the arrays; masks have
    become arrays of positions. Who stands between, as a transformation of his own does, hands it on,
    `index(y, *arrays, spec=spec)`, or asks `join_index(spec, arrays)` for NumPy's index. `index_set` and `index_add` have the
    same form after (x, v).
    Negative positions count from the end. Raises IndexError for positions out of range.

    >>> import numpy as np, polyad as pa
    >>> program = pa.make_ir(lambda x: x[1:, np.array([2, 0]), None])(np.zeros((2, 3)))
    >>> spec = program.equations[0].params["spec"]
    >>> spec
    (1::, 'array', None)
    >>> pa.join_index(spec, [np.array([2, 0])])
    (slice(1, None, None), array([2, 0]), None)
    """


picking(index)
index.rule("shape")(lambda x, *arrays, spec: result_aval(x, arrays, spec))


@index.rule("transpose")
def index_transpose(i, ct, y, x, *arrays, spec):
    return index_add(zeros_like(x, dtype_of(ct)), ct, *arrays, spec=spec)


@index.rule("add_to")
def index_add_to(total, ct, y, x, *arrays, spec):
    return index_add(total, ct, *arrays, spec=spec)


@index.rule("accumulate")
def index_accumulate(total, ct, y, x, *arrays, spec):
    """Add the cotangent to that of all elements; NumPy arrays only."""
    if arrays:
        np.add.at(total, join_index(spec, arrays), ct)
        return
    place = join_index(spec, arrays)
    part = total[place]
    if type(part) is np.ndarray:
        np.add(part, ct, part)
    else:  # one element
        total[place] = part + ct


def batched_index(size, x, arrays, batched, spec):
    """A spec and arrays that index the lanes of x (its axis 0), and the places of the advanced axes in each lane.

    Returns (spec, arrays, front, place): the result has the lanes first; if `place` is not None, the `front` axes after
    them belong at `place` of each lane.
    """
    place, together = _advanced_place(ndim_of(x) - 1, spec)
    if not any(batched) and together:
        return (Slice((None, None, None)), *spec), list(arrays), 0, None
    shape = np.broadcast_shapes(*[shape_of(a)[b:] for a, b in zip(arrays, batched, strict=True)])
    lanes = reshape(arange_like(x, size), shape=(size, *(1,) * len(shape)))
    wide = []
    for a, b in zip(arrays, batched, strict=True):
        lane = shape_of(a)[b:]
        wide.append(reshape(a, shape=(size if b else 1, *(1,) * (len(shape) - len(lane)), *lane)))
    return (ARRAY, *spec), [lanes, *wide], len(shape), place


def _advanced_place(ndim, spec):
    """Find where the axes of the index arrays stand in the result, and whether the arrays stand side by side.

    Side by side they replace their axes in place; apart they come first (NumPy's rule, by which an ellipsis between
    them keeps them apart even if it stands for no axis).
    """
    if ARRAY not in spec:
        return 0, True
    advanced = [i for i, part in enumerate(spec) if part is ARRAY or isa(part, int)]
    if advanced[-1] - advanced[0] + 1 != len(advanced):
        return 0, False
    before = spec[: advanced[0]]
    consumed = sum(part is not None and part is not Ellipsis for part in spec)
    return len(before) + (Ellipsis in before) * (ndim - consumed - 1), True


@index.rule("batch")
def index_batch(size, xs, batched, spec):
    x, *arrays = xs
    if not batched[0]:
        return _gather_unbatched(size, x, arrays, batched[1:], spec)
    spec, arrays, front, place = batched_index(size, x, arrays, batched[1:], spec)
    y = index(x, *arrays, spec=spec)
    if place is None or place == 0 or front == 0:
        return y
    return moveaxis(y, tuple(range(1, 1 + front)), tuple(range(1 + place, 1 + place + front)))


def _gather_unbatched(size, x, arrays, batched, spec):
    """x is the same in all lanes: the lanes' positions are one more axis of the index arrays."""
    return index_batch(size, [broadcast_to(x, shape=(size, *shape_of(x))), *arrays], [True, *batched], spec)


def getitem(x: Any, index_: Any, /) -> AnyArray:
    """x[index] as NumPy has it: integers, slices, ellipsis, None, integer and boolean arrays, mixed."""
    kind = type(index_)
    if kind is int or kind is slice:
        return index(x, spec=(index_ if kind is int else hashable(index_),))
    spec, arrays = split_index(x, index_)
    return index(x, *arrays, spec=spec)


@composite(
    numpy=("take",),
    samples=[case(normal(4, 3), integers(2, high=4), axis=0), case(normal(4, 3), integers(2, 2, high=3), axis=-1)],
)
def take(x, indices, /, axis=None):
    """Elements of x at integer positions along an axis (None: of x flattened).

    indices: integer array of any shape, which replaces the axis. Raises ShapeError, DTypeError, IndexError.
    """
    if axis is None:
        x, axis = reshape(x, shape=(-1,)), 0
    axis = normalize_axis("take", axis, ndim_of(x))
    if isa(indices, (int, np.integer)):
        indices = asarray_like(indices, x)
    elif dtype_of(indices).kind == "b":  # numbers of elements too, where an index would be a mask
        indices = astype(indices, dtype=int)
    return getitem(x, (*(slice(None),) * axis, indices))


# ---------------------------------------------------------------------- writing
_writes = [
    case(normal(3, 4), normal(4), spec=(1,)),
    case(normal(3, 4), normal(2, 4), spec=(Slice((None, None, 2)),)),
    case(normal(4, 3), normal(3), lambda rng: np.array([2, 0]), spec=(ARRAY,)),
    case(normal(4, 3), normal(2), lambda rng: np.array([2, 0]), spec=(Slice((None, None, None)), ARRAY)),
]


def check_write(name, x, v, arrays, spec):
    target = result_aval(x, arrays, spec)
    try:
        fits = np.broadcast_shapes(target.shape, shape_of(v)) == target.shape
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(f"{name}: a value of shape {list(shape_of(v))} does not fit the selection {target}")
    if not np.can_cast(dtype_of(v), dtype_of(x), "same_kind"):
        raise DTypeError(f"{name}: {describe(v)} cannot be written into {describe(x)}; convert with .astype first")
    return Aval(shape_of(x), dtype_of(x))


@linear(linear=(0, 1), kernel=None, numpy=(), samples=_writes)
def index_set(x, v, /, *arrays, spec):
    """A copy of x with v written at an index; where positions repeat, the last one counts."""


@linear(linear=(0, 1), kernel=None, numpy=(), samples=[*_writes, case(
    normal(4), normal(3), lambda rng: np.array([2, 2, 0]), spec=(ARRAY,))])  # fmt: skip
def index_add(x, v, /, *arrays, spec):
    """A copy of x with v added at an index; where positions repeat, all are added."""


for write in (index_set, index_add):
    write.rule("shape")(lambda x, v, *arrays, spec, name=write.card.name: check_write(name, x, v, arrays, spec))


@index_add.rule("transpose")
def index_add_transpose(i, ct, y, x, v, *arrays, spec):
    return ct if i == 0 else index(ct, *arrays, spec=spec)


@index_set.rule("transpose")
def index_set_transpose(i, ct, y, x, v, *arrays, spec):
    if i == 0:
        return index_set(ct, 0.0, *arrays, spec=spec)
    picked = index(ct, *arrays, spec=spec)
    return multiply(picked, _last_writers(x, arrays, spec)) if arrays else picked


def _last_writers(x, arrays, spec):
    """1 where an element of the written value survives, 0 where a later one overwrote it."""
    selected = result_aval(x, arrays, spec)
    numbers = reshape(arange_like(x, selected.size), shape=selected.shape)
    written = index_set(zeros_like(x, dtype_of(numbers)), numbers, *arrays, spec=spec)
    return equal(index(written, *arrays, spec=spec), numbers)


def _write_batch(write):
    def rule(size, xs, batched, spec):
        x, v, *arrays = xs
        if not batched[0]:
            x = broadcast_to(x, shape=(size, *shape_of(x)))
        lane = result_aval(Aval(shape_of(x)[1:], dtype_of(x)), _lane_arrays(arrays, batched[2:]), spec)
        v_lane = shape_of(v)[1:] if batched[1] else shape_of(v)
        if shape_of(v):  # a number fits as it is
            v = reshape(v, shape=(size if batched[1] else 1, *(1,) * (lane.ndim - len(v_lane)), *v_lane))
        spec, arrays, front, place = batched_index(size, x, arrays, batched[2:], spec)
        if place and shape_of(v):
            v = moveaxis(v, tuple(range(1 + place, 1 + place + front)), tuple(range(1, 1 + front)))
        return write(x, v, *arrays, spec=spec)

    return rule


def _lane_arrays(arrays, batched):
    return [Aval(shape_of(a)[b:], np.dtype(np.intp)) for a, b in zip(arrays, batched, strict=True)]


index_set.rule("batch")(_write_batch(index_set))
index_add.rule("batch")(_write_batch(index_add))


# ---------------------------------------------------------------------- what they read
def _anywhere(x, arrays, spec):
    """Take positions that are followed for any along their axes: (function that gives all elements along these
    axes the sum of them, arrays with 0 in place of such positions)."""
    axes, axis = [], 0
    left = iter(arrays)
    for part in spec:
        if part is Ellipsis:
            axis = ndim_of(x) - _axes_of(spec[spec.index(Ellipsis) + 1 :])
            continue
        if part is ARRAY and isinstance(next(left), Layer):
            axes.append(axis)
        axis += part is not None
    over = lambda x: broadcast_to(total(x, axis=tuple(axes), keepdims=True), shape=shape_of(x))
    fixed = [asarray_like(np.zeros(shape_of(a), np.intp), a) if isinstance(a, Layer) else a for a in arrays]
    return over, fixed


def _axes_of(spec):
    """Count the axes of the array that these parts of a spec are for."""
    return len(spec) - spec.count(None)


@index.rule("depends")
def index_depends(x, *arrays, spec):
    if not any([isinstance(a, Layer) for a in arrays]):
        return None
    over, fixed = _anywhere(x, arrays, spec)
    return index(over(x), *fixed, spec=spec)


def write_depends(x, v, *arrays, spec):
    if not any([isinstance(a, Layer) for a in arrays]):
        return None
    over, fixed = _anywhere(x, arrays, spec)
    return add(x, over(index_add(zeros_like(x), v, *fixed, spec=spec)))


index_set.rule("depends")(write_depends)
index_add.rule("depends")(write_depends)
