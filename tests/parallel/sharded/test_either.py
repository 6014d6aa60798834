"""Methods for pairs of arrays of which one at least is sharded."""

import numpy as np

import polyad as pa
from polyad.parallel.sharded.either import of_either


def test_in_any_place():
    @pa.generic
    def paired(x, y, /, more=0):
        """Which of its arguments are sharded."""

    of_either(paired, lambda x, y, more=0: (type(x) is pa.Sharded, type(y) is pa.Sharded, more))
    s, x = pa.shard(np.ones(2)), np.ones(2)
    assert [paired(s, x), paired(x, s), paired(s, s)] == [(True, False, 0), (False, True, 0), (True, True, 0)]
