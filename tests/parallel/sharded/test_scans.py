"""Cumulative sums of sharded arrays: of a chunk after all before it."""

import numpy as np

import polyad as pa


def test_one_rank():
    x = np.arange(6.0).reshape(2, 3)
    for axis in (None, 0, 1):
        np.testing.assert_array_equal(np.asarray(pa.cumsum(pa.shard(x), axis=axis)), np.cumsum(x, axis=axis))


def test_on_several_ranks(mpirun):
    script = """
    import numpy as np
    import polyad as pa
    P = pa.PartitionSpec
    pa.densify("error")
    for n in (0, 1, 2, 7):
        x = np.random.default_rng(n).normal(size=(n, 3))
        for y in (x, (x * 9).astype(np.int8), x.astype(np.float32)):
            for spec in (P("ranks"), P(None, "ranks"), P()):
                for axis in (0, 1, None):
                    for dtype in (None, np.float64):
                        found = pa.gather(pa.cumsum(pa.shard(y, spec), axis=axis, dtype=dtype))
                        right = np.cumsum(y, axis=axis, dtype=dtype)
                        assert found.dtype == right.dtype, (found.dtype, right.dtype)
                        np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-5)
        f = lambda x: pa.sum(pa.cumsum(pa.sin(x), axis=0) * np.arange(1.0, 4))
        np.testing.assert_allclose(pa.gather(pa.grad(f)(pa.shard(x))), pa.grad(f)(x))
        found = pa.gather(pa.cumulative_sum(pa.shard(x), axis=0, include_initial=True))
        np.testing.assert_allclose(found, np.cumsum(np.concatenate([np.zeros((1, 3)), x]), axis=0))
    """
    for ranks in (2, 3):
        mpirun(script, ranks)
