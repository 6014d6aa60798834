"""Recursion in a trace is named; functions made by the same code are not taken for it."""

import numpy as np
import pytest
from ways import traced

import polyad as pa

close = np.testing.assert_allclose


def test_functions_made_by_the_same_code():
    """Not to be taken for recursion."""
    clipped = lambda f: lambda x: pa.cond(x > 0, lambda: f(x), lambda: 0.0 * x)
    f = clipped(clipped(clipped(pa.sin)))
    for x in (1.3, -0.2):
        close(traced(f)(x), f(x))
        close(traced(pa.grad(f))(x), pa.grad(f)(x))

    def halves(x):
        half = len(x) // 2
        return x[0] if not half else pa.cond(x[0] > 0, lambda: halves(x[:half]), lambda: halves(x[half:]))

    xs = np.array([1.0, -2, 3, 4, -5, 6, 7, 8])
    close(traced(halves)(xs), halves(xs))


def test_recursion_without_end_in_a_trace():
    f = lambda x: pa.cond(x <= 1, lambda x: x, lambda x: f(x - 1), x)
    g = lambda x, n=0: pa.cond(x <= 1, lambda x: x, lambda x: g(x - 1, n + 1), x)  # never twice the same
    for h in (f, g):
        assert h(5.0) == 1
        close(pa.vmap(h)(np.array([5.0, 2.5])), [1, 0.5])
        with pytest.raises(pa.ConcreteValueError, match="calls the function around it.*put polyad.jit on that function"):
            pa.make_ir(h)(5.0)
