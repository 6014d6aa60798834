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
def test_exponentials_out_of_range(dtype):
    least, largest = (-745.2, 709.8) if dtype == "d" else (-104.0, 88.8)
    special = [-np.inf, np.inf, np.nan, 0.0, -0.0, np.finfo(dtype).min, -1e9]
    x = np.array([*special, *np.linspace(least - 4, least + 20, 50), largest - 1, largest + 1] * 2, dtype)
    y = pa.jit(pa.exp)(x)
    with np.errstate(all="ignore"):
        wanted = np.exp(x)
    np.testing.assert_allclose(y, wanted, rtol=1e-6 if dtype == "f" else 1e-14, atol=2 * np.finfo(dtype).smallest_subnormal)
    assert not np.signbit(y[0])


def test_complex_angles():
    z = np.array([1 + 1j, -1 + 0j, complex(-1, -0.0), 0j, complex(np.inf, -np.inf), complex(np.nan, 1), 1e300 + 1e300j])
    same(lambda z: (pa.angle(z), pa.abs(z)), z)
