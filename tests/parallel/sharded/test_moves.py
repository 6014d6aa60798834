"""Moves between ranks of the blocks of one array: values, derivatives in both modes, lanes around, and what is traced."""

from types import SimpleNamespace

import numpy as np

import polyad as pa
from polyad.parallel.sharded.chunks import Chunks
from polyad.parallel.sharded.moves import Cut, rank_resplit, resplit_on_host


def test_boxes_of_a_rank():
    """Of two ranks this is the second; the first sends its rows of the columns that are this one's."""
    x, sent = np.arange(12.0).reshape(4, 3), {}

    def swap(parts, shapes, dtype, **more):
        sent.update(parts)
        return {0: x[:2, 2:]}

    comm = SimpleNamespace(rank=1, size=2, swap=swap)
    rows, columns = Cut(0, Chunks(comm, (2, 2), "rows")), Cut(1, Chunks(comm, (2, 1), "columns"))
    np.testing.assert_array_equal(resplit_on_host(x[2:], rows, columns), x[:, 2:])
    np.testing.assert_array_equal(sent[0], x[2:, :2])
    other = Cut(0, Chunks(comm, (1, 3), "other rows"))
    sent.clear()
    comm.swap = lambda parts, shapes, dtype, **more: (sent.update(parts), {0: x[1:2]})[1]
    np.testing.assert_array_equal(resplit_on_host(x[2:], rows, other), x[1:])
    assert sent == {}


def test_on_several_ranks(mpirun):
    script = """
    import numpy as np
    import polyad as pa
    from polyad.parallel import world
    from polyad.parallel.sharded.chunks import Chunks, balanced
    from polyad.parallel.sharded.moves import Cut, rank_resplit

    w = world()
    me, n = w.rank, w.size
    x = np.random.default_rng(0).normal(size=(5, 7, 2))
    rows = Chunks(w, balanced(5, n), "a test")
    uneven = Chunks(w, (5,) + (0,) * (n - 1), "a test")
    columns = Chunks(w, balanced(7, n), "a test")
    part = lambda x, cut: np.take(x, range(cut.chunks.start, cut.chunks.start + cut.chunks.kept), axis=cut.axis)
    for source, target in [(Cut(0, rows), Cut(1, columns)), (Cut(1, columns), Cut(0, rows)), (Cut(0, rows), Cut(0, uneven)),
                           (Cut(0, uneven), Cut(1, columns))]:
        move = lambda block: rank_resplit(block, source=source, target=target)
        block = part(x, source)
        np.testing.assert_array_equal(move(block), part(x, target))
        assert pa.eval_shape(move, block).shape == part(x, target).shape
        weights = np.cos(np.arange(70.0)).reshape(x.shape)
        pulled = pa.vjp(move, block)[1](part(weights, target))[0]
        np.testing.assert_array_equal(pulled, part(weights, source))  # <move x, w> = <x, move' w>, as w goes the same way back
        np.testing.assert_array_equal(pa.jvp(move, (block,), (2 * block,))[1], 2 * part(x, target))
        both = pa.vmap(move)(np.stack([block, block + 1]))
        np.testing.assert_array_equal(both, np.stack([part(x, target), part(x, target) + 1]))
        np.testing.assert_array_equal(pa.jit(move)(block), part(x, target))
        for kind in (np.int8, bool, np.complex64):
            assert move(block.astype(kind)).dtype == kind
    """
    for ranks in (2, 3):
        mpirun(script, ranks)


def test_the_card():
    assert rank_resplit.card.collective and rank_resplit.card.kind == "opaque"
    assert pa.shard(np.ones(2)).block.shape == (2,)
