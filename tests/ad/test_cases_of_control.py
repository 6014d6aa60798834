"""Bug reports of other libraries, continued: rows about custom rules, structured control flow, programs and recomputation.

Each runs eagerly, as a program of `make_ir` and compiled by `jit`; derivatives must be those of the function.
"""

import numpy as np
import pytest

import polyad as pa

close = np.testing.assert_allclose


def eagerly(f):
    return f


def as_program(f):
    return lambda *args: pa.make_ir(f)(*args)(*args)


forms = pytest.mark.parametrize("form", [eagerly, as_program, pa.jit])
modes = pytest.mark.parametrize("gradient", [pa.grad, pa.jacfwd, pa.jacrev])


def test_dead_code_that_is_not_linear_e20():
    def g(x):
        _ = x > 0  # nothing reads it
        return 3 * x

    for f in (g, lambda x: pa.make_ir(g)(1.0)(x)):
        assert pa.linear_transpose(f, 1.0)(2.0) == (6.0,)


def test_none_means_zero_e22():
    @pa.custom_vjp
    def f(x, pair):
        return x * 2.0

    f.defvjp(lambda x, pair: (x * 2.0, None), lambda saved, ct: (ct * 2.0, None))
    pair = {"a": np.ones(3), "b": (1.0, 2.0)}
    slope, zeros = pa.grad(f, (0, 1))(1.0, pair)
    assert slope == 2
    for found, leaf in zip(pa.tree.leaves(zeros), pa.tree.leaves(pair), strict=True):
        close(found, np.zeros(np.shape(leaf)))


def test_rule_that_closes_over_lanes_f4():
    def h(z):
        def lane(x):
            @pa.custom_jvp
            def g(y):
                return x * y

            @g.defjvp
            def g_jvp(primals, tangents):
                return g(*primals), x * tangents[0]

            return g(z)

        return pa.vmap(lane)(np.arange(3.0))

    y, dy = pa.jvp(h, (1.0,), (2.0,))
    close(y, [0, 1, 2])
    close(dy, [0, 2, 4])
    close(pa.jacrev(h)(1.0), [0, 1, 2])


@forms
def test_lanes_of_gradients_of_a_scan_of_a_rule_f14(form):
    @pa.custom_vjp
    def added(total, x):
        return total + x

    added.defvjp(lambda total, x: (total + x, None), lambda saved, ct: (ct, ct))
    row_sum = lambda row: pa.scan(lambda c, x: (added(c, x), None), 0.0, row)[0]
    close(form(pa.vmap(pa.grad(row_sum)))(np.ones((10, 3))), np.ones((10, 3)))


@forms
@modes
def test_scan_of_cond_g2(gradient, form):
    def fourth_power(x):
        step = lambda v, _: (pa.cond(True, lambda v: v * x, lambda v: v, v), None)
        return pa.scan(step, 1.0, length=4)[0]

    close(form(gradient(fourth_power))(3.0), 108)
    close(gradient(form(fourth_power))(3.0), 108)


@forms
@modes
def test_loop_of_derivatives_g4(gradient, form):
    f = lambda x: pa.fori_loop(0, 10, lambda i, x: pa.grad(pa.cos)(x), x)
    close(form(f)(0.5), 0.36609904, rtol=1e-7)
    close(form(gradient(f))(0.5), 0.38268762, rtol=1e-7)


@forms
def test_carry_of_two_and_conditions_g6(form):
    f = lambda a, b: pa.while_loop(lambda s: s[1] < 10, lambda s: (7.0 + 0 * s[0], s[1] + 1), (a, b))
    assert form(f)(33.0, 4.0) == (7, 10)
    for condition in (0, 0.0, 1, 1.0, True):
        assert form(lambda x, c=condition: pa.cond(c, lambda x: x, lambda x: -x, x))(2.0) == (2 if condition else -2)
    for wrong in ("yes", [True]):
        with pytest.raises((pa.DTypeError, pa.MethodError, pa.ShapeError), match="cond"):
            pa.cond(wrong, lambda x: x, lambda x: -x, 2.0)


@forms
def test_map_over_nothing_g8(form):
    assert form(lambda xs: pa.map(lambda x: x * x, xs))(np.zeros(0)).shape == (0,)


def test_recursion_within_cond_g10():
    def factorial(r, x):
        return pa.cond(x <= 1, lambda r, x: r, lambda r, x: factorial(r * x, x - 1), r, x)

    assert factorial(1.0, 3.0) == 6
    close(pa.grad(factorial, 1)(1.0, 3.0), 5)
    close(pa.jvp(lambda x: factorial(1.0, x), (3.0,), (1.0,))[1], 5)


@forms
def test_calls_within_a_scan_g12(form):
    calls = []

    def step(c, _):
        pa.io_callback(calls.append, None, c)
        return c * 2.0, None

    f = lambda x: pa.scan(step, x, length=5)[0]
    assert form(f)(1.0) == 32 and calls == [1, 2, 4, 8, 16]
    for gradient in (pa.grad, pa.derivative):
        calls.clear()
        assert form(gradient(f))(1.0) == 32 and calls == [1, 2, 4, 8, 16]


@forms
def test_calls_in_a_loop_of_lanes_g14(form):
    """Only lanes that still run make calls."""
    calls = []

    def step(x):
        pa.io_callback(calls.append, None, x)
        return 2 * x

    found = form(pa.vmap(lambda x: pa.while_loop(lambda x: x < 8, step, x)))(np.array([9.0, 5.0, 1.0]))
    close(found, [9, 10, 8])
    assert sorted(calls) == [1, 2, 4, 5]


def test_same_program_twice_g16():
    for f in (pa.make_ir(lambda x: pa.sin(x) * x)(1.0), pa.jit(lambda x: pa.sin(x) * x)):
        first = pa.jvp(f, (2.0,), (1.0,))
        assert first == pa.jvp(f, (2.0,), (1.0,)) and pa.jvp(f, (3.0,), (0.0,)) == (3 * np.sin(3), 0)


@forms
def test_two_scans_g18(form, rng):
    w, u, xs = rng.standard_normal((2, 2)), rng.standard_normal((2, 2)), rng.standard_normal((4, 2))

    def by_scan(w, u):
        _, hs = pa.scan(lambda h, x: (y := pa.tanh(w @ h + x), y), np.zeros(2), xs)
        return pa.sum(pa.scan(lambda g, h: (pa.tanh(u @ g + h), None), np.zeros(2), hs)[0])

    def by_loop(w, u):
        h, g = np.zeros(2), np.zeros(2)
        for x in xs:
            h = pa.tanh(w @ h + x)
            g = pa.tanh(u @ g + h)
        return pa.sum(g)

    for found, right in zip(form(pa.grad(by_scan, (0, 1)))(w, u), pa.grad(by_loop, (0, 1))(w, u), strict=True):
        close(found, right)


def test_forward_through_a_program_g20():
    x = np.array([0.1, 0.2, 0.3])
    for f in (pa.make_ir(lambda x: pa.sum(x**2))(np.zeros(3)), pa.jit(lambda x: pa.sum(x**2))):
        close(pa.jvp(f, (x,), (np.ones(3),))[1], 1.2)


@forms
def test_recomputed_draws_are_the_same_g22(form):
    key = pa.random.key(3)

    def f(x):
        noise = pa.random.normal(key, (4,))
        return pa.sum(pa.sin(x * noise) * noise)

    close(form(pa.grad(pa.checkpoint(f)))(0.7), pa.grad(f)(0.7))
    close(pa.grad(pa.checkpoint(f))(0.7), (f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6, rtol=1e-6)


def test_the_input_is_the_residual_g24():
    """The reverse of a loop over xs reads xs itself."""
    xs = np.array([2.0, 3.0, 4.0])
    f = lambda xs: pa.scan(lambda c, x: (c * x, c * x), 1.0, xs)[0]
    close(pa.grad(f)(xs), [12, 8, 6])
    program = pa.make_ir(pa.grad(f))(xs)
    (back,) = [e for e in program.equations if e.params.get("reverse")]
    assert program.inputs[0] in back.inputs, program


@forms
@modes
def test_trip_count_of_run_time_g28(gradient, form):
    def power(x, n):
        return pa.while_loop(lambda s: s[1] > 0, lambda s: (s[0] * x, s[1] - 1), (1.0, n))[0]

    close(form(gradient(power))(2.0, 3), 12)
    close(pa.make_ir(gradient(power))(2.0, 1)(2.0, 3), 12)  # traced for another count
    close(gradient(form(power))(2.0, 3), 12)
