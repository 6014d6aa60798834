"""Convolution of sequences, and what the kinds of convolution have in common: dtypes, layouts, errors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polyad as pa
from polyad.dispatch import DTypeError, ShapeError


# ---------------------------------------------------------------------- sequences
@given(st.integers(1, 6), st.integers(1, 6), st.sampled_from(["full", "same", "valid"]), st.booleans())
def test_sequences_are_numpys(m, n, mode, complex_):
    rng = np.random.default_rng(m + 7 * n)
    a, v = (rng.standard_normal(k) + (1j * rng.standard_normal(k) if complex_ else 0) for k in (m, n))
    for name in ("convolve", "correlate"):
        f, expected = getattr(pa, name), getattr(np, name)(a, v, mode)
        np.testing.assert_allclose(f(a, v, mode=mode), expected, atol=1e-14)
        np.testing.assert_allclose(pa.make_ir(lambda a, v, f=f: f(a, v, mode=mode))(a, v)(a, v), expected, atol=1e-14)
        lanes = np.stack([a, 2 * a, -a])
        for found in (
            pa.vmap(lambda a, f=f: f(a, v, mode=mode))(lanes),
            pa.vmap(lambda v, f=f: f(lanes[0], v, mode=mode), in_axes=0)(np.stack([v, 2 * v, -v])),
        ):
            np.testing.assert_allclose(found, [expected, 2 * expected, -expected], atol=1e-13)
    t = rng.standard_normal(m)
    y, pull = pa.vjp(lambda a: pa.convolve(a, v, mode=mode), a)
    ct = rng.standard_normal(y.shape).astype(y.dtype)
    np.testing.assert_allclose(np.sum(pull(ct)[0] * t).real, np.sum(ct * np.convolve(t, v, mode)).real, atol=1e-12)


def test_numpys_convolve_on_followed_values(rng):
    a, v = rng.standard_normal(5), rng.standard_normal(3)
    for f in (np.convolve, np.correlate):
        np.testing.assert_allclose(pa.grad(lambda a, f=f: np.sum(f(a, v)))(a), pa.grad(lambda a, f=f: pa.sum(f(a, v)))(a))
    np.testing.assert_allclose(pa.grad(lambda a: np.sum(np.convolve(a, v, "valid")))(a), np.convolve(np.ones(3), v[::-1]))


# ---------------------------------------------------------------------- layers


@pytest.mark.parametrize("dtype", ["float32", "complex64", "int64", "float16"])
def test_dtypes(dtype):
    x, w = np.ones((1, 1, 4), dtype), np.ones((1, 1, 2), dtype)
    y = pa.conv(x, w)
    assert y.dtype == dtype and y.tolist() == [[[2, 2, 2]]]
    if dtype != "int64":
        assert [c.dtype for c in pa.vjp(pa.conv, x, w)[1](y)] == [dtype, dtype]
        assert pa.mean_pool(x, window=2, padding=1).dtype == dtype
    else:
        assert pa.mean_pool(x, window=2).dtype == np.float64


def test_strided_inputs(rng):
    x, w = rng.standard_normal((7, 2, 3)).transpose(2, 1, 0)[:, :, ::-1], rng.standard_normal((2, 2, 3))[:, ::-1]
    np.testing.assert_allclose(pa.conv(x, w), pa.conv(x.copy(), w.copy()), atol=1e-12)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: pa.convolve(np.ones((2, 2)), np.ones(2)), ShapeError, "convolve"),
        (lambda: pa.grad(lambda a: pa.sum(pa.convolve(a, np.zeros(0))))(np.ones(2)), ShapeError, "convolve"),
        (lambda: pa.make_ir(lambda a: pa.convolve(a, a, mode="half"))(np.ones(2)), ShapeError, "convolve: mode is 'half'"),
        (lambda: pa.conv(np.ones((2, 3)), np.ones((2, 3))), ShapeError, r"conv: .* takes \(batch, channels, \*space\)"),
        (lambda: pa.conv(np.ones((1, 2, 5)), np.ones((1, 3, 2))), ShapeError, "conv: 2 channels in 1 group.* for 3 per group"),
        (lambda: pa.conv(np.ones((1, 3, 5)), np.ones((2, 1, 2)), groups=2), ShapeError, "conv: 2 groups do not divide"),
        (lambda: pa.conv(np.ones((1, 1, 2)), np.ones((1, 1, 3))), ShapeError, r"conv: a window of \[3\] .* into \[2\]"),
        (lambda: pa.conv(np.ones((1, 1, 4)), np.ones((1, 1, 3)), padding="circular"), ShapeError, "padding='circular'"),
        (lambda: pa.conv(np.ones((1, 1, 4)), np.ones((1, 1, 3)), strides=0), ShapeError, "strides=0; .* at least 1"),
        (lambda: pa.conv(np.ones((1, 1, 4)), np.ones((1, 1, 3)), strides=(1, 1)), ShapeError, "strides="),
        (lambda: pa.conv(np.ones((1, 1, 4)), np.ones((1, 1, 3)), padding=-1), ShapeError, "at least 0"),
        (lambda: pa.conv(np.ones((1, 1, 4)), np.ones((1, 1, 3)), groups=0), ShapeError, "groups=0"),
        (lambda: pa.conv_input(np.ones((1, 1, 4)), np.ones((1, 1, 3)), space=(5,)), ShapeError, "conv_input: .* misfits"),
        (lambda: pa.conv_weight(np.ones((1, 1, 4)), np.ones((2, 1, 3)), kernel=(2,)), ShapeError, "conv_weight: .* no result"),
        (lambda: pa.max_pool(np.ones(3), window=2), ShapeError, "max_pool: .*one to three spatial axes"),
        (lambda: pa.max_pool(np.ones((1, 1, 3)), window=2, padding=2), ShapeError, "max_pool: padding .* is not smaller"),
        (lambda: pa.max_pool(np.ones((1, 1, 3), complex), window=2), DTypeError, "max_pool: .* real numbers"),
        (lambda: pa.mean_pool(np.ones((1, 1, 3)), window=4), ShapeError, "mean_pool: a window of"),
        (lambda: pa.sliding_windows(np.ones(3), window=(2, 2)), ShapeError, "sliding_windows: .* has fewer than 2 axes"),
        (lambda: pa.overlap_add(np.ones((2, 2)), space=(5,)), ShapeError, "overlap_add: windows"),
        (lambda: pa.sliding_window_view(np.ones((3, 3)), 2), ShapeError, "1 window lengths for 2 axes"),
    ],
)  # fmt: skip
def test_errors(call, kind, text):
    with pytest.raises(kind, match=text):
        call()
