"""Results have the dtypes of NumPy's function of the same name: every card, every dtype, eagerly, in lanes, in programs."""

import warnings

import numpy as np
import pytest

import polyad as pa
from polyad.dsl import operations

DTYPES = ("?", "i1", "u1", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16", ">f8", ">i4")
# operations whose results have other dtypes, and why
OTHERS = {
    "eig": "always complex, as the array API has it", "eigvals": "always complex, as the array API has it",
    "lstsq": "the rank is an int64 like all counts", "median": "complex numbers have no order", "nanmedian": "as median",
    "i0": "half precision is computed by SciPy's functions in float64",
    "real_if_close": "its dtype depends on the numbers: a program asks for them",
}  # fmt: skip


def numpy_function(name, card):
    """NumPy's function for a card, or None."""
    names = [f"{card.home}.{name}"] if card.home else [*(card.numpy or ()), name]
    for path in names:
        found = np
        for part in path.split("."):
            found = getattr(found, part, None)
        if callable(found):
            return found
    return None


FUNCTIONS = {name: numpy_function(name, op.card) for name, op in operations.items() if op.card.samples}
NAMES = [name for name, f in FUNCTIONS.items() if f is not None and name not in OTHERS]


def converted(x, dtype):
    if isinstance(x, np.ndarray):
        return (np.abs(x) if np.dtype(dtype).kind == "u" else x).astype(dtype)
    if isinstance(x, (list, tuple)) and x and all(isinstance(part, np.ndarray) for part in x):
        return type(x)([converted(part, dtype) for part in x])
    return x


def dtypes(y):
    if isinstance(y, (list, tuple)):
        return [d for part in y for d in dtypes(part)]
    return [np.dtype(getattr(y, "dtype", None) or np.asarray(y).dtype).newbyteorder("=")]


def calls(name):
    """(arguments, parameters, dtypes of NumPy's result) of what NumPy's function takes."""
    for sample in operations[name].card.samples[:3]:
        args, params = sample(np.random.default_rng(0))
        for dtype in DTYPES:
            given = [converted(2 * a if isinstance(a, np.ndarray) else a, dtype) for a in args]
            try:
                found = FUNCTIONS[name](*given, **params)
            except Exception:  # not of this dtype, or without such a parameter
                continue
            yield given, params, dtypes(found)


@pytest.mark.parametrize("name", NAMES)
def test_dtypes(name):
    op = operations[name]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for given, params, expected in calls(name):
            what = f"{name}{[getattr(a, 'dtype', a) for a in given]} {params}"
            assert dtypes(op(*given, **params)) == expected, what
            arrays = [a for a in given if isinstance(a, np.ndarray)]

            def f(*xs, given=given, params=params):
                rest = iter(xs)
                return op(*[next(rest) if isinstance(a, np.ndarray) else a for a in given], **params)

            try:
                traced = pa.eval_shape(f, *arrays)
            except pa.ConcreteValueError:  # it asks for numbers
                continue
            assert dtypes(traced) == expected, f"{what} in a program"
            if dtypes(arrays) and dtypes(arrays)[0].char in "?blde":
                lanes = pa.vmap(f)(*[np.stack([a, a]) for a in arrays])
                assert dtypes(lanes) == expected, f"{what} in lanes"


def test_neighbours():
    """The dtypes that operations made of these have."""
    whole = np.array([3, -2], np.int32)
    fraction, part = np.modf(whole)
    for f in (pa.modf, pa.jit(pa.modf), lambda x: pa.vmap(pa.modf)(x)):
        found = f(whole)
        assert [v.dtype for v in found] == [fraction.dtype, part.dtype] and np.array_equal(found[1], part)
    truth = np.array([True, False])
    assert pa.vdot(truth, truth).dtype == bool and pa.jit(pa.vdot)(truth, truth).dtype == bool
    assert np.array_equal(pa.unique(pa.round(truth)), np.unique(np.round(truth)))
    assert pa.unique(pa.round(truth)).dtype == np.unique(np.round(truth)).dtype == np.float16
    assert pa.jit(lambda x: pa.round(x))(truth).dtype == np.float16
    assert np.array_equal(pa.take(np.array([5, 7]), truth), np.take(np.array([5, 7]), truth))
    for dtype in (np.float16, np.float32):
        x = np.linspace(0, 1, 9, dtype=dtype)
        assert pa.histogram(x, 3)[1].dtype == np.histogram(x, 3)[1].dtype == dtype
        np.testing.assert_array_equal(pa.histogram(x, 3)[0], np.histogram(x, 3)[0])
        assert pa.histogram(x, 3, range=(0.0, np.float64(2)))[1].dtype == np.float64
