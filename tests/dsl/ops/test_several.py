"""Functions of several arrays that change shapes only, against NumPy, and what they refuse."""

import numpy as np
import pytest

import polyad as pa


@pytest.mark.parametrize("shapes", [[(3, 1), (2,)], [()], [(0, 1), (1, 5)], [(1,), (4, 1, 1), (2, 1)]])
def test_common_shapes(shapes):
    wanted = np.broadcast_shapes(*shapes)
    assert pa.broadcast_shapes(*shapes) == wanted
    arrays = [np.random.default_rng(0).normal(size=s) for s in shapes]
    for found, right in zip(pa.broadcast_arrays(*arrays), np.broadcast_arrays(*arrays), strict=True):
        np.testing.assert_array_equal(found, right)
    assert type(pa.broadcast_arrays(*arrays)) is tuple


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("shape", [(2, 3), (3, 1), (0, 2), (2, 0)])
def test_unstacked_slices(shape, axis):
    x = np.arange(np.prod(shape), dtype=np.int16).reshape(shape)
    found = pa.unstack(x, axis=axis)
    assert len(found) == shape[axis] and all(part.dtype == x.dtype for part in found)
    for i, part in enumerate(found):
        np.testing.assert_array_equal(part, np.take(x, i, axis=axis))


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("lengths", [(3,), (3, 2), (2, 0), (1, 3, 2), (2, 3, 1, 2)])
def test_grids(lengths, sparse, indexing):
    axes = [np.arange(n) * 1.5 for n in lengths]
    wanted = np.meshgrid(*axes, indexing=indexing, sparse=sparse)
    for found, right in zip(pa.meshgrid(*axes, indexing=indexing, sparse=sparse), wanted, strict=True):
        np.testing.assert_array_equal(found, right, strict=True)


def test_slopes_add_up_over_the_grid():
    g = pa.grad(lambda x, y: pa.sum(pa.multiply(*pa.meshgrid(x, y))), argnums=(0, 1))(np.arange(3.0), np.array([2.0, 5.0]))
    np.testing.assert_array_equal(g[0], [7.0] * 3)
    np.testing.assert_array_equal(g[1], [3.0] * 2)


@pytest.mark.parametrize(("call", "text"), [
    (lambda: pa.broadcast_shapes((2,), (3,)), r"broadcast_shapes: \(2,\), \(3,\) do not broadcast; check the lengths"),
    (lambda: pa.broadcast_arrays(np.ones(2), np.ones(3)), r"broadcast_arrays.*\[2\].*\[3\]"),
    (lambda: pa.unstack(np.float64(1.0)), "unstack: .* has no axis"),
    (lambda: pa.unstack(np.ones(2), axis=1), "unstack"),
    (lambda: pa.meshgrid(np.ones(2), indexing="yx"), "meshgrid: indexing='yx' is neither 'xy' nor 'ij'"),
    (lambda: pa.meshgrid(np.ones((2, 2))), r"meshgrid: ndarray\(float64\[2, 2\]\): coordinates have one axis; use ravel"),
])  # fmt: skip
def test_refusals(call, text):
    with pytest.raises(pa.ShapeError, match=text):
        call()
