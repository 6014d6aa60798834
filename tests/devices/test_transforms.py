"""Kernels that a NumPy-like library lacks: windows, convolution layers and products, against loops over their elements."""

import itertools

import numpy as np
import pytest

import polyad as pa
from polyad.devices import transforms

pytestmark = pytest.mark.quick

WINDOWS, CONV, FOURIER = (
    make(np) for make in (transforms.window_kernels, transforms.convolution_kernels, transforms.fourier_kernels)
)
GEOMETRIES = [
    ((7,), (3,), (1,), (1,)), ((7,), (3,), (2,), (1,)), ((7,), (3,), (1,), (3,)), ((8,), (1,), (3,), (2,)),
    ((3,), (3,), (5,), (1,)), ((6, 5), (2, 3), (1, 2), (2, 1)), ((4, 4), (4, 4), (1, 1), (1, 1)),
]  # fmt: skip


def places(space, window, strides, dilation):
    """(place in a window, window, place in space) of all elements of all windows."""
    count = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(space, window, strides, dilation)]
    for k, i in itertools.product(np.ndindex(*window), np.ndindex(*count)):
        yield k, i, tuple(a * s + b * d for a, b, s, d in zip(i, k, strides, dilation))


@pytest.mark.parametrize("space, window, strides, dilation", GEOMETRIES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_windows_and_their_sums(rng, space, window, strides, dilation, order):
    x = np.asarray(rng.normal(size=(2, *space)), order=order)
    y = WINDOWS["sliding_windows"](x, window, strides, dilation)
    back = np.zeros_like(x)
    for k, i, place in places(space, window, strides, dilation):
        np.testing.assert_array_equal(y[(slice(None), *k, *i)], x[(slice(None), *place)])
        back[(slice(None), *place)] += y[(slice(None), *k, *i)]
    assert not y.flags.writeable  # elements lie in several windows
    np.testing.assert_allclose(WINDOWS["overlap_add"](y, space, strides, dilation), back, rtol=1e-14)


@pytest.mark.parametrize("chunk", [1, 50, transforms.CHUNK])
@pytest.mark.parametrize("groups, padding, strides, dilation", [
    (1, "valid", 1, 1), (1, ((2, 1),), 2, 1), (2, ((0, 3),), 1, 2), (2, "same", 3, 1),
])  # fmt: skip
def test_convolution_and_its_transposes(rng, monkeypatch, chunk, groups, padding, strides, dilation):
    """By loops; a batch in chunks, of which the last is shorter, or one by one, is the batch."""
    monkeypatch.setattr(transforms, "CHUNK", chunk)
    x, w = rng.normal(size=(5, 4, 9)), rng.normal(size=(6, 4 // groups, 3))
    found = CONV["conv"](x, w, strides, padding, dilation, groups)
    length = found.shape[2]
    low = {"valid": 0, "same": max((length - 1) * strides + 2 * dilation + 1 - 9, 0) // 2}.get(padding, padding[0][0])
    y, dy = np.zeros(found.shape), rng.normal(size=found.shape)
    dx, dw = np.zeros_like(x), np.zeros_like(w)
    for o, c, k, i in np.ndindex(6, 4 // groups, 3, length):
        place, channel = i * strides + k * dilation - low, c + o // (6 // groups) * (4 // groups)
        if 0 <= place < 9:
            y[:, o, i] += w[o, c, k] * x[:, channel, place]
            dx[:, channel, place] += w[o, c, k] * dy[:, o, i]
            dw[o, c, k] += dy[:, o, i] @ x[:, channel, place]
    np.testing.assert_allclose(found, y, atol=1e-13)
    geometry = (strides, padding if padding != "same" else ((low, (length - 1) * strides + 2 * dilation + 1 - 9 - low),))
    more = (*geometry, dilation, groups)
    np.testing.assert_allclose(CONV["conv_weight"](x, dy, (3,), *more), dw, atol=1e-13)
    np.testing.assert_allclose(CONV["conv_input"](dy, w, (9,), *more), dx, atol=1e-13)


def test_a_batch_of_nothing():
    assert CONV["conv"](np.ones((0, 2, 5)), np.ones((3, 2, 2))).shape == (0, 3, 4)
    np.testing.assert_array_equal(CONV["conv"](np.ones((2, 0, 5)), np.ones((3, 0, 2))), np.zeros((2, 3, 4)))
    assert not CONV["conv_weight"](np.ones((0, 2, 5)), np.ones((0, 3, 4)), (2,)).any()


@pytest.mark.parametrize("n", [transforms.SMALL, transforms.SMALL + 1])
@pytest.mark.parametrize("dtype", ["d", "l"])
def test_products_at_both_sides_of_their_bound(n, dtype):
    """A loop, and beyond the bound matrix products."""

    class Library:
        einsum = lambda self, *args: calls.append(args) or np.einsum(*args)

    calls, contract = [], transforms.small_products(Library())["contract"]
    a, b = (np.arange(n) % 7).astype(dtype), (np.arange(n) % 5).astype(dtype)
    y = contract(a, b, subscripts="i,i->")
    assert y == sum(int(p) * int(q) for p, q in zip(a, b, strict=True)) and y.dtype == dtype
    assert len(calls) == (n <= transforms.SMALL)
    assert contract(a, subscripts="i->") == sum(map(int, a)) and calls[-1][0] == "i->"  # of one array always


@pytest.mark.parametrize("name", FOURIER)
def test_fourier_transforms_look_at_their_arguments(name):
    x = np.arange(8.0) + (0j if "r" not in name[:1] else 0)
    np.testing.assert_array_equal(FOURIER[name](x[None], 6, -1, "ortho"), getattr(np.fft, name)(x[None], 6, -1, "ortho"))
    with pytest.raises(pa.PolyadError, match=f"^{name}"):
        FOURIER[name](x, 0)
    with pytest.raises(pa.PolyadError, match=f"^{name}.*norm"):
        FOURIER[name](x, norm="half")


def test_sequences_are_convolved_not_numbers():
    convolve = transforms.sequence_kernels(np)["convolve"]
    np.testing.assert_array_equal(convolve([1.0, 2.0], [3.0, 4.0]), [3, 10, 8])
    for a, v in ((2.0, [1.0]), ([1.0], np.ones((1, 1))), ([], [1.0])):
        with pytest.raises(pa.ShapeError, match="^convolve"):
            convolve(a, v)
