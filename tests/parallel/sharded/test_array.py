"""Sharded arrays: made of whole ones and of blocks, shown without a message, gathered by all ranks together; sizes from 0."""

import copy
import pickle

import numpy as np
import pytest

import polyad as pa

P = pa.PartitionSpec


def test_one_rank_is_a_mesh_too():
    x = pa.shard(np.arange(6.0).reshape(2, 3))
    assert isinstance(x, pa.Sharded) and x.shape == (2, 3) and x.dtype == np.float64 and x.ndim == 2 and x.size == 6
    np.testing.assert_array_equal(np.asarray(x), np.arange(6.0).reshape(2, 3))
    assert float(pa.sum(x)) == 15.0 and bool(pa.all(x < 6)) and pa.gather({"x": x, "y": 1})["y"] == 1
    assert "Sharded(float64[2, 3] on Mesh(ranks=1), PartitionSpec('ranks', None), chunks [2]; here at [0, 0]:" in repr(x)


def test_trees_and_specs():
    mesh = pa.Mesh(("a", "b"), (2, 2))
    tree = {"w": np.ones((4, 2)), "b": np.zeros(3)}
    made = pa.shard(tree, {"w": P("a", "b"), "b": P("b")}, mesh)
    assert made["w"].spec == P("a", "b") and made["b"].spec == P("b")
    with mesh:
        assert pa.shard(tree)["b"].spec == P("a") and pa.shard(made)["w"].spec == P("a", None)
    assert [x.spec for x in pa.shard([1.0, np.ones(2)], mesh=mesh)] == [P(), P("a")]


def test_bad_input():
    mesh, other = pa.Mesh("a", 2), pa.Mesh("b", 2)
    x = pa.shard(np.ones(4), P("a"), mesh)
    for call, text in [
        (lambda: pa.shard(np.ones(4), P("z"), mesh), "shard: PartitionSpec.'z'. names 'z'; the axes of the mesh are 'a'"),
        (lambda: pa.shard(np.array(1.0), P("ranks")), "shard: .* has 1 parts for the 0 axes"),
        (lambda: pa.shard(pa.Diagonal(np.ones(3))), "shard: Diagonal.* cannot be cut into blocks; shard the arrays in it"),
        (lambda: pa.local(pa.Diagonal(np.ones(3))), "local: a block is an array, not Diagonal"),
        (lambda: pa.redistribute(np.ones(3), P()), "redistribute: ndarray.* is no Sharded array; make one by pa.shard"),
        (lambda: pa.redistribute(x, P("a", "a")), "redistribute: .* has 2 parts for the 1 axes"),
        (lambda: x + pa.shard(np.ones(4), P("b"), other), "arrays of two meshes meet, Mesh.*=2. and Mesh.*=2.; move one with"),
        (lambda: pa.Sharded(np.ones(3), x.layout), "is no block of shape"),
    ]:
        with pytest.raises((pa.StructureError, pa.ShapeError), match=text):
            call()
    with pytest.raises(ValueError, match="cannot become an array without a copy"):
        np.array(x, copy=False)


def test_gradients_stay_sharded():
    x = pa.shard(np.arange(4.0))
    g = pa.grad(lambda x: pa.sum(x**3))(x)
    assert g.layout == x.layout
    np.testing.assert_allclose(np.asarray(g), 3 * np.arange(4.0) ** 2)
    np.testing.assert_allclose(np.asarray(x - 0.5 * g), np.arange(4.0) - 1.5 * np.arange(4.0) ** 2)
    assert pa.vmap(lambda row: pa.sum(row))(pa.shard(np.ones((3, 2)))).shape == (3,)


def test_several_ranks(mpirun):
    script = """
    import numpy as np
    import polyad as pa
    from polyad.parallel import Communicator

    P, w = pa.PartitionSpec, pa.world()
    me, n = w.rank, w.size
    x = pa.local(np.full((me, 2), float(me)))  # the first is empty
    assert x.shape == (n * (n - 1) // 2, 2) and x.chunks[0] == tuple(range(n)) and x.start[0] == me * (me - 1) // 2
    whole = np.concatenate([np.full((k, 2), float(k)) for k in range(n)])
    np.testing.assert_array_equal(pa.gather(x), whole)
    np.testing.assert_allclose(pa.gather(x + whole), 2 * whole)
    np.testing.assert_allclose(pa.gather(pa.exp(x) * pa.shard(whole)), np.exp(whole) * whole)
    np.testing.assert_array_equal(pa.gather(pa.local(np.ones(3), P(partial="ranks"))), np.full(3, float(n)))
    try:
        pa.local(np.ones((2, 3 + me)))
    except pa.ShapeError as error:
        assert "the blocks of the ranks do not fit together" in str(error), str(error)
    else:
        raise AssertionError("blocks that do not fit")
    p, c = pa.local(np.full(3, 1.0 + me), P(partial="ranks")), np.arange(3.0)  # addends: their cotangent is that of the sum
    g = pa.grad(lambda p: pa.sum(pa.sin(p) * c))(p)
    assert g.spec == P(None)
    np.testing.assert_allclose(pa.gather(g), np.cos(n * (n + 1) / 2) * c)
    h = pa.jvp(pa.grad(lambda p: pa.sum(pa.sin(p) * c)), (p,), (p,))[1]
    np.testing.assert_allclose(pa.gather(h), -np.sin(n * (n + 1) / 2) * c * n * (n + 1) / 2)
    sent = []
    for name in ("same", "allgatherv", "allreduce", "swap", "bcast"):
        def noted(self, *args, name=name, method=getattr(Communicator, name), **more):
            sent.append(name)
            return method(self, *args, **more)
        setattr(Communicator, name, noted)
    if me == 0:  # only one of them looks
        assert "chunks" in repr(x) and str(x.block) in str(x).replace("array(", "").replace(")", "") or True
        print(x, x.spec, x.shape)
    assert sent == []
    for k in range(11) if n == 3 else (0, 1, 4):  # every size, also fewer elements than ranks
        a, b = np.arange(k * 3.0).reshape(k, 3) - 4, np.linspace(1, 2, k)
        for one in (P("ranks"), P(None, "ranks"), P()):
            for other in (P("ranks"), P()):
                A, B = pa.shard(a, one), pa.shard(b, other)
                same = lambda f, *xs: np.testing.assert_allclose(pa.gather(f(A, B)), f(a, b), atol=1e-12)
                same(lambda a, b: a * b[:, None] + a[:, ::-1])
                same(lambda a, b: np.sum(a, axis=0) + np.sum(b))
                same(lambda a, b: b @ a)
                same(lambda a, b: a.T @ a)
                same(lambda a, b: np.concatenate([a, b[:, None]], axis=1)[1::2])
                same(lambda a, b: np.concatenate([a, a + 1], axis=0)[:, 1])
                same(lambda a, b: np.cumsum(a, axis=0) - np.cumsum(b)[:, None])
                same(lambda a, b: a.reshape(-1)[2:-1])
                same(lambda a, b: np.where(a > 0, a, b[:, None]).T)
                if k:
                    same(lambda a, b: a.max(axis=0) + b.min() * a[-1] + a[0, 1] + np.argmax(a))
                    same(lambda a, b: np.mean(a, axis=0) + np.std(b))
                    same(lambda a, b: a[np.array([k - 1, 0, k // 2])])
                g = pa.grad(lambda a, b: pa.sum(pa.sin(a) * b[:, None]), (0, 1))
                for found, right in zip(g(A, B), g(a, b)):
                    np.testing.assert_allclose(pa.gather(found), right)
    """
    for ranks in (2, 3):
        mpirun(script.replace(" or True", ""), ranks)


LOOKS = ("pa.gather(x)", "np.asarray(x)", "float(pa.redistribute(x, P())[0])", "bool(x[:1] == 1)", "x.dense()")


@pytest.mark.parametrize("look", LOOKS)
def test_looking_at_one_is_a_collective(mpirun, look):
    """Where only one rank does, all are told which, and the job ends."""
    done = mpirun(
        f"""
        import numpy as np
        import polyad as pa
        P = pa.PartitionSpec
        x = pa.shard(np.ones(4))
        if pa.world().rank == 0:
            {look}
        pa.world().barrier()
        """,
        2,
        expect_success=False,
    )
    assert "CollectiveMismatch" in done.stderr and "barrier" in done.stderr, str(done)
    assert "Sharded array" in done.stderr or "index of" in done.stderr or "redistribute" in done.stderr, str(done)


def test_copies_and_pickles():
    x = pa.shard(np.arange(3.0))
    y = copy.deepcopy(x)
    assert y.layout is x.layout and y.block is not x.block and copy.copy(x).block is x.block
    assert pickle.loads(pickle.dumps(x.block)).tolist() == [0.0, 1.0, 2.0] == x.tolist() and x.item(2) == 2.0
    with pytest.raises(TypeError, match="a Sharded array is not pickled: it lies on the ranks of this job"):
        pickle.dumps(x)


def test_what_takes_leaves_by_themselves_refuses_parts(mpirun):
    assert pa.jacrev(lambda x: x * 2)(pa.shard(np.ones(2))) is not None  # on one rank there are no parts
    mpirun(
        """
        import numpy as np
        import polyad as pa
        x, y = pa.shard(np.ones(4)), np.ones(4)
        twice = lambda x: x * 2
        for call in (lambda: pa.jacrev(twice)(x), lambda: pa.jacfwd(twice)(x), lambda: pa.hessian(pa.sum)(x),
                     lambda: pa.jacrev(lambda y: x * y)(y), lambda: pa.jacfwd(lambda y: x * y)(y),
                     lambda: pa.check_grads(lambda x: pa.sum(x * x), (x,))):
            try:
                call()
            except pa.StructureError as error:
                assert "Sharded of shape [4] lies in parts on several processes" in str(error), str(error)
            else:
                raise AssertionError("parts were taken for the whole")
        assert pa.jacrev(lambda y: pa.sum(x * y))(y).tolist() == [1.0] * 4
        """,
        2,
    )
