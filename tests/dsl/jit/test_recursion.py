"""Functions under jit that call themselves inside a choice: one program, with all transformations."""

import numpy as np
import pytest

import polyad as pa

close = np.testing.assert_allclose
factorial = pa.jit(lambda r, x: pa.cond(x <= 1, lambda: r, lambda: factorial(r * x, x - 1)))
even = pa.jit(lambda n: pa.cond(n == 0, lambda: True, lambda: odd(n - 1)))
odd = pa.jit(lambda n: pa.cond(n == 0, lambda: False, lambda: even(n - 1)))
fibonacci = pa.jit(lambda n: pa.cond(n < 2, lambda: n * 1.0, lambda: fibonacci(n - 1) + fibonacci(n - 2)))


@pytest.mark.parametrize("kind", [int, float, np.float64, np.float32, np.int64])
def test_values(kind):
    """Issue: 6 for 3 and 120 for 5."""
    found = factorial(kind(1), kind(3)), factorial(kind(1), kind(5)), factorial(kind(1), kind(1))
    assert [float(v) for v in found] == [6, 120, 1]
    assert all(np.asarray(v).dtype == np.asarray(kind(1)).dtype for v in found)


def test_one_program_that_calls_itself():
    f = pa.jit(lambda r, x: pa.cond(x <= 1, lambda: r, lambda: f(r * x, x - 1)))
    assert (float(f(1.0, 3.0)), float(f(1.0, 5.0)), float(f(1.0, 10.0))) == (6.0, 120.0, 3628800.0)
    tree, *others = f.jitted.trees
    assert not others and tree.size == tree.traces == 1
    (program,) = pa.jit.programs(f)
    assert "call program=jit(<lambda>)" in str(program)
    assert pa.make_ir(lambda x: f(1.0, x))(3.0)(5.0) == 120.0


def test_mutual():
    assert [bool(even(k)) for k in range(6)] == [True, False] * 3
    assert [bool(odd(np.int64(k))) for k in range(6)] == [False, True] * 3
    assert pa.vmap(even)(np.arange(4)).tolist() == [True, False, True, False]


def test_two_calls_in_one_branch():
    assert [float(fibonacci(float(k))) for k in range(8)] == [0, 1, 1, 2, 3, 5, 8, 13]
    assert float(pa.grad(fibonacci)(6.0)) == float(pa.jit(pa.grad(fibonacci))(6.0)) == 13.0


def test_numbers_at_the_end():
    """The results' dtype is found from the branch that ends, and widened by the one that calls."""
    ones = pa.jit(lambda n: pa.cond(n < 2, lambda: 1, lambda: ones(n - 1) + ones(n - 2)))
    assert [ones(k) for k in range(8)] == [1, 1, 2, 3, 5, 8, 13, 21]
    halves = pa.jit(lambda n: pa.cond(n < 1, lambda: 1, lambda: halves(n - 1) * 0.5))
    assert float(halves(3)) == 0.125


def test_trees_and_arrays():
    def simpson(f, a, fa, b, fb):
        m = (a + b) / 2
        return m, f(m), abs(b - a) / 6 * (fa + 4 * f(m) + fb)

    def integral(f, a, b):
        @pa.jit
        def refine(part, eps):
            (a, fa), (m, fm), (b, fb), whole = part["a"], part["m"], part["b"], part["whole"]
            left_m, left_fm, left = simpson(f, a, fa, m, fm)
            right_m, right_fm, right = simpson(f, m, fm, b, fb)
            off = left + right - whole
            below = {"a": (a, fa), "m": (left_m, left_fm), "b": (m, fm), "whole": left}
            above = {"a": (m, fm), "m": (right_m, right_fm), "b": (b, fb), "whole": right}
            return pa.cond(abs(off) <= 15 * eps, lambda: left + right + off / 15,
                           lambda: refine(below, eps / 2) + refine(above, eps / 2))  # fmt: skip

        m, fm, whole = simpson(f, a, f(a), b, f(b))
        return refine({"a": (a, f(a)), "m": (m, fm), "b": (b, f(b)), "whole": whole}, 1e-8)

    f = lambda b: integral(lambda x: pa.sin(x) * pa.exp(-x), 0.0, b)
    exact = lambda b: 0.5 - 0.5 * np.exp(-b) * (np.sin(b) + np.cos(b))
    close(f(3.0), exact(3.0), atol=1e-8)
    for g in (pa.grad(f), pa.jit(pa.grad(f))):
        close(g(3.0), np.sin(3.0) * np.exp(-3.0), atol=1e-6)


def test_arrays():
    halve = pa.jit(lambda x: pa.cond(pa.sum(x) > 10, lambda: halve(x / 2), lambda: x))
    x = np.array([30.0, 4.0])
    close(halve(x), x / 4)
    for jacobian in (pa.jacrev(halve), pa.jacfwd(halve), pa.jit(pa.jacrev(halve))):
        close(jacobian(x), np.eye(2) / 4)
    close(pa.vmap(halve)(np.stack([x, 5 * x, 0 * x])), [x / 4, 5 * x / 32, 0 * x])


def test_values_from_outside():
    def outer(c, n):
        f = pa.jit(lambda r, x: pa.cond(x <= 0, lambda: r, lambda: f(r * c, x - 1)))
        return f(1.0, n)

    assert float(outer(2.0, 3.0)) == float(pa.jit(outer)(2.0, 3.0)) == 8.0
    assert float(pa.grad(outer)(2.0, 3.0)) == float(pa.jit(pa.grad(outer))(2.0, 3.0)) == 12.0
    close(pa.vmap(pa.grad(outer))(np.array([2.0, 3.0]), np.array([3.0, 2.0])), [12.0, 6.0])


def test_if_beside_cond():
    def f(x):
        if x > 100:
            return x * 0
        return pa.cond(x <= 1, lambda: x, lambda: g(x - 1) * 2)

    g = pa.jit(f)
    assert [float(g(x)) for x in (4.0, 3.0, 200.0)] == [8.0, 4.0, 0.0] and float(pa.grad(g)(4.0)) == 8.0


def test_python_recursion():
    @pa.jit
    def f(x):
        return x * f(x - 1) if x > 1 else x

    assert (float(f(5.0)), float(f(3.0)), float(pa.grad(f)(5.0))) == (120.0, 6.0, 274.0)
    close(pa.vmap(f)(np.array([3.0, 5.0])), [6.0, 120.0])


def test_without_jit_on_the_function_itself():
    def f(r, x):
        return pa.cond(x <= 1, lambda: r, lambda: f(r * x, x - 1))

    assert (float(pa.jit(f)(1.0, 5.0)), float(pa.jit(f)(1.0, 3.0))) == (120.0, 6.0)


def test_without_end():
    f = pa.jit(lambda x: pa.cond(x > 0, lambda: f(x - 1), lambda: f(x + 1)))
    with pytest.raises(RecursionError, match=r"calls itself whatever the choice; one function of a polyad\.cond must end"):
        pa.make_ir(f)(1.0)
    g = pa.jit(lambda x: g(x - 1))
    with pytest.raises(RecursionError):
        g(1.0)
