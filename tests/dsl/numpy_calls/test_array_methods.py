"""Every public attribute and method of NumPy's arrays and numbers, and of Python's, on followed values: as in plain code."""

import decimal
import json
import statistics
import warnings

import numpy as np
import pytest

import polyad as pa

M = np.arange(6.0).reshape(2, 3) + 1
HOLDERS = {
    "array": M, "vector": np.arange(1.0, 4.0), "integers": np.arange(6).reshape(2, 3), "np.float64": np.float64(2.5),
    "np.int64": np.int64(5), "np.complex128": np.complex128(2.5 + 1j), "np.bool": np.True_, "float": 2.5, "int": 5,
    "complex": 2.5 + 1j, "bool": True,
}  # fmt: skip


def call(*args, **kwargs):
    return args, kwargs


big, orders = M > 2, [call(), call("F"), call("C"), call("K"), call("A"), call(order="F")]
reductions = [call(), call(0), call(0, None, None, True), call(axis=(0, 1), keepdims=True)]
CALLS = {  # method -> natural ways to call it
    "all": [call(), call(0), call(0, None, True), call(where=big)], "any": [call(), call(axis=0), call(where=big)],
    "argmax": [call(), call(0), call(axis=1, keepdims=True)], "argmin": [call(), call(1)], "argpartition": [call(1)],
    "argsort": [call(), call(0), call(0, "stable"), call(kind="stable", axis=0)],
    "astype": [call(np.float32), call("f4"), call(int), call(float, "F"), call(float, copy=False), call("f8", casting="safe")],
    "byteswap": [call(), call(False)], "choose": [call([1, 2, 3, 4, 5, 6])],
    "clip": [call(2), call(2, 4), call(max=3), call(2.0, None), call(min=3)],
    "compress": [call([True, False]), call([True, False, True], 1), call([True, False], axis=0)], "conj": [call()],
    "conjugate": [call()], "copy": [call(), call("F"), call(order="K")],
    "cumprod": [call(), call(0), call(1, np.float32), call(axis=0, dtype=float)],
    "cumsum": [call(), call(0), call(1, float)], "diagonal": [call(), call(1), call(0, 1, 0), call(1, axis1=1, axis2=0)],
    "dot": [call(np.ones(3)), call(np.ones((3, 2)))], "dumps": [call()], "fill": [call(2.0)], "flatten": orders,
    "getfield": [call(np.int64)], "item": [call(0), call(1, 2), call((1, 2)), call(-1)],
    "max": [call(), call(0), call(1, None, True), call(0, initial=5.0), call(initial=0.0, where=big)],
    "mean": [*reductions, call(0, np.float32), call(where=big)], "min": [call(), call(0), call(1, None, True)],
    "nonzero": [call()], "partition": [call(1)], "prod": [*reductions, call(0, np.float32), call(initial=2.0)],
    "ptp": [call(), call(0), call(1, None, True)], "put": [call([0], 2.0), call([7], 2.0, "wrap"), call([-1, 9], 2.0, "clip")],
    "ravel": orders, "repeat": [call(2), call(2, 0), call([1, 2], axis=0)],
    "reshape": [call(3, 2), call((3, 2)), call(-1), call((3, 2), order="F"), call(3, 2, order="F"), call(6, order="A"),
                call((3, -1), order="F"), call(6, copy=True)],
    "resize": [], "round": [call(), call(1), call(decimals=1)],
    "searchsorted": [call(2.0), call([1.0, 9.0], "right"), call(2.0, side="right"), call([2.0], sorter=[0, 1, 2])],
    "setfield": [call(1.0, np.float64)], "setflags": [call(write=True)],
    "sort": [call(), call(0), call(0, "stable"), call(axis=0, kind="stable")], "squeeze": [call()],
    "std": [call(), call(0), call(0, np.float32), call(0, None, None, 1), call(ddof=1, keepdims=True), call(where=big),
            call(correction=1)],
    "sum": [*reductions, call(0, np.float32), call(where=big), call(initial=3.0), call(-1, keepdims=True)],
    "swapaxes": [call(0, 1), call(axis1=0, axis2=1)],
    "take": [call([0, 1]), call([0, 1], 1), call([0, 7], 1, None, "clip"), call([0, 5], mode="wrap"), call(indices=[0])],
    "to_device": [call("cpu")], "tobytes": [call(), call("F")], "tolist": [call()],
    "trace": [call(), call(1), call(0, 0, 1), call(offset=1)],
    "transpose": [call(), call(1, 0), call((1, 0)), call(None)], "var": [call(), call(0), call(0, None, None, 1)],
    "view": [call(), call(np.int64), call(np.ndarray)],
    "is_integer": [call()], "as_integer_ratio": [call()], "hex": [call()], "fromhex": [call("0x1p+1")], "bit_count": [call()],
    "bit_length": [call()], "from_bytes": [call(b"a", "big")], "to_bytes": [call(8, "big", signed=True), call()],
    "from_number": [call(2)],
}  # fmt: skip
FILES = ("dump", "tofile")  # written by the plain value, as `dumps`
GONE = ("tostring",)  # which some supported NumPy still has, deprecated
IN_PLACE = ("byteswap", "fill", "partition", "put", "setfield", "setflags", "sort")
NUMBERS = ("np.float64", "np.int64", "np.bool", "np.complex128")  # which `fill` leaves as they are
OTHERWISE = {("np.bool", "round"), *[("bool", name) for name in ("conjugate", "imag", "real")],
             *[(label, "fill") for label in NUMBERS]}  # fmt: skip


def members(label):
    for name in dir(HOLDERS[label]):
        if not name.startswith("_") and name not in (*FILES, *GONE) and (label, name) not in OTHERWISE:
            yield name


def uses(label):
    """Functions of a value of one kind, each with what it is called, that plain code can run."""
    for name in members(label):
        part = getattr(type(HOLDERS[label]), name)
        if not callable(part):
            yield name, lambda x, name=name: getattr(x, name)
            continue
        for args, kwargs in CALLS[name]:  # a new method of NumPy's needs calls above
            yield f"{name}{args}{kwargs}", lambda x, name=name, args=args, kwargs=kwargs: used(x, name, args, kwargs)


def used(x, name, args, kwargs):
    if name not in IN_PLACE or not np.ndim(x):
        return getattr(x, name)(*args, **kwargs)
    x = x.copy()
    y = getattr(x, name)(*args, **kwargs)
    return x, y


def unfollowed(x):
    return pa.stop_gradient(x) if issubclass(type(x), pa.Array) else x


def alike(x, y):
    if isinstance(y, (tuple, list)):
        return type(x) is type(y) and len(x) == len(y) and all(map(alike, x, y))
    if isinstance(y, np.flatiter):
        return alike(x, np.array(y))
    if isinstance(y, (np.ndarray, np.generic)):
        equal = np.array_equal(x, y, equal_nan=y.dtype.kind in "fc")
        return x.dtype == y.dtype and x.shape == y.shape and equal
    if isinstance(y, (bool, int, float, complex, str, bytes, np.dtype)) or y is None:
        return x == y and type(x if not isinstance(x, np.generic) else x.item()) is type(y)
    return type(x) is type(y)  # a buffer, flags


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("label", HOLDERS)
def test_members_under_jit(label):
    for text, f in uses(label):
        plain = HOLDERS[label].copy() if np.ndim(HOLDERS[label]) else HOLDERS[label]
        try:
            want = f(plain)
        except Exception:
            continue
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", pa.PerformanceWarning)
            got = pa.jit(f)(plain)
        assert alike(got, want), (text, got, want)
        said = [str(w.message) for w in said if w.category is pa.PerformanceWarning]
        assert len(said) <= 1 and all("runs eagerly from now on: " in w for w in said), (text, said)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("label", ["array", "vector", "np.float64", "float", "np.complex128"])
def test_members_under_derivatives(label):
    refused = set()
    for text, f in uses(label):
        x, seen = HOLDERS[label], []
        try:
            want = f(np.copy(x) if np.ndim(x) else np.asarray(x)[()])
        except Exception:
            continue

        def g(x, f=f, seen=seen):
            seen.append(pa.tree.map(unfollowed, f(x)))
            return pa.sum(pa.real(x))

        try:
            pa.grad(g)(x)
        except pa.PolyadError:
            refused.add(text.partition("(")[0])
        else:
            assert alike(seen[0], want), (text, seen, want)
    allowed = {*pa.dsl.numpy_calls.array_methods.OF_MEMORY, "base",
               "ctypes", "data", "flags", "setflags", "strides", "item", "tolist",
               "as_integer_ratio", "hex", "std", "var", "ravel", "flatten", "reshape", "searchsorted"}  # fmt: skip
    if not np.ndim(x):  # an axis of a number
        allowed |= {"compress", "max", "repeat"}
    assert refused <= allowed, refused - allowed


def test_what_is_refused_says_what_to_do():
    with pytest.raises(pa.ConcreteValueError, match=r"\.strides of a Reverse\[1\] of float64\[2, 3\]: .*polyad.stop_gradient"):
        pa.grad(lambda x: x.sum() * x.strides[0])(M)
    with pytest.raises(pa.MissingRuleError, match="ravel: order='K' asks how Reverse.1. lies in memory; say 'C' or 'F'"):
        pa.grad(lambda x: x.ravel("K")[0])(M)
    with pytest.raises(AttributeError, match="'float' object has no attribute 'strides'"):
        pa.jit(lambda x: x.strides)(2.0)
    with pytest.raises(pa.DTypeError, match="astype: float64 cannot become int32 by the rule 'safe'"):
        pa.grad(lambda x: x.astype("i4", casting="safe").sum())(M)


def test_derivatives_in_the_other_order():
    w = np.arange(6.0)
    for f in (lambda x: x.ravel("F") @ w, lambda x: np.ravel(x, "F") @ w, lambda x: np.sum(x.reshape(6, order="F") * w)):
        np.testing.assert_array_equal(pa.grad(f)(M), w.reshape((2, 3), order="F"))
        np.testing.assert_array_equal(pa.jit(pa.grad(f))(M), w.reshape((2, 3), order="F"))
    f = lambda x: np.reshape(x, (3, 2), order="F")
    np.testing.assert_array_equal(pa.vmap(f)(np.stack([M, -M])), np.stack([f(M), f(-M)]))


def _into(write):
    """A function that makes a plain array, and has NumPy write into it."""

    def f(x):
        b = np.zeros(3)
        write(b, x)
        return b

    return f


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: json.dumps({"a": x}), 2.5), (lambda x: json.dumps([x]), 3), (lambda x: statistics.mean([x, x + 1]), 2.5),
        (decimal.Decimal, 2.5), (lambda x: decimal.Decimal(x) * 2, 2), (lambda x: "abc".center(x), 5),
        (lambda x: bytes([x]), 65), (lambda x: np.packbits(x > 2), np.arange(8.0)),
        (_into(lambda b, x: np.put(b, [0], x[0])), M), (_into(lambda b, x: np.copyto(b, x[0])), M),
        (_into(lambda b, x: np.putmask(b, [True, False, True], x[0])), M),
        (_into(lambda b, x: np.place(b, [True, False, True], x[0])), M), (_into(lambda b, x: np.add.at(b, [0, 0], x[0, 0])), M),
        (lambda x: memoryview(x)[0], np.arange(3.0)),
        (lambda x: np.lib.stride_tricks.as_strided(x, (2,), (8,)), np.arange(3.0)),
    ],
)  # fmt: skip
def test_what_takes_plain_values_only_runs_eagerly(f, x):
    jitted = pa.jit(f)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(3):
            assert alike(jitted(x), f(x))
    assert len(said) <= 1 and all(["runs eagerly from now on: " in str(w.message) for w in said])


def test_the_warning_names_what_failed():
    with pytest.warns(
        pa.PerformanceWarning, match=r"with values that jit follows it fails: TypeError at .*encoder.py:\d+: .*JSON"
    ):
        pa.jit(lambda x: json.dumps(x))(2.5)


seen = []


def test_errors_stay_what_they_are():
    """A function that fails anyhow fails as outside, and one that has changed something does not run twice."""

    def fails(x):
        raise KeyError("mine")

    def writes(x):
        seen.append(1)
        return json.dumps(x)

    with pytest.raises(KeyError, match="mine"):
        pa.jit(fails)(1.0)
    with pytest.raises(pa.ShapeError, match="add: shapes do not broadcast"):
        pa.jit(lambda x: x + np.ones(2))(np.ones(3))
    with pytest.raises(TypeError, match="JSON"):
        pa.jit(writes)(1.0)
    assert len(seen) == 1


def test_derivatives_say_what_c_code_does_not_take():
    with pytest.raises(TypeError) as caught:
        pa.grad(lambda x: x * float(json.dumps(x)))(2.0)
    assert "grad(<lambda>) follows" in caught.value.__notes__[0] and "polyad.stop_gradient" in caught.value.__notes__[0]
    with pytest.raises(TypeError) as caught:
        pa.grad(lambda x: x * len(3))(2.0)
    assert not hasattr(caught.value, "__notes__")
