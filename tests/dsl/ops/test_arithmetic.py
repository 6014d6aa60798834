"""Arithmetic: NumPy's numbers for all dtypes, zeros that stay zero, halves of ties, and slopes at hard points."""

import warnings

import numpy as np
import pytest

import polyad as pa

pytestmark = pytest.mark.quick

inf, nan = np.inf, np.nan
HARD = np.array([0.0, -0.0, 1.5, -1.5, 2.0, inf, -inf, nan])
BOTH = ("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "maximum", "minimum", "hypot")
ONE = ("negative", "positive", "reciprocal", "square", "sign", "floor", "ceil", "trunc", "rint")
close = np.testing.assert_allclose


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def same(found, right):
    """Equal to the bit, signs of zero included, in type too."""
    np.testing.assert_array_equal(found, right)
    assert np.asarray(found).dtype == np.asarray(right).dtype
    if np.asarray(right).dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(found), np.signbit(right))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, np.uint8, np.int64, bool, complex])
@pytest.mark.parametrize("name", BOTH + ONE)
def test_numpys_numbers(name, dtype):
    xs = HARD if np.dtype(dtype).kind == "f" else np.array([3, 1, 2, 7]) + (2j if dtype is complex else 0)
    xs = xs.astype(dtype)
    args = (xs[:, None], xs) if name in BOTH else (xs,)
    ours, theirs = getattr(pa, name), getattr(np, name)
    try:
        right = theirs(*args)
    except TypeError:
        with pytest.raises((pa.DTypeError, TypeError), match=name):
            ours(*args)
        return
    if name in ("maximum", "minimum"):  # of 0.0 and -0.0 it is either one
        np.testing.assert_array_equal(ours(*args), right)
    else:
        same(ours(*args), right)


def test_masked_products_and_quotients_keep_zeros():
    x, y = np.array([0.0, 0.0, 0.0, 2.0, 0.0]), np.array([inf, nan, 0.0, 4.0, -2.0])
    close(pa.masked_product(x, y), [0, 0, 0, 8, 0])
    close(pa.masked_quotient(x, y), [0, 0, 0, 0.5, 0])
    product = pa.jvp(pa.masked_product, (x, y), (np.ones(5), np.ones(5)))[1]
    np.testing.assert_array_equal(product[3:], [6.0, -2.0])
    # linear in x: where the cotangent is zero, so is what goes back, whatever the other factor is
    assert pa.vjp(pa.masked_product, x, y)[1](np.zeros(5))[0].tolist() == [0] * 5
    assert pa.vjp(pa.masked_quotient, x, y)[1](np.zeros(5))[0].tolist() == [0] * 5
    pa.check_grads(pa.masked_product, (x[3:], y[3:]))
    pa.check_grads(pa.masked_quotient, (x[3:], y[3:]))


def test_slopes_of_a_quotient_over_zero():
    """A numerator without cotangent gets none, though 1 / 0 is infinite."""
    grad = pa.vjp(pa.divide, np.array([1.0, 1.0]), np.array([0.0, 2.0]))[1](np.array([0.0, 1.0]))
    assert grad[0].tolist() == [0.0, 0.5] and grad[1].tolist() == [0.0, -0.25]
    tangent = pa.jvp(pa.divide, (np.array([1.0, 1.0]), np.array([0.0, 2.0])), (np.zeros(2), np.zeros(2)))[1]
    assert tangent.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(("name", "first"), [("maximum", [0, 1, 0.5]), ("minimum", [1, 0, 0.5])])
def test_the_selected_one_has_it_all_and_ties_share(name, first):
    f, x, y = getattr(pa, name), np.array([1.0, 3.0, 2.0]), np.array([2.0, 2.0, 2.0])
    dx, dy = pa.vjp(f, x, y)[1](np.ones(3))
    assert dx.tolist() == first and dy.tolist() == [1 - k for k in first]
    assert pa.jvp(f, (x, y), (np.full(3, 4.0), np.full(3, 8.0)))[1].tolist() == [4 * k + 8 * (1 - k) for k in first]
    # selected, not multiplied: an infinite tangent of the loser is not seen
    assert pa.jvp(f, (1.0, 2.0), (inf, 1.0) if name == "maximum" else (1.0, inf))[1] == 1.0


@pytest.mark.parametrize(("x", "slope"), [(-1.0, 0.0), (0.0, 0.5), (0.5, 1.0), (1.0, 0.5), (2.0, 0.0)])
def test_clip_inside_outside_and_on_the_limits(x, slope):
    assert pa.grad(lambda x: pa.clip(x, 0.0, 1.0))(x) == pa.derivative(lambda x: pa.clip(x, 0.0, 1.0))(x) == slope
    assert pa.clip(x) == x and pa.clip(x, None, 0.25) == min(x, 0.25) and pa.clip(x, min=0.25) == max(x, 0.25)


def test_hypot_far_out_and_at_the_origin():
    for scale in (1e-200, 1.0, 1e200):
        x, y = 3 * scale, 4 * scale
        close(pa.hypot(x, y), 5 * scale, rtol=1e-15)
        close(pa.grad(pa.hypot, (0, 1))(x, y), [0.6, 0.8], rtol=1e-14)
    assert pa.grad(pa.hypot, (0, 1))(0.0, 0.0) == (0.0, 0.0)


@pytest.mark.parametrize(("x", "y"), [(7.0, 2.0), (-7.0, 2.0), (7.0, -2.0), (-7.5, -2.0)])
def test_a_remainder_moves_with_the_whole_part(x, y):
    dx, dy = pa.grad(pa.remainder, (0, 1))(x + 0.25, y)
    assert (dx, dy) == (1.0, -np.floor((x + 0.25) / y))


def test_roots_squared_are_smooth_at_zero():
    """Even functions of a distance have its square's derivatives where the distance itself has none."""
    forms = {
        "square": lambda x: pa.square(pa.hypot(x[0], x[1])), "product": lambda x: pa.hypot(x[0], x[1]) * pa.hypot(x[0], x[1]),
        "negative": lambda x: -pa.square(-pa.hypot(x[0], x[1])), "scaled": lambda x: pa.square(pa.hypot(x[0], x[1]) * 3 / 2),
    }  # fmt: skip
    for name, factor in (("square", 1), ("product", 1), ("negative", -1), ("scaled", 2.25)):
        close(pa.hessian(forms[name])(np.zeros(2)), 2 * factor * np.eye(2))
    for other in (lambda x: pa.hypot(x[0], 2 * x[1]), lambda x: pa.hypot(x[0], x[0]), lambda x: pa.hypot(x[1], x[0])):
        with pytest.warns(pa.ConventionWarning, match="hypot"):  # of two different distances, or that may be
            pa.hessian(lambda x, other=other: pa.hypot(x[0], x[1]) * other(x))(np.zeros(2))
