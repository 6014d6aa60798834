"""Taylor coefficients by the rules of cards: of every operation, at hard points, and by the rule of a user."""

import math

import numpy as np
import pytest

import polyad as pa
from polyad.dsl import operations
from polyad.testing.comparing import random_like

close = np.testing.assert_allclose


SMOOTH = [
    pytest.param(op, id=name)
    for name, op in operations.items()
    if op.card.samples and op.card.differentiable and not op.card.no_rule.get("jvp")
]


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
@pytest.mark.parametrize("op", SMOOTH)
def test_every_operation(op, each):
    each({f"sample {i}": (op, make) for i, make in enumerate(op.card.samples)}, like_nested_forward_mode)


def like_nested_forward_mode(op, make):
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
