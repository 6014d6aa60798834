"""Convolution, pooling and windows against loops, NumPy and SciPy."""

import itertools

import numpy as np
import pytest
import scipy.ndimage
import scipy.signal
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
def conv_by_loops(x, w, strides, padding, dilation, groups):
    d = x.ndim - 2
    x = np.pad(x, ((0, 0), (0, 0), *padding))
    out = [(n - (k - 1) * e - 1) // s + 1 for n, k, s, e in zip(x.shape[2:], w.shape[2:], strides, dilation, strict=True)]
    y = np.zeros((x.shape[0], w.shape[0], *out), np.result_type(x, w))
    per_in, per_out = w.shape[1], w.shape[0] // groups
    for o, p in itertools.product(range(w.shape[0]), np.ndindex(*out)):
        first = o // per_out * per_in
        place = tuple(slice(q * s, q * s + (k - 1) * e + 1, e)
                      for q, s, k, e in zip(p, strides, w.shape[2:], dilation, strict=True))  # fmt: skip
        part = x[(slice(None), slice(first, first + per_in), *place)]
        y[(slice(None), o, *p)] = (part * w[o]).sum(axis=tuple(range(1, d + 2)))
    return y


@st.composite
def layers(draw):
    """(shape of x, shape of w, parameters) of a layer that fits."""
    d = draw(st.integers(1, 3))
    of = lambda low, high: tuple(draw(st.integers(low, high)) for _ in range(d))
    kernel, strides, dilation, groups = of(1, 3), of(1, 3), of(1, 2), draw(st.integers(1, 2))
    padding = tuple((draw(st.integers(0, 2)), draw(st.integers(0, 2))) for _ in range(d))
    space = tuple((k - 1) * e + 1 + draw(st.integers(0, 3)) for k, e in zip(kernel, dilation, strict=True))
    x = (draw(st.integers(0, 2)), groups * draw(st.integers(1, 2)), *space)
    w = (groups * draw(st.integers(1, 2)), x[1] // groups, *kernel)
    return x, w, {"strides": strides, "padding": padding, "dilation": dilation, "groups": groups}


@given(layers())
def test_conv_and_its_transposes_against_loops(layer):
    x_shape, w_shape, params = layer
    rng = np.random.default_rng(3)
    x, w = rng.standard_normal(x_shape), rng.standard_normal(w_shape)
    y, pull = pa.vjp(lambda x, w: pa.conv(x, w, **params), x, w)
    np.testing.assert_allclose(y, conv_by_loops(x, w, **params), atol=1e-12)
    ct, dx, dw = (rng.standard_normal(z.shape) for z in (y, x, w))
    of_x, of_w = pull(ct)
    np.testing.assert_allclose(np.sum(of_x * dx), np.sum(ct * conv_by_loops(dx, w, **params)), atol=1e-10)
    np.testing.assert_allclose(np.sum(of_w * dw), np.sum(ct * conv_by_loops(x, dw, **params)), atol=1e-10)


@given(layers())
def test_lanes_of_layers_are_a_loop(layer):
    x_shape, w_shape, params = layer
    rng = np.random.default_rng(4)
    xs, ws = rng.standard_normal((3, *x_shape)), rng.standard_normal((3, *w_shape))
    for f in (
        lambda x, w: pa.conv(x, w, **params),
        lambda x, w: pa.vjp(lambda x, w: pa.conv(x, w, **params), x, w)[1](pa.conv(x, w, **params)),
    ):
        for axes in ((0, 0), (0, None), (None, 0)):
            x, w = (v if a == 0 else v[0] for v, a in zip((xs, ws), axes, strict=True))
            at = lambda v, a, k: v[k] if a == 0 else v
            found = pa.tree.leaves(pa.vmap(f, in_axes=axes)(x, w))
            each = [pa.tree.leaves(f(at(x, axes[0], k), at(w, axes[1], k))) for k in range(3)]
            for leaf, parts in zip(found, zip(*each, strict=True), strict=True):
                np.testing.assert_allclose(leaf, np.stack(parts), atol=1e-11)


def test_conv_is_scipys(rng):
    x, w = rng.standard_normal((9, 8)), rng.standard_normal((3, 5))
    found = pa.conv(x[None, None], w[None, None])[0, 0]
    np.testing.assert_allclose(found, scipy.signal.correlate2d(x, w, "valid"), atol=1e-12)
    found = pa.conv(x[None, None], w[None, None], padding="same")[0, 0]
    np.testing.assert_allclose(found, scipy.ndimage.correlate(x, w, mode="constant"), atol=1e-12)
    found = pa.conv_input(x[None, None], w[None, None], space=(11, 12))[0, 0]
    np.testing.assert_allclose(found, scipy.signal.convolve2d(x, w), atol=1e-12)


@pytest.mark.parametrize(("n", "k", "s"), [(5, 3, 1), (6, 3, 2), (5, 2, 1), (7, 4, 3), (3, 1, 2)])
def test_same_padding_has_as_many_positions_as_strides_fit(n, k, s):
    y = pa.conv(np.ones((1, 1, n)), np.ones((1, 1, k)), strides=s, padding="same")
    assert y.shape == (1, 1, -(-n // s))


def test_chunks_of_a_batch_are_the_whole(rng, monkeypatch):
    from polyad.devices import transforms

    x, w = rng.standard_normal((5, 2, 6)), rng.standard_normal((3, 2, 3))
    run = lambda: (pa.conv(x, w), *pa.vjp(pa.conv, x, w)[1](np.ones((5, 3, 4))))
    whole = run()
    monkeypatch.setattr(transforms, "CHUNK", 50)
    for found, expected in zip(run(), whole, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)


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


# ---------------------------------------------------------------------- pooling and windows
def pool_by_loops(reduce, x, window, strides, padding):
    padded = np.pad(x, ((0, 0), (0, 0), *padding), constant_values=np.nan)
    out = [(n - k) // s + 1 for n, k, s in zip(padded.shape[2:], window, strides, strict=True)]
    y = np.zeros((*x.shape[:2], *out))
    for p in np.ndindex(*out):
        place = (..., *[slice(q * s, q * s + k) for q, s, k in zip(p, strides, window, strict=True)])
        y[(..., *p)] = reduce(padded[place], axis=tuple(range(2, x.ndim)))
    return y


@given(st.integers(1, 3), st.data())
def test_pools_against_loops(d, data):
    of = lambda low, high: tuple(data.draw(st.integers(low, high)) for _ in range(d))
    window, strides = of(1, 3), of(1, 3)
    padding = tuple((data.draw(st.integers(0, k - 1)), data.draw(st.integers(0, k - 1))) for k in window)
    x = np.random.default_rng(5).standard_normal((2, 1, *[k + n for k, n in zip(window, of(0, 3), strict=True)]))
    params = {"window": window, "strides": strides, "padding": padding}
    np.testing.assert_array_equal(pa.max_pool(x, **params), pool_by_loops(np.nanmax, x, **params))
    np.testing.assert_allclose(pa.mean_pool(x, **params), pool_by_loops(np.nanmean, x, **params), atol=1e-13)
    g = pa.grad(lambda x: pa.sum(pa.mean_pool(x, **params)))(x)
    np.testing.assert_allclose(g.sum(), pa.mean_pool(x, **params).size, rtol=1e-12)


def test_equal_elements_share_the_derivative_of_a_pool():
    g = pa.grad(lambda x: pa.sum(pa.max_pool(x, window=2)))(np.array([[[1.0, 1.0, 2.0, 3.0]]]))
    np.testing.assert_array_equal(g, [[[0.5, 0.5, 0.0, 1.0]]])
    assert pa.max_pool(np.array([[[-5, -7]]]), window=2, padding=1).tolist() == [[[-5, -7]]]
    assert np.isnan(pa.max_pool(np.array([[[np.nan, 1.0]]]), window=2)).all()


def test_sliding_window_view_is_numpys(rng):
    x = rng.standard_normal((3, 4, 5))
    view = np.lib.stride_tricks.sliding_window_view
    for window, axis in ((2, 1), ((2, 3), (0, 2)), ((1, 2, 3), None), ((2, 2), (1, 1)), ((2, 2), (2, 0))):
        np.testing.assert_array_equal(pa.sliding_window_view(x, window, axis=axis), view(x, window, axis))
    smooth = lambda v: np.sum(view(v, 3).mean(axis=-1) ** 2)
    pa.check_grads(smooth, (x[0, 0],), order=2)
    with pytest.raises(ValueError, match="read-only"):
        pa.sliding_windows(np.ones(4), window=2)[0] = 1.0


def test_overlapping_windows_add_up(rng):
    counts = pa.overlap_add(pa.sliding_windows(np.ones(6), window=3, strides=2), space=(6,), strides=2)
    assert counts.tolist() == [1, 1, 2, 1, 1, 0]


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
