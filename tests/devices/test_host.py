"""NumPy's kernels: the commonest mistakes are explained, and arrays of objects are refused."""

import inspect

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


def test_an_error_keeps_the_librarys_own_as_its_cause():
    with pytest.raises(pa.ShapeError) as caught:
        pa.add(x23, x32)
    assert isinstance(caught.value.__cause__, ValueError) and isinstance(caught.value, ValueError)


def test_kernels_are_numpys_functions():
    assert inspect.unwrap(pa.which(pa.exp, np.ndarray).implementation) is np.exp
    assert pa.which(pa.matmul, np.ndarray, np.ndarray).where == "numpy.matmul"


def test_dtypes_that_no_number_fits_are_no_shape_errors():
    for call in (lambda: pa.power(np.array([2]), -1), lambda: pa.add(np.array([1]), 10**30)):
        with pytest.raises(pa.DTypeError, match="convert with .astype"):
            call()


# --- operations of several steps that NumPy does in one -------------------------------------------------------------


def small_and_large():
    """Pairs of arrays with NaN, infinities and zeros of both signs, on both sides of where NumPy's kernel takes over."""
    for size in (0, 1, 7, 4095, 4096, 5000):
        rng = np.random.default_rng(size)
        x = rng.standard_normal(size)
        x[1::7], x[2::7], x[3::7], x[5::7] = np.nan, np.inf, -np.inf, -0.0
        yield x, rng.standard_normal(size)


@pytest.mark.parametrize("limits", [(-0.5, 0.5), (None, 0.3), (0.1, None), (1.0, -1.0), (np.nan, 1.0), (0, 1)])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint8", "bool"])
def test_clip_is_its_body(limits, dtype):
    body = pa.clip.card.body
    for x, _ in small_and_large():
        with np.errstate(invalid="ignore"):
            x = x.astype(dtype)
        found, expected = pa.clip(x, *limits), body(x, *limits)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype
        two = np.stack([x, x])[:, ::2]  # not contiguous, and limits that are arrays
        np.testing.assert_array_equal(pa.clip(two, np.zeros((2, 1)), x[::2]), body(two, np.zeros((2, 1)), x[::2]))
        assert not np.shares_memory(found, x)


@pytest.mark.parametrize("dtypes", [("f8", "f8"), ("f4", "f8"), ("c16", "f8"), ("c8", "c16"), ("i8", "f8"), ("i4", "i4"),
                                    ("f2", "f2"), ("?", "?")])  # fmt: skip
@pytest.mark.parametrize("axis", [-1, 0])
def test_vecdot_is_its_body(dtypes, axis):
    body, rng = pa.vecdot.card.body, np.random.default_rng(0)
    for shapes in (((3, 5), (3, 5)), ((5,), (5,)), ((4, 3, 5), (4, 1, 5)), ((0,), (0,)), ((3, 0), (3, 0))):
        x, y = [(3 * rng.standard_normal(s) + (1j * rng.standard_normal(s) if d[0] == "c" else 0)).astype(d)
                for s, d in zip(shapes, dtypes, strict=True)]  # fmt: skip
        found, expected = pa.vecdot(x, y, axis=axis), body(x, y, axis=axis)
        np.testing.assert_allclose(found, expected, rtol=1e-2 if "f2" in dtypes else 1e-5 if "f4" in dtypes else 1e-12)
        assert np.asarray(found).dtype == np.asarray(expected).dtype
        assert np.shape(found) == np.shape(expected)
    with pytest.raises(pa.ShapeError, match="vecdot: lengths along axis -1 differ"):
        pa.vecdot(np.ones(3), np.ones(4))


def test_outer_is_its_body():
    for x, y in (*small_and_large(), (np.ones((2, 3)), np.arange(4)), (2.0, np.ones(2)), (np.float32(2), np.ones((2, 2)))):
        x, y = x[:50] if np.ndim(x) == 1 else x, y[:50] if np.ndim(y) == 1 else y
        found, expected = pa.outer(x, y), pa.outer.card.body(x, y)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype


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
