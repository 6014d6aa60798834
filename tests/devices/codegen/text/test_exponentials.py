"""exp and tanh of compiled programs: their errors, hard arguments, the same result wherever an element stands."""

import ctypes

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polyad as pa
from polyad.devices.codegen.text.exponentials import COEFFICIENTS, exponential
from polyad.devices.compilers import compile_c, find_compiler, flag_sets

RNG = np.random.default_rng(3)
WIDER = {np.float64: np.longdouble, np.float32: np.float64}
RANGE = {np.float64: (-746.0, 710.0), np.float32: (-104.0, 89.0)}
HARD = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-300, -1e-300, 1e300, -1e300, 1e9, -1e9, 709.78271289338397,
        709.7827128933841, 710.0, -708.3964185322641, -708.3964185322642, -744.4400719213812, -745.1332191019411,
        -745.1332191019412, -745.14, -746.0, -747.0, 88.72283, 88.72284, 89.0, -87.33654, -87.33655, -103.27893, -103.97208,
        -103.97209, -104.0, -105.0]  # fmt: skip

exp = pa.jit(pa.exp)
pytestmark = [pytest.mark.optimized, pytest.mark.filterwarnings("ignore::RuntimeWarning")]


def arguments(dtype, n=50_000):
    """Every magnitude, the whole range, results without all their digits, halves between whole numbers of ln 2."""
    low, high = RANGE[dtype]
    tiny, halves = np.log(float(np.finfo(dtype).tiny)), RNG.integers(low / 0.7, high / 0.7, n) + 0.5
    magnitudes = np.exp(RNG.uniform(tiny, np.log(high), n)) * RNG.choice([-1.0, 1.0], n)
    near = halves * np.log(2) * (1 + RNG.normal(size=n) * np.finfo(dtype).eps)
    return np.concatenate([
        RNG.uniform(low, high, n), RNG.normal(size=n), magnitudes, near, RNG.uniform(low, 0.93 * low, n), HARD,
    ]).astype(dtype)  # fmt: skip


def units(y, x):
    """Errors of results in units in the last place of the true values, where these are finite."""
    true = np.exp(x.astype(WIDER[y.dtype.type]))
    rounded = true.astype(y.dtype)
    finite = np.isfinite(rounded)
    assert np.array_equal(y[~finite], rounded[~finite], equal_nan=True)
    return np.abs(y[finite] - true[finite]) / np.spacing(rounded[finite])


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="no wider numbers to compare with")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_error_is_below_one_unit_in_the_last_place(dtype):
    x = arguments(dtype)
    assert units(exp(x), x).max() < 1


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="no wider numbers to compare with")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_tanh(dtype):
    x = np.concatenate([arguments(dtype), RNG.uniform(-22, 22, 100_000).astype(dtype), RNG.normal(size=100_000).astype(dtype)])
    y = pa.jit(pa.tanh)(x)
    true = np.tanh(x.astype(WIDER[dtype]))
    number = ~np.isnan(x)
    error = np.abs(y[number] - true[number]) / np.spacing(np.abs(true[number]).astype(dtype))
    assert error.max() < 3 and np.isnan(y[~number]).all()
    np.testing.assert_array_equal(np.signbit(y), np.signbit(x))
    assert (y[x == np.inf] == 1).all() and (y[x == -np.inf] == -1).all()
    np.testing.assert_array_equal(pa.jit(pa.tanh)(x[:5]), y[:5])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_hard_arguments(dtype):
    x = np.array(HARD, dtype)
    y = exp(x)
    assert y[0] == y[1] == 1 and y[4] == np.inf and y[5] == 0 and not np.signbit(y[5]) and np.isnan(y[6])
    np.testing.assert_array_equal(y == 0, np.exp(x) == 0)
    np.testing.assert_array_equal(np.isinf(y), np.isinf(np.exp(x)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [1, 3, 7, 8, 17, 63, 600])
def test_an_element_has_the_same_result_in_small_and_large_arrays(dtype, n):
    x = arguments(dtype, 2000)
    whole = exp(x)
    for start in range(0, x.size - n, max(n, x.size // 20)):
        np.testing.assert_array_equal(exp(x[start : start + n]), whole[start : start + n])
    np.testing.assert_array_equal(pa.jit(lambda x: pa.exp(x)[0])(x[:1]), whole[0])


@settings(max_examples=200, deadline=None)
@given(st.floats(-800, 800))
def test_any_number(x):
    np.testing.assert_allclose(exp(np.float64(x)), np.exp(x), rtol=4.5e-16, atol=5e-324)


@pytest.mark.skipif(find_compiler() is None, reason="no compiler")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_processors_without_fused_multiplication(dtype, tmp_path):
    code = "f8" if dtype == np.float64 else "f4"
    real = "double" if code == "f8" else "float"
    text = f"#include <stdint.h>\n{exponential('exp', code)}\nvoid run(const {real} *x, {real} *y, int64_t n) "
    (tmp_path / "e.c").write_text(text + f"{{ for (int64_t i = 0; i < n; i++) y[i] = exp_{code}(x[i]); }}\n")
    words = find_compiler()
    complaint = compile_c(words, flag_sets(words)[-1], tmp_path / "e.c", tmp_path / "e.so")
    assert complaint is None
    x = arguments(dtype)
    y = np.empty_like(x)
    pointer = lambda a: ctypes.c_void_p(a.ctypes.data)
    ctypes.CDLL(str(tmp_path / "e.so")).run(pointer(x), pointer(y), ctypes.c_int64(x.size))
    assert units(y, x).max() < 1.2


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="no wider numbers to compare with")
@pytest.mark.parametrize(("code", "wide"), [("f8", 2.0**-56.3), ("f4", 2.0**-27.9)])
def test_the_polynomial_is_as_near_as_it_says(code, wide):
    r = np.linspace(-0.34658, 0.34658, 2001).astype(np.longdouble)
    p = sum(np.longdouble(float.fromhex(c.removesuffix("f") if code == "f4" else c)) * r**k
            for k, c in enumerate(COEFFICIENTS[code]))  # fmt: skip
    error = np.abs((1 + r + r * r * p) / np.exp(r) - 1)
    assert error.max() < wide


def test_masks_with_infinities():
    x = np.where(RNG.random((64, 300)) < 0.5, -np.inf, RNG.normal(size=(64, 300)))
    np.testing.assert_allclose(pa.jit(pa.softmax)(x), pa.softmax(x), rtol=1e-14)
    assert np.array_equal(pa.jit(pa.softmax)(x) == 0, np.isinf(x))
