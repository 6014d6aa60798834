"""Reductions of sharded arrays: over axes that are cut and those that are not, empty chunks, and places of extrema."""

import numpy as np
import pytest

import polyad as pa

P = pa.PartitionSpec


def test_on_several_ranks(mpirun):
    script = """
    import numpy as np
    import polyad as pa
    P, w = pa.PartitionSpec, pa.world()
    pa.densify("error")
    for dtype in (np.float64, np.float32, np.int8, np.uint16, bool):
        x = (np.random.default_rng(5).permutation(10).reshape(2, 5) - (4 if dtype is not np.uint16 else 0)).astype(dtype)
        for spec in (P("ranks"), P(None, "ranks")):
            s = pa.shard(x, spec)  # of two rows on three ranks one is empty
            for name in ("sum", "prod", "max", "min", "any", "all"):
                for axis in (None, 0, 1, (0, 1), -1):
                    for keepdims in (False, True):
                        found = pa.gather(getattr(pa, name)(s, axis=axis, keepdims=keepdims))
                        right = getattr(np, name)(x, axis=axis, keepdims=keepdims)
                        assert np.shape(found) == np.shape(right), (name, dtype, axis)
                        assert np.asarray(found).dtype == right.dtype, (name, dtype, axis)
                        np.testing.assert_allclose(found, right, err_msg=f"{name} {dtype} {axis}")
            for axis in (0, 1):
                for op, ref in ((pa.argmax, np.argmax), (pa.argmin, np.argmin)):
                    np.testing.assert_array_equal(pa.gather(op(s, axis=axis)), ref(x, axis=axis))
    x = np.array([1.0, 5.0, np.nan, 5.0, 2.0])
    assert np.isnan(pa.max(pa.shard(x))) and pa.argmax(pa.shard(x)) == 2
    tie = pa.shard(np.array([1.0, 5.0, 0.0, 5.0, 2.0]))
    np.testing.assert_allclose(pa.gather(pa.grad(pa.max)(tie)), [0, 0.5, 0, 0.5, 0])
    np.testing.assert_allclose(pa.gather(pa.grad(pa.prod)(tie + 1.0)), np.prod([2, 6, 1, 6, 3]) / np.array([2, 6, 1, 6, 3.0]))
    low = pa.shard(np.full(2, -np.inf))
    assert pa.max(low) == -np.inf and pa.argmax(low) == 0  # a rank without elements has none of them
    y = pa.sum(pa.shard(np.ones((40, 3))), axis=0)
    assert y.spec == P(None, partial="ranks") and pa.sum(y) == 120.0
    """
    for ranks in (2, 3):
        mpirun(script, ranks)


def test_nothing_to_reduce_is_named():
    with pytest.raises(pa.ShapeError, match="no identity"):
        pa.max(pa.shard(np.ones((0, 3))), axis=0)
    assert pa.max(pa.shard(np.ones((0, 3))), axis=1).shape == (0,) and pa.sum(pa.shard(np.ones(0))) == 0.0
