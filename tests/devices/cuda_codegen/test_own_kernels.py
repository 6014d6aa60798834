"""Operations of others with a C expression on CuPy's arrays: NVRTC compiles it, and emulated it gives what the host gives."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import polyad as pa
from polyad.devices import to_device


def beside(path):
    """A module of the tests."""
    name = f"polyad_beside_{path.stem}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


here = Path(__file__).parents[1]
nvrtc = beside(here / "nvrtc.py")


@pytest.fixture(autouse=True)
def _stand_in(cupy):
    if cupy.RawModule.compiler() is None:
        pytest.skip("there is no C++ compiler to emulate CUDA with: install g++")
    return cupy


@pa.elementwise(partials=[lambda y, x: pa.sin(x)], c="(1 - cos({0}))")
def versine(x, /):
    """1 - cos(x)."""


@pa.elementwise(partials=[None, None], c="{rate} * {0} * exp(-{1})")
def damped(a, b, /, rate=1.0):
    """rate · a · exp(-b)."""


X = np.linspace(-2, 2, 12).reshape(3, 4)


def close(found, wanted, rtol=1e-14):
    assert pa.device_of(found).ordinal == 1
    found = to_device(found, "cpu")
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "i4"])
def test_eagerly_and_compiled(dtype):
    x = X.astype(dtype)
    for f in (versine, pa.jit(versine), pa.jit(lambda x: versine(x) * 2)):
        close(f(to_device(x, "cuda:1")), np.asarray(f(x)), 1e-6 if dtype == "f4" else 1e-14)


def test_layouts_numbers_and_parameters():
    x = to_device(X, "cuda:1")
    close(versine(x[:, ::2]), 1 - np.cos(X[:, ::2]))
    close(damped(x, 2, rate=3.0), 3 * X * np.exp(-2.0))
    close(damped(0.5, x), 0.5 * np.exp(-X))
    close(damped(x, x[0]), X * np.exp(-X[0]))
    close(versine(x[:0]), X[:0])


def test_derivatives_and_lanes():
    x = to_device(X, "cuda:1")
    close(pa.vmap(pa.grad(lambda r: pa.sum(versine(r))))(x), np.sin(X))
    close(pa.jit(pa.grad(lambda x: pa.sum(versine(x))))(x), np.sin(X))


def test_a_dtype_without_cuda():
    with pytest.raises(pa.DTypeError, match=r"versine\(.*\): there is no CUDA of its C expression for these"):
        versine(to_device(X.astype("f2"), "cuda:1"))


@pytest.mark.skipif(nvrtc.library() is None, reason="NVRTC is missing: pip install nvidia-cuda-nvrtc-cu12")
@pytest.mark.parametrize("dtype", ["f8", "f4", "c8", "c16"])
def test_nvrtc_compiles_it(dtype):
    x = to_device(X.astype(dtype), "cuda:1")
    compiled = pa.compile_program(pa.make_ir(lambda x: damped(versine(x), x))(X.astype(dtype)), pa.devices.Device("cuda:1"))
    compiled(x)
    (text,) = compiled.sources
    assert "exp" in text and "cos" in text
    nvrtc.ptx(text)
