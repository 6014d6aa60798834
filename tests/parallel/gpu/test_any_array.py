"""Collectives of arrays of other libraries than NumPy, which come back as such."""

import numpy as np
import pytest

import polyad as pa

SCRIPT = """
import numpy as np
import array_api_strict as other
import polyad as pa

w = pa.world()
rank, n = w.rank, w.size
x, numbers = other.asarray([1.0, 2.0]) + float(rank), np.arange(n)
blocks = other.zeros((n, 2)) + float(rank)
for found, right in [
    (w.allreduce(x), n * np.array([1.0, 2]) + numbers.sum()), (w.allgather(x), np.array([1.0, 2]) + numbers[:, None]),
    (w.allgatherv(x), (np.array([1.0, 2]) + numbers[:, None]).reshape(-1)), (w.bcast(x, n - 1), np.array([n, n + 1.0])),
    (w.allreduce(x, "max"), np.array([n, n + 1.0])), (w.alltoall(blocks), np.stack([numbers, numbers], axis=1)),
    (w.reduce_scatter(blocks), np.full(2, numbers.sum())), (w.exchange(x, rank, rank), np.array([1.0, 2]) + rank),
    (w.reduce_scatterv(blocks, np.ones(n, int)), np.full((1, 2), numbers.sum())),
    (w.allreduce(other.asarray(3)), np.int64(3 * n)),
]:
    assert type(found) is type(x), type(found)
    np.testing.assert_array_equal(np.asarray(found), right)
for plain in (2.0, [1, 2], np.float32(1), True, (1.0,), np.ones(2), np.ones(2).view(np.matrix)):
    assert type(w.allreduce(plain)) is np.ndarray, plain
"""


def test_types_come_back(mpirun):
    mpirun(SCRIPT, 2)


def test_on_one_process():
    exec(SCRIPT, {})
    with pytest.raises(TypeError, match="dtype object cannot be sent"):
        pa.world().allreduce(np.array([None]))
