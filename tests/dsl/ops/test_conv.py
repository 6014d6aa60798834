"""Convolution of images and its transposes, against loops and SciPy."""

import itertools

import numpy as np
import pytest
import scipy.ndimage
import scipy.signal
from hypothesis import given
from hypothesis import strategies as st

import polyad as pa


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
