"""Values with Taylor coefficients: series of series, in other transformations, and outside of theirs."""

import numpy as np
import pytest

import polyad as pa

close = np.testing.assert_allclose


X = np.array([0.4, 0.9, -0.6])


f3 = lambda x: pa.sum(pa.sin(x) * pa.exp(x)) / (1.0 + x[0] ** 2)


def third(x):
    """The third derivative of f3 along ones."""
    return pa.jet(f3, (x,), ([np.ones(3), pa.NoTangent, pa.NoTangent],))[1][2]


def third_nested(x):
    g = lambda t: f3(x + t * np.ones(3))
    return pa.derivative(pa.derivative(pa.derivative(g)))(0.0)


def test_nested():
    close(third(X), third_nested(X))
    close(pa.grad(third)(X), pa.grad(third_nested)(X))
    close(pa.jvp(third, (X,), (X,))[1], pa.jvp(third_nested, (X,), (X,))[1])
    rows = np.stack([X, 2 * X])
    close(pa.vmap(third)(rows), [third(x) for x in rows])
    close(pa.make_ir(third)(X)(X), third(X))
    inner = lambda x: pa.sum(pa.grad(f3)(x))
    close(pa.jet(inner, (X,), ([np.ones(3), np.zeros(3)],))[1][1], third(X))
    lanes = lambda x: pa.sum(pa.vmap(lambda s: f3(x * s))(X))
    one = ([np.ones(3), np.zeros(3)],)
    close(pa.jet(lanes, (X,), one)[1][1], sum([pa.jet(lambda x, s=s: f3(x * s), (X,), one)[1][1] for s in X]))
    program = pa.make_ir(f3)(X)
    close(pa.jet(program, (X,), one)[1], pa.jet(f3, (X,), one)[1])


def test_series_of_series():
    """No confusion between two parameters."""
    f = lambda x: pa.derivatives(lambda y: x * y**3 + pa.sin(x * y), 2)(2.0)[2]
    right = lambda x: 12 * x - x**2 * np.sin(2 * x)
    close(f(0.7), right(0.7))
    close(pa.derivatives(f, 1)(0.7)[1], (right(0.7 + 1e-6) - right(0.7 - 1e-6)) / 2e-6, rtol=1e-8)


def test_leaked_values():
    kept = []
    pa.derivatives(lambda x: kept.append(x) or x, 2)(1.0)
    with pytest.raises(pa.LeakedLayerError, match="derivatives|jet"):
        kept[0] * 2.0
