"""Functions with rules of their own. The planted rules are 10 or 7 times the true derivative, so that it shows whose it is."""

from functools import partial

import numpy as np
import pytest

import polyad as pa

pytestmark = pytest.mark.quick

x = np.array([0.3, 0.7, 1.1])
y = np.array([2.0, 3.0, 4.0])
ones = np.ones(3)
close = partial(np.testing.assert_allclose, rtol=1e-12, atol=1e-14)


@pa.custom_jvp
def f(x):
    return pa.sin(x)


@f.defjvp
def f_jvp(primals, tangents):
    (x,), (dx,) = primals, tangents
    return f(x), 10 * pa.cos(x) * dx


@pa.custom_vjp
def g(x, y):
    return pa.sin(x) * y


g.defvjp(lambda x, y: (g(x, y), (x, y)), lambda s, ct: (10 * pa.cos(s[0]) * s[1] * ct, 7 * pa.sin(s[0]) * ct))
slope_f, second_f = 10 * np.cos(x), -10 * np.sin(x)  # the rule itself is differentiated
slope_x, slope_y = 10 * np.cos(x) * y, 7 * np.sin(x)


# ---------------------------------------------------------------------- both rules in both modes, under every layer
FIRST = {
    "jvp": lambda f: pa.jvp(f, (x,), (ones,))[1],
    "grad": lambda f: pa.grad(lambda x: pa.sum(f(x)))(x),
    "grad of vmap": lambda f: pa.grad(lambda x: pa.sum(pa.vmap(f)(x)))(x),
    "vmap of grad": lambda f: pa.vmap(pa.grad(f))(x),
    "jvp of vmap": lambda f: pa.jvp(pa.vmap(f), (x,), (ones,))[1],
    "vmap of jvp": lambda f: pa.vmap(pa.derivative(f))(x),
    "vmap of vmap": lambda f: pa.grad(lambda x: pa.sum(pa.vmap(pa.vmap(f))(x[None])))(x),
    "jacfwd": lambda f: np.diag(pa.jacfwd(f)(x)),
    "jacrev": lambda f: np.diag(pa.jacrev(f)(x)),
    "linearize": lambda f: pa.linearize(f, x)[1](ones),
    "program": lambda f: pa.grad(lambda z: pa.sum(pa.make_ir(f)(x)(z)))(x),
    "jvp of program": lambda f: pa.jvp(pa.make_ir(f)(x), (x,), (ones,))[1],
    "program of grad": lambda f: pa.make_ir(pa.grad(lambda x: pa.sum(f(x))))(x)(x),
    "program of vmap": lambda f: pa.grad(lambda z: pa.sum(pa.make_ir(pa.vmap(f))(x)(z)))(x),
    "vmap of program": lambda f: pa.grad(lambda z: pa.sum(pa.vmap(pa.make_ir(f)(0.5))(z)))(x),
    "program of grad of vmap": lambda f: pa.make_ir(pa.grad(lambda x: pa.sum(pa.vmap(f)(x))))(x)(x),
    "jet": lambda f: np.array([pa.jet(f, (v,), ([1.0],))[1][0] for v in x]),
    "scan": lambda f: pa.grad(lambda x: pa.sum(pa.scan(lambda c, v: (c, f(v)), 0.0, x)[1]))(x),
    "sparse": lambda f: pa.sparse_jacobian(f)(x).diagonal(),
    "jit": lambda f: pa.jit(pa.grad(lambda x: pa.sum(f(x))))(x),
    "grad of jit": lambda f: pa.grad(pa.jit(lambda x: pa.sum(f(x))))(x),
    "pmap": lambda f: pa.grad(lambda x: pa.sum(pa.pmap(f)(x)))(x),
}


@pytest.mark.parametrize("how", FIRST)
def test_forward_rule_is_used(how):
    close(FIRST[how](f), slope_f)


@pytest.mark.parametrize("how", FIRST)
def test_reverse_rule_is_used(how):
    @pa.custom_vjp
    def h(x):
        return pa.sin(x)

    h.defvjp(lambda x: (h(x), x), lambda x, ct: (10 * pa.cos(x) * ct,))
    close(FIRST[how](h), slope_f)


SECOND = {
    "forward over forward": lambda f: pa.derivative(pa.derivative(f)),
    "forward over reverse": lambda f: pa.derivative(pa.grad(f)),
    "reverse over forward": lambda f: pa.grad(pa.derivative(f)),
    "reverse over reverse": lambda f: pa.grad(pa.grad(f)),
    "taylor": lambda f: lambda v: pa.derivatives(f, 2)(v)[2],
}


@pytest.mark.parametrize("how", SECOND)
@pytest.mark.parametrize("rule", ["forward", "reverse"])
def test_the_rule_is_differentiated(how, rule):
    function = f if rule == "forward" else lambda x: g(x, 1.0)
    close([SECOND[how](function)(v) for v in x], second_f)
    close(pa.vmap(SECOND[how](function))(x), second_f)
    close(pa.grad(lambda x: pa.sum(pa.vmap(pa.derivative(function))(x)))(x), second_f)


@pytest.mark.parametrize("mapped", [False, True])
def test_several_arguments(mapped):
    whole = pa.vmap(g) if mapped else g
    total = lambda x, y: pa.sum(whole(x, y))
    for function in (total, pa.make_ir(total)(x, y)):
        dx, dy = pa.grad(function, (0, 1))(x, y)
        close(dx, slope_x)
        close(dy, slope_y)
        close(pa.jvp(function, (x, y), (ones, 2 * ones))[1], np.sum(slope_x + 2 * slope_y))


@pytest.mark.parametrize("function", [g, lambda x, y: g(x, y) + 0 * f(x)])
def test_an_argument_that_all_lanes_share(function):
    total = lambda x, y: pa.sum(pa.vmap(function, in_axes=(0, None))(x, y))
    close(pa.grad(total, 1)(x, 2.0), np.sum(slope_y))
    close(pa.jvp(lambda y: total(x, y), (2.0,), (1.0,))[1], np.sum(slope_y))
    close(pa.grad(pa.make_ir(total)(x, 2.0), 1)(x, 2.0), np.sum(slope_y))


def test_no_lanes():
    close(pa.grad(lambda x: pa.sum(pa.vmap(f)(x)))(np.zeros(0)), np.zeros(0))


# ---------------------------------------------------------------------- collectives
def normalized(x):
    return x / pa.psum(x, "i")


ruled = pa.custom_vjp(normalized)
ruled.defvjp(
    lambda x: (normalized(x), (x, pa.psum(x, "i"))),
    lambda s, ct: (ct / s[1] - pa.psum(ct * s[0], "i") / s[1] ** 2,),
)


def test_collectives_in_rules():
    over = lambda h: lambda x: pa.sum(pa.sin(pa.vmap(h, axis_name="i")(x)))
    expected = pa.grad(over(normalized))(x)
    close(pa.grad(over(ruled))(x), expected)
    close(pa.jvp(over(ruled), (x,), (ones,))[1], np.sum(expected))
    close(pa.grad(pa.make_ir(over(ruled))(x))(x), expected)


def test_a_collective_in_backward_of_lanes_that_went_different_ways():
    branches = lambda x: ruled(x) if x > 0.5 else ruled(x) * 2
    with pytest.raises(pa.LaneSplitError, match=r"custom_vjp\(normalized\): its rule runs .* have forward save"):
        pa.grad(lambda x: pa.sum(pa.vmap(branches, axis_name="i")(x)))(x)


# ---------------------------------------------------------------------- arguments and results


def test_defjvps():
    h = pa.custom_jvp(lambda x, y, z: (x * y, z))
    h.defjvps(lambda dx, v, x, y, z: (10 * dx * y, 0 * z), None, lambda dz, v, x, y, z: (None, 3 * dz))
    close(pa.grad(lambda x, y, z: pa.sum(h(x, y, z)[0] + h(x, y, z)[1]), (0, 1, 2))(x, y, x)[0], 10 * y)
    few = (lambda dx, v, x, y, z: (10 * dx * y, 0 * z), None)
    with pytest.raises(pa.StructureError, match=r"defjvps got 2 rule\(s\) for 3 differentiated argument\(s\)"):
        h.defjvps(*few)
    h = pa.custom_jvp(lambda *xs: (xs[0] * xs[1], xs[2]))  # how many there are is known at the call
    h.defjvps(*few)
    with pytest.raises(pa.StructureError, match=r"defjvps got 2 rule\(s\) for 3 differentiated argument\(s\)"):
        pa.grad(lambda x: pa.sum(h(x, y, x)[0]))(x)


def test_nondiff_argnums():
    h = pa.custom_vjp(lambda function, x, power: function(x) ** power, nondiff_argnums=(0, 2))
    h.defvjp(
        lambda function, x, power: (h(function, x, power), x),
        lambda function, power, x, ct: (power * 5 * ct * function(x),),
    )
    close(pa.grad(lambda x: pa.sum(h(pa.sin, x, 2)))(x), 10 * np.sin(x))
    close(pa.grad(lambda x: pa.sum(pa.vmap(lambda v: h(pa.sin, v, 2))(x)))(x), 10 * np.sin(x))
    j = pa.custom_jvp(lambda x, n: x**n, nondiff_argnums=(1,))
    j.defjvp(lambda n, p, t: (p[0] ** n, n * 100 * t[0]))
    close(pa.grad(lambda x: j(x, 3))(2.0), 300)


def test_a_nondiff_argument_that_is_followed():
    """It is no business of the rule: the function itself is followed."""
    h = pa.custom_vjp(lambda w, x: w * x, nondiff_argnums=0)
    h.defvjp(lambda w, x: (w * x, None), lambda w, saved, ct: (5 * ct * w,))
    for total in (lambda w, x: pa.sum(h(w, x)), lambda w, x: pa.sum(pa.vmap(h)(w, x))):
        dw, dx = pa.grad(total, (0, 1))(x, y)
        close(dw, y)
        close(dx, 5 * x)


def test_methods():
    class Scale:
        def __init__(self, w):
            self.w = w

        @pa.custom_vjp
        def apply(self, x):
            return self.w * x

        apply.defvjp(lambda self, x: (self.w * x, self.w), lambda w, ct: (None, 9 * w * ct))

    close(pa.grad(lambda x: pa.sum(Scale(y).apply(x)))(x), 9 * y)
    close(pa.grad(lambda w: pa.sum(Scale(w).apply(x)))(y), x)


def test_complex_and_single_precision():
    h = pa.custom_jvp(lambda z: z * z)
    h.defjvp(lambda p, t: (p[0] * p[0], 2 * p[0] * t[0]))
    z = np.array([1 + 2j, 0.5 - 1j])
    pa.check_grads(h, (z,))
    assert pa.grad(lambda x: pa.sum(f(x)))(x.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("modes", [("forward",), ("reverse",), ("forward", "reverse")])
def test_against_finite_differences(modes):
    logistic = pa.custom_jvp(lambda x: pa.log(1 + pa.exp(x)))
    logistic.defjvp(lambda p, t: (logistic(*p), (1 - 1 / (1 + pa.exp(p[0]))) * t[0]))
    product = pa.custom_vjp(lambda x, y: (pa.matmul(x, y), pa.sum(x)))
    product.defvjp(
        lambda x, y: (product(x, y), (x, y)),
        lambda s, ct: (pa.outer(ct[0], s[1]) + ct[1], pa.matmul(s[0].T, ct[0])),
    )
    pa.check_grads(logistic, (x,), order=3, modes=modes)
    pa.check_grads(product, (np.outer(x, y), y), order=2, modes=modes)
    with pytest.raises(AssertionError, match="disagrees"):
        pa.check_grads(f, (x,), order=1, modes=modes)


def test_both_rules():
    """Forward mode takes the forward rule, reverse mode the reverse rule."""
    h = pa.custom_vjp(lambda x: x)
    h.defvjp(lambda x: (x, None), lambda s, ct: (2 * ct,))
    h.defjvp(lambda p, t: (p[0], 3 * t[0]))
    assert pa.grad(h)(1.0) == 2 and pa.derivative(h)(1.0) == 3


def test_nested_custom_functions_and_recursion():
    @pa.custom_jvp
    def power(x, n):
        return x * power(x, n - 1) if n > 1 else f(x)

    power.defjvp(lambda p, t: (power(*p), 1000 * t[0] * power(p[0], p[1])))
    close(pa.grad(lambda x: pa.sum(power(x, 3)))(x), 1000 * x**2 * np.sin(x))
    close(pa.grad(lambda x: pa.sum(f(f(x))))(x), 100 * np.cos(np.sin(x)) * np.cos(x))


def test_tapes_and_variables():
    with pa.Tape() as tape:
        v = tape.watch(x)
        total = pa.sum(f(v))
    close(tape.gradient(total, v), slope_f)
    v = pa.variable(x)
    pa.sum(g(v, y)).backward()
    close(v.grad, slope_x)


def test_control_flow():
    three = lambda x: pa.scan(lambda c, _: (f(c), None), x, None, length=3)[0]
    expected = pa.grad(lambda x: f(f(f(x))))(0.3)
    close(pa.grad(three)(0.3), expected)
    close(pa.grad(pa.make_ir(three)(0.3))(0.3), expected)
    close(pa.grad(lambda x: pa.sum(pa.vmap(pa.make_ir(three)(0.3))(x)))(np.full(2, 0.3)), [expected] * 2)
    chosen = lambda v: pa.cond(v > 0.5, lambda: f(v), lambda: v)
    close(pa.grad(lambda x: pa.sum(pa.vmap(chosen)(x)))(x), [1, *slope_f[1:]])


def test_programs_show_one_step():
    program = pa.make_ir(f)(x)
    (equation,) = program.equations
    assert equation.op.__name__ == "custom_call" and "custom_jvp(f)" in str(program)
    scope = {}
    exec(program.code, scope)
    close(scope["f"](x), np.sin(x))


def test_a_plain_call_is_the_function():
    calls = []
    h = pa.custom_jvp(lambda x: calls.append(type(x)) or x)
    assert h(2.0) == 2.0 and calls == [float]
    assert f.__name__ == "f" and "custom_jvp(f)" in repr(f)


# ---------------------------------------------------------------------- wrong rules


def test_a_backward_that_cannot_be_transposed():
    h = pa.custom_vjp(lambda x: 2 * x)
    h.defvjp(lambda x: (2 * x, None), lambda s, ct: (np.asarray(ct) * 2,))
    close(pa.grad(lambda x: pa.sum(h(x)))(x), 2 * ones)
    with pytest.raises(pa.MissingRuleError, match=r"could not be transposed for forward mode .* \.defjvp\(rule\)"):
        pa.jvp(h, (x,), (ones,))


def test_a_forward_rule_that_calls_its_function_with_the_tangents():
    h = pa.custom_jvp(lambda x: x[::-1])
    h.defjvp(lambda primals, tangents: (h(primals[0]), h(tangents[0])))
    close(pa.jvp(h, (x,), (ones,))[1], ones)
    ways = [
        pa.grad(lambda x: pa.sum(h(x) ** 2)),
        pa.jit(pa.grad(lambda x: pa.sum(h(x) ** 2))),
        pa.hessian(lambda x: pa.sum(h(x) ** 2)),
        lambda x: pa.vmap(pa.grad(lambda x: pa.sum(h(x))))(x[None]),
        lambda x: pa.grad(lambda x: pa.sum(pa.vmap(h)(x)))(x[None]),
    ]
    for way in ways:
        with pytest.raises(pa.MissingRuleError, match=r"no reverse derivative: .* give it \.defvjp\(forward, backward\) too"):
            way(x)
    h.defvjp(lambda x: (h(x), None), lambda saved, ct: (h(ct),))
    for way in ways:
        way(x)
    k = pa.custom_jvp(lambda x: x**3)  # of the value, that is of no harm, in derivatives of derivatives either
    k.defjvp(lambda primals, tangents: (k(primals[0]), 3 * primals[0] ** 2 * tangents[0]))
    close(pa.hessian(lambda x: pa.sum(k(x)))(x), np.diag(6 * x))
