"""Cumulated values and places of extrema in C, against NumPy: axes, ties, what is not a number, lengths 0 and 1."""

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

NAMES = {"cumsum": np.cumsum, "cumprod": np.cumprod, "argmax": np.argmax, "argmin": np.argmin}


def in_c(f, *xs):
    return all(lowerable(e) for e in pa.make_ir(f)(*xs).equations)


@pytest.mark.parametrize("dtype", "bHlfdFD")
def test_axes_and_dtypes(dtype):
    x = np.random.default_rng(0).integers(0, 4, (3, 5, 1, 4)).astype(dtype)
    names = [n for n in NAMES if np.dtype(dtype).kind != "c" or n == "cumsum"]
    axes = (None, 0, 1, 2, -1)
    f = lambda x: [getattr(pa, n)(x, axis=a) for n in names for a in axes]
    assert in_c(f, x)
    found = iter(run(f, x, rtol=1e-5 if dtype in "fF" else 1e-13))
    for n in names:
        for a in axes:
            y, right = next(found), NAMES[n](x, axis=a)
            assert y.dtype == right.dtype
            np.testing.assert_allclose(y, right, rtol=1e-5 if dtype in "fF" else 1e-13)


def test_the_first_of_equal_ones_and_what_is_no_number():
    """NumPy's rules: the first extremum; the first that is not a number, if there is one; zeros of both signs are equal."""
    nan, inf = np.nan, np.inf
    rows = [
        [1, 3, 3, 0],
        [nan, 1, 2, nan],
        [1, nan, nan, 0],
        [-inf, -inf, -inf, -inf],
        [0.0, -0.0, 0.0, -0.0],
        [inf, nan, inf, 1],
    ]
    x = np.array(rows)
    places = run(lambda x: [pa.argmax(x, axis=1), pa.argmin(x, axis=1), pa.argmax(x, axis=0, keepdims=True), pa.argmin(x)], x)
    right = [np.argmax(x, 1), np.argmin(x, 1), np.argmax(x, 0, keepdims=True), np.argmin(x)]
    for a, b in zip(places, right, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("keepdims", [False, True])
def test_shapes_of_places(keepdims):
    x = np.random.default_rng(0).normal(size=(2, 1, 3))
    f = lambda x: [pa.argmax(x, axis=a, keepdims=keepdims) for a in (None, 0, 1, 2)]
    for y, a in zip(run(f, x), (None, 0, 1, 2), strict=True):
        np.testing.assert_array_equal(y, np.argmax(x, axis=a, keepdims=keepdims), strict=True)


def test_of_nothing():
    x = np.ones((0, 3))
    for y, right in zip(
        run(lambda x: [pa.cumsum(x), pa.cumsum(x, axis=1), pa.argmax(x, axis=1)], x), [0, (0, 3), 0], strict=True
    ):
        assert y.shape == np.zeros(right).shape
    assert not in_c(lambda x: pa.argmax(x, axis=0), x)  # what that is, or which error, the kernel says
    with pytest.raises(ValueError, match="empty"):
        pa.jit(lambda x: pa.argmax(x + 1, axis=0))(x)


def test_what_is_left_to_numpy():
    z, b = np.array([1 + 2j, 1 + 1j]), np.array([True, True, False])
    assert not in_c(pa.argmax, z) and not in_c(pa.cumprod, z) and in_c(pa.cumsum, z)
    run(lambda z, b: [pa.argmax(z * 2), pa.cumprod(z * 2), pa.cumsum(b & True), pa.argmin(b & True)], z, b)


def test_values_before_and_behind_are_part_of_the_loop():
    x = np.random.default_rng(0).normal(size=(4, 30))
    f = lambda x: pa.cumsum(pa.sin(x) * 2.0, axis=1)[:, ::-1] + pa.cumprod(1.0 + x / 100, axis=0)
    assert len(pa.compile_program(pa.make_ir(f)(x), pa.devices.Device("cpu")).sources) == 1
    run(f, x)
