"""Data types: limits, promotion, casting and kinds are NumPy's; wrong dtypes and kinds are named."""

import itertools

import numpy as np
import pytest

import polyad as pa
from polyad.dsl import dtypes

NAMES = list(dtypes.DTYPES)


def test_dtypes_are_numpys():
    for name in NAMES:
        assert getattr(pa, name) is getattr(np, name)
        assert dtypes.dtype_named("f", name) == dtypes.dtype_named("f", getattr(np, name)) == np.dtype(name)
    assert dtypes.dtype_named("f", float) == np.float64


def test_promotion_and_casting_are_numpys():
    for a, b in itertools.product(NAMES, repeat=2):
        assert pa.result_type(a, np.ones(2, b)) == np.result_type(a, b)
        assert pa.can_cast(a, b) == np.can_cast(a, b)
    assert pa.result_type(np.ones(2, np.float32), 1.0) == np.float32  # a number of Python's follows
    assert pa.result_type(1.0, 2) == np.float64
    assert pa.grad(lambda x: x * (pa.result_type(x, pa.int8) == np.float32))(np.float32(2.0)) == 1.0  # of a followed value


def test_kinds():
    kinds = {"bool": "b", "signed integer": "i", "unsigned integer": "u", "integral": "iu", "real floating": "f",
             "complex floating": "c", "numeric": "iufc"}  # fmt: skip
    for name, (kind, letters) in itertools.product(NAMES, kinds.items()):
        assert pa.isdtype(name, kind) == (np.dtype(name).kind in letters) == pa.isdtype(name, (kind, "bool")[:1])
        assert pa.isdtype(name, ("bool", kind)) == (np.dtype(name).kind in letters + "b")
    assert pa.isdtype(np.int8, pa.int8) and not pa.isdtype(np.int8, "int16")


@pytest.mark.parametrize("name", NAMES)
def test_limits(name):
    dtype, given = np.dtype(name), np.zeros(2, name)
    if dtype.kind in "fc":
        found, expected = pa.finfo(given), np.finfo(dtype)
        for field in ("bits", "eps", "max", "min", "smallest_normal", "dtype"):
            assert getattr(found, field) == getattr(expected, field) == getattr(pa.finfo(name), field)
        assert type(found.eps) is float
    elif dtype.kind in "iu":
        found, expected = pa.iinfo(given), np.iinfo(dtype)
        assert (found.bits, found.max, found.min, found.dtype) == (expected.bits, expected.max, expected.min, dtype)
    if dtype.kind not in "fc":
        with pytest.raises(pa.DTypeError, match=f"finfo: {name} is no floating or complex dtype"):
            pa.finfo(name)
    if dtype.kind not in "iu":
        with pytest.raises(pa.DTypeError, match=f"iinfo: {name} is no integer dtype"):
            pa.iinfo(name)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: pa.result_type(), "result_type: nothing is given"),
        (lambda: pa.result_type("M8[s]", np.ones(2)), r"result_type: .*ndarray\(float64\[2\]\) have no common dtype"),
        (lambda: pa.can_cast(pa.int8, "number"), "can_cast: 'number' is no dtype; write polyad.float64"),
        (lambda: pa.isdtype(pa.int8, "whole"), "isdtype: 'whole' is no kind; kinds are 'bool', 'signed integer'"),
    ],
)
def test_errors(call, told):
    with pytest.raises(pa.DTypeError, match=told):
        call()
