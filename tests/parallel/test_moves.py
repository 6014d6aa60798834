"""Operations between ranks that move or reduce lanes: on one rank, where they are ordinary ones, and what travels among more.
test_combining.py has their values and derivatives on several ranks."""

from types import SimpleNamespace

import numpy as np
import pytest

import polyad as pa
from polyad.parallel import world
from polyad.parallel.collectives import Blocks
from polyad.parallel.moves import exchange, extreme, lane_product, pick, route, scan, scatter

N = 3
X = np.arange(1.0, 7).reshape(N, 2)
WIDE = np.arange(18.0).reshape(N, N, 2)
MOVES = {
    "scatter": (lambda x, b: scatter(x, b), X, lambda x: x),
    "exchange": (lambda x, b: exchange(x, b), WIDE, lambda x: np.swapaxes(x, 0, 1)),
    "route": (lambda x, b: route(x, b, sources=(2, -1, 0)), X, lambda x: np.stack([x[2], 0 * x[0], x[0]])),
    "pick": (lambda x, b: pick(x, b, root=1), X, lambda x: x[1]),
    "scan": (lambda x, b: scan(x, b, exclusive=False, reverse=False), X, lambda x: np.cumsum(x, axis=0)),
    "scan back": (lambda x, b: scan(x, b, exclusive=True, reverse=True), X, lambda x: np.stack([x[1] + x[2], x[2], 0 * x[2]])),
    "largest": (lambda x, b: extreme(x, b, largest=True), X, lambda x: x.max(axis=0)),
    "least": (lambda x, b: extreme(x, b, largest=False), X, lambda x: x.min(axis=0)),
    "product": (lambda x, b: lane_product(x, b), X, lambda x: x.prod(axis=0)),
}


def test_on_one_rank_they_are_ordinary_operations(each):
    def check(move, x, right):
        blocks = Blocks(world(), N, "a map")
        f = lambda x: move(x, blocks)
        np.testing.assert_allclose(f(x), right(x))
        pa.check_grads(f, (x,), order=2)
        both = np.stack([x, x[::-1] + 1])
        np.testing.assert_allclose(pa.vmap(f)(both), [right(rows) for rows in both])
        np.testing.assert_allclose(pa.make_ir(f)(x)(2 * x), right(2 * x))
        for kind in (np.int8, np.float32):
            assert f(x.astype(kind)).dtype == pa.eval_shape(f, x.astype(kind)).dtype

    each(MOVES, check)


@pytest.mark.parametrize(("size", "ranks"), [(5, 2), (6, 3), (7, 3), (3, 3), (11, 4)])
def test_the_rank_of_a_lane(size, ranks):
    comm = SimpleNamespace(rank=0, size=ranks)
    blocks = Blocks(comm, size, "a map")
    right = [r for r in range(ranks) for _ in range(blocks.block(r)[1])]
    assert [blocks.rank_of(k) for k in range(size)] == right


SCRIPT = """
import numpy as np
import polyad as pa
from polyad.parallel import world

comm = world()
me, n = comm.rank, comm.size

from polyad.parallel import pieces
lengths = [3, 0, 1][:n]
for bound in (24, pieces.PIECE):  # what is larger travels in pieces
    pieces.PIECE = bound
    row = np.arange(40.0).reshape(8, 5) * (me + 1)
    got = comm.swap({(me + 1) % n: row, me: row}, {(me - 1) % n: (8, 5), me: (8, 5)}, row.dtype)
    for r, x in got.items():
        np.testing.assert_array_equal(x, np.arange(40.0).reshape(8, 5) * (r + 1))
    x = np.arange(5.0 * sum(lengths)).reshape(-1, 5) * (me + 1)
    y = comm.reduce_scatterv(x, lengths)
    np.testing.assert_array_equal(y, np.split(comm.allreduce(x), np.cumsum(lengths)[:-1])[me])

# what goes from rank to rank
row = np.asfortranarray(np.arange(6, dtype="float16").reshape(2, 3) + me)
got = comm.swap({(me + 1) % n: row, me: row}, {(me - 1) % n: (2, 3), me: (2, 3)}, row.dtype)
for r, x in got.items():
    np.testing.assert_array_equal(x, np.arange(6).reshape(2, 3) + r)
    assert x.dtype == "float16"
assert comm.swap({}, {}, "int8") == {}
for kind in (bool, "int8", "float32", "complex128"):
    x = (np.arange(2 * sum(lengths)).reshape(-1, 2) * (me + 1) % 3).astype(kind)
    whole = comm.allreduce(x)
    y = comm.reduce_scatterv(x, lengths)
    np.testing.assert_array_equal(y, np.split(whole, np.cumsum(lengths)[:-1])[me])
    assert y.dtype == whole.dtype, kind
try:
    comm.reduce_scatterv(np.ones(2), lengths)
except ValueError as error:
    assert "must have the" in str(error)
for kind in (bool, "int8", "float16", "float64", "complex64"):
    x = (np.arange(3) + 1 + me).astype(kind)
    y = comm.allreduce(x, "prod")
    right = np.prod([(np.arange(3) + 1 + r).astype(kind) for r in range(n)], axis=0)
    np.testing.assert_array_equal(y, right)
    assert y.dtype == right.dtype, kind

# the lanes of all are gathered once, for the results, and what a collective of them sends does not grow with their number
link, sent = comm._link, []
def counted(name):
    method = getattr(link, name)
    def call(*args):
        data = args[0].values() if isinstance(args[0], dict) else [args[0]]
        sent.append((name, sum(x.nbytes for x in data)))
        return method(*args)
    setattr(link, name, call)
for name in ("reduce", "reduce_into", "gather", "gather_blocks", "broadcast", "swap", "reduce_scatter_blocks"):
    counted(name)
lanes = 4 * n
x = np.ones((lanes, lanes, 2))
row = 2 * 8
bodies = {
    "ppermute": (lambda v: pa.ppermute(v[0], "i", [(k, k + 1) for k in range(lanes - 1)]), [("swap", row)]),
    "pshuffle": (lambda v: pa.pshuffle(v[0], "i", [(k + 1) % lanes for k in range(lanes)]), [("swap", row)]),
    "broadcast": (lambda v: pa.broadcast(v[0], "i", 1), [("broadcast", row)]),
    "pmax": (lambda v: pa.pmax(v[0], "i"), [("reduce", row)]),
    "pmin": (lambda v: pa.pmin(v[0], "i"), [("reduce", row)]),
    "pprod": (lambda v: pa.pprod(v[0], "i"), [("reduce_into", row)]),
    "psum_scatter": (lambda v: pa.psum_scatter(v, "i"), [("reduce_scatter_blocks", lanes * row)]),
    "all_to_all": (lambda v: pa.all_to_all(v, "i"), [("swap", 4 * lanes * row)]),
    "scan_over_axis": (lambda v: pa.scan_over_axis(v[0], "i"), [("gather", n * row)]),
}
for name, (body, right) in bodies.items():
    sent.clear()
    pa.pmap(lambda v: pa.sum(body(v)) + v[0, 0], axis_name="i")(x)
    assert sent[-1][0] == "gather_blocks" and sent[-1][1] == 4 * 8, (name, sent)  # the results
    found = sent[:-1]
    if name in ("ppermute", "pshuffle"):  # rank 0 has none before it, the last one none after
        assert [kind for kind, _ in found] == ["swap"] and found[0][1] <= 4 * row, (name, sent)
    else:
        assert found == right, (name, found, right)
"""


def test_what_travels(mpirun):
    for ranks in (2, 3):
        mpirun(SCRIPT, ranks)
