"""Fourier transforms: conventions, dtypes, edges, and NumPy's functions on followed values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polyad as pa
from polyad.dispatch import DTypeError, ShapeError

ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
MANY = ["fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2"]
REAL_INPUT = {"rfft", "ihfft", "rfftn", "rfft2"}
norms = st.sampled_from([None, "backward", "ortho", "forward"])


def signal(rng, shape, name):
    x = rng.standard_normal(shape)
    return x if name in REAL_INPUT else x + 1j * rng.standard_normal(shape)


@given(st.sampled_from(ONE), st.integers(1, 7), st.integers(0, 8), norms, st.sampled_from([0, -1]))
def test_one_axis_is_numpys_and_its_reverse_is_the_transpose(name, m, n, norm, axis):
    rng = np.random.default_rng(m)
    n = n or (None if m > 1 or name not in ("irfft", "hfft") else 1)
    x = signal(rng, (m, m), name)
    f = getattr(pa.fft, name)
    call = lambda v: f(v, n=n, axis=axis, norm=norm)
    y, pull = pa.vjp(call, x)
    np.testing.assert_allclose(y, getattr(np.fft, name)(x, n, axis, norm), rtol=1e-12, atol=1e-12)
    ct, t = (signal(rng, z.shape, "fft" if z.dtype.kind == "c" else "rfft") for z in (y, x))
    (c,) = pull(ct)
    assert c.dtype == x.dtype
    left, right = np.sum(ct * call(t)).real, np.sum(c * t).real
    np.testing.assert_allclose(left, right, rtol=1e-10, atol=1e-10)


@given(st.sampled_from(MANY), st.lists(st.integers(2, 4), min_size=2, max_size=3), norms, st.booleans())
def test_several_axes_are_numpys(name, shape, norm, padded):
    x = signal(np.random.default_rng(1), tuple(shape), name)
    params = {"s": (3, 5), "axes": (0, -1)} if padded else {}
    found = getattr(pa.fft, name)(x, norm=norm, **params)
    np.testing.assert_allclose(found, getattr(np.fft, name)(x, norm=norm, **params), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "complex64", "float64", "int64", "bool", "float16", ">f8"])
@pytest.mark.parametrize("name", ONE)
def test_dtypes_are_numpys_in_every_layer(name, dtype):
    if name in REAL_INPUT and dtype == "complex64":
        return
    x = np.ones(4, dtype)
    expected = getattr(np.fft, name)(x)
    assert getattr(pa.fft, name)(x).dtype == expected.dtype
    assert pa.make_ir(getattr(pa.fft, name))(x).outputs[0].aval.dtype == expected.dtype
    if x.dtype.kind in "fc":
        assert pa.grad(lambda v: pa.sum(pa.abs(getattr(pa.fft, name)(v))))(x).dtype == x.dtype


def test_numpys_functions_on_followed_values(rng):
    x = rng.standard_normal(6)
    power = lambda xp: lambda v: xp.sum(xp.abs(xp.fft.rfft(v, norm="ortho")) ** 2)
    np.testing.assert_allclose(pa.grad(power(np))(x), pa.grad(power(pa))(x))
    through = lambda v: np.sum(np.fft.irfft(np.fft.rfft(v)) * x) + np.sum(np.fft.fftshift(v)[:2])
    assert pa.grad(through)(x).shape == (6,)
    images = rng.standard_normal((2, 3, 4))
    for name in ("fft2", "fftn", "rfft2", "rfftn"):
        f = getattr(np.fft, name)
        np.testing.assert_allclose(pa.vmap(lambda v, f=f: f(v))(images), np.stack([f(v) for v in images]), atol=1e-13)


def test_parseval_hessian_is_the_identity(rng):
    x = rng.standard_normal(5)
    energy = lambda v: pa.sum(pa.square(pa.abs(pa.fft.fft(v, norm="ortho")))) / 2
    np.testing.assert_allclose(pa.hessian(energy)(x), np.eye(5), atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_frequencies_and_shifts(n):
    np.testing.assert_allclose(pa.fft.fftfreq(n, 0.5), np.fft.fftfreq(n, 0.5))
    np.testing.assert_allclose(pa.fft.rfftfreq(n, d=0.5), np.fft.rfftfreq(n, 0.5))
    assert pa.fft.fftfreq(n, dtype=np.float32).dtype == np.float32
    x = np.arange(2.0 * n).reshape(2, n)
    for axes in (None, 0, (1,), (0, 1)):
        np.testing.assert_array_equal(pa.fft.fftshift(x, axes=axes), np.fft.fftshift(x, axes))
        np.testing.assert_array_equal(pa.fft.ifftshift(pa.fft.fftshift(x, axes=axes), axes=axes), x)
    np.testing.assert_allclose(pa.grad(lambda d: pa.sum(pa.square(pa.fft.fftfreq(n, d))))(2.0),
                               -2 * np.sum(np.fft.fftfreq(n, 2.0) ** 2) / 2.0, atol=1e-12)  # fmt: skip


def test_empty_and_strided():
    assert pa.fft.fft(np.zeros((0, 3))).shape == (0, 3)
    x = np.arange(12.0).reshape(3, 4)[::2, ::-1]
    np.testing.assert_allclose(pa.fft.rfft(x), np.fft.rfft(x))


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: pa.fft.fft(np.ones(3), axis=1), ShapeError, "fft: axis 1 is out of range"),
        (lambda: pa.fft.fft(2.0), ShapeError, "fft: axis -1 is out of range"),
        (lambda: pa.fft.fft(np.ones(3), norm="unitary"), ShapeError, "fft: norm is 'unitary'; it is 'backward'"),
        (lambda: pa.fft.hfft(np.ones(3), norm="unitary"), ShapeError, "hfft: norm is 'unitary'"),
        (lambda: pa.fft.fft(np.ones(3), n=0), ShapeError, "fft: 0 points along axis 0 of .*give n"),
        (lambda: pa.fft.irfft(np.ones(1)), ShapeError, "irfft: 0 points"),
        (lambda: pa.fft.fft(np.zeros(0)), ShapeError, "fft: 0 points"),
        (lambda: pa.fft.rfft(np.ones(3, complex)), DTypeError, "rfft: .* is complex; use fft"),
        (lambda: pa.grad(lambda x: pa.sum(pa.fft.rfft(x * 1j)))(np.ones(3)), DTypeError, "rfft: .* is complex"),
        (lambda: pa.fft.fftn(np.ones((2, 2)), s=(2,), axes=(0, 1)), ShapeError, "fftn: s has 1 lengths for 2 axes"),
        (lambda: pa.fft.rfftn(np.ones(2), axes=()), ShapeError, "rfftn: no axes"),
        (lambda: pa.fft.fftfreq(0), ShapeError, "fftfreq: n is 0"),
        (lambda: pa.fft.fftfreq(2.5), ShapeError, "fftfreq: n is 2.5"),
    ],
)
def test_errors(call, kind, text):
    with pytest.raises(kind, match=text):
        call()
