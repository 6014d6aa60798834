"""Counts of whole numbers and in bins, and their derivatives by the weights."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

import polyad as pa


@settings(max_examples=40)
@given(st.lists(st.integers(0, 5), max_size=6), st.integers(0, 7))
def test_occurrences(values, length):
    x, w = np.array(values, int), np.linspace(0.5, 1.5, len(values))
    expected = np.bincount(x, minlength=length)
    weighted = np.bincount(x, w, minlength=length)
    np.testing.assert_array_equal(pa.bincount(x, minlength=length), expected)
    np.testing.assert_allclose(pa.bincount(x, weights=w, minlength=length), weighted)
    program = pa.make_ir(lambda x, w: pa.bincount(x, weights=w, size=length))(x, w)
    np.testing.assert_allclose(program(x, w), np.pad(weighted, (0, length))[:length])
    ct = np.arange(len(weighted)) + 1.0
    slope = pa.grad(lambda w: pa.sum(np.bincount(x, weights=w, minlength=length) * ct))(w)
    np.testing.assert_array_equal(slope, ct[x])
    np.testing.assert_array_equal(pa.vmap(lambda x: np.bincount(x, minlength=length))(x[None])[0], expected)


@settings(max_examples=40)
@given(nps.arrays(np.float64, st.integers(0, 7), elements=st.integers(-3, 3)), st.data())
def test_histograms(x, data):
    bins = data.draw(st.integers(1, 4) | st.just(np.array([-2.0, 0.0, 0.5, 2.0])))
    params = data.draw(st.sampled_from([{}, {"range": (-1.5, 2.0)}, {"weights": np.arange(len(x)) + 0.5}]))
    expected = np.histogram(x, bins, **params)
    f = lambda x: np.histogram(x, bins, **params)
    for found in (pa.histogram(x, bins, **params), pa.jvp(f, (x,), (x,))[0], pa.make_ir(f)(x)(x), pa.vmap(f)(np.stack([x, x]))):
        for a, b in zip(found, expected, strict=True):
            a = a[0] if a.ndim > b.ndim else a
            np.testing.assert_allclose(a, b)
            assert a.dtype == b.dtype
    np.testing.assert_allclose(pa.histogram_bin_edges(x, bins), np.histogram_bin_edges(x, bins))


def test_histogram_derivatives():
    x, w = np.array([0.0, 1.0, 4.0]), np.array([1.0, 2.0, 3.0])
    counts = lambda w: np.histogram(x, 2, weights=w, density=True)[0]
    np.testing.assert_allclose(counts(w), np.histogram(x, 2, weights=w, density=True)[0])
    pa.check_grads(counts, (w,), order=2)
    edges = pa.jacobian(lambda x: np.histogram(x, 2)[1])(x)
    np.testing.assert_allclose(edges, [[1, 0, 0], [0.5, 0, 0.5], [0, 0, 1]])
