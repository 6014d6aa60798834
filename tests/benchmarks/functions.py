"""Functions that several benchmarks measure, in any library of NumPy's names."""

import numpy as np


def ten_rounds(library):
    def f(x):
        for _ in range(10):
            x = 0.5 * x + 0.1 * library.sin(x)
        return x

    return f


def normalized(library, softmax):
    """Layer norm, then softmax, of rows."""

    def f(x):
        centred = x - library.mean(x, axis=-1, keepdims=True)
        spread = library.mean(centred * centred, axis=-1, keepdims=True)
        return softmax(centred / library.sqrt(spread + 1e-5), axis=-1)

    return f


def chain(library):
    def f(x):
        for _ in range(50):
            x = library.sin(x) * 0.9 + 0.1
        return library.sum(x)

    return f


def network(library):
    def f(params, x, y):
        for w, b in params:
            x = library.tanh(library.matmul(x, w) + b)
        return library.mean((x - y) ** 2)

    return f


def rosenbrock(library):
    def f(x):
        return library.sum((1.0 - x[:-1]) ** 2) + library.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2)

    return f


def logistic(library):
    def f(w, data, target):
        u = data @ w
        return library.mean(library.logaddexp(0.0, u) - target * u)

    return f


def layers(rng, *sizes):
    return [(rng.normal(size=(n, m)) / np.sqrt(n), np.zeros(m)) for n, m in zip(sizes, sizes[1:])]


def hvp(transform, grad):
    return lambda f: lambda x, v: transform(grad(f), (x,), (v,))[1]
