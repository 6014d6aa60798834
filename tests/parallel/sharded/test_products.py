"""Products of sharded arrays, in all layouts of both factors, with batch axes and vectors."""

import numpy as np
import pytest

import polyad as pa

P = pa.PartitionSpec


def test_every_layout_on_several_ranks(mpirun):
    script = """
    import itertools
    import numpy as np
    import polyad as pa
    P = pa.PartitionSpec
    pa.densify("error")
    rng = np.random.default_rng(2)
    cut = [P(*[None] * k, "ranks") for k in range(3)]
    ways = {1: (cut[0], P()), 2: (*cut[:2], P()), 3: cut}
    shapes = [((4, 5), (5, 3)), ((5,), (5, 3)), ((4, 5), (5,)), ((5,), (5,)), ((2, 4, 5), (5, 3)), ((2, 4, 5), (2, 5, 3)),
              ((1, 4, 5), (3, 5, 2)), ((4, 0), (0, 3)), ((4, 1), (1, 3))]
    for a, b in shapes:
        x, y = rng.normal(size=a), rng.normal(size=b)
        for one, other in itertools.product((None, *ways[len(a)]), (None, *ways[len(b)])):
            if one is other is None:
                continue
            X, Y = x if one is None else pa.shard(x, one), y if other is None else pa.shard(y, other)
            np.testing.assert_allclose(pa.gather(X @ Y), x @ y, err_msg=str((a, b, one, other)), atol=1e-12)
            loss = lambda x, y: pa.sum(pa.sin(x @ y))
            for found, right in zip(pa.grad(loss, (0, 1))(X, Y), pa.grad(loss, (0, 1))(x, y)):
                np.testing.assert_allclose(pa.gather(found), right, err_msg=str((a, b, one, other)), atol=1e-12)
    x = rng.normal(size=(6, 4))
    np.testing.assert_allclose(pa.gather(pa.einsum("ij,kj->ik", pa.shard(x), x)), x @ x.T)
    np.testing.assert_allclose(pa.gather(pa.tensordot(pa.shard(x), x, axes=(0, 0))), x.T @ x)
    np.testing.assert_allclose(pa.gather(pa.outer(pa.shard(x[:, 0]), x[0])), np.outer(x[:, 0], x[0]))
    """
    for ranks in (2, 3):
        mpirun(script, ranks)


def test_misfits_are_named():
    x = pa.shard(np.ones((4, 5)))
    with pytest.raises(pa.ShapeError, match=r"matmul: the shapes do not fit: Sharded\(float64\[4, 5\]\) @ ndarray"):
        x @ np.ones((4, 3))
    with pytest.raises(pa.ShapeError, match="batch axes of lengths 2 and 3"):
        pa.shard(np.ones((2, 4, 5))) @ np.ones((3, 5, 2))
