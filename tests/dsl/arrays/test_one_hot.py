"""Products of OneHot pick rows and add them up, as those of the dense form do."""

import numpy as np
import pytest

import polyad as pa

A = np.arange(9.0).reshape(3, 3) / 3 - 1
H = pa.OneHot(np.array([2, 0, 1]), 3)


@pytest.fixture(autouse=True)
def strict():
    """Nothing becomes dense behind our back; tests that mean it say so."""
    with pa.densify("error"):
        yield


def same(found, expected):
    found = found.dense() if isinstance(found, pa.Container) else found
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)
    assert np.shape(found) == np.shape(expected)


def test_one_hot():
    W = np.arange(12.0).reshape(3, 4)
    same(H @ W, W[[2, 0, 1]])
    same(W.T @ H, W.T @ H.dense())
    same(pa.OneHot(np.array([[0, 1], [2, 2]]), 3) @ W, W[[[0, 1], [2, 2]]])
    same(pa.OneHot(1, 3) @ W, W[1])
    same(np.ones(4) @ pa.OneHot(np.array([1, 1, 0, 2]), 3), np.array([1.0, 2.0, 1.0]))
    assert type(H @ H) is type(H[0]) is type(H[1:]) is pa.OneHot
    same(H @ H, H.dense() @ H.dense())
    same(H.sum(axis=-1), np.ones(3))
    same(H.sum(axis=0), np.ones(3))
    same(H.sum(), 3.0)
    same(H * A, H.dense() * A)
    assert (pa.OneHot(np.array([0]), 3, np.float32) @ W.astype(np.float32)).dtype == np.float32
