"""Sharded arrays as arguments and results of maps: each rank runs the lanes that it has."""

import numpy as np
import pytest

import polyad as pa

P = pa.PartitionSpec


def test_one_rank():
    x = np.arange(6.0).reshape(2, 3)
    y = pa.pmap(lambda v: 2 * v)(pa.shard(x))
    assert isinstance(y, pa.Sharded) and y.spec == P("ranks", None)
    assert isinstance(pa.pmap(lambda v: 2 * v)(x), np.ndarray)
    assert isinstance(pa.pmap(lambda v: 2 * v, out="sharded")(x), pa.Sharded)
    assert isinstance(pa.pmap(lambda v: 2 * v, out="whole")(pa.shard(x)), np.ndarray)
    with pytest.raises(ValueError, match='out is "sharded", "whole" or None'):
        pa.pmap(lambda v: v, out="here")


def test_on_several_ranks(mpirun):
    script = """
    import numpy as np
    import polyad as pa
    from polyad.parallel import Communicator
    P, ranks = pa.PartitionSpec, pa.world().size
    pa.densify("error")
    same = lambda found, right: np.testing.assert_allclose(pa.gather(found), right, atol=1e-14)
    f = lambda v: pa.sin(v) / pa.psum(v, "i")
    over = lambda x, f=f: pa.vmap(f, axis_name="i")(x)
    for n in (1, 2, 5, 7) if ranks == 3 else (1, 5):
        x = np.arange(1.0, 1 + n * 3).reshape(n, 3)
        for spec in (P("ranks"), P(None, "ranks"), P(), P(partial="ranks")):
            s = pa.redistribute(pa.shard(x, P()), spec)
            y = pa.pmap(f, axis_name="i")(s)
            assert isinstance(y, pa.Sharded) and y.spec == P("ranks", None)
            same(y, over(x))
            same(pa.pmap(f, axis_name="i", out_axes=1)(s), over(x).T)
            same(pa.pmap(f, axis_name="i", in_axes=1)(s.T), over(x))
            same(pa.jit(pa.pmap(f, axis_name="i"))(s), over(x))
            same(pa.pmap(f, axis_name="i", out="whole")(s), over(x))
            same(pa.pmap(lambda a, b: a * b, in_axes=(0, None))(s, pa.shard(x[0])), x * x[0])
            if spec.partial:
                continue
            g = pa.grad(lambda x: pa.sum(pa.pmap(f, axis_name="i")(x) ** 2))(s)
            assert g.layout == s.layout
            same(g, pa.grad(lambda x: pa.sum(over(x) ** 2))(x))
        y = pa.pmap(lambda v: (v * 2, pa.psum(v, "i"), 1.0), axis_name="i", out="sharded", out_axes=(0, None, None))(x)
        same(y[0], 2 * x), same(y[1], x.sum(axis=0))
        assert isinstance(y[1], np.ndarray) and y[2] == 1.0
        parted = lambda v: pa.psum(v, "i") if v[0] > 4 else pa.psum(2 * v, "i") + 1.0  # lanes that go different ways
        same(pa.pmap(parted, axis_name="i")(pa.shard(x)), over(x, parted))
    sent = []
    for name in ("allgatherv", "swap"):
        def counted(self, *args, name=name, method=getattr(Communicator, name), **more):
            sent.append(name)
            return method(self, *args, **more)
        setattr(Communicator, name, counted)
    pa.pmap(lambda v: v * 2)(pa.shard(np.ones((6, 3))))
    assert sent == []  # nothing goes anywhere
    mesh = pa.Mesh(("a", "b"), {2: (1, 2), 3: (3, 1), 4: (2, 2)}[ranks])
    x = np.arange(144.0).reshape(12, 12)
    h = lambda b: pa.psum(b.sum(axis=1, keepdims=True), "b") * b
    mapped = pa.shard_map(h, mesh, in_specs=P("a", "b"), out_specs=P("a", "b"))
    sent.clear()
    y = mapped(pa.shard(x, P("a", "b"), mesh))
    assert isinstance(y, pa.Sharded) and y.spec == P("a", "b") and sent == []
    same(y, mapped(x))
    g = pa.grad(lambda x: pa.sum(mapped(x)))(pa.shard(x, P("a", "b"), mesh))
    same(g, pa.grad(lambda x: pa.sum(mapped(x)))(x))
    whole = pa.shard_map(lambda b: pa.psum(pa.sum(b), ("a", "b")), mesh, in_specs=P("a", "b"), out_specs=P())
    assert float(whole(pa.shard(x, P("b"), mesh))) == x.sum()
    """
    for ranks in (2, 3, 4):
        mpirun(script, ranks)
