"""Loops whose form depends on lengths and values: short reductions, several reduced axes, places from comparisons, masks."""

import numpy as np
import pytest

import polyad as pa

pytestmark = pytest.mark.optimized


def same(f, *args, rtol=1e-12):
    with np.errstate(all="ignore"):
        g, wanted = pa.jit(f), f(*args)
    g(*args)
    for a, b in zip(pa.tree.leaves(g(*args)), pa.tree.leaves(wanted), strict=True):
        assert (a.dtype, np.shape(a)) == (b.dtype, np.shape(b))
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("dtype", ["d", "f"])
@pytest.mark.parametrize("n", [8, 17, 100])
def test_places_from_comparisons(n, dtype):
    """gcc 12 takes elements from wrong places where it sees that these come from truth values of another width."""
    rng = np.random.default_rng(n)
    a, b, v = (rng.normal(size=k).astype(dtype) for k in (2, 4, n))
    above = lambda v, x: pa.astype(v >= x, int)
    same(lambda a, v: above(v, pa.take(a, above(v, a[0]))) + above(v, a[0]), np.sort(a), v)
    same(lambda a, b, v: pa.take(b, above(v, a[0]) + above(v, pa.take(b, above(v, a[1])))), a, b, v)
    same(lambda a, v: above(v, pa.take(a, pa.where(v > 0, 1, 0))) + pa.where(v > 0, 1, 0), a, v)


@pytest.mark.parametrize("dtype", ["d", "f"])
def test_exponentials_out_of_range(dtype):
    least, largest = (-745.2, 709.8) if dtype == "d" else (-104.0, 88.8)
    special = [-np.inf, np.inf, np.nan, 0.0, -0.0, np.finfo(dtype).min, -1e9]
    x = np.array([*special, *np.linspace(least - 4, least + 20, 50), largest - 1, largest + 1] * 2, dtype)
    y = pa.jit(pa.exp)(x)
    with np.errstate(all="ignore"):
        wanted = np.exp(x)
    np.testing.assert_allclose(y, wanted, rtol=1e-6 if dtype == "f" else 1e-14, atol=2 * np.finfo(dtype).smallest_subnormal)
    assert not np.signbit(y[0])


@pytest.mark.parametrize("exponent", [3, 4, 6])
def test_powers(exponent):
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-120, 1e120, -1e70, 2.5, -3.0, 1e-60, 1.0 + 1e-15])
    for e in (exponent, float(exponent)):
        same(lambda x, e=e: x**e, x)


@pytest.mark.parametrize("m", [1, 31, 32, 64, 300])
@pytest.mark.parametrize("k", [1, 3, 4, 300])
def test_one_row(k, m):
    rng = np.random.default_rng(0)
    x, a = rng.normal(size=k), rng.normal(size=(k, m))
    same(lambda x, a: (x @ a, x[None] @ a, a.T @ x, pa.sum(a * x[:, None], 0)), x, a, rtol=1e-11)
    same(lambda x, a: x @ a.T, x, np.ascontiguousarray(a.T), rtol=1e-11)
    same(lambda x, a: x[None, ::-1] @ a.T, x, np.ascontiguousarray(a.T), rtol=1e-11)


def test_complex_angles():
    z = np.array([1 + 1j, -1 + 0j, complex(-1, -0.0), 0j, complex(np.inf, -np.inf), complex(np.nan, 1), 1e300 + 1e300j])
    same(lambda z: (pa.angle(z), pa.abs(z)), z)
