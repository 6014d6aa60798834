"""Reductions: products with zeros, of nothing and in other dtypes."""

import numpy as np
import pytest

import polyad as pa


@pytest.mark.parametrize("zeros", [[], [1], [0, 3], [0, 1, 2, 3]])
def test_product_with_zeros(zeros):
    x = np.array([2.0, -3.0, 0.5, 4.0])
    x[zeros] = 0.0
    others = [np.prod(np.delete(x, i)) for i in range(4)]
    second = [[0.0 if i == j else np.prod(np.delete(x, [i, j])) for j in range(4)] for i in range(4)]
    np.testing.assert_allclose(pa.grad(pa.prod)(x), others, rtol=1e-14)
    np.testing.assert_allclose(pa.hessian(pa.prod)(x), second, rtol=1e-14)
    np.testing.assert_allclose(pa.jacfwd(lambda u: np.prod(u, axis=0, keepdims=True))(x)[0], others, rtol=1e-14)


def test_product_of_nothing_and_in_a_dtype():
    assert pa.prod(np.ones((0, 3)), axis=0).tolist() == [1.0] * 3 and pa.grad(pa.prod)(np.ones(0)).shape == (0,)
    assert pa.prod(np.ones(2, np.int8)).dtype == int and pa.prod(np.ones(2, np.float32), dtype=np.float64).dtype == np.float64
    assert pa.grad(lambda x: pa.prod(x, dtype=pa.float64))(np.full(2, 3, np.float32)).dtype == np.float32
    assert pa.grad(pa.prod)(np.array(7.0)) == 1.0 and pa.prod(5.0) == 5.0
