"""Changes of shape of sharded arrays: reshape moves nothing where the chunks fit, and the least where they do not."""

import numpy as np
import pytest

import polyad as pa
from polyad.parallel.sharded.shapes import full_shape, groups


@pytest.mark.parametrize(("own", "shape", "right"), [
    ((6, 4), (24,), [(0, 4, 0, 1)]), ((24,), (6, 4), [(0, 1, 0, 4)]), ((2, 3, 4), (6, 4), [(0, 3, 0, 1), (2, 1, 1, 1)]),
    ((1, 5), (5, 1), [(1, 1, 0, 1)]), ((4, 6), (3, 8), [(0, 6, 0, 8)]),
])  # fmt: skip
def test_groups_of_axes(own, shape, right):
    assert [*groups(own, shape)] == right


def test_full_shape():
    assert full_shape((2, 6), (3, -1)) == (3, 4) and full_shape((2, 6), 12) == (12,)
    assert full_shape((2, 6), (5, -1)) is None and full_shape((2, 6), (3, 5)) is None and full_shape((0, 3), (-1, 3)) == (0, 3)


def test_on_several_ranks(mpirun):
    script = """
    import numpy as np
    import polyad as pa
    from polyad.parallel import Communicator
    P, moved = pa.PartitionSpec, []
    pa.densify("error")
    for name in ("allgatherv", "swap"):
        def counted(self, *args, name=name, method=getattr(Communicator, name), **more):
            moved.append(name)
            return method(self, *args, **more)
        setattr(Communicator, name, counted)
    def moves(f, *xs):
        moved.clear()
        y = f(*xs)
        return moved.copy(), y
    x = np.arange(72.0).reshape(6, 12)
    rows, columns = pa.shard(x, P("ranks")), pa.shard(x, P(None, "ranks"))
    for shape in ((72,), (6, 3, 4), (6, 1, 12), (2, 3, 12), (3, 2, 2, 6), (8, 9), (1, 72), (-1, 4)):
        for s in (rows, columns):
            np.testing.assert_array_equal(pa.gather(pa.reshape(s, shape)), x.reshape(shape))
    assert moves(lambda s: s.reshape(6, 3, 4), rows)[0] == [] and moves(lambda s: s.reshape(-1), rows)[0] == []
    assert moves(lambda s: s.reshape(-1).reshape(6, 12), rows)[0] == []
    assert moves(lambda s: s.T[None].sum(axis=1), rows)[0] == []
    done, y = moves(lambda s: s.reshape(-1), columns)  # the rows instead
    assert done == ["swap"] and y.spec == P("ranks")
    for axis in (0, 1):
        for s in (rows, columns):
            done, y = moves(lambda s: np.concatenate([s, s * 2, x[:2] if axis == 0 else x[:, :1]], axis=axis), s)
            np.testing.assert_array_equal(pa.gather(y), np.concatenate([x, 2 * x, x[:2] if axis == 0 else x[:, :1]], axis=axis))
            assert "allgatherv" not in done and y.spec == s.spec
    np.testing.assert_array_equal(pa.gather(np.stack([rows[0], columns[1]])), x[:2])
    np.testing.assert_array_equal(pa.gather(pa.concatenate([x[:1], rows])), np.concatenate([x[:1], x]))
    np.testing.assert_array_equal(pa.gather(np.broadcast_to(rows[:, :1], (2, 6, 5))), np.broadcast_to(x[:, :1], (2, 6, 5)))
    np.testing.assert_array_equal(pa.gather(np.swapaxes(rows.reshape(6, 3, 4), 0, 2)), np.swapaxes(x.reshape(6, 3, 4), 0, 2))
    """
    for ranks in (2, 3):
        mpirun(script, ranks)


def test_misfits_are_named():
    x = pa.shard(np.ones((4, 5)))
    with pa.densify("allow"), pytest.raises(ValueError, match="reshape"):
        x.reshape(3, 7)
    with pytest.raises(ValueError, match="broadcast"):
        pa.broadcast_to(x, (3, 5))
    with pytest.raises(pa.ShapeError, match="concatenate"):
        pa.concatenate([x, np.ones((4, 6))])
