"""Gradients of functions of 10⁶ numbers: their time against the function's own ("cheap gradient": a small multiple of it,
whatever the number of arguments), and their memory against autograd's."""

import gc
import tracemalloc

import autograd
import autograd.numpy as anp
import numpy as np
from autograd.scipy.special import logsumexp
from timing import ratio

import polyad as pa

N = 10**6
RNG = np.random.default_rng(0)
X, SQUARE = RNG.normal(size=N), RNG.normal(size=(1000, 1000))
WEIGHTS, LABELS = RNG.normal(size=(1000, 1000)) / 30, RNG.integers(0, 1000, 1000)
ANYWHERE, RANKS = RNG.integers(0, N, N), np.arange(N)
KERNEL = RNG.normal(size=(8, 4, 3, 3))


def cross_entropy(library):
    def f(x):
        z = x - library.max(x, axis=1, keepdims=True)
        return library.mean(library.log(library.sum(library.exp(z), axis=1)) - z[np.arange(1000), LABELS])

    return f


def layer_norm(library):
    def f(x):
        centred = x - library.mean(x, axis=1, keepdims=True)
        variance = library.mean(centred**2, axis=1, keepdims=True)
        return library.sum((centred / library.sqrt(variance + 1e-5)) ** 3)

    return f


def layers(library):
    return lambda x: library.sum(library.tanh(library.tanh(x @ WEIGHTS) @ WEIGHTS))


def rows_of(library):
    return pa.logsumexp if library is pa else logsumexp


PROGRAMS = {  # name: (function of the library, argument)
    "sum of sin": (lambda l: lambda x: l.sum(l.sin(x)), X),
    "gelu": (lambda l: lambda x: l.sum(0.5 * x * (1.0 + l.tanh(0.8 * (x + 0.045 * x**3)))), X),
    "softmax cross-entropy": (cross_entropy, SQUARE),
    "layer norm": (layer_norm, SQUARE),
    "two layers of a network": (layers, SQUARE),
    "logsumexp of rows": (lambda l: lambda x: l.sum(rows_of(l)(x, axis=1)), SQUARE),
    "stencil of slices": (lambda l: lambda x: l.sum(l.tanh(x[2:] - 2.0 * x[1:-1] + x[:-2])), X),
    "cumsum": (lambda l: lambda x: l.sum(l.cos(l.cumsum(x))), X),
    "gather": (lambda l: lambda x: l.sum(x[ANYWHERE] ** 2), X),
    "sort": (lambda l: lambda x: l.sum(l.sort(x) * RANKS), X),
    "norm": (lambda l: lambda x: l.sqrt(l.sum(x**2)), X),
}


def ours_only():
    """Name, function, argument: programs for which autograd has no function of the kind."""
    images = X[: 4 * 4 * 250 * 250].reshape(4, 4, 250, 250)
    yield "convolution 3 × 3", lambda x: pa.sum(pa.conv(x, KERNEL) ** 2), images
    yield "scatter", lambda x: pa.sum(pa.sin(pa.at(np.zeros(N), ANYWHERE).add(x))), X


def peak(f, x):
    """Most memory allocated at once during f(x), in MB."""
    f(x)
    gc.collect()
    tracemalloc.start()
    f(x)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most / 1e6


def rows():
    for name, (make, x) in PROGRAMS.items():
        f, slope, theirs = make(pa), pa.grad(make(pa)), autograd.grad(make(anp))
        np.testing.assert_allclose(slope(x), theirs(x), rtol=1e-6, atol=1e-9)
        yield f"grad, {name}, 10⁶", "function", ratio(lambda s=slope, x=x: s(x), lambda f=f, x=x: f(x), repeat=7), 4.0
        yield "  the same", "autograd", ratio(lambda s=slope, x=x: s(x), lambda t=theirs, x=x: t(x), repeat=3), None
        yield "  its memory in MB", "autograd", (peak(slope, x), peak(theirs, x)), 1.01
    for name, f, x in ours_only():
        slope = pa.grad(f)
        yield f"grad, {name}, 10⁶", "function", ratio(lambda s=slope, x=x: s(x), lambda f=f, x=x: f(x), repeat=7), 4.0
