"""Arrays brought to each other's lengths, against NumPy's padding and slices; their derivatives are each other."""

import numpy as np
import pytest

import polyad as pa
from polyad.dsl.ops.lengths import lengthened, of_one_length, shortened, uniform

PAIRS = [((2, 3), (4, 5), 0), ((2, 3), (4, 2), 0), ((2, 3), (4, 5), 1), ((0, 2), (3, 2), 0), ((3, 1), (3, 1), 0)]


@pytest.mark.parametrize(("shape", "longer", "first"), PAIRS)
def test_zeros_at_the_end(shape, longer, first):
    x, like = np.random.default_rng(0).normal(size=shape), np.ones(longer)
    more = [(0, max(m - n, 0) if axis >= first else 0) for axis, (n, m) in enumerate(zip(shape, longer, strict=True))]
    np.testing.assert_array_equal(lengthened(x, like, first=first), np.pad(x, more), strict=True)
    lanes = pa.vmap(lambda x, like: lengthened(x, like, first=first), in_axes=(0, None))(np.stack([x, -x]), like)
    np.testing.assert_array_equal(lanes, [np.pad(x, more), np.pad(-x, more)])
    ct = np.random.default_rng(1).normal(size=np.pad(x, more).shape)
    (back,) = pa.vjp(lambda x: lengthened(x, like, first=first), x)[1](ct)
    np.testing.assert_array_equal(back, ct[tuple(map(slice, shape))])


def test_what_is_beyond_is_left_out():
    x, like = np.arange(12.0).reshape(3, 4), np.ones((2, 1))
    np.testing.assert_array_equal(shortened(x, like), x[:2, :1], strict=True)
    (back,) = pa.vjp(lambda x: shortened(x, like), x)[1](np.array([[5.0], [7.0]]))
    np.testing.assert_array_equal(back, [[5, 0, 0, 0], [7, 0, 0, 0], [0, 0, 0, 0]])


def test_the_longest_of_each_axis_counts():
    xs = [np.ones((1, 3)), 2 * np.ones((2, 1)), np.zeros((0, 2))]
    assert [x.tolist() for x in of_one_length(xs)] == [[[1] * 3, [0] * 3], [[2, 0, 0]] * 2, [[0] * 3] * 2]
    assert [x.shape for x in of_one_length(xs, first=1)] == [(1, 3), (2, 3), (0, 3)]
    same = [np.ones(2), np.zeros(2)]
    assert all(a is b for a, b in zip(of_one_length(same), same, strict=True))


def test_one_number_everywhere():
    found = uniform(np.ones((2, 0, 3), np.float32), value=2)
    assert found.shape == (2, 0, 3) and found.dtype == np.float32
    np.testing.assert_array_equal(uniform(np.ones(2), value=7, dtype=np.dtype("i4")), np.full(2, 7, "i4"), strict=True)
