"""What operations do at values of reverse mode: the same cotangents for small and for large arrays, whichever are followed."""

import numpy as np
import pytest

import polyad as pa
from polyad.dispatch import Layer

pytestmark = pytest.mark.quick

SIZES = [4095, 4096]  # below the size from which memory is saved, and from it on
rng = np.random.default_rng(4)
close = np.testing.assert_allclose
TWO = {
    "multiply": (pa.multiply, lambda x, y, ct: (ct * y, ct * x)),
    "add": (pa.add, lambda x, y, ct: (ct, ct)),
    "divide": (pa.divide, lambda x, y, ct: (ct / y, -ct * x / y**2)),
    "arctan2": (pa.arctan2, lambda x, y, ct: (ct * y / (x**2 + y**2), -ct * x / (x**2 + y**2))),
    "power": (pa.power, lambda x, y, ct: (ct * y * x ** (y - 1), ct * np.log(x) * x**y)),
    "stack": (lambda x, y: pa.stack([x, y])[0] + x * y, lambda x, y, ct: (ct * (1 + y), ct * x)),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", TWO)
def test_by_either_of_two_arrays_and_both(name, size, dtype):
    f, right = TWO[name]
    x, y, ct = rng.uniform(0.5, 1.5, (3, size)).astype(dtype)
    ways = {
        (0, 1): pa.vjp(f, x, y)[1](ct), (0,): pa.vjp(lambda x: f(x, y), x)[1](ct), (1,): pa.vjp(lambda y: f(x, y), y)[1](ct),
    }  # fmt: skip
    for places, found in ways.items():
        for i, c in zip(places, found, strict=True):
            close(c, right(x, y, ct)[i], rtol=1e-5 if dtype == np.float32 else 1e-12)
            assert c.dtype == dtype


@pytest.mark.parametrize("size", SIZES)
def test_parameters_reach_the_rule(size):
    x = rng.uniform(0.5, 1.5, (2, size))
    for f in (
        lambda x: pa.sum(x, axis=0),
        lambda x: pa.cumsum(x, axis=1),
        lambda x: pa.roll(x, 3, axis=1),
        lambda x: x[1, ::2],
    ):
        ct = rng.uniform(0.5, 1.5, f(x).shape)
        close(np.sum(pa.vjp(f, x)[1](ct)[0] * x), np.sum(ct * f(x)), rtol=1e-12)  # all are linear


@pytest.mark.parametrize("number", [3, 3.0, np.float64(3.0), 3j])
@pytest.mark.parametrize("size", SIZES)
def test_beside_numbers(number, size):
    """A number changes neither the shape of x nor, unless it is complex, the space of its cotangent."""
    x = rng.uniform(0.5, 1.5, size)
    for f in (lambda x: pa.sum(pa.real(x * number)), lambda x: pa.sum(pa.real(number * x))):
        g = pa.grad(f)(x)
        close(g, np.full(size, np.real(number)))
        assert g.dtype == float and g.shape == x.shape
    assert pa.grad(lambda x: pa.sum(x * 3))(x.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("count", [1, 2, 4, 5, 9])
def test_any_number_of_arrays(count):
    """Each has a name of its own, or, from five on, a place in a list; one of them is not followed."""
    xs, weights = rng.uniform(0.5, 1.5, (count, 2)), rng.uniform(0.5, 1.5, (count, 2))
    f = lambda *followed: pa.sum(weights * pa.stack([*followed[:1], *xs[1:2], *followed[1:]]))
    given = (xs[0], *xs[2:])
    close(pa.grad(f, tuple(range(len(given))))(*given), [weights[0], *weights[2:]])


def test_results_that_are_no_floating_numbers_are_plain():
    def f(x):
        found = [pa.argmax(x), x > 1, pa.floor(x), pa.sum(x, dtype=int), pa.astype(x, int), pa.frexp(x)[1], pa.argsort(x)]
        assert not any(isinstance(y, Layer) for y in found)
        assert isinstance(pa.frexp(x)[0], Layer) and isinstance(pa.sum(x, dtype=np.float32), Layer)
        return pa.sum(x * found[2])

    assert pa.grad(f)(np.array([1.5, 2.5])).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("size", SIZES)
def test_what_a_rule_does_not_read_is_given_back(size):
    """Of large arrays: sum(sin(x)) keeps x, not the sine."""
    import weakref

    seen = []

    def f(x):
        y = pa.sin(x)
        seen.append(weakref.ref(y.value))
        return pa.sum(y)

    with pa.debug_mutation(False):
        y, pull = pa.vjp(f, np.ones(size))
        assert size < 4096 or seen[0]() is None
        close(pull(1.0)[0], np.full(size, np.cos(1.0)))


@pytest.mark.parametrize("size", SIZES)
def test_values_of_runs_that_are_over(size):
    kept = []
    pa.grad(lambda x: kept.append(x) or pa.sum(x))(np.ones(size))
    for use in (pa.sin, pa.negative, lambda x: x * 2.0, lambda x: pa.sum(x), lambda x: x[0], lambda x: pa.concatenate([x, x])):
        with pytest.raises(pa.LeakedLayerError, match="grad"):
            use(kept[0])
        with pytest.raises(pa.LeakedLayerError, match="grad"):
            pa.grad(lambda y: pa.sum(y * kept[0]))(np.ones(size))
