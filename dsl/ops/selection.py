"""Choices by conditions, and comparisons of whole arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...dispatch import ShapeError, describe
from ..avals import broadcast_shapes, dtype_of, ndim_of, shape_of
from ..card import composite, elementwise
from ..samples import booleans, case, normal
from .arithmetic import add, clip, multiply, remainder, selecting, subtract
from .compare import equal, greater, isfinite, isnan, less, less_equal, logical_and, logical_not, logical_or, where
from .complex import abs, astype
from .create import asarray, zeros_like
from .indexing import getitem, take
from .reduce import all
from .search import mask_places
from .shape import broadcast_to, expand_dims, ravel, size_of, stack
from .sorting import take_along_axis

if TYPE_CHECKING:
    from ...dispatch.annotations import AnyArray
# ---------------------------------------------------------------------- by a condition
_some = lambda rng: np.array([True, False, True, False])


@composite(samples=[case(_some, normal(4), size=2), case(booleans(2, 3), normal(2, 3), size=4)])
def extract(condition, x, /, size=None):
    """The elements of x where a condition is true, a vector.

    condition: boolean array of x's size. size: None for all of them (lanes of `vmap` are split by their places), or the
    number of elements to return, filled up with the first of x. Raises ShapeError; ConcreteValueError in a trace without size.
    """
    if size_of(condition) > size_of(x):
        raise ShapeError(f"extract: {describe(condition)} has more elements than {describe(x)}")
    return take(ravel(x), mask_places("extract", not_zero(ravel(condition)), size, 0), axis=0)


def not_zero(x):
    """x as booleans."""
    return x if dtype_of(x).kind == "b" else astype(x, dtype=bool)


@composite(samples=[case(_some, normal(4), size=2), case(_some, normal(2, 4), axis=1, size=3)])
def compress(condition, x, /, axis=None, size=None):
    """The slices of x along an axis (None: the elements of x flattened) where a boolean vector is true.

    size: as for `extract`. Raises ShapeError; ConcreteValueError in a trace without size.
    """
    if ndim_of(condition) != 1:
        raise ShapeError(f"compress: the condition {describe(condition)} is not a vector")
    x, axis = (ravel(x), 0) if axis is None else (x, axis)
    return take(x, mask_places("compress", not_zero(condition), size, 0), axis=axis)


def select(conditions: Any, choices: Any, default: Any = 0) -> AnyArray:
    """For each element the choice of the first condition that is true there, `default` where none is.

    conditions: list of boolean arrays; choices: list of as many arrays or numbers; all broadcast. Raises ShapeError.

    >>> import numpy as np, polyad as pa
    >>> x = np.arange(5)
    >>> pa.select([x < 2, x > 3], [x, x * 10], -1)
    array([ 0,  1, -1, -1, 40])
    """
    if len(conditions) != len(choices) or not len(conditions):
        raise ShapeError(f"select: {len(conditions)} conditions for {len(choices)} choices; there must be as many, at least 1")
    dtype = np.result_type(*[dtype_of(asarray(c)) if not hasattr(c, "dtype") else dtype_of(c) for c in (*choices, default)])
    y = astype(asarray(default), dtype=dtype)
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        y = where(condition, choice, y)
    return astype(y, dtype=dtype) if dtype_of(y) != dtype else y


def piecewise(x: Any, conditions: Any, functions: Any, *args: Any, **params: Any) -> AnyArray:
    """A function defined in pieces: each of `functions` where its condition is true, of several the last one.

    x: array. conditions: list of boolean arrays of x's shape. functions: functions of arrays, or numbers; one more than
    conditions for where none is true (else 0). Each is given all of x and its value used where its condition holds, also
    under derivatives. args, params: further arguments of the functions. Returns x's shape and dtype. Raises ShapeError.

    >>> import numpy as np, polyad as pa
    >>> pa.piecewise(np.array([-1.0, 2.0]), [np.array([True, False])], [0.5, lambda x: x * x])
    array([0.5, 4. ])
    """
    conditions = conditions if isinstance(conditions, (list, tuple)) else [conditions]
    if len(functions) not in (len(conditions), len(conditions) + 1):
        raise ShapeError(f"piecewise: {len(functions)} functions for {len(conditions)} conditions; give as many, or one more")
    value = lambda f: f(x, *args, **params) if callable(f) else f
    y = zeros_like(x)
    if len(functions) > len(conditions):
        y = add(y, value(functions[-1]))
    for condition, f in zip(conditions, functions):  # noqa: B905  one more function is the rest
        y = where(condition, value(f), y)
    return astype(y, dtype=dtype_of(x)) if dtype_of(y) != dtype_of(x) else y


def choose(places: Any, choices: Any, mode: str = "raise") -> AnyArray:
    """For each element the one of `choices` with its number, all broadcast.

    places: integer array. choices: sequence of arrays, or an array whose axis 0 they are. mode: "wrap" or "clip" brings
    numbers out of range into it; else they are indices, negative ones counting from the end. Raises ShapeError, IndexError.
    """
    choices = [asarray(c) for c in choices]
    shape = broadcast_shapes("choose", [places, *choices])
    n = len(choices)
    places = clip(places, 0, n - 1) if mode == "clip" else remainder(places, n) if mode == "wrap" else places
    wide = stack([broadcast_to(c, shape=shape) for c in choices], axis=0)
    places = expand_dims(broadcast_to(places, shape=shape), 0)
    return getitem(take_along_axis(wide, places, axis=0), 0)


# ---------------------------------------------------------------------- extrema that pass over what is not a number
def _ahead(ahead):
    """x is ahead of y, or the only number."""
    return lambda x, y: logical_or(ahead(x, y), logical_and(isnan(y), logical_not(isnan(x))))


_two_arrays = [case(normal(3), normal(3)), case(normal(2, 3), normal(3)), case(normal(3), 0.0)]


@elementwise(c="fmax({0}, {1})", samples=_two_arrays)
def fmax(x, y, /):
    """The larger of x and y, element by element; the other one where one is not a number. Equal ones share the derivative.

    Of 0.0 and -0.0 it is either one, as in NumPy.
    """


@elementwise(c="fmin({0}, {1})", samples=_two_arrays)
def fmin(x, y, /):
    """The smaller of x and y, element by element; the other one where one is not a number. Equal ones share the derivative.

    Of 0.0 and -0.0 it is either one, as in NumPy.
    """


def _tied(x, y):
    """Both are equal, or no numbers."""
    return logical_or(equal(x, y), logical_and(isnan(x), isnan(y)))


selecting(fmax, _ahead(greater), _tied)
selecting(fmin, _ahead(less), _tied)


# ---------------------------------------------------------------------- nearly equal
_near = lambda rng: np.array([1.0, 1.0 + 1e-9, 1.1, np.nan, np.inf])


@composite(differentiable=False, samples=[case(_near, _near), case(_near, 1.0), case(normal(2, 3), normal(3), atol=0.5)])
def isclose(x, y, /, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan=False):
    """Test whether |x - y| <= atol + rtol |y|, element by element; infinities of one sign are close.

    x, y: arrays or numbers that broadcast. equal_nan: whether NaN is close to NaN. Raises ShapeError.
    """
    finite = logical_and(isfinite(x), isfinite(y))
    calm = lambda v: where(finite, v, 0)  # infinity less infinity would warn
    near = less_equal(abs(subtract(calm(x), calm(y))), add(atol, multiply(rtol, abs(calm(y)))))
    close = logical_or(logical_and(finite, near), equal(x, y))
    return logical_or(close, logical_and(isnan(x), isnan(y))) if equal_nan else close


def allclose(x: Any, y: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> bool:
    """Test whether all elements of two arrays are close, a bool; see `isclose`. Lanes of `vmap` are split by it.

    Raises ShapeError; ConcreteValueError in a trace.
    """
    return bool(all(isclose(asarray(x), asarray(y), rtol=rtol, atol=atol, equal_nan=equal_nan)))


def array_equal(x: Any, y: Any, equal_nan: bool = False) -> bool:
    """Test whether two arrays have the same shape and elements, a bool. Lanes of `vmap` are split by it.

    Raises ConcreteValueError in a trace.
    """
    x, y = asarray(x), asarray(y)
    if shape_of(x) != shape_of(y):
        return False
    same = equal(x, y)
    return bool(all(logical_or(same, logical_and(isnan(x), isnan(y))) if equal_nan else same))


def array_equiv(x: Any, y: Any) -> bool:
    """Test whether two arrays broadcast to the same shape with the same elements, a bool. Raises as `array_equal` does."""
    try:
        shape = broadcast_shapes("array_equiv", [asarray(x), asarray(y)])
    except ShapeError:
        return False
    return array_equal(broadcast_to(asarray(x), shape=shape), broadcast_to(asarray(y), shape=shape))
