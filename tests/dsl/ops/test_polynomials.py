"""Polynomials against numpy.polynomial, which has its coefficients the other way round and code of its own."""

import numpy as np
import pytest
from numpy.polynomial import polynomial as reference

import polyad as pa

SIZES = [(1, 1), (3, 5), (5, 3), (4, 4)]
back = slice(None, None, -1)


def coefficients(n, seed):
    return np.random.default_rng(seed).normal(size=n)


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("shape", [(), (3,), (0,), (2, 1)])
def test_values(n, shape):
    p, x = coefficients(n, 1), np.random.default_rng(2).normal(size=shape)
    np.testing.assert_allclose(pa.polyval(p, x), reference.polyval(x, p[back]), rtol=1e-13)
    if shape == (3,):
        slopes = reference.polyval(x, reference.polyder(p[back])), np.vander(x, n).sum(0)
        for found, right in zip(pa.grad(lambda x, p: pa.sum(pa.polyval(p, x)), argnums=(0, 1))(x, p), slopes, strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("m", "n"), SIZES)
def test_sums_and_products(m, n):
    p, q = coefficients(m, 3), coefficients(n, 4)
    for name in ("polyadd", "polysub", "polymul"):
        right = getattr(reference, name)(p[back], q[back])[back]
        for f in (getattr(pa, name), pa.jit(getattr(pa, name))):
            np.testing.assert_allclose(f(p, q), right, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("m", [0, 1, 2, 6])
def test_derivatives_and_antiderivatives(n, m):
    p = coefficients(n, 5)
    found = pa.polyder(p, m)
    assert found.shape == (max(n - m, 0),)
    if m < n:
        np.testing.assert_allclose(found, reference.polyder(p[back], m)[back], rtol=1e-13)
    for k in (None, [float(i) + 0.5 for i in range(m)]):
        np.testing.assert_allclose(pa.polyint(p, m, k), reference.polyint(p[back], m, k or [])[back], rtol=1e-13)
        np.testing.assert_allclose(pa.polyder(pa.polyint(p, m, k), m), p, rtol=1e-13)
    np.testing.assert_allclose(pa.polyint(p, 2, 2.5), reference.polyint(p[back], 2, [2.5, 2.5])[back], rtol=1e-13)


@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.float64, complex])
@pytest.mark.parametrize("N", [None, 0, 1, 4])
@pytest.mark.parametrize("increasing", [False, True])
def test_rows_of_powers(dtype, N, increasing):
    x = np.array([2, -1, 3]).astype(dtype)
    found = pa.vander(x, N, increasing=increasing)
    powers = range(3 if N is None else N)
    rows = [[v**k for k in (powers if increasing else reversed(powers))] for v in x.astype(np.result_type(dtype, int)).tolist()]
    assert found.dtype == np.vander(x, N).dtype and found.tolist() == rows


@pytest.mark.parametrize(("call", "text"), [
    (lambda: pa.polyval(np.ones((2, 2)), 1.0), r"polyval: .*\[2, 2\].* has several axes"),
    (lambda: pa.polyadd(np.ones(2), np.ones((2, 2))), "polyadd: .* the coefficients of a polynomial have one"),
    (lambda: pa.polyint(np.ones(2), 2, [1.0]), "polyint: 1 constants for 2 integrations"),
    (lambda: pa.vander(np.ones((2, 2))), r"vander: .*\[2, 2\].* must have one axis"),
])  # fmt: skip
def test_refusals(call, text):
    with pytest.raises(pa.ShapeError, match=text):
        call()
