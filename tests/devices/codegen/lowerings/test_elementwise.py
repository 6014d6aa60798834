"""Elementwise operations of several dtypes, and those whose expression depends on the call."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import polyad as pa
from polyad.devices.codegen.plan.plan import lowerable

_spec = importlib.util.spec_from_file_location("comparing", Path(__file__).parents[1] / "comparing.py")
comparing = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(comparing)
run = comparing.run

rng = np.random.default_rng(3)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("exponent", [3, 4, 6])
def test_powers(exponent):
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-120, 1e120, -1e70, 2.5, -3.0, 1e-60, 1.0 + 1e-15])
    for e in (exponent, float(exponent)):
        run(lambda x, e=e: x**e, x)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_powers_of_whole_numbers():
    """Exponents that may be negative have no C: the operation itself refuses some of them."""
    x, k = np.array([-3, 0, 2, 7]), np.array([0, 1, 2, 3], np.uint8)
    run(lambda x, k: [x**5, x**0, x ** np.int64(2), x ** (k > 1), x**k], x, k)
    for f in (lambda x: pa.power(x, x), lambda x: pa.power(2, x)):
        assert not lowerable(pa.make_ir(f)(x).equations[0])
    found = pa.jit(lambda x: pa.power(pa.abs(x) + 1, x * 0 + 2))(x)
    np.testing.assert_array_equal(found, (abs(x) + 1) ** 2)
    with pytest.raises(pa.DTypeError, match="negative integer powers"):
        pa.jit(lambda x: pa.power(x, -pa.abs(x)))(x)


def test_products_in_place_of_powers():
    """For exponents that are part of the program, of real numbers."""
    source = lambda f, *xs: pa.compile_program(pa.make_ir(f)(*xs), pa.devices.Device("cpu")).sources[0]
    x = np.array([0.5, 2.0])
    assert "pow(" not in source(lambda x: x**3 + x**6.0, x) and "pow(" in source(lambda x: x**5, x)
    assert "pow(" in source(lambda x, y: x**y, x, x)


def test_numbers_of_other_dtypes():
    """Each argument is brought to its own: the condition of `where`, the exponent of `ldexp`."""
    x, i, b = np.array([0.5, -3.0, 0.0]).astype("f"), np.array([3, -100, 0], np.int8), np.array([True, False, True])
    f = lambda x, i, b: [
        pa.where(x, i, x), pa.where(i, b, 2.5), pa.where(b, 1j, x), pa.where(b, i, i.astype(np.int64)),
        pa.ldexp(x, i), pa.ldexp(x, 3), pa.ldexp(x.astype(float), i.astype(np.int64) * 100),
    ]  # fmt: skip
    run(f, x, i, b, rtol=0)
    assert all(lowerable(e) for e in pa.make_ir(f)(x, i, b).equations)


def test_conversions():
    """C converts as NumPy does: towards zero, modulo powers of 2, truth values by being no zero."""
    x = np.array([0.0, -0.0, 0.4, -0.6, 100.7, -100.2])
    run(lambda x: [pa.astype(x, np.dtype(d)) for d in "?bhilfdFD"], x, rtol=0)
    run(lambda i: [pa.astype(i, np.dtype(d)) for d in "?bhilBHILfdD"], np.array([0, 1, -1, 300, -40_000, 2**40 + 5]), rtol=0)
    (e,) = pa.make_ir(lambda x: pa.astype(x, np.float32, device="cpu"))(x).equations
    assert e.params.get("device") is None or not lowerable(e)
