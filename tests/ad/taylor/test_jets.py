"""Taylor mode against nested forward mode, for every card and every nesting, and what it costs."""

import sys

import numpy as np
import pytest

import polyad as pa
from polyad.dsl import operations

close = np.testing.assert_allclose


# ---------------------------------------------------------------------- conventions and trees
def test_derivatives_not_coefficients():
    y, ys = pa.jet(pa.sin, (0.0,), ([1.0, 0.0, 0.0, 0.0, 0.0],))
    assert float(y) == 0 and [float(d) for d in ys] == [1, 0, -1, 0, 1]


def test_along_a_curve():
    x, (dx, ddx) = np.array([0.3, -0.7]), np.array([[1.0, 2.0], [0.5, -0.25]])
    f = lambda x: pa.sum(pa.exp(x)) * x[0]
    _, (first, second) = pa.jet(f, (x,), ([dx, ddx],))
    close(first, pa.grad(f)(x) @ dx)
    close(second, dx @ pa.hessian(f)(x) @ dx + pa.grad(f)(x) @ ddx)


def test_trees_integers_constants():
    f = lambda p, n: {"a": p["x"] ** n * p["k"], "n": n, "c": np.ones(2), "d": p["y"] * 2}
    p = {"x": 2.0, "k": 3, "y": np.ones(2)}
    step = {"x": 1.0, "k": pa.NoTangent, "y": np.zeros(2)}
    y, (first, second) = pa.jet(f, (p, 3), ([step, pa.NoTangent], pa.NoTangent))
    assert y["n"] == 3 and first["n"] is second["n"] is pa.NoTangent
    assert first["a"] == 36 and second["a"] == 36
    for row in (first, second):
        close(row["c"], np.zeros(2))
        close(row["d"], np.zeros(2))


def test_order_zero_and_identity():
    assert pa.jet(pa.sin, (0.5,), ([],)) == (np.sin(0.5), [])
    x, dx = np.ones(2), np.ones(2)
    _, (out,) = pa.jet(lambda x: x, (x,), ([dx],))
    out[0] = 7.0
    assert dx[0] == 1  # results have memory of their own


def test_derivatives_of_one_number():
    assert [float(d) for d in pa.derivatives(lambda x: x**5, 6)(2.0)] == [32, 80, 160, 240, 240, 120, 0]
    assert pa.derivatives(pa.exp, 0)(1.0) == [np.exp(1.0)]
    z = 0.3 + 0.4j
    close(pa.derivatives(pa.log, 4)(z), [np.log(z), 1 / z, -1 / z**2, 2 / z**3, -6 / z**4])
    y = pa.derivatives(lambda x: {"a": x * np.arange(3.0), "n": 1}, 1)(2.0)
    close(y[1]["a"], np.arange(3.0))
    assert y[1]["n"] is pa.NoTangent
    assert np.asarray(pa.derivatives(pa.sin, 3)(np.float32(0.5))).dtype == np.float32


def test_functions_as_results():
    found = pa.derivatives(lambda x: lambda y: x**2 * y, 2)(3.0)(5.0)
    assert [float(d) for d in found] == [45, 30, 10]
    y, (dy,) = pa.jet(lambda x: lambda t: x * t, (2.0,), ([1.0],))(4.0)
    assert y == 8 and dy == 4


def test_in_place_code():
    def f(x):
        out = np.zeros_like(x) if isinstance(x, np.ndarray) else pa.zeros(3)
        for i in range(3):
            out[i] = x ** (i + 1)
        out += x
        return out

    close(pa.derivatives(f, 3)(2.0)[1:], [[2, 5, 13], [0, 2, 12], [0, 0, 6]])


# ---------------------------------------------------------------------- cost
def chain(x):
    for _ in range(6):
        x = pa.tanh(pa.sin(x) * 0.9 + 0.1)
    return x


def test_cost_is_polynomial(calls):
    """Order 20 takes at most 4³ times the calls of order 5, where nested derivatives take 2¹⁵ times."""
    for n in (5, 20):
        pa.derivatives(chain, n)(0.3)  # first dispatch
    few, many = [calls(lambda n=n: pa.derivatives(chain, n)(0.3)) for n in (5, 20)]
    assert 100 < few < many < 64 * few


@pytest.mark.parametrize("name", ["exp", "sqrt", "erfinv", "gamma", "j1", "arcsin", "ndtri", "divide", "power"])
def test_no_exponential_recursion(name, calls):
    """Partials that read the result, and operations that are each other's partial."""
    op = operations[name]
    f = {"divide": lambda x: x / (1.0 + x * x), "power": lambda x: x**2.5}.get(name, op)
    for n in (4, 16):
        pa.derivatives(f, n)(0.37)  # first dispatch
    few, many = [calls(lambda n=n: pa.derivatives(f, n)(0.37)) for n in (4, 16)]
    assert few < many < 64 * few
    close(pa.derivatives(f, 16)(0.37)[:4], [*pa.derivatives(f, 3)(0.37)], rtol=1e-10)


def test_deep_recursion_is_named():
    with pytest.raises(RecursionError, match=r"jet\(<lambda>\): 60 derivatives.*setrecursionlimit"):
        pa.derivatives(lambda x: x**x, 60)(0.7)
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(10**4)
        found = pa.derivatives(lambda x: x**x, 24)(1.0)
    finally:
        sys.setrecursionlimit(limit)
    close([float(d) for d in found[:7]], [1, 1, 2, 3, 8, 10, 54], rtol=1e-9)  # OEIS A005727


def test_matrix_exponential():
    m = np.random.default_rng(0).normal(size=(2, 2))
    f = lambda x: pa.linalg.expm(m * x + x * x)
    g = f
    for right in pa.derivatives(f, 3)(0.4):
        close(right, g(0.4), rtol=1e-9)
        g = pa.derivative(g)
    pa.derivatives(f, 12)(0.4)  # 2 · 13 rows at most, not 2¹³


def test_custom_rules_and_programs():
    right = pa.derivatives(lambda x: pa.sin(x) * 2, 3)(0.7)
    forward = pa.custom_jvp(lambda x: pa.sin(x) * 2)
    forward.defjvp(lambda primals, tangents: (forward(*primals), 2 * pa.cos(primals[0]) * tangents[0]))
    back = pa.custom_vjp(lambda x: pa.sin(x) * 2)
    back.defvjp(lambda x: (back(x), x), lambda x, ct: (2 * pa.cos(x) * ct,))
    for f in (forward, back, pa.checkpoint(lambda x: pa.sin(x) * 2)):
        close(pa.derivatives(f, 3)(0.7), right)
