"""Strips of the neighbours' blocks, against NumPy on the whole array."""

import numpy as np
import pytest

import polyad as pa


def whole(x, before, after, axis, periodic):
    """The blocks of x, lanes first, with strips of their neighbours."""
    lanes, length = x.shape[0], x.shape[axis + 1]
    joined = np.concatenate(list(x), axis=axis)
    ends = [(before, after) if k == axis else (0, 0) for k in range(joined.ndim)]
    wide = np.pad(joined, ends, mode="wrap" if periodic else "constant")
    cut = lambda k: np.take(wide, range(k * length, (k + 1) * length + before + after), axis=axis)
    return np.stack([cut(k) for k in range(lanes)])


def over(x, **options):
    return pa.vmap(lambda x: pa.halo(x, "i", **options), axis_name="i")(x)


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize(("width", "axis"), [(1, 0), (2, 1), ((0, 2), -1), ((3, 1), 0), (0, 0)])
@pytest.mark.parametrize("lanes", [1, 2, 4])
def test_strips(lanes, width, axis, periodic, rng):
    x = rng.normal(size=(lanes, 3, 2))
    before, after = (width, width) if isinstance(width, int) else width
    f = lambda x: over(x, width=width, axis=axis, periodic=periodic)
    np.testing.assert_array_equal(f(x), whole(x, before, after, axis % 2, periodic))
    pa.check_grads(f, (x,), order=1)


def test_a_stencil_is_that_of_the_whole(rng):
    v = rng.normal(size=12)
    smooth = lambda x: (lambda y: y[:-2] - 2 * y[1:-1] + y[2:])(pa.halo(x, "i", periodic=True))
    blocks = lambda v: pa.vmap(smooth, axis_name="i")(v.reshape(4, 3)).reshape(12)
    right = lambda v: pa.roll(v, 1) - 2 * v + pa.roll(v, -1)
    np.testing.assert_allclose(blocks(v), right(v))
    slope = lambda f: pa.grad(lambda v: pa.sum(pa.sin(f(v))))(v)
    np.testing.assert_allclose(slope(blocks), slope(right))


def test_strips_that_one_neighbour_has_not():
    x = np.zeros((2, 3))
    for width in (4, (0, 4), (-1, 0)):
        with pytest.raises(
            pa.ShapeError, match="halo: strips of .* whose axis 0 has length 3; a strip comes from one neighbour"
        ):
            over(x, width=width)
    with pytest.raises(pa.AxisNameError, match="halo: no axis named 'k'"):
        pa.vmap(lambda x: pa.halo(x, "k"), axis_name="i")(x)
