"""Operations declared as a user would: which rules a card needs, and what follows from those it has."""

import numpy as np
import pytest
from declaring import kernel

import polyad as pa

close = np.testing.assert_allclose


pytestmark = [pytest.mark.usefixtures("forget_declared"), pytest.mark.quick]


X, Y = np.array([0.3, 1.2, 2.0]), np.array([1.5, 0.4, 0.7])


def everywhere(op, reference, *args, second=True):
    """Derivatives against finite differences, lanes against a loop, both modes to second order, nested."""
    close(op(*args), reference(*args))
    pa.check_grads(op, args, order=2 if second else 1)
    lanes = [np.stack([x, 0.5 * x, x + 0.1]) for x in args]
    f = lambda *xs: pa.sum(op(*xs))
    found = pa.vmap(pa.grad(f, tuple(range(len(args)))))(*lanes)
    for n in range(len(args)):
        close(found[n], [pa.grad(f, n)(*[x[k] for x in lanes]) for k in range(3)])
    if second:
        h = pa.hessian(f)(*args)
        close(h, h.T, atol=1e-12)


# ---------------------------------------------------------------------- elementwise
def test_partials():
    @pa.elementwise(partials=[lambda z, x, y: pa.exp(y), lambda z, x, y: z], kernel=None)
    def scaled_exp(x, y, /):
        """x e^y"""

    op = kernel(scaled_exp, lambda x, y: x * np.exp(y))
    everywhere(op, lambda x, y: x * np.exp(y), X, Y)
    close(pa.grad(lambda x: pa.sum(op(x, Y)))(2.0), np.sum(np.exp(Y)))  # broadcasting is undone
    close(pa.grad(lambda y: pa.sum(op(X[:, None], y)))(Y), X.sum() * np.exp(Y))


def test_number_and_none_as_partials():
    @pa.elementwise(partials=[1, -1], kernel=None)
    def minus(x, y, /):
        """x - y"""

    everywhere(kernel(minus, np.subtract), np.subtract, X, Y)

    @pa.elementwise(partials=[lambda z, x, y: y, None], kernel=None)
    def times_constant(x, y, /):
        """x y, where y counts as constant"""

    op = kernel(times_constant, np.multiply)
    close(pa.grad(lambda x, y: pa.sum(op(x, y)), (0, 1))(X, Y), [Y, 0 * Y])
    close(pa.jvp(op, (X, Y), (X, Y))[1], X * Y)


def test_partials_with_parameters():
    @pa.elementwise(partials=[lambda z, x, rate: pa.multiply(z, rate)], kernel=None)
    def growth(x, /, rate):
        """e^(rate x)"""

    op = kernel(growth, lambda x, rate: np.exp(rate * x))
    everywhere(lambda x: op(x, rate=0.5), lambda x: np.exp(0.5 * x), X)


def test_a_partial_in_double_precision_keeps_float32():
    @pa.elementwise(partials=[lambda y, x: np.float64(2.0) * pa.cos(x)], kernel=None)
    def twice_sine(x, /):
        """2 sin x"""

    op = kernel(twice_sine, lambda x: 2 * np.sin(x))
    x = X.astype(np.float32)
    assert pa.grad(lambda x: pa.sum(op(x)))(x).dtype == np.float32
    assert pa.jvp(op, (x,), (x,))[1].dtype == np.float32


# ---------------------------------------------------------------------- one rule gives both modes
def softplus(x):
    return np.log1p(np.exp(x))


def logistic(x):
    return 1 / (1 + pa.exp(-x))


def declare_softplus():
    @pa.opaque(kernel=None)
    def soft(x, /):
        """log(1 + e^x)"""

    soft.rule("batch")(lambda size, xs, batched: soft(xs[0]))
    return kernel(soft, softplus)


def test_jvp_only():
    op = declare_softplus()
    op.rule("jvp")(lambda dxs, y, x: dxs[0] * logistic(x))
    everywhere(op, softplus, X)
    for d in (pa.grad, pa.derivative):
        close(pa.grad(d(d(op)))(0.3), (lambda s: s * (1 - s) * (1 - 2 * s))(logistic(0.3)))


@pytest.mark.parametrize("rule", ["jvp", "vjp"])
def test_two_arrays_of_different_shapes(rule):
    @pa.opaque(kernel=None)
    def weighted(x, y, /):
        """sum over rows of x**2 * y: shapes (n, m), (m,) -> (n,)"""

    op = kernel(weighted, lambda x, y: np.sum(x**2 * y, axis=-1))
    if rule == "jvp":

        @op.rule("jvp")
        def weighted_jvp(dxs, z, x, y):
            dx, dy = dxs
            parts = [] if dx is None else [pa.sum(2 * x * y * dx, axis=-1)]
            parts += [] if dy is None else [pa.sum(x**2 * dy, axis=-1)]
            return sum(parts[1:], parts[0])
    else:
        op.rule("vjp")([
            lambda ct, z, x, y: 2 * x * y * pa.expand_dims(ct, -1),
            lambda ct, z, x, y: x**2 * pa.expand_dims(ct, -1),  # summed over the rows by the library
        ])  # fmt: skip
    x, y = np.arange(6.0).reshape(2, 3) + 0.5, Y
    pa.check_grads(op, (x, y))
    close(pa.grad(lambda y: pa.sum(op(x, y)))(y), np.sum(x**2, axis=0))
    close(pa.jvp(lambda y: op(x, y), (y,), (X,))[1], x**2 @ X)
    close(pa.jacfwd(op, (0, 1))(x, y)[1], x**2)


@pytest.mark.parametrize("rule", ["jvp", "vjp"])
def test_tangents_that_broadcast(rule):
    """A rule may give less than the value's shape; double lanes see the input's shape all the same (D14)."""

    @pa.opaque(kernel=None)
    def shifted(x, y, /):
        """x + y"""

    op = kernel(shifted, np.add)
    op.rule("batch")(lambda size, xs, batched: sum(xs) if all(batched) else pa.add(*xs))
    if rule == "jvp":
        op.rule("jvp")(lambda dxs, z, x, y: dxs[0] if dxs[1] is None else dxs[1] if dxs[0] is None else pa.add(*dxs))
    else:
        op.rule("vjp")([lambda ct, z, x, y: ct, lambda ct, z, x, y: ct])
    close(pa.jvp(lambda y: op(np.ones((2, 3)), y), (1.0,), (1.0,))[1], np.ones((2, 3)))
    close(pa.grad(lambda y: pa.sum(op(np.ones((2, 3)), y)))(1.0), 6)
    close(pa.grad(lambda y: pa.sum(op(y, np.ones((2, 3)))))(np.ones((2, 1))), [[3], [3]])
    grid = np.arange(6.0).reshape(2, 3)
    lanes = pa.vmap(pa.vmap(pa.grad(lambda x: pa.sum(op(x, 2.0) * x))))(grid)
    close(lanes, 2 * grid + 2)
    pa.check_grads(op, (np.ones((2, 3)), np.ones(3)))


@pytest.mark.parametrize("rule", ["jvp", "vjp"])
def test_complex_rules_are_transposed_without_conjugation(rule):
    @pa.opaque(kernel=None)
    def mirrored(z, /):
        """conj(z)²"""

    op = kernel(mirrored, lambda z: np.conj(z) ** 2)
    if rule == "jvp":
        op.rule("jvp")(lambda dzs, y, z: 2 * pa.conj(z) * pa.conj(dzs[0]))
    else:
        op.rule("vjp")([lambda ct, y, z: pa.conj(2 * pa.conj(z) * ct)])
    pa.check_grads(op, (np.array([1 + 2j, -0.3 + 0.1j]),))


def test_zero_derivatives_given_as_none():
    op = declare_softplus()
    op.rule("vjp")([None])
    close(pa.grad(lambda x: pa.sum(op(x) + x))(X), np.ones(3))
    close(pa.jvp(op, (X,), (X,))[1], 0 * X)
    other = declare_softplus()
    other.rule("jvp")(lambda dxs, y, x: None)
    close(pa.grad(lambda x: pa.sum(other(x) + x))(X), np.ones(3))
    close(pa.jvp(other, (X,), (X,))[1], 0 * X)
    third = declare_softplus()
    third.rule("vjp")([lambda ct, y, x: None])
    close(pa.grad(lambda x: pa.sum(third(x) + x))(X), np.ones(3))
    close(pa.jvp(third, (X,), (X,))[1], 0 * X)


# ---------------------------------------------------------------------- linear, bilinear, composite, reduction
def test_linear():
    @pa.linear(kernel=None)
    def differences(x, /):
        """x[1:] - x[:-1]"""

    op = kernel(differences, np.diff)

    @op.rule("transpose")
    def differences_transpose(i, ct, y, x):
        return pa.concatenate([-ct[:1], ct[:-1] - ct[1:], ct[-1:]])

    pa.check_grads(op, (X,))
    close(pa.jacrev(op)(X), np.diff(np.eye(3), axis=0))
    close(pa.jacrev(lambda x: pa.vjp(op, x)[1](np.ones(2))[0])(X), np.zeros((3, 3)))


def test_linear_in_some_arrays():
    @pa.linear(linear=(1,), kernel=None)
    def select(mask, x, /):
        """x where mask > 0"""

    op = kernel(select, lambda mask, x: np.where(mask > 0, x, 0.0))
    op.rule("transpose")([lambda ct, y, mask, x: op(mask, ct)])
    mask = np.array([1.0, -1.0, 1.0])
    close(pa.grad(lambda x: pa.sum(op(mask, x) ** 2))(X), [2 * X[0], 0, 2 * X[2]])
    dm, dx = pa.grad(lambda m, x: pa.sum(op(m, x)), (0, 1))(mask, X)
    close(dm, 0)
    close(dx, [1, 0, 1])
    close(pa.jvp(op, (mask, X), (mask, Y))[1], [Y[0], 0, Y[2]])


def test_bilinear():
    @pa.bilinear(kernel=None)
    def cross2(x, y, /):
        """x0 y1 - x1 y0 of the first two elements"""

    op = kernel(cross2, lambda x, y: x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0])
    flip = lambda ct, y, sign: pa.stack([y[1] * ct * sign, -y[0] * ct * sign, 0.0 * ct])
    op.rule("transpose")([lambda ct, z, x, y: flip(ct, y, 1.0), lambda ct, z, x, y: flip(ct, x, -1.0)])
    pa.check_grads(op, (X, Y))
    close(pa.grad(op, (0, 1))(X, Y), [[Y[1], -Y[0], 0], [-X[1], X[0], 0]])


def test_composite_with_and_without_a_rule():
    calls = []

    @pa.composite(kernel=None)
    def smooth(x, /):
        """x tanh x"""
        calls.append("body")
        return x * pa.tanh(x)

    everywhere(smooth, lambda x: x * np.tanh(x), X)
    assert calls


def test_reduction():
    @pa.reduction(kernel=None)
    def energy(x, /, axis=None, keepdims=False):
        """Half the sum of squares over axes."""

    @energy.method
    def energy_dense(x: pa.HostArray, /, axis=None, keepdims=False):
        return 0.5 * np.sum(x**2, axis=axis, keepdims=keepdims)

    @energy.rule("jvp")
    def energy_jvp(dxs, y, x, axis=None, keepdims=False):
        return pa.sum(x * dxs[0], axis=axis, keepdims=keepdims)

    x = np.arange(6.0).reshape(2, 3)
    pa.check_grads(lambda x: energy(x, axis=1), (x,))
    close(pa.grad(lambda x: energy(x))(x), x)
    close(pa.vmap(pa.grad(lambda x: energy(x)))(x), x)


# ---------------------------------------------------------------------- no rules
def test_not_differentiable():
    @pa.elementwise(differentiable=False, kernel=None)
    def steps(x, /):
        """Whole numbers below."""

    op = kernel(steps, np.floor)
    close(pa.grad(lambda x: pa.sum(op(x) * x))(X), np.floor(X))
    close(pa.jvp(op, (X,), (X,))[1], 0 * X)
    close(pa.derivative(lambda x: op(x) * x)(2.5), 2)


@pytest.mark.parametrize("declare", [pa.opaque, pa.elementwise])
def test_missing_rules(declare):
    @declare(kernel=None)
    def bare(x, /):
        """sin x, without rules"""

    op = kernel(bare, np.sin)
    close(op(X), np.sin(X))
    with pytest.raises(pa.MissingRuleError, match=r"bare.*@bare\.rule\('jvp'\).*differentiable=False"):
        pa.jvp(op, (X,), (X,))
    advice = r"bare.*@bare\.rule\('vjp'\).*@bare\.rule\('jvp'\).*differentiable=False"
    with pytest.raises(pa.MissingRuleError, match=advice):
        pa.grad(lambda x: pa.sum(op(x)))(X)
    assert pa.grad(lambda x: x * op(2.0))(1.0) == np.sin(2.0)  # on constants it needs none


def test_too_few_entries():
    @pa.opaque(kernel=None)
    def pair(x, y, /):
        """x y"""

    op = kernel(pair, np.multiply)
    with pytest.raises(pa.RegistrationError, match=r"pair: its rule 'vjp' has 1 function\(s\) for 2 array\(s\)"):
        op.rule("vjp")([lambda ct, z, x, y: ct * y])
    op.rule("vjp")([lambda ct, z, x, y: ct * y, None])
    close(pa.grad(lambda x: op(x, 3.0))(2.0), 3)

    with pytest.raises(pa.RegistrationError, match="other: it has 1 partial derivative"):

        @pa.elementwise(partials=[lambda z, x, y: y], kernel=None)
        def other(x, y, /):
            """x y"""


def test_rules_of_the_wrong_shape():
    op = declare_softplus()
    op.rule("jvp")(lambda dxs, y, x: np.ones(2))
    with pytest.raises(pa.ShapeError, match=r"soft: its forward rule returned .*\[2\].*\[3\]"):
        pa.jvp(op, (X,), (X,))
    with pytest.raises(pa.ShapeError, match=r"soft: its forward rule"):
        pa.jvp(op, (1.0,), (1.0,))
    op.rule("vjp")([lambda ct, y, x: np.ones(2)])
    with pytest.raises(pa.ShapeError, match=r"soft: its reverse rule returned .*\[2\].*\[3\]"):
        pa.grad(lambda x: pa.sum(op(x)))(X)


def test_a_rule_given_later_is_used_at_once():
    """G26: what was resolved before is forgotten."""
    op = declare_softplus()
    op.rule("jvp")(lambda dxs, y, x: dxs[0] * 10.0)
    assert pa.grad(op)(0.0) == 10 and pa.derivative(op)(0.0) == 10
    op.rule("jvp")(lambda dxs, y, x: dxs[0] * 20.0)
    assert pa.grad(op)(0.0) == 20 and pa.derivative(op)(0.0) == 20
    op.rule("vjp")([lambda ct, y, x: ct * 30.0])
    assert pa.grad(op)(0.0) == 30 and pa.derivative(op)(0.0) == 20
