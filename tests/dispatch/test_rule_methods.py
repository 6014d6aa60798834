"""Rules as methods: registered, looked at, declined, opted out of, and the errors of each."""

import numpy as np
import pytest

import polyad as pa
from polyad.dsl.arrays import Diagonal

close = np.testing.assert_allclose


A = np.arange(9.0).reshape(3, 3) / 3 - 1


D = pa.Diagonal(np.array([0.5, -1.0, 2.0]))


X = np.array([0.3, 1.2, 2.0])


@pytest.fixture(autouse=True)
def forget():
    """The rules that a test registers on operations of the library are gone after it."""
    yield
    for op in (pa.matmul, pa.sin, pa.sum, pa.multiply, pa.add, pa.exp, pa.concatenate, pa.softplus, pa.linalg.slogdet, pa.clip):
        op.generic.rules = None
        op.jvp._methods = op.vjp._methods = None
        op.generic.clear()


def same(found, expected):
    assert pa.tree.structure(found) == pa.tree.structure(expected)
    for a, b in zip(pa.tree.leaves(found), pa.tree.leaves(expected), strict=True):
        close(a, b, rtol=1e-12, atol=1e-12)


def loss(D, W):
    return pa.sum(pa.sin(D @ W))


class Mine(np.ndarray):
    """A dense class of one's own."""


def test_a_rule_may_decline():
    """NotImplemented: what there would be without the rule."""
    expected = pa.grad(loss, (0, 1))(D, A), pa.jvp(loss, (D, A), (D, A)), pa.hvp(lambda D: loss(D, A), D, D)

    @pa.matmul.vjp.method
    def declines(ct, y, a: Diagonal, b: pa.Array, /):
        return NotImplemented

    @pa.matmul.jvp.method
    def declines_too(dxs, y, a: Diagonal, b: pa.Array, /):
        return NotImplemented

    same((pa.grad(loss, (0, 1))(D, A), pa.jvp(loss, (D, A), (D, A)), pa.hvp(lambda D: loss(D, A), D, D)), expected)

    @pa.sin.vjp.method
    def sin_vjp(ct, y, x: np.ndarray, /):
        return NotImplemented if x.ndim == 1 else (7.0 * ct,)

    close(pa.grad(lambda x: pa.sum(pa.sin(x)))(X), np.cos(X))
    close(pa.grad(lambda x: pa.sum(pa.sin(x)))(A), 7)


def test_opt_out():
    @pa.matmul.vjp.method
    def ten(ct, y, a: pa.Container, b: pa.Array, /):
        return None, 10.0 * (a @ ct)

    f = lambda W: pa.sum(D @ W)
    close(pa.grad(f)(A), 10 * D.diag[:, None] * np.ones(3))
    assert pa.opt_out(pa.matmul, Diagonal, pa.Array) is None
    close(pa.grad(f)(A), D.diag[:, None] * np.ones(3))
    close(pa.jvp(f, (A,), (A,))[1], f(A))


def test_opt_out_of_a_dense_operation():
    @pa.opaque(kernel=None)
    def wave(x, /):
        """sin(x)²"""

    @wave.method
    def wave_dense(x: pa.HostArray, /):
        return np.sin(x) ** 2

    wave.rule("vjp")([lambda ct, y, x: 100.0 * ct])
    wave.rule("batch")(lambda size, xs, batched: wave(xs[0]))
    f = lambda x: pa.sum(wave(x))
    close(pa.grad(f)(X), 100)
    pa.opt_out(wave, np.ndarray)
    close(pa.grad(f)(X), np.sin(2 * X))
    close(pa.jvp(f, (X,), (X,))[1], X @ np.sin(2 * X))
    close(pa.hessian(f)(X), np.diag(2 * np.cos(2 * X)), atol=1e-12)
    close(pa.vmap(pa.grad(wave))(X), np.sin(2 * X))


@pytest.mark.parametrize("op", [pa.softplus])
def test_opt_out_of_a_composite(op):
    @op.vjp.method
    def wrong(ct, y, x: pa.HostArray, /):
        return (ct * 9.0,)

    pa.opt_out(op, np.ndarray)
    close(pa.grad(lambda x: pa.sum(op(x)))(X), 1 / (1 + np.exp(-X)))


def test_no_derivative():
    pa.no_derivative(pa.matmul, Diagonal, pa.Array)
    gD, gW = pa.grad(lambda D, W: pa.sum(D @ W) + pa.sum(W), (0, 1))(D, A)
    close(gD.diag, 0)
    close(gW, 1)
    close(pa.jvp(lambda W: D @ W, (A,), (A,))[1], 0)
    close(pa.vmap(pa.grad(lambda W: pa.sum(D @ W)))(np.stack([A, A])), 0)
    pa.no_derivative(pa.sin, Mine)
    close(pa.grad(lambda x: pa.sum(pa.sin(x)))(X.view(Mine)), 0)
    close(pa.jvp(pa.sin, (X.view(Mine),), (X,))[1], 0)
    close(pa.grad(lambda x: pa.sum(pa.sin(x)))(X), np.cos(X))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: pa.opt_out(pa.sin, np.ndarray), r"opt_out\(sin\).*NumPy's own kernel.*@sin\.vjp\.method"),
        (lambda: pa.opt_out(pa.matmul, Diagonal), r"opt_out\(matmul\): give 2 class\(es\), one for each array, not Diagonal"),
        (lambda: pa.opt_out(np.sin, np.ndarray), r"opt_out: ufunc is not an operation with a card"),
        (lambda: pa.no_derivative(pa.sin, "x"), r"no_derivative\(sin\): give 1 class"),
    ],
)  # fmt: skip
def test_errors_of_opting_out(call, text):
    with pytest.raises(pa.RegistrationError, match=text):
        call()


def test_registration_errors():
    with pytest.raises(pa.RegistrationError, match=r"matmul\.vjp: a rule takes \(ct, y, x, y, /, …\), but short does not"):

        @pa.matmul.vjp.method
        def short(ct):
            pass

    with pytest.raises(pa.RegistrationError, match=r"matmul\.vjp takes 2 array argument\(s\), but few declares 1"):

        @pa.matmul.vjp.method
        def few(ct, y, a: Diagonal, /):
            pass

    with pytest.raises(pa.RegistrationError, match=r"sum\.jvp passes its parameter\(s\) axis, dtype, keepdims by keyword"):

        @pa.sum.jvp.method
        def no_params(dxs, y, a: Diagonal, /):
            pass

    with pytest.raises(pa.RegistrationError, match=r"sin\.vjp: by_ct annotates 'ct', but a rule is chosen by the types"):

        @pa.sin.vjp.method
        def by_ct(ct: Diagonal, y, x: Diagonal, /):
            pass

    with pytest.raises(pa.RegistrationError, match=r"sin\.vjp: the annotation of 'x'.*not decided by type"):

        @pa.sin.vjp.method
        def by_value(ct, y, x: list[int], /):
            pass


def test_looking_at_rules():
    @pa.matmul.vjp.method
    def rule(ct, y, a: Diagonal, b: pa.Array, /):
        return None, None

    (method,) = pa.methods(pa.matmul.vjp)
    assert str(method) == "matmul.vjp(Diagonal, Array)" and method.implementation is rule
    assert pa.which(pa.matmul.vjp, D, A) is method and pa.which(pa.matmul.vjp, Diagonal, np.ndarray) is method
    assert method in pa.methodswith(Diagonal)
    assert "matmul.vjp with 1 methods" in repr(pa.matmul.vjp) and not pa.methods(pa.matmul.jvp)
    with pytest.raises(pa.MethodError, match=r"no method matmul\.vjp\(ndarray"):
        pa.which(pa.matmul.vjp, A, A)

    @pa.matmul.vjp.method
    def other(ct, y, a: pa.Array, b: Diagonal, /):
        return None, None

    assert len([text for text in pa.ambiguities() if "matmul.vjp" in text]) == 1
    with pytest.raises(pa.AmbiguousMethodError, match=r"matmul\.vjp\(Diagonal, Diagonal\)"):
        pa.grad(lambda D: pa.sum((D @ D).diag))(D)
