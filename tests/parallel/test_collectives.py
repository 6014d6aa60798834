"""The operations between ranks on one process: blocks of lanes, and each operation the transpose of its partner."""

from types import SimpleNamespace

import numpy as np
import pytest

import polyad as pa
from polyad.parallel import world
from polyad.parallel.collectives import Blocks, first, gather, split, total, vary

pytestmark = pytest.mark.quick

close = np.testing.assert_allclose


def on_rank(rank, ranks, size):
    """The blocks as a rank among several sees them."""
    return Blocks(SimpleNamespace(rank=rank, size=ranks), size, "a map")


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
@pytest.mark.parametrize("size", [0, 1, 2, 4, 5, 6, 11])
def test_blocks_are_contiguous_and_the_first_ones_longer(size, ranks):
    x, parts = np.arange(size), np.array_split(np.arange(size), ranks)
    for rank, part in enumerate(parts):
        blocks = on_rank(rank, ranks, size)
        np.testing.assert_array_equal(blocks.take(x, filled=False), part)
        here = blocks.take(x, filled=True)  # a rank without lanes runs lane 0
        np.testing.assert_array_equal(here, part if len(part) else x[:1])
        assert (blocks.kept, blocks.local) == (len(part), len(here))
        np.testing.assert_array_equal(blocks.own(here), part)
        for other, its in enumerate(parts):
            assert blocks.block(other)[1] == len(its) and blocks.block(other)[0] == (its[0] if len(its) else size)


def test_lanes_of_a_rank_as_text():
    blocks = on_rank(0, 3, 4)
    assert [blocks.lanes(rank) for rank in range(3)] == ["lanes 0 to 1", "lane 2", "lane 3"]
    assert on_rank(0, 3, 2).lanes(2) == "no lane" and repr(blocks) == "<4 lanes on 3 ranks>"


def test_blocks_that_lie_alike_are_equal():
    comm = SimpleNamespace(rank=0, size=2)
    same, others = Blocks(comm, 4, "f"), [Blocks(comm, 5, "f"), Blocks(comm, 4, "g"), 4]
    others.append(Blocks(SimpleNamespace(rank=0, size=3), 4, "f"))
    assert Blocks(comm, 4, "f") == same and hash(Blocks(comm, 4, "f")) == hash(same)
    assert not any(same == other for other in others)


def test_sums_have_numpys_dtypes_and_numbers_stay_numbers():
    blocks = Blocks(world(), 3, "a map")
    for x in (np.array([True, True]), np.arange(3, dtype=np.int8), np.ones(2, np.float32)):
        y = total(x, blocks)
        assert y.dtype == np.sum(x).dtype == pa.eval_shape(lambda x: total(x, blocks), x).dtype
        np.testing.assert_array_equal(y, x)
    assert type(total(2, blocks)) is int and type(total(2.5, blocks)) is float


X = np.arange(6.0).reshape(3, 2)
PAIRS = {
    "split": lambda x, b: split(x, b), "split unfilled": lambda x, b: split(x, b, filled=False), "gather": gather,
    "total": total, "vary": vary, "first": first,
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_on_one_rank_each_is_the_identity_in_every_transformation(name):
    blocks, f = Blocks(world(), 3, "a map"), PAIRS[name]
    g = lambda x: f(pa.sin(x), blocks)
    close(g(X), np.sin(X))
    pa.check_grads(g, (X,), order=2)
    close(pa.vmap(g)(np.stack([X, 2 * X])), np.sin([X, 2 * X]))
    close(pa.make_ir(g)(X)(2 * X), np.sin(2 * X))
    rows = pa.jacobian_sparsity(lambda x: f(x, blocks))(X).toarray()
    np.testing.assert_array_equal(rows, np.eye(6))  # no lane reads another


def test_lanes_around_are_the_first_axis_and_blocks_lie_along_the_second():
    blocks, lanes = on_rank(1, 3, 3), np.stack([X, 2 * X])
    close(pa.vmap(lambda x: split(x, blocks))(lanes), lanes[:, 1:2])
    blocks.comm.allgatherv = lambda x, **known: np.concatenate([0 * x, x, 0 * x])
    blocks.comm.same = lambda text, label, told: True
    right = np.zeros((2, 3, 2))
    right[:, 1:2] = lanes[:, 1:2]
    close(pa.vmap(lambda x: gather(x, blocks))(lanes[:, 1:2]), right)


def test_a_collective_is_carried_out_though_its_result_is_unused():
    """Else the ranks whose program uses it would wait for the others."""
    blocks = Blocks(world(), 3, "a map")
    used = lambda f: [e.op.__name__ for e in pa.make_ir(lambda x: (f(x, blocks), x)[1])(X).equations]
    assert used(total) == ["rank_sum"] and used(lambda x, b: pa.sin(x)) == []


def test_the_lane_that_fills_an_empty_rank_counts_nowhere():
    """On the way back too: a rank without lanes gives no cotangent of the lane that it runs."""
    empty = on_rank(2, 3, 2)
    empty.comm.allgatherv = lambda x, **known: np.concatenate([np.ones((2, 2)), x])  # what the others give
    empty.comm.allreduce = lambda x, **known: x + 10.0
    empty.comm.same = lambda text, label, told: True
    split_op, vary_op = [pa.dsl.operations[name] for name in ("rank_split", "rank_vary")]
    ct = np.full((1, 2), 7.0)
    back = split_op.card.rules["vjp"](0, ct[:0], None, X[:2], blocks=empty, filled=False)
    close(back, np.ones((2, 2)))
    close(split_op.card.rules["vjp"](0, ct, None, X[:2], blocks=empty, filled=True), np.ones((2, 2)))
    close(vary_op.card.rules["vjp"](0, ct, None, ct, blocks=empty), np.full((1, 2), 10.0))
