"""Reading and writing sharded arrays by index: slices and integers of axes that are cut, places that all ranks know."""

import numpy as np
import pytest

from polyad.parallel.sharded.reading import axes_after, chunk_slice


@pytest.mark.parametrize("first", range(5))
@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_slice_within_chunks(first, step):
    x, lengths = np.arange(9), (3, 0, 4, 2)
    parts = []
    for start, length in zip((0, 3, 3, 7), lengths, strict=True):
        low, high = chunk_slice(first, 8, step, start, length)
        parts.append(x[start : start + length][low:high:step])
    np.testing.assert_array_equal(np.concatenate(parts), x[first:8:step])


def test_where_axes_of_arrays_go():
    one = np.array([0])
    assert axes_after([slice(None), one], 2, 1) == [0, None] and axes_after([one, slice(None), one], 3, 2) == [None, None, 1]
    assert axes_after([None, slice(None), 1, one], 3, 1) == [None, 0, None]


def test_on_several_ranks(mpirun):
    script = """
    import numpy as np
    import polyad as pa
    P = pa.PartitionSpec
    x = np.random.default_rng(3).normal(size=(7, 4, 5))
    at = np.array([[5, 0], [-1, 5]])
    indices = [np.s_[2], np.s_[-1], np.s_[1:5], np.s_[::2], np.s_[6:2:-2], np.s_[:, 1], np.s_[..., 3], np.s_[:, None, 1:3],
               np.s_[2, 1], np.s_[2, 1, -3], np.s_[5:5], np.s_[1:6:3, ::-1], np.s_[None, 3:, ..., 0], at, np.s_[:, at % 4],
               np.s_[at, 1], np.s_[1:, [0, 2]], np.s_[[0, 3], :, [1, 2]], np.s_[[1, 2], [0, 3]], np.s_[2, :, [0, 1]]]
    for dtype in (np.float64, np.int32, bool):
        y = x > 0 if dtype is bool else (x * 10).astype(dtype)
        for spec in (P("ranks"), P(None, "ranks"), P(None, None, "ranks"), P()):
            s = pa.shard(y, spec)
            for i in indices:
                found = pa.gather(s[i])
                assert found.dtype == y.dtype and found.shape == y[i].shape, (spec, i, found.shape)
                np.testing.assert_array_equal(found, y[i], err_msg=str((spec, i)))
    for spec in (P("ranks"), P(None, "ranks"), P()):
        s, v = pa.shard(x, spec), np.arange(5.0)
        for i in indices[:15]:
            right = x.copy()
            right[i] = np.ones(x[i].shape)
            with pa.densify("allow"):
                np.testing.assert_array_equal(pa.gather(pa.at(s, i).set(1.0)), right)
                added = x.copy()
                np.add.at(added, i, x[i])
                np.testing.assert_allclose(pa.gather(pa.at(s, i).add(s[i])), added)
            f = lambda x: pa.sum(pa.sin(x[i]) * np.arange(1.0, 1 + np.prod(np.shape(x[i]), dtype=int)).reshape(np.shape(x[i])))
            np.testing.assert_allclose(pa.gather(pa.grad(f)(s)), pa.grad(f)(x), err_msg=str((spec, i)))
    pa.densify("error")
    s = pa.shard(x)
    for write in (np.s_[2], np.s_[1:4], np.s_[:, 2], np.s_[..., 1:3], np.s_[-1, :, 0]):  # on the blocks
        pa.at(s, write).set(0.0)
    for bad in (np.s_[7], np.s_[-8], np.s_[:, 4]):
        try:
            s[bad]
        except IndexError as error:
            assert "out of bounds for axis" in str(error)
        else:
            raise AssertionError(bad)
    """
    for ranks in (2, 3):
        mpirun(script, ranks)
