"""What kernels have in common: mistakes are explained, and arrays of objects are refused."""

import numpy as np
import pytest

import polyad as pa

pytestmark = pytest.mark.quick

x23, x32, x3 = np.ones((2, 3)), np.ones((3, 2)), np.ones(3)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: pa.add(x23, x32),
            pa.ShapeError,
            r"add\(ndarray\(float64\[2, 3\]\), ndarray\(float64\[3, 2\]\)\): .*check",
        ),
        (lambda: pa.maximum(x3, np.ones(2)), pa.ShapeError, r"maximum\(.*\[3\].*\[2\].*check the shapes with \.shape"),
        (lambda: pa.where(x3 > 0, x3, np.ones(2)), pa.ShapeError, r"where\(ndarray\(bool\[3\]\)"),
        (lambda: pa.matmul(x23, x23), pa.ShapeError, r"matmul\(.*\[2, 3\].*\[2, 3\].*check the shapes"),
        (lambda: pa.matmul(x23, 2.0), pa.ShapeError, r"matmul\(ndarray\(float64\[2, 3\]\), float\)"),
        (lambda: pa.reshape(x23, (4, 2)), pa.ShapeError, r"reshape\(ndarray\(float64\[2, 3\]\), shape=\(4, 2\)\)"),
        (lambda: pa.transpose(x23, (0, 0)), pa.ShapeError, r"transpose\(.*axes=\(0, 0\)"),
        (lambda: pa.broadcast_to(x3, (2, 2)), pa.ShapeError, r"broadcast_to\(.*shape=\(2, 2\)"),
        (lambda: pa.broadcast_to(x3, (2000, 2)), pa.ShapeError, r"broadcast_to\(.*shape=\(2000, 2\)"),
        (lambda: pa.concatenate([x23, x32]), pa.ShapeError, r"concatenate\(.*\[2, 3\].*\[3, 2\].*axis=0"),
        (lambda: pa.stack([x23, x32]), pa.ShapeError, r"stack: shapes differ"),
        (lambda: pa.sum(x23, axis=2), pa.ShapeError, r"sum\(.*axis=2.*out of bounds.*check the shapes"),
        (lambda: pa.max(np.ones((0, 2)), axis=0), pa.ShapeError, r"max\(ndarray\(float64\[0, 2\]\), axis=0"),
        (lambda: pa.getitem(x3, 7), IndexError, r"index\(ndarray\(float64\[3\]\).*check the index"),
        (
            lambda: pa.getitem(x3, np.array([0, 5])),
            IndexError,
            r"index\(ndarray\(float64\[3\]\), ndarray\(int64\[2\]\)",
        ),
        (lambda: pa.getitem(x3, "a"), pa.DTypeError, "indices are integers"),
        (lambda: pa.getitem(x3, np.array([0.5])), pa.DTypeError, "index arrays hold integers or booleans"),
        (lambda: pa.at(x3, 0).set(np.ones(2)), pa.ShapeError, "index_set: a value of shape"),
        (lambda: pa.at(np.arange(3), 0).set(0.5), pa.DTypeError, r"convert with \.astype"),
        (lambda: pa.subtract(x3 > 0, x3 > 0), pa.DTypeError, r"subtract\(ndarray\(bool\[3\]\).*convert with \.astype"),
        (lambda: pa.negative(x3 > 0), pa.DTypeError, r"negative\(ndarray\(bool\[3\]\)\).*convert with \.astype"),
        (lambda: pa.floor(x3 * 1j), pa.DTypeError, r"floor\(ndarray\(complex128\[3\]\)\).*convert"),
        (lambda: pa.less(np.array(["a"]), x3), pa.DTypeError, r"less\("),
        (lambda: pa.power(np.arange(3), -1), pa.DTypeError, r"power\(ndarray\(int64\[3\]\), int\)"),
        (lambda: pa.add([1.0], x3), pa.MethodError, r"lists and tuples are not arrays: convert with polyad\.asarray"),
        (lambda: pa.sin("a"), pa.MethodError, "takes arrays and numbers only"),
        (lambda: pa.sin(None), pa.MethodError, "takes arrays and numbers only"),
    ],
)
def test_mistakes_are_explained(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_an_error_keeps_the_librarys_own_as_its_cause():
    with pytest.raises(pa.ShapeError) as caught:
        pa.add(x23, x32)
    assert isinstance(caught.value.__cause__, ValueError) and isinstance(caught.value, ValueError)


@pytest.mark.parametrize("f", [pa.linalg.pinv, pa.linalg.svdvals, pa.linalg.eigvals, lambda x: pa.linalg.lstsq(x, np.ones(2))])
def test_no_other_function_is_advised_where_elements_are_not_finite(f):
    with pytest.raises(pa.LinAlgError, match="isfinite$"):
        f(np.full((2, 2), np.nan))
    with pytest.raises(pa.LinAlgError, match="linalg.cond and isfinite, or use linalg.pinv or linalg.lstsq$"):
        pa.linalg.inv(np.zeros((2, 2)))


def test_dtypes_that_no_number_fits_are_no_shape_errors():
    for call in (lambda: pa.power(np.array([2]), -1), lambda: pa.add(np.array([1]), 10**30)):
        with pytest.raises(pa.DTypeError, match="convert with .astype"):
            call()


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("x", [np.array([1, 2.5], object), np.array(["a", "b"]), np.array(["2020-01-01"] * 2, "M8[D]")])
def test_arrays_without_numbers_are_refused(x, warm):
    for op in (pa.equal, pa.less, pa.add, pa.subtract, pa.maximum):
        if warm:  # the entry may then call NumPy itself
            op(x3, x3)
        with pytest.raises(pa.DTypeError):
            op(x, x)
    for call in (lambda: pa.reshape(x, (2, 1)), lambda: pa.stack([x, x]), lambda: pa.isnan(x), lambda: pa.max(x)):
        with pytest.raises(pa.DTypeError):
            call()
