"""Boxes of arrays: which part a rank has, and what two of them share."""

import numpy as np
import pytest

import polyad as pa
from polyad.parallel.files.boxes import box_of, counted_from, index_of, is_writer, shared_box


@pytest.mark.parametrize(("one", "other", "shared"), [
    (((0, 3), (2, 5)), ((1, 4), (0, 3)), ((1, 3), (2, 3))), (((0, 3),), ((3, 5),), None), ((), (), ()),
    (((0, 0),), ((0, 2),), None),
])  # fmt: skip
def test_shared(one, other, shared):
    assert shared_box(one, other) == shared == shared_box(other, one)


def test_of_a_layout():
    x = pa.shard(np.arange(6.0).reshape(2, 3))
    assert box_of(x.layout) == ((0, 2), (0, 3)) and is_writer(x.layout) and not is_writer(pa.shard(np.ones((0, 2))).layout)
    assert counted_from(((3, 4),), ((2, 9),)) == ((1, 2),) and index_of(((1, 2), (0, 3))) == np.s_[1:2, 0:3]
