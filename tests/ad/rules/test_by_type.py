"""Derivative rules by the types of the arguments: dense classes, device kinds and array types, in any nesting."""

import numpy as np
import pytest

import polyad as pa
from polyad.ad import Dual
from polyad.ad.rules.reads import read
from polyad.dsl.arrays import Diagonal

close = np.testing.assert_allclose
A = np.arange(9.0).reshape(3, 3) / 3 - 1
D = pa.Diagonal(np.array([0.5, -1.0, 2.0]))
LANES = pa.Diagonal(np.arange(6.0).reshape(2, 3) / 4)
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


# ---------------------------------------------------------------------- array types: one node
def loss(D, W):
    return pa.sum(pa.sin(D @ W))


def reverse_rule(counts):
    @pa.matmul.vjp.method
    def matmul_vjp_diagonal(ct, y, a: Diagonal, b: pa.Array, /):
        counts.append("vjp")
        assert type(a) is Diagonal and y.shape == ct.shape
        return pa.Diagonal(pa.sum(ct * b, axis=-1)), a @ ct


# ---------------------------------------------------------------------- projection


def _annotated(rule):
    def matmul_vjp(ct, y, a: Diagonal, b: pa.Array, /):
        return rule(ct, y, a, b)

    return matmul_vjp


@pytest.mark.parametrize(
    ("returned", "error", "text"),
    [
        (lambda ct: ct, pa.MissingRuleError, r"matmul\.vjp: the rule returned ndarray.* for 2 array\(s\); it returns a tuple"),
        (lambda ct: (ct,), pa.MissingRuleError, r"matmul\.vjp: the rule returned a tuple of 1 for 2 array"),
        (lambda ct: (np.ones((2, 2)), None), pa.ShapeError, r"matmul\.vjp: its reverse rule returned .*\[2, 2\].*'x'"),
        (lambda ct: (pa.Diagonal(np.ones(2)), None), pa.ShapeError, r"matmul\.vjp.*argument 'x'.*\[2\].*leaf diag.*\[3\]"),
        (lambda ct: (pa.Tangent(pa.OneHot, [1], (2, 3)), None), pa.StructureError, r"matmul\.vjp.*Tangent.*'x'.*Diagonal"),
        (lambda ct: (None, pa.Tangent(Diagonal, [X])), pa.StructureError, r"reverse rule returned a Tangent for argument 'y'"),
        (lambda ct: (None, "ct"), pa.StructureError, r"matmul\.vjp: its reverse rule returned a str for argument 'y'"),
        (lambda ct: (None, np.array([None])), pa.DTypeError, r"matmul\.vjp.*argument 'y', which holds no numbers"),
    ],
)  # fmt: skip
def test_wrong_rules(returned, error, text):
    pa.matmul.vjp.method(_annotated(lambda ct, y, a, b: returned(ct)))
    with pytest.raises(error, match=text):
        pa.grad(loss, (0, 1))(D, A)


def test_wrong_forward_rules():
    @pa.matmul.jvp.method
    def dense(dxs, y, a: Diagonal, b: Diagonal, /):
        return np.ones((3, 3))

    text = r"matmul\.jvp: its forward rule returned ndarray.*for Diagonal.*a Diagonal, None"
    with pytest.raises(pa.StructureError, match=text):
        pa.jvp(lambda a: a @ a, (D,), (D,))

    @pa.matmul.jvp.method
    def wrong(dxs, y, a: Diagonal, b: pa.Array, /):
        return np.ones(2)

    with pytest.raises(pa.ShapeError, match=r"forward rule returned .*\[2\]"):
        pa.jvp(lambda a: a @ A, (D,), (D,))


# ---------------------------------------------------------------------- dense arrays
class Mine(np.ndarray):
    """A dense class of one's own."""


def test_a_rule_for_a_dense_class_overrides_the_card():
    @pa.sin.vjp.method
    def sin_vjp(ct, y, x: Mine, /):
        return (10.0 * ct * pa.cos(x),)

    f = lambda x: pa.sum(pa.sin(x))
    mine = X.view(Mine)
    close(pa.grad(f)(X), np.cos(X))
    close(pa.grad(f)(mine), 10 * np.cos(X))
    close(pa.vmap(pa.grad(f))(np.stack([X, X]).view(Mine)), 10 * np.cos([X, X]))
    close(pa.grad(lambda x: pa.sum(pa.vmap(pa.sin)(x)))(mine), 10 * np.cos(X))
    close(pa.jvp(f, (mine,), (mine,))[1], np.sum(X * np.cos(X)))  # the card's forward formula stays
    close(pa.make_ir(pa.grad(f))(mine)(mine), 10 * np.cos(X))
    close(pa.hessian(f)(mine), -10 * np.diag(np.sin(X)), atol=1e-12)

    @pa.sin.jvp.method
    def sin_jvp(dxs, y, x: Mine, /):
        return 10.0 * dxs[0] * pa.cos(x)

    close(pa.jvp(f, (mine,), (mine,))[1], np.sum(10 * X * np.cos(X)))
    close(pa.jvp(f, (X,), (X,))[1], np.sum(X * np.cos(X)))


def test_one_mode_gives_the_other_where_the_card_has_neither():
    @pa.opaque(kernel=None)
    def soft(x, w, /):
        """w log(1 + e^x)"""

    @soft.method
    def soft_dense(x: pa.HostArray, w: pa.HostArray, /):
        return w * np.log1p(np.exp(x))

    soft.rule("batch")(lambda size, xs, batched: soft(*xs))
    with pytest.raises(pa.MissingRuleError):
        pa.grad(lambda x: pa.sum(soft(x, X)))(X)

    @soft.vjp.method
    def soft_vjp(ct, y, x: pa.HostArray, w: np.ndarray, /):
        return ct * w / (1 + pa.exp(-x)), ct * pa.log1p(pa.exp(x))

    pa.check_grads(soft, (X, 2 * X), order=2)
    close(pa.jvp(lambda x: soft(x, X), (X,), (X,))[1], X * X / (1 + np.exp(-X)))
    with pytest.raises(pa.MissingRuleError, match="soft"):
        pa.grad(lambda x: soft(x, 2.0))(1.0)  # w is no ndarray


def test_a_device_kind():
    seen = []

    @pa.sin.vjp.method(pa.On[pa.CPU])
    def sin_vjp(ct, y, x: pa.Array, /):
        seen.append("cpu")
        return (ct * pa.cos(x),)

    @pa.sin.vjp.method(pa.On[pa.CUDA])
    def sin_vjp_cuda(ct, y, x: pa.Array, /):
        raise AssertionError("no such device here")

    close(pa.grad(lambda x: pa.sum(pa.sin(x)))(X), np.cos(X))
    close(pa.vmap(pa.grad(pa.sin))(X), np.cos(X))
    assert seen == ["cpu", "cpu"]


def test_composites_by_a_rule():
    """Not through the body: by a rule of the card or by type, under every layer."""
    expected = 1 / (1 + np.exp(-X))

    @pa.softplus.vjp.method
    def softplus_vjp(ct, y, x: np.ndarray, /):
        return (3.0 * ct / (1 + pa.exp(-x)),)

    f = lambda x: pa.sum(pa.softplus(x))
    close(pa.grad(f)(X), 3 * expected)
    close(pa.jvp(f, (X,), (X,))[1], 3 * X @ expected)
    close(pa.grad(lambda x: pa.sum(pa.vmap(pa.softplus)(x)))(X), 3 * expected)
    close(pa.vmap(pa.grad(pa.softplus))(X), 3 * expected)
    close(pa.grad(pa.make_ir(f)(X))(X), 3 * expected)
    close(pa.hessian(f)(X), np.diag(3 * expected * (1 - expected)), atol=1e-12)

    @pa.composite(kernel=None)
    def clipped(x, /):
        """x, its slope cut to 1"""
        return x * 5.0

    close(pa.grad(lambda x: pa.sum(clipped(x)))(X), 5)
    clipped.rule("vjp")([lambda ct, y, x: pa.clip(ct, -1.0, 1.0)])
    close(pa.grad(lambda x: pa.sum(clipped(x)))(X), 1)
    close(pa.grad(lambda x: pa.sum(7.0 * pa.vmap(clipped)(x)))(X), 1)


# ---------------------------------------------------------------------- registration, looking at rules


def test_calling_rules():
    """`op.vjp` and `op.jvp` give what these arguments have, for rules that build on others."""
    ct = np.ones((3, 3))
    same(pa.matmul.vjp(ct, D @ A, D.dense(), A), (ct @ A.T, D.dense().T @ ct))
    gD, gW = pa.matmul.vjp(ct, D @ A, D, A)
    assert type(gD) is Diagonal
    close(gD.diag, A.sum(axis=1))
    close(pa.matmul.jvp((D, None), D @ A, D, A), D @ A)
    close(pa.sin.vjp(2.0, np.sin(X), X)[0], 2 * np.cos(X))

    @pa.matmul.vjp.method
    def by_dense(ct, y, a: Diagonal, b: pa.Array, /):
        return pa.matmul.vjp(ct, y, a.dense(), b)

    gD, gW = pa.grad(loss, (0, 1))(D, A)
    assert type(gD) is Diagonal
    close(gW, D.diag[:, None] * np.cos(D @ A))


def test_other_types_are_as_without_rules():
    reverse_rule([])
    close(pa.grad(lambda x, y: pa.sum(x @ y), (0, 1))(A, A)[0], np.ones((3, 3)) @ A.T)
    close(D @ A, D.dense() @ A)


def test_a_transposed_rule_beside_a_collective():
    """Terms of a forward rule that are the same in all lanes, added to others that are not, count once in each lane."""

    @pa.opaque(kernel=None)
    def mixed(x, y, /):
        """x y + x²/2"""

    @mixed.method
    def mixed_dense(x: pa.HostArray, y: pa.HostArray, /):
        return x * y + x * x / 2

    mixed.rule("batch")(lambda size, xs, batched: mixed(*xs))

    @mixed.rule("jvp")
    def mixed_jvp(dxs, z, x, y):
        dx, dy = dxs
        parts = [] if dx is None else [dx * y + dx * x]
        parts += [] if dy is None else [x * dy]
        return sum(parts[1:], parts[0])

    f = lambda op: pa.vmap(pa.grad(lambda x: pa.sum(pa.sin(op(x, pa.psum(x * x, "i"))))), axis_name="i")(LANES.diag)
    close(f(mixed), f(lambda x, y: x * y + x * x / 2))


def test_a_rule_for_an_array_type_changes_nothing_for_plain_arrays(monkeypatch):
    """They were computed twice in Hessian products, by no formula, and kept whole for the walk back."""
    from collections import Counter

    def work():
        ran = Counter()
        with monkeypatch.context() as counting:
            for name in ("sin", "cos", "exp"):
                generic = getattr(pa, name).generic
                generic.clear()
                generic.function(np.ones(3))  # so that the entry has its kernel
                count = lambda x, name=name: ran.update([name]) or getattr(np, name)(x)
                counting.setitem(generic.namespace, "__kernel", count)
            pa.hvp(lambda x: pa.sum(pa.sin(x * 2.0) * pa.exp(x)), *[np.linspace(-1.0, 1.0, 5000)] * 2)
        return ran, [read(op.generic, [0], 1) for op in (pa.sin, pa.exp)], pa.which(pa.sin, Dual[1]).__name__

    before = work()

    @pa.sin.vjp.method
    def sin_vjp(ct, y, x: Diagonal, /): ...

    @pa.sin.jvp.method
    def sin_jvp(dxs, y, x: Diagonal | pa.OneHot, /): ...

    assert pa.sin.generic.rules and work() == before

    @pa.exp.vjp.method
    def exp_vjp(ct, y, x: Diagonal | np.ndarray, /):
        return (5.0 * ct,)

    assert work()[1] != before[1]
    close(pa.grad(lambda x: pa.sum(pa.exp(x)))(X), 5.0)
