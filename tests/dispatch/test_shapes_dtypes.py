"""Shape and dtype of arrays, followed values, numbers and other libraries' arrays: those of NumPy's array of the value."""

import numpy as np
import pytest

import polyad as pa
from polyad.dispatch import dtype_of, is_number, ndim_of, shape_of

VALUES = [
    True,
    3,
    2.5,
    1j,
    np.float32(2),
    np.bool_(True),
    np.ones((2, 3), "i2"),
    np.zeros((0, 4)),
    np.array(5, "c8"),
    [[1], [2]],
]


@pytest.mark.parametrize("x", VALUES, ids=repr)
def test_as_numpy_has_it(x):
    a = np.asarray(x)
    assert shape_of(x) == a.shape and dtype_of(x) == a.dtype and ndim_of(x) == a.ndim


def test_of_followed_values_and_array_types():
    x, seen = np.ones((2, 3), np.float32), []
    look = lambda y: seen.append((shape_of(y), dtype_of(y), ndim_of(y))) or pa.sum(y)
    pa.grad(look)(x)
    pa.make_ir(look)(x)
    assert seen == [((2, 3), np.float32, 2)] * 2
    pa.vmap(look)(x)
    assert seen[2:] == [((3,), np.float32, 1)]
    assert (shape_of(pa.Diagonal(x[0])), dtype_of(pa.Diagonal(x[0]))) == ((3, 3), np.float32)


@pytest.mark.parametrize("name", ["float32", "torch.float32", "library.dtypes.float32"])
def test_dtypes_of_other_libraries_are_found_by_name(name):
    class Named:
        __str__ = __repr__ = lambda self: name

    class Other:
        shape, dtype = (2, 1), Named()

    assert dtype_of(Other()) == np.float32 and isinstance(dtype_of(Other()), np.dtype) and ndim_of(Other()) == 2


@pytest.mark.parametrize("x", [*VALUES, np.float64(1), np.complex128(1), None, "2"], ids=repr)
def test_numbers_follow_the_other_operand(x):
    """As NumPy has it: beside half precision, a Python number changes at most the kind."""
    assert is_number(x) == (type(x) in (bool, int, float, complex))
    if is_number(x):
        assert np.add(np.float16(1), x).dtype in (np.float16, np.complex64)
