"""Taylor mode against nested forward mode, for every card and every nesting, and what it costs."""

import math
import sys

import numpy as np
import pytest

import polyad as pa
from polyad.dsl import operations
from polyad.testing.comparing import random_like

close = np.testing.assert_allclose


# ---------------------------------------------------------------------- every operation
def smooth_samples():
    for name, op in operations.items():
        if op.card.differentiable and not op.card.no_rule.get("jvp"):
            for i, make in enumerate(op.card.samples):
                yield pytest.param(op, make, id=f"{name}-{i}")


def inexact(x):
    return isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "fc"


def curve_through(op, make, order):
    """The operation as a function of its floating arrays with floating results, a point and derivatives of a curve."""
    args, params = make(np.random.default_rng(7))
    xs = list(args[0]) if op.generic.sequence else list(args)
    where = [i for i, x in enumerate(xs) if inexact(x)]

    def f(*values):
        full = list(xs)
        for i, v in zip(where, values, strict=True):
            full[i] = v
        y = op.generic.spread(*full, **params)
        return [v for v in (y if isinstance(y, tuple) else (y,)) if pa.asarray(v).dtype.kind in "fc"]

    rng = np.random.default_rng(8)
    point = [xs[i] for i in where]
    return f, point, [[random_like(rng, x) * 0.3 for _ in range(order)] for x in point]


def nested(f, point, series, order):
    """The derivatives of f along a curve by forward mode of forward mode, …"""

    def along(t):
        move = lambda x, terms: x + sum([c * (t**k / math.factorial(k)) for k, c in enumerate(terms, 1)])
        return f(*[move(x, terms) for x, terms in zip(point, series, strict=True)])

    found = []
    for _ in range(order):
        along = pa.derivative(along)
        found.append(along(0.0))
    return found


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("op", "make"), list(smooth_samples()))
def test_every_operation(op, make):
    order = 3
    f, point, series = curve_through(op, make, order)
    if not point:
        return
    y, ys = pa.jet(f, tuple(point), tuple(series))
    for v, right in zip(y, f(*point), strict=True):
        close(v, right, rtol=1e-12, atol=1e-14)
    for k, (row, expected) in enumerate(zip(ys, nested(f, point, series, order), strict=True), 1):
        for v, dy, right in zip(y, row, expected, strict=True):
            assert np.shape(dy) == np.shape(v) and np.asarray(dy).dtype == np.asarray(v).dtype
            close(dy, right, rtol=1e-7, atol=1e-7, err_msg=f"derivative {k}")


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


def test_python_control_flow():
    def f(x):
        y = x
        while y < 10:
            y = y * x
        return y if x > 1.5 else -y

    assert [float(d) for d in pa.derivatives(f, 4)(2.0)] == [16, 32, 48, 48, 24]


def test_in_place_code():
    def f(x):
        out = np.zeros_like(x) if isinstance(x, np.ndarray) else pa.zeros(3)
        for i in range(3):
            out[i] = x ** (i + 1)
        out += x
        return out

    close(pa.derivatives(f, 3)(2.0)[1:], [[2, 5, 13], [0, 2, 12], [0, 0, 6]])


# ---------------------------------------------------------------------- hard points
def test_at_kinks_and_zeros():
    rows = {
        "square": (lambda x: x**2, [0, 0, 2, 0]),
        "power 3.0": (lambda x: x**3.0, [0, 0, 0, 6]),
        "product": (lambda x: pa.prod(pa.stack([x, x, 2.0 + x])), [0, 0, 4, 6]),
        "abs": (pa.abs, [0, 0, 0, 0]),
        "sqrt": (pa.sqrt, [0, 0, 0, 0]),
        "maximum of a tie": (lambda x: pa.maximum(x, 0.0), [0, 0.5, 0, 0]),
        "maximum": (lambda x: pa.maximum(x, -x), [0, 0, 0, 0]),
        "where": (lambda x: pa.where(x < 1, x * x, pa.log(x)), [0, 0, 2, 0]),
        "exp of a curve that starts flat": (lambda x: pa.exp(x * x), [1, 0, 2, 0]),
        "xlogy": (lambda x: x * pa.exp(x) / (1 + x), [0, 1, 0, 3]),
    }
    for name, (f, right) in rows.items():
        with np.errstate(all="ignore"):
            close(pa.derivatives(f, 3)(0.0), right, atol=1e-14, err_msg=name)


def test_mixed_derivatives_where_a_cotangent_is_zero():
    """Rules that keep zero (co)tangents zero at singular points are linear in them all the same."""
    f = lambda z: pa.grad(lambda x: pa.exp(x) * z)(1.0)
    close([pa.grad(f)(0.0), pa.derivative(f)(0.0), pa.derivatives(f, 1)(0.0)[1]], [np.e] * 3)
    g = lambda z: pa.grad(lambda x: (x / np.array(3.0)) * z)(1.0)
    close([pa.grad(g)(0.0), pa.derivative(g)(0.0)], [1 / 3] * 2)
    close(pa.hessian(lambda p: pa.log(p[0]) * p[1])(np.array([2.0, 0.0])), [[0, 0.5], [0.5, 0]])


# ---------------------------------------------------------------------- nesting
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


def test_lanes_that_split():
    f = lambda x: pa.derivatives(lambda t: t**3 if t > 0 else -t, 2)(x)[2]
    close(pa.vmap(f)(np.array([1.0, -1.0, 2.0])), [6, 0, 12])


def test_control_flow_operations():
    step = lambda c, x: c * pa.sin(c) + x

    def by_program(x):
        final, _ = pa.scan(lambda c, k: (step(c, x), k), x, np.arange(3.0))
        return final

    def by_python(x):
        c = x
        for _ in range(3):
            c = step(c, x)
        return c

    close(pa.derivatives(by_program, 4)(0.5), pa.derivatives(by_python, 4)(0.5))
    traced = pa.make_ir(lambda x: pa.derivatives(by_program, 3)(x))(0.5)
    close(traced(0.5), pa.derivatives(by_python, 3)(0.5))
    branch = lambda x: pa.cond(x > 0, lambda x: x**3, lambda x: -x, x)
    close(pa.vmap(lambda x: pa.derivatives(branch, 2)(x)[2])(np.array([1.0, -1.0])), [6, 0])


def test_leaked_values():
    kept = []
    pa.derivatives(lambda x: kept.append(x) or x, 2)(1.0)
    with pytest.raises(pa.LeakedLayerError, match="derivatives|jet"):
        kept[0] * 2.0


# ---------------------------------------------------------------------- operations of others
def test_a_rule_of_ones_own_is_enough():
    @pa.opaque(kernel=None)
    def cubed(x, /):
        """x³ elementwise, shapes and dtypes kept."""

    @cubed.method
    def cubed_dense(x: pa.HostArray, /):
        return np.asarray(x) ** 3

    cubed.rule("jvp")(lambda dxs, y, x: 3.0 * dxs[0] * x**2)
    assert [float(d) for d in pa.derivatives(cubed, 4)(2.0)] == [8, 12, 12, 6, 0]

    @pa.opaque(kernel=None)
    def doubled(x, /):
        """2x elementwise, with a reverse rule only, shapes and dtypes kept."""

    @doubled.method
    def doubled_dense(x: pa.HostArray, /):
        return np.asarray(x) * 2.0

    doubled.rule("vjp")([lambda ct, y, x: 2.0 * ct])
    assert [float(d) for d in pa.derivatives(lambda x: doubled(x) ** 2, 3)(2.0)] == [16, 16, 8, 0]

    @pa.opaque(kernel=None)
    def root(x, /):
        """The square root, with a recurrence of its own, shapes and dtypes kept."""

    @root.method
    def root_dense(x: pa.HostArray, /):
        return np.sqrt(x)

    root.rule("jvp")(lambda dxs, y, x: dxs[0] / (2.0 * y))
    plain = pa.derivatives(root, 4)(2.0)

    @root.rule("taylor")
    def root_taylor(k, y, x):
        rest = (x(k) or 0.0) - sum([y(j) * y(k - j) for j in range(1, k)])
        return rest / (2.0 * y(0))

    close(pa.derivatives(root, 4)(2.0), plain)
    close(plain, pa.derivatives(pa.sqrt, 4)(2.0))


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
