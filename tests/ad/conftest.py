"""What tests of derivatives share."""

import gc
import tracemalloc

import pytest

import polyad as pa
from polyad.dsl import operations


@pytest.fixture
def forget_declared():
    """The cards that a test declares are not those of the library."""
    before = set(operations)
    yield
    for name in set(operations) - before:
        operations.pop(name)


@pytest.fixture
def peak():
    """A function (f, x) -> the most bytes allocated at once during f(x), in arrays like x."""

    def measured(f, x):
        with pa.debug_mutation(False):  # whose checksums take memory
            f(x)
            gc.collect()
            tracemalloc.start()
            f(x)
            _, most = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        return most / x.nbytes

    return measured
