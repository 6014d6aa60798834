"""Sharded arrays meet array types of structure: the values of the dense ones, and nobody's claim is as good as another's."""

import numpy as np
import pytest

import polyad as pa

P = pa.PartitionSpec
OTHERS = {
    "Zeros": lambda: pa.Zeros((3, 3)),
    "Diagonal": lambda: pa.Diagonal(np.array([1.0, 2.0, 4.0])),
    "OneHot": lambda: pa.OneHot(np.array([2, 0, 1]), 3),
}


@pytest.mark.parametrize("name", OTHERS)
def test_pairs(name):
    x, other = np.arange(9.0).reshape(3, 3) + 1, OTHERS[name]()
    s, dense = pa.shard(x), other.dense()
    with pa.densify("allow"):
        for op in (pa.add, pa.multiply, pa.subtract, pa.maximum, pa.matmul):
            for found, right in ((op(s, other), op(x, dense)), (op(other, s), op(dense, x))):
                assert isinstance(found, pa.Sharded)
                np.testing.assert_allclose(np.asarray(found), right)
        np.testing.assert_allclose(np.asarray(pa.where(s > 4, other, s)), np.where(x > 4, dense, x))


def test_three_of_them_and_solve():
    s, d, z = pa.shard(np.ones((3, 3))), OTHERS["Diagonal"](), OTHERS["Zeros"]()
    with pa.densify("allow"):
        np.testing.assert_allclose(np.asarray(pa.where(s > 0, d, z)), d.dense())
        np.testing.assert_allclose(np.asarray(pa.linalg.solve(d, s)), np.linalg.solve(d.dense(), np.ones((3, 3))))
        np.testing.assert_allclose(np.asarray(pa.linalg.solve(d, pa.shard(np.ones(3)))), 1 / d.diag)


def test_nothing_is_ambiguous():
    assert not [text for text in pa.ambiguities("polyad") if "Sharded" in text]
