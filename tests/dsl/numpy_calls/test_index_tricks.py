"""`r_` and `c_` are NumPy's, on followed values too; and smaller gaps to NumPy closed beside them: dot, tuples as indices."""

import numpy as np
import pytest

import polyad as pa

A, B = np.arange(3.0), np.arange(6.0).reshape(3, 2)
BRACKETS = [
    "A", "A, 1, 2.5", "1:4", "0:1:5j, A", "3:0:-1", "B, B", "'-1', B, B", "'0,2', A, A", "'0,2,0', A, A", "'1,2,0', A, A",
    "'0,3', B, B", "'0,3,0', B, B", "'0,3,1', B, B", "'1,3,0', A, A", "'1,3,1', A, A", "'0,3,-2', A, A", "[1, 2], 3", "7",
    "A.astype('float32'), 1.5", "A.astype(int), A", "A[:0], A",
]  # fmt: skip


@pytest.mark.parametrize("name", ["r_", "c_"])
@pytest.mark.parametrize("inside", BRACKETS)
def test_as_numpy(name, inside):
    try:
        right = eval(f"np.{name}[{inside}]")
    except ValueError:
        with pytest.raises(pa.ShapeError):
            eval(f"pa.{name}[{inside}]")
        return
    found = eval(f"pa.{name}[{inside}]")
    np.testing.assert_array_equal(found, right)
    assert found.dtype == right.dtype and found.shape == right.shape


def test_followed_values():
    f = lambda x: pa.sum(pa.c_[x, 2 * x, A] ** 2) + pa.sum(pa.r_[x[0], 0:3, x] ** 3)
    pa.check_grads(f, (A + 0.5,))
    np.testing.assert_array_equal(pa.vmap(lambda x: pa.r_[x, 1.0])(B), np.c_[B, np.ones(3)])


def test_errors():
    with pytest.raises(pa.ShapeError, match="r_: 'r' is no 'axis'.*polyad.reshape"):
        pa.r_["r", A]
    with pytest.raises(pa.ShapeError, match="c_: nothing stands in the brackets"):
        pa.c_["0"]


SHAPES = [((3,), (2, 3, 4)), ((2, 3), (2, 3, 4)), ((2, 2, 3), (4, 3, 2)), ((2, 2, 3), (3,)), ((0, 3), (2, 3, 1))]


@pytest.mark.parametrize("shapes", SHAPES)
def test_dot_of_any_axes(rng, shapes):
    x, y = [rng.standard_normal(s) for s in shapes]
    for dot in (pa.dot, np.dot):
        np.testing.assert_allclose(pa.vmap(lambda x, dot=dot: dot(x, y))(x[None])[0], np.dot(x, y))
    pa.check_grads(pa.dot, (x, y), order=1)


def test_dot_says_which_axes_differ():
    with pytest.raises(pa.ShapeError, match="dot: the last axis of .* and the last but one of"):
        pa.dot(np.ones((2, 3)), np.ones((2, 2, 4)))


def test_tuples_index_as_lists_do():
    x = np.arange(12.0).reshape(3, 4)
    for index in [((0, 2, 0), (1, 1, 3)), (slice(None), (True, False, True, False)), ((0,), (1, 2)), ((), 1)]:
        right = np.zeros_like(x)
        np.add.at(right, index, 1.0)
        np.testing.assert_array_equal(pa.grad(lambda x, index=index: pa.sum(x[index]))(x), right)


def test_real_if_close():
    z = np.array([1.0 + 1e-15j, 2.0])
    for x, tol in ((z, 100), (z, 1e-3), (z + 1j, 100), (z.real, 100), (z, 1e-16)):
        found, right = pa.real_if_close(x, tol=tol), np.real_if_close(x, tol=tol)
        np.testing.assert_array_equal(found, right)
        assert found.dtype == right.dtype
    gradient = pa.grad(lambda x: np.sum(np.real_if_close(x + 1e-15j) ** 2))(A)
    np.testing.assert_allclose(gradient, 2 * A)
    with pytest.raises(pa.ConcreteValueError):
        pa.make_ir(pa.real_if_close)(z)
