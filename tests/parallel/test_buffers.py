"""What travels is a copy: results never are the buffer of the caller."""

import numpy as np
import pytest

from polyad.parallel.communicator import Communicator
from polyad.parallel.transport import OneProcess

pytestmark = pytest.mark.quick


def test_results_are_never_the_callers_buffer():
    w = Communicator(OneProcess("one process, no MPI"))
    x = np.arange(3.0)[None]
    results = [
        w.allreduce(x),
        w.allreduce(x, "max"),
        w.allgather(x),
        w.allgatherv(x),
        w.bcast(x),
        w.alltoall(x),
        w.reduce_scatter(x),
        w.exchange(x, 0, 0),
        w.exchange(x, None, None),
    ]
    assert not any(np.shares_memory(x, result) for result in results)
    assert not w.exchange(x, None, None).any()
