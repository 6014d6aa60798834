"""Placement: constraints in a program, shardings of jit, arrays that are made sharded, and what a program moves."""

import numpy as np
import pytest

import polyad as pa

P = pa.PartitionSpec


def test_one_rank():
    x = np.arange(6.0).reshape(3, 2)
    f = pa.jit(lambda x, w: x @ w, in_shardings=(P("ranks"), None), out_shardings=P(None, "ranks"))
    y = f(x, x.T)
    assert y.spec == P(None, "ranks") and pa.jit.explain(f).startswith("jit(<lambda>): 1 kind of arguments")
    np.testing.assert_array_equal(np.asarray(f(x, x.T)), x @ x.T)
    assert pa.jit(in_shardings=P("ranks"))(lambda x: x + 1)(x).spec == P("ranks", None)
    with pytest.raises(pa.StructureError, match=r"jit\(<lambda>\): in_shardings: .* does not fit"):
        pa.jit(lambda x: x, in_shardings=(P(), P()))(x)
    with pytest.raises(pa.MethodError, match="placed"):
        pa.jit(lambda x: x, in_shardings="ranks")(x)


def test_creation():
    with pa.default_sharding(P("ranks")):
        made = [pa.zeros((5, 2)), pa.ones(3), pa.full((3,), 2.5), pa.empty((2,)), pa.arange(7), pa.arange(1.0, 3.0, 0.25)]
        made += [pa.eye(4), pa.linspace(0, 1, 5), pa.zeros(())]
        total = float(pa.sum(pa.sin(made[0])))
    rights = [np.zeros((5, 2)), np.ones(3), np.full(3, 2.5), None, np.arange(7), np.arange(1.0, 3.0, 0.25), np.eye(4),
              np.linspace(0, 1, 5), np.zeros(())]  # fmt: skip
    assert total == 0.0 and all(isinstance(x, pa.Sharded) for x in made) and isinstance(pa.zeros(2), np.ndarray)
    for x, right in zip(made, rights, strict=True):
        if right is not None:
            np.testing.assert_allclose(np.asarray(x), right)
            assert x.dtype == right.dtype
    for spec, error in ((P("z"), pa.StructureError), (P(partial="ranks"), pa.ShapeError)):
        with pytest.raises(error, match="default_sharding"), pa.default_sharding(spec):
            pass


def test_on_several_ranks(mpirun):
    script = """
    import numpy as np
    import polyad as pa
    P, w = pa.PartitionSpec, pa.world()
    n = w.size
    x, W = np.random.default_rng(0).normal(size=(7, 4)), np.ones((4, 3))
    f = pa.jit(lambda x, w: pa.tanh(x @ w), in_shardings=(P("ranks"), None), out_shardings=P(None, "ranks"))
    for _ in range(3):
        y = f(x, W)
        assert y.spec == P(None, "ranks")
        np.testing.assert_allclose(pa.gather(y), np.tanh(x @ W))
    both = lambda f: pa.grad(lambda x, w: pa.sum(f(x, w) ** 2), (0, 1))
    for found, right in zip(both(f)(x, W), both(lambda x, w: pa.tanh(x @ w))(x, W)):
        assert isinstance(found, np.ndarray)
        np.testing.assert_allclose(found, right)
    with pa.default_sharding(P("ranks")):
        for made, right in [(pa.arange(7), np.arange(7)), (pa.arange(7, 0, -2), np.arange(7, 0, -2)), (pa.eye(5), np.eye(5)),
                            (pa.zeros((5, 2)), np.zeros((5, 2))), (pa.linspace(0, 1, 4), np.linspace(0, 1, 4))]:
            np.testing.assert_allclose(pa.gather(made), right)
        assert pa.zeros(10 * n).block.shape == (10,)
    a = pa.shard(np.ones((40, 6)), P("ranks"))
    b = pa.shard(np.ones((6, 3)), P("ranks"))
    told = pa.explain_sharding(lambda a, b: pa.redistribute(a @ b, P(None, "ranks")), a, b).splitlines()
    assert told[0].startswith("matmul: PartitionSpec('ranks', None) × PartitionSpec(None, None) -> ")
    assert "next best" in told[0] and "all chunks of axis 0 along ranks to every rank" in told[1], told
    assert "chunks of axis 0 become chunks of axis 1" in told[2] and told[3].startswith("in all: "), told
    moved = 6 * 3 * 8 * (n - 1) / n + 40 * 3 / n * 8 * (n - 1) / n
    assert told[3] == f"in all: {moved:.0f} bytes to each rank"
    """
    for ranks in (2, 3):
        mpirun(script, ranks)
