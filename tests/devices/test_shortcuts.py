"""NumPy's own functions are what the bodies of operations are, on both sides of the size from which they are taken."""

import numpy as np
import pytest

import polyad as pa

pytestmark = pytest.mark.quick


def small_and_large():
    """Pairs of arrays with NaN, infinities and zeros of both signs, on both sides of where NumPy's kernel takes over."""
    for size in (0, 1, 7, 4095, 4096, 5000):
        rng = np.random.default_rng(size)
        x = rng.standard_normal(size)
        x[1::7], x[2::7], x[3::7], x[5::7] = np.nan, np.inf, -np.inf, -0.0
        yield x, rng.standard_normal(size)


@pytest.mark.parametrize("limits", [(-0.5, 0.5), (None, 0.3), (0.1, None), (1.0, -1.0), (np.nan, 1.0), (0, 1)])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint8", "bool"])
def test_clip_is_its_body(limits, dtype):
    body = pa.clip.card.body
    for x, _ in small_and_large():
        with np.errstate(invalid="ignore"):
            x = x.astype(dtype)
        found, expected = pa.clip(x, *limits), body(x, *limits)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype
        two = np.stack([x, x])[:, ::2]  # not contiguous, and limits that are arrays
        np.testing.assert_array_equal(pa.clip(two, np.zeros((2, 1)), x[::2]), body(two, np.zeros((2, 1)), x[::2]))
        assert not np.shares_memory(found, x)


@pytest.mark.parametrize("dtypes", [("f8", "f8"), ("f4", "f8"), ("c16", "f8"), ("c8", "c16"), ("i8", "f8"), ("i4", "i4"),
                                    ("f2", "f2"), ("?", "?")])  # fmt: skip
@pytest.mark.parametrize("axis", [-1, 0])
def test_vecdot_is_its_body(dtypes, axis):
    body, rng = pa.vecdot.card.body, np.random.default_rng(0)
    for shapes in (((3, 5), (3, 5)), ((5,), (5,)), ((4, 3, 5), (4, 1, 5)), ((0,), (0,)), ((3, 0), (3, 0))):
        x, y = [(3 * rng.standard_normal(s) + (1j * rng.standard_normal(s) if d[0] == "c" else 0)).astype(d)
                for s, d in zip(shapes, dtypes, strict=True)]  # fmt: skip
        found, expected = pa.vecdot(x, y, axis=axis), body(x, y, axis=axis)
        np.testing.assert_allclose(found, expected, rtol=1e-2 if "f2" in dtypes else 1e-5 if "f4" in dtypes else 1e-12)
        assert np.asarray(found).dtype == np.asarray(expected).dtype
        assert np.shape(found) == np.shape(expected)
    with pytest.raises(pa.ShapeError, match="vecdot: lengths along axis -1 differ"):
        pa.vecdot(np.ones(3), np.ones(4))


def test_outer_is_its_body():
    for x, y in (*small_and_large(), (np.ones((2, 3)), np.arange(4)), (2.0, np.ones(2)), (np.float32(2), np.ones((2, 2)))):
        x, y = x[:50] if np.ndim(x) == 1 else x, y[:50] if np.ndim(y) == 1 else y
        found, expected = pa.outer(x, y), pa.outer.card.body(x, y)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype
