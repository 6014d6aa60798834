"""What operations do at values of forward mode: the same tangents for small and for large arrays, whichever have some."""

import numpy as np
import pytest

import polyad as pa
from polyad.dispatch import Layer

pytestmark = pytest.mark.quick

SIZES = [4095, 4096]  # below the size from which memory is used again, and from it on
rng = np.random.default_rng(3)


def near(found, right, dtype):
    np.testing.assert_allclose(
        found, right, rtol=1e-5 if dtype == np.float32 else 1e-10, atol=1e-6 if dtype == np.float32 else 0
    )
    assert found.dtype == dtype


TWO = {
    "multiply": (pa.multiply, lambda x, y, dx, dy: dx * y + x * dy),
    "add": (pa.add, lambda x, y, dx, dy: dx + dy + 0 * x),
    "divide": (pa.divide, lambda x, y, dx, dy: dx / y - x * dy / y**2),
    "arctan2": (pa.arctan2, lambda x, y, dx, dy: (dx * y - dy * x) / (x**2 + y**2)),
    "matmul": (lambda x, y: pa.matmul(x[None], y[:, None]), lambda x, y, dx, dy: np.sum(dx * y + x * dy)[None, None]),
    "concatenate": (lambda x, y: pa.concatenate([x, y]), lambda x, y, dx, dy: np.concatenate([0 * x + dx, 0 * y + dy])),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", TWO)
def test_by_either_of_two_arrays_and_both(name, size, dtype):
    f, right = TWO[name]
    x, y, dx, dy = rng.uniform(0.5, 1.5, (4, size)).astype(dtype)
    near(pa.jvp(f, (x, y), (dx, dy))[1], right(x, y, dx, dy), dtype)
    near(pa.jvp(lambda x: f(x, y), (x,), (dx,))[1], right(x, y, dx, 0 * y), dtype)
    near(pa.jvp(lambda y: f(x, y), (y,), (dy,))[1], right(x, y, 0 * x, dy), dtype)


@pytest.mark.parametrize("size", SIZES)
def test_parameters_reach_the_tangent(size):
    x, dx = rng.uniform(0.5, 1.5, (2, 2, size))
    for f in (
        lambda x: pa.sum(x, axis=0), lambda x: pa.cumsum(x, axis=1), lambda x: pa.reshape(x, (size, 2)),
        lambda x: pa.mean(x, axis=1, keepdims=True), lambda x: pa.roll(x, 3, axis=1),
    ):  # fmt: skip
        np.testing.assert_allclose(pa.jvp(f, (x,), (dx,))[1], f(dx), rtol=1e-12)
    assert pa.jvp(lambda x: pa.sum(x, dtype=np.float32), (x,), (dx,))[1].dtype == np.float32


@pytest.mark.parametrize("size", SIZES)
def test_tangents_take_the_shape_of_results(size):
    """A number's tangent broadcasts, beside a constant that is small or large."""
    c = rng.uniform(0.5, 1.5, size)
    for f, right in ((lambda t: t * c, c), (lambda t: t + c, np.ones(size)), (lambda t: pa.maximum(t, c - 2), np.ones(size))):
        y, dy = pa.jvp(f, (2.0,), (1.0,))
        near(dy, right, np.float64)
        assert dy.shape == y.shape and dy.flags.writeable


@pytest.mark.parametrize("count", [1, 2, 4, 5, 9])
def test_any_number_of_arrays(count):
    """Each has a name of its own, or, from five on, a place in a list; one of them has no tangent."""
    xs = list(rng.uniform(0.5, 1.5, (count, 2)))
    f = lambda *followed: pa.stack([*followed[:1], *xs[1:2], *followed[1:]])
    given = (xs[0], *xs[2:])
    found = pa.jvp(f, given, tuple([2 * x for x in given]))[1]
    np.testing.assert_allclose(found, [(2 - 2 * (i == 1)) * x for i, x in enumerate(xs)])


def test_operations_without_derivative_give_constants_of_their_own():
    x = np.array([1.5, 2.5])

    def f(x):
        below, whole = pa.floor(x), pa.astype(x, int)
        assert not isinstance(below, Layer) and not isinstance(whole, Layer)
        below[0] = 7.0  # neither x nor its value
        return x * below

    y, dy = pa.jvp(f, (x,), (np.ones(2),))
    assert y.tolist() == [10.5, 5.0] and dy.tolist() == [7.0, 2.0] and x.tolist() == [1.5, 2.5]


def test_of_several_results_those_without_tangent_are_constants():
    a = np.array([[2.0, 1.0], [0.0, 3.0]])
    (sign, log), (dsign, dlog) = pa.jvp(pa.linalg.slogdet, (a,), (np.eye(2),))
    assert (sign, dsign) == (1.0, 0.0)
    np.testing.assert_allclose([log, dlog], [np.log(6.0), np.trace(np.linalg.inv(a))])


@pytest.mark.parametrize("size", SIZES)
def test_values_of_runs_that_are_over(size):
    kept = []
    pa.jvp(lambda x: kept.append(x) or x, (np.ones(size),), (np.ones(size),))
    for use in (pa.sin, pa.negative, lambda x: x * 2.0, lambda x: pa.sum(x), lambda x: x @ x, lambda x: pa.concatenate([x, x])):
        with pytest.raises(pa.LeakedLayerError, match="jvp"):
            use(kept[0])
        with pytest.raises(pa.LeakedLayerError, match="jvp"):
            pa.jvp(lambda y, use=use: y * use(kept[0]), (np.ones(size),), (np.ones(size),))
        with pytest.raises(pa.LeakedLayerError, match="jvp"):
            pa.jvp(lambda y: y * kept[0], (np.ones(size),), (np.ones(size),))
