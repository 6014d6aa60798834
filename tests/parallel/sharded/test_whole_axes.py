"""Operations that need some axes whole: they stay sharded along the others, or are cut along another, or become dense."""

import numpy as np
import pytest

import polyad as pa

P = pa.PartitionSpec


def test_nothing_left_to_be_cut_becomes_dense():
    x = pa.shard(np.eye(3) * 2)
    with pytest.warns(pa.DensifyWarning, match="inv has no method for Sharded"):
        pa.linalg.inv(x)
    with pa.densify("error"):
        assert isinstance(pa.linalg.inv(pa.shard(np.stack([np.eye(3)] * 4))), pa.Sharded)


def test_on_several_ranks(mpirun):
    script = """
    import numpy as np
    import polyad as pa
    P = pa.PartitionSpec
    pa.densify("error")
    rng = np.random.default_rng(1)
    a = rng.normal(size=(5, 3, 3)) + 4 * np.eye(3)
    for spec in (P("ranks"), P(None, "ranks"), P(None, None, "ranks")):
        s = pa.shard(a, spec)
        np.testing.assert_allclose(pa.gather(pa.linalg.inv(s)), np.linalg.inv(a))
        np.testing.assert_allclose(pa.gather(pa.linalg.det(s)), np.linalg.det(a))
        for part, right in zip(pa.gather(pa.linalg.svd(s)), np.linalg.svd(a)):
            assert part.shape == right.shape
        for b in (np.ones(3), rng.normal(size=(5, 3, 2)), pa.shard(rng.normal(size=(5, 3, 2)))):
            np.testing.assert_allclose(pa.gather(pa.linalg.solve(s, b)), np.linalg.solve(a, pa.gather(b)), rtol=1e-9)
        np.testing.assert_allclose(pa.gather(pa.fft.fft(s, axis=1, n=4)), np.fft.fft(a, axis=1, n=4), atol=1e-12)
        np.testing.assert_array_equal(pa.gather(pa.sort(s, axis=0)), np.sort(a, axis=0))
        np.testing.assert_allclose(pa.gather(pa.cumprod(s, axis=2)), np.cumprod(a, axis=2))
    x, w = rng.normal(size=(4, 2, 9)), rng.normal(size=(3, 2, 3))
    for one in (P("ranks"), P(None, "ranks"), P()):
        for other in (P("ranks"), P(None, "ranks"), P()):
            X, W = pa.shard(x, one), pa.shard(w, other)
            np.testing.assert_allclose(pa.gather(pa.conv(X, W, padding="same")), pa.conv(x, w, padding="same"), atol=1e-12)
            f = lambda x, w: pa.sum(pa.sin(pa.conv(x, w, strides=2)))
            for found, right in zip(pa.grad(f, (0, 1))(X, W), pa.grad(f, (0, 1))(x, w)):
                np.testing.assert_allclose(pa.gather(found), right, atol=1e-12)
    """
    for ranks in (2, 3):
        mpirun(script, ranks)


def test_convolutions_without_output_channels():
    assert pa.conv(np.ones((2, 1, 4)), np.ones((0, 1, 2))).shape == (2, 0, 3)
