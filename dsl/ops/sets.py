"""Sets: the different elements of an array, and what arrays have in common. Elements come in ascending order.

How many elements differ depends on the values: lanes of `vmap` are split by that, and a trace needs `size=`, the number of
elements to return whatever the values are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..avals import dtype_of, ndim_of, normalize_axis, shape_of
from ..card import composite
from ..samples import case, distinct, integers, normal
from .arithmetic import minimum, subtract
from .at import at
from .compare import equal, isnan, less, logical_and, logical_not, not_equal, where
from .complex import astype
from .create import asarray, full_like, ones_like, zeros_like
from .cumulative import cumsum, diff
from .indexing import getitem, take
from .reduce import any
from .search import PLACE, mask_places, searchsorted
from .shape import concatenate, moveaxis, ravel, reshape
from .sorting import argsort, lexsort, sort

if TYPE_CHECKING:
    from ...dispatch.annotations import AnyArray


# ---------------------------------------------------------------------- different elements
class UniqueCounts(NamedTuple):
    """Different elements and how often they occur."""

    values: object
    counts: object


class UniqueInverse(NamedTuple):
    """Different elements and the number of each element among them."""

    values: object
    inverse_indices: object


class UniqueAll(NamedTuple):
    """Different elements, places of their first occurrences, number of each element among them, and counts."""

    values: object
    indices: object
    inverse_indices: object
    counts: object


class _Different:
    """A mask of the places in a sorted vector (or in sorted rows) where new elements begin.

    order: places that sort x; first: whether a sorted place begins a new element; places: the sorted places that do.
    """

    def __init__(self, name, x, size, equal_nan):
        self.x, self.size = x, size
        n = shape_of(x)[0]
        column = lambda i: getitem(x, (slice(None), i))
        self.order = argsort(x) if ndim_of(x) == 1 else lexsort([column(i) for i in reversed(range(shape_of(x)[1]))])
        ordered = take(x, self.order, axis=0)
        here, before = getitem(ordered, slice(1, None)), getitem(ordered, slice(None, -1))
        change = not_equal(here, before)
        if equal_nan and dtype_of(x).kind in "fc":
            change = logical_and(change, logical_not(logical_and(isnan(here), isnan(before))))
        change = change if ndim_of(x) == 1 else any(change, axis=1)
        self.first = concatenate([ones_like(change, shape=(min(n, 1),)), change], axis=0)
        self.places = mask_places(name, self.first, size, n)
        self.number = subtract(cumsum(astype(self.first, dtype=PLACE)), 1)  # of the element at each sorted place

    def start(self):
        """Sorted places at which the elements begin; those that fill up `size` repeat the first."""
        n = shape_of(self.x)[0]
        return self.places if self.size is None else where(less(self.places, n), self.places, 0)

    def values(self, fill_value):
        y = take(self.x, self.indices(), axis=0)
        if self.size is None or fill_value is None:
            return y
        real = reshape(less(self.places, shape_of(self.x)[0]), shape=(-1, *(1,) * (ndim_of(y) - 1)))
        return where(real, y, fill_value)

    def indices(self):
        """Places in x at which each element occurs first."""
        return take(self.order, self.start(), axis=0)

    def inverse(self):
        """For each element of x its number among the different ones."""
        return at(zeros_like(self.number), self.order).set(self.number)

    def counts(self):
        n = shape_of(self.x)[0]
        ends = concatenate([self.places, full_like(self.places, n, shape=(1,))], axis=0)
        return diff(ends)


_samples = [case(integers(6, high=3), size=3), case(integers(2, 3, high=3), size=5)]


@composite(
    samples=[
        *_samples, case(distinct(5), size=5), case(integers(6, high=3), size=4, return_index=True, return_inverse=True),
        case(integers(6, high=3), size=2, return_counts=True), case(integers(4, 2, high=2), size=2, axis=0),
        case(integers(2, 5, high=2), size=3, axis=1, return_inverse=True), case(integers(4, high=2), size=4, fill_value=-1),
    ],
)  # fmt: skip
def unique(
    x, /, return_index=False, return_inverse=False, return_counts=False, axis=None, equal_nan=True, sorted=True, size=None,
    fill_value=None,
):  # fmt: skip
    """The different elements of x in ascending order; alone, or in a tuple with what else is asked for.

    x: array. return_index: places of their first occurrences in x flattened. return_inverse: for each element of x its
    number among them. return_counts: how often they occur. axis: different slices along it instead of elements, in
    lexicographic order. equal_nan: whether all NaN are one element. sorted: they are in any case. size: None for all of
    them (lanes of `vmap` are split by their places), or the number of elements to return, filled up with fill_value (None:
    the smallest element). Derivatives go to the first occurrences. Raises ShapeError; ConcreteValueError in a trace
    without size.

    >>> import numpy as np, polyad as pa
    >>> pa.unique(np.array([3, 1, 3]), return_counts=True)
    (array([1, 3]), array([1, 2]))
    """
    if axis is None:
        lines, rest = ravel(x), None
    else:
        axis = normalize_axis("unique", axis, ndim_of(x))
        front = moveaxis(x, axis, 0)
        rest = shape_of(front)[1:]
        lines = reshape(front, shape=(shape_of(x)[axis], int(np.prod(rest))))
    found = _Different("unique", lines, size, equal_nan)
    values = found.values(fill_value)
    if rest is not None:
        values = moveaxis(reshape(values, shape=(shape_of(values)[0], *rest)), 0, axis)
    inverse = lambda: reshape(found.inverse(), shape=shape_of(x)) if axis is None else found.inverse()
    asked = [(return_index, found.indices), (return_inverse, inverse), (return_counts, found.counts)]
    more = [give() for wanted, give in asked if wanted]
    return (values, *more) if more else values


@composite(samples=[*_samples, case(distinct(5), size=5)])
def unique_values(x, /, size=None):
    """The different elements of an array in ascending order (array API); NaN differ. size: as for `unique`.

    Raises ShapeError.
    """
    return unique(x, equal_nan=False, size=size)


@composite(samples=_samples)
def unique_counts(x, /, size=None):
    """A tuple of the different elements of an array and how often they occur (array API). size: as for `unique`.

    Raises ShapeError.
    """
    return UniqueCounts(*unique(x, return_counts=True, equal_nan=False, size=size))


@composite(samples=_samples)
def unique_inverse(x, /, size=None):
    """A tuple of the different elements of an array and, in x's shape, the number of each element (array API).

    size: as for `unique`. Raises ShapeError.
    """
    return UniqueInverse(*unique(x, return_inverse=True, equal_nan=False, size=size))


@composite(samples=_samples)
def unique_all(x, /, size=None):
    """A tuple of the different elements of an array, the places of their first occurrences, the number of each element of x
    among them, and how often they occur (array API). size: as for `unique`. Raises ShapeError.
    """
    found = unique(x, return_index=True, return_inverse=True, return_counts=True, equal_nan=False, size=size)
    return UniqueAll(*found)


# ---------------------------------------------------------------------- in common
@composite(
    differentiable=False,
    samples=[case(integers(2, 3, high=4), integers(3, high=4)), case(distinct(4), distinct(4), invert=True),
             case(integers(3), lambda rng: np.zeros((0,), int))],
)  # fmt: skip
def isin(x, test, /, assume_unique=False, invert=False):
    """Test whether each element of x is one of those of `test`; invert: whether it is none.

    x, test: arrays or numbers, also complex. assume_unique is there for NumPy's spelling. Raises DTypeError.
    """
    test = sort(ravel(asarray(test)))
    n = shape_of(test)[0]
    if not n:
        found = zeros_like(asarray(x), dtype=bool)
    else:
        found = equal(take(test, minimum(searchsorted(test, x), n - 1), axis=0), x)
    return logical_not(found) if invert else found


def in1d(x: Any, test: Any, assume_unique: bool = False, invert: bool = False) -> AnyArray:
    """`isin` of x flattened, a vector. Raises DTypeError."""
    return isin(ravel(asarray(x)), test, assume_unique=assume_unique, invert=invert)


@composite(samples=[case(integers(4, high=4), integers(5, high=4), size=3), case(integers(4), integers(4), size=4)])
def intersect1d(x, y, /, assume_unique=False, return_indices=False, size=None):
    """The different elements that are in both arrays, in ascending order.

    return_indices: give a tuple with the places of their first occurrences in x and y flattened. size: as for `unique`,
    filled up with the smallest element of x. Raises ShapeError; ConcreteValueError in a trace without size.
    """
    x, y = ravel(asarray(x)), ravel(asarray(y))
    a = _Different("intersect1d", x, None if size is None else shape_of(x)[0], True)
    found = logical_and(isin(a.values(None), y), less(a.places, shape_of(x)[0]))
    chosen = mask_places("intersect1d", found, size, 0)
    places = take(a.indices(), chosen, axis=0)
    common = take(x, places, axis=0)
    if not return_indices:
        return common
    order = argsort(y)
    return common, places, take(order, minimum(searchsorted(take(y, order, axis=0), common), shape_of(y)[0] - 1), axis=0)


@composite(samples=[case(integers(4, high=4), integers(5, high=4), size=3), case(normal(2), normal(3), size=5)])
def union1d(x, y, /, size=None):
    """The different elements of two arrays, in ascending order. size: as for `unique`. Raises as it does; ShapeError."""
    return unique(concatenate([ravel(asarray(x)), ravel(asarray(y))], axis=0), size=size)


@composite(samples=[case(integers(4, high=4), integers(5, high=4), size=3), case(normal(5), normal(2), size=4)])
def setdiff1d(x, y, /, assume_unique=False, size=None):
    """The different elements of x that are not in y, both arrays, in ascending order. size: as for `unique`, filled up with
    the smallest element of x. assume_unique: x is taken as it is, in its order. Raises ShapeError.
    """
    x = ravel(asarray(x))
    if assume_unique:
        return take(x, mask_places("setdiff1d", isin(x, y, invert=True), size, 0), axis=0)
    a = _Different("setdiff1d", x, None if size is None else shape_of(x)[0], True)
    values = a.values(None)
    left = logical_and(isin(values, y, invert=True), less(a.places, shape_of(x)[0]))
    return take(values, mask_places("setdiff1d", left, size, 0), axis=0)


@composite(samples=[case(integers(4, high=4), integers(5, high=4), size=3), case(normal(2), normal(3), size=3)])
def setxor1d(x, y, /, assume_unique=False, size=None):
    """The different elements that are in one of two arrays only, in ascending order. size: as for `unique`, filled up with
    the smallest element. Raises ShapeError.
    """
    x, y = ravel(asarray(x)), ravel(asarray(y))
    a = _Different("setxor1d", concatenate([x, y], axis=0), None if size is None else shape_of(x)[0] + shape_of(y)[0], True)
    values = a.values(None)
    one = not_equal(isin(values, x), isin(values, y))
    return take(values, mask_places("setxor1d", logical_and(one, less(a.places, shape_of(a.x)[0])), size, 0), axis=0)
