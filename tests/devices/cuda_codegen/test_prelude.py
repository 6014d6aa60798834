"""What CUDA sources begin with: functions of complex numbers, compiled for the host, against NumPy and mpmath."""

import mpmath
import numpy as np
import pytest

from polyad.devices.cuda_codegen.prelude import ATOMICS, COMPLEX, COMPLEX_ATOMICS, HEAD, prelude

NAMES = ("exp", "log", "sqrt", "sinh", "cosh", "tanh", "sin", "cos", "tan")


def test_no_more_than_is_needed():
    assert prelude(False, False) == HEAD and prelude(True, False) == HEAD + COMPLEX and prelude(False, True) == HEAD + ATOMICS
    assert prelude(True, True) == HEAD + COMPLEX + ATOMICS + COMPLEX_ATOMICS
    assert "#include" not in prelude(True, True)  # NVRTC has no headers


@pytest.fixture(scope="module")
def functions(cupy):
    """function(name, numbers): a function of the prelude, in one source for all of them, each in both precisions."""
    if cupy.RawModule.compiler() is None:
        pytest.skip("there is no C++ compiler to emulate CUDA with: install g++")
    text = prelude(True, False)
    for code in ("c16", "c8"):
        for name, value in [*[(name, f"c{name}(x[i])") for name in NAMES], ("divide", "i + 1 < *n ? x[i] / x[i + 1] : x[i]")]:
            text += f'extern "C" __global__ void {name}_{code}(const {code} *x, {code} *y, const int *n) '
            text += f"{{ for (int i = 0; i < *n; i++) y[i] = {value}; }}\n"
    module = cupy.RawModule(code=text)

    def run(name, z):
        x, y, n = (cupy.ndarray(a, 0) for a in (z, np.zeros_like(z), np.array(z.size, np.int32)))
        module.get_function(f"{name}_c{z.itemsize}")((1,), (1,), (x, y, n))
        return y.get()

    return run


@pytest.mark.parametrize("dtype", ["D", "F"])
@pytest.mark.parametrize("name", NAMES)
def test_functions_of_complex_numbers(functions, name, dtype):
    rng = np.random.default_rng(0)
    z = (rng.normal(size=200) * np.exp(rng.normal(size=200)) + 1j * rng.normal(size=200)).astype(dtype)
    z = np.concatenate([z, np.array([0, 1, -1, 1e-9, 0.5j, 1 + 1e-7j, 45 + 3j, -85 - 2j], dtype)])
    with mpmath.workdps(40), np.errstate(all="ignore"):
        right = np.array([complex(getattr(mpmath, name)(mpmath.mpc(complex(v)))) if v or name != "log" else -np.inf for v in z])
        found = functions(name, z)
        held = np.abs(right) < np.finfo(dtype).max / 4
        error = np.abs(found[held] - right[held]) / np.maximum(np.abs(right[held]), np.finfo(dtype).tiny)
    assert np.nanmax(error) < 16 * np.finfo(dtype).eps


@pytest.mark.parametrize("name", ["exp", "sqrt", "log"])
def test_special_values_are_those_of_c99(functions, name):
    parts = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf]
    z = np.array([complex(a, b) for a in parts for b in parts])
    with np.errstate(all="ignore"):
        found, right = functions(name, z), getattr(np, name)(z)
    for a, b, v in zip(found, right, z, strict=True):
        for p, q in ((a.real, b.real), (a.imag, b.imag)):
            assert np.isnan(q) or np.isclose(p, q, rtol=1e-14), (name, v, a, b)


def test_quotients_neither_overflow_nor_lose_signs(functions):
    z = np.array([1e300 + 1e300j, 1e-300 - 1e-300j, 3 + 4j, -2j, 5, 1e200 + 1j, 1e-200])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(functions("divide", z)[:-1], z[:-1] / z[1:])
