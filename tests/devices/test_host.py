"""NumPy's kernels are NumPy's functions, and take numbers only."""

import inspect

import numpy as np
import pytest

import polyad as pa

pytestmark = pytest.mark.quick


objects = np.array([1.0, None], dtype=object)


@pytest.mark.parametrize(
    "call",
    [
        lambda: pa.add(objects, 1.0),
        lambda: pa.add(np.array([1, 2], dtype=object), np.array([1, 2], dtype=object)),
        lambda: pa.sin(objects),
        lambda: pa.equal(np.array([1, 2], dtype=object), 1),
        lambda: pa.sum(np.array([1, 2], dtype=object)),
        lambda: pa.reshape(objects, (2, 1)),
        lambda: pa.concatenate([objects, objects]),
        lambda: pa.getitem(objects, 0),
    ],
)
def test_arrays_of_objects_are_refused(call):
    with pytest.raises(pa.DTypeError, match=r"arrays of objects are not supported; convert to numbers with x\.astype\(float\)"):
        call()


def test_asarray_takes_numbers_only():
    for x in ([1, "a"], ["a"], [None], [[1, 2], [3]], object()):
        with pytest.raises(pa.DTypeError, match="asarray"):
            pa.asarray(x)


def test_kernels_are_numpys_functions():
    assert inspect.unwrap(pa.which(pa.exp, np.ndarray).implementation) is np.exp
    assert pa.which(pa.matmul, np.ndarray, np.ndarray).where == "numpy.matmul"
