"""Derivative rules by the types of the arguments: dense classes, device kinds and array types, in any nesting."""

import importlib.util
from pathlib import Path

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


def outside(name):
    """A stranger's array type from tests/outside, loaded once."""
    import sys

    known = f"outside_{name}"  # not `sparse`, which is a library's name
    if known not in sys.modules:
        spec = importlib.util.spec_from_file_location(known, Path(__file__).parents[2] / "outside" / f"{name}.py")
        sys.modules[known] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[known])
    return sys.modules[known]


def same(found, expected):
    assert pa.tree.structure(found) == pa.tree.structure(expected)
    for a, b in zip(pa.tree.leaves(found), pa.tree.leaves(expected), strict=True):
        close(a, b, rtol=1e-12, atol=1e-12)


# ---------------------------------------------------------------------- array types: one node
def loss(D, W):
    return pa.sum(pa.sin(D @ W))


USES = {
    "grad": lambda: pa.grad(loss, (0, 1))(D, A),
    "grad of the container": lambda: pa.grad(lambda D: loss(D, A))(D),
    "grad of the array": lambda: pa.grad(lambda W: loss(D, W))(A),
    "jvp": lambda: pa.jvp(lambda D, W: D @ W, (D, A), (2 * D, A.T)),
    "jvp of the container": lambda: pa.jvp(lambda D: D @ A, (D,), (2 * D,)),
    "jvp of the array": lambda: pa.jvp(lambda W: D @ W, (A,), (A.T,)),
    "hvp": lambda: pa.hvp(lambda D: loss(D, A), D, 3 * D),
    "hessian": lambda: pa.hessian(lambda d: loss(pa.Diagonal(d), A))(D.diag),
    "jacfwd of jacfwd": lambda: pa.jacfwd(pa.jacfwd(lambda d: loss(pa.Diagonal(d), A)))(D.diag),
    "jacrev of jacrev": lambda: pa.jacrev(pa.jacrev(lambda d: loss(pa.Diagonal(d), A)))(D.diag),
    "third": lambda: pa.jacfwd(pa.hessian(lambda t: loss(t * D, A)))(1.5),
    "vmap": lambda: pa.vmap(lambda D: D @ A)(LANES),
    "vmap of grad": lambda: pa.vmap(pa.grad(loss, (0, 1)), in_axes=(0, None))(LANES, A),
    "vmap over the array": lambda: pa.vmap(pa.grad(loss, (0, 1)), in_axes=(None, 0))(D, np.stack([A, A.T])),
    "grad of vmap": lambda: pa.grad(lambda L, W: pa.sum(pa.vmap(loss, in_axes=(0, None))(L, W)), (0, 1))(LANES, A),
    "jvp of vmap of grad": lambda: pa.jvp(pa.vmap(pa.grad(loss), in_axes=(0, None)), (LANES, A), (LANES, A)),
    "grad of vmap of grad": lambda: pa.grad(
        lambda W: pa.sum(pa.vmap(lambda D: pa.grad(loss, 1)(D, W))(LANES) ** 2)
    )(A),
    "vmap of vmap": lambda: pa.vmap(lambda W: pa.vmap(pa.grad(loss), in_axes=(0, None))(LANES, W))(np.stack([A, A.T])),
    "no lanes": lambda: pa.vmap(pa.grad(loss), in_axes=(0, None))(pa.Diagonal(np.zeros((0, 3))), A),
    "program": lambda: pa.make_ir(pa.grad(loss, (0, 1)))(D, A)(D, A),
    "grad of a program": lambda: pa.grad(pa.make_ir(loss)(D, A), (0, 1))(D, A),
    "vmap of grad of a program": lambda: pa.vmap(pa.grad(pa.make_ir(loss)(D, A)), in_axes=(0, None))(LANES, A),
    "jet": lambda: pa.jet(lambda d: loss(pa.Diagonal(d), A), (X,), ((X, X, X),)),
    "linearize": lambda: pa.linearize(lambda D: loss(D, A), D)[1](D),
    "checkpoint": lambda: pa.grad(pa.checkpoint(loss), (0, 1))(D, A),
    "scan": lambda: pa.grad(lambda D: pa.sum(pa.scan(lambda c, x: (pa.sin(D @ c) + x, c), A, np.ones((4, 3, 3)))[0]))(D),
    "loop": lambda: pa.jvp(lambda D: pa.fori_loop(0, 3, lambda i, c: pa.sin(D @ c), A), (D,), (D,)),
    "cond": lambda: pa.grad(lambda D: pa.sum(pa.cond(A[0, 0] < 0, lambda W: D @ W, lambda W: W, A)))(D),
    "sparse": lambda: pa.sparse_jacobian(lambda d: pa.ravel(pa.Diagonal(d) @ A))(X).toarray(),
    "lanes that disagree": lambda: pa.vmap(pa.grad(lambda D: loss(D, A) if D.diag[1] > 0.5 else loss(3 * D, A)))(LANES),
    "named axis": lambda: pa.vmap(pa.grad(lambda D: loss(D, pa.psum(D @ A, "i"))), axis_name="i")(LANES),
    "program of vmap of grad": lambda: pa.make_ir(pa.vmap(pa.grad(loss), in_axes=(0, None)))(LANES, A)(LANES, A),
}  # fmt: skip


def reverse_rule(counts):
    @pa.matmul.vjp.method
    def matmul_vjp_diagonal(ct, y, a: Diagonal, b: pa.Array, /):
        counts.append("vjp")
        assert type(a) is Diagonal and y.shape == ct.shape
        return pa.Diagonal(pa.sum(ct * b, axis=-1)), a @ ct


def forward_rule(counts):
    @pa.matmul.jvp.method
    def matmul_jvp_diagonal(dxs, y, a: Diagonal, b: pa.Array, /):
        counts.append("jvp")
        da, db = dxs
        assert da is None or type(da) is Diagonal
        parts = [p for p in (None if da is None else da @ b, None if db is None else a @ db) if p is not None]
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("rules", [(reverse_rule,), (forward_rule,), (reverse_rule, forward_rule)])
def test_a_rule_for_a_container_is_one_node(use, rules):
    """Both modes, partly followed, lanes, traces, orders: as without the rule, which is asked."""
    expected, counts = USES[use](), []
    for register in rules:
        register(counts)
    same(USES[use](), expected)
    assert counts or use == "vmap", "the rule was not asked"


def test_the_implementation_is_not_differentiated():
    """An array type whose own method no transformation can follow: the rule alone makes it differentiable."""

    @pa.array_type(leaves=("values",), linear=True)
    class Opaque(pa.Container):
        def __init__(self, values):
            self.values = values

        shape = property(lambda self: self.values.shape)
        dtype = property(lambda self: self.values.dtype)

    @pa.exp.method
    def exp_opaque(x: Opaque, /):
        assert type(x.values) is np.ndarray, "a followed value reached host code"
        return Opaque(np.exp(x.values))

    f = lambda v: pa.sum(pa.exp(Opaque(v)).values ** 2)
    with pytest.raises(AssertionError, match="host code"):
        pa.grad(f)(X)

    @pa.exp.vjp.method
    def exp_vjp_opaque(ct, y, x: Opaque, /):
        assert type(ct) is type(y) is Opaque
        return Opaque(ct.values * y.values)

    close(pa.grad(f)(X), 2 * np.exp(2 * X))
    close(pa.jvp(f, (X,), (X,))[1], np.sum(2 * X * np.exp(2 * X)))  # transposed
    close(pa.hessian(f)(X), np.diag(4 * np.exp(2 * X)))
    assert type(pa.grad(lambda x: pa.sum(pa.exp(x).values))(Opaque(X))) is Opaque
    with pytest.raises(AssertionError, match="host code"):
        pa.vmap(f)(np.stack([X, X]))  # what lanes do is not said by a derivative rule


def test_rules_of_results_that_are_containers():
    counts = []

    @pa.matmul.vjp.method
    def both(ct, y, a: Diagonal, b: Diagonal, /):
        counts.append(type(ct))
        assert type(y) is Diagonal
        return ct * b, a * ct

    f = lambda a, b: pa.sum(pa.sin((a @ b).diag) * X)
    E = pa.Diagonal(X)
    ga, gb = pa.grad(f, (0, 1))(D, E)
    assert type(ga) is type(gb) is Diagonal and counts == [Diagonal]
    close(ga.diag, np.cos(D.diag * X) * X * X)
    close(gb.diag, np.cos(D.diag * X) * X * D.diag)
    assert type(pa.hvp(lambda a: f(a, E), D, D)) is Diagonal
    assert type(pa.jvp(lambda a: a @ E, (D,), (D,))[1]) is Diagonal


def test_several_results():
    @pa.linalg.slogdet.vjp.method
    def slogdet_vjp(ct, y, x: Diagonal, /):
        dsign, dlog = ct
        assert type(y).__name__ == "SlogdetResult" and (dsign is None or dlog is None)
        return None if dlog is None else pa.Diagonal(dlog / x.diag)

    close(pa.grad(lambda D: pa.linalg.slogdet(D)[1])(D).diag, 1 / D.diag)
    close(pa.jvp(lambda D: pa.linalg.slogdet(D).logabsdet, (D,), (D,))[1], 3.0)


def test_sequences_and_parameters():
    asked = []

    @pa.concatenate.vjp.method
    def concatenate_vjp(ct, y, *xs: Diagonal, axis=0):
        asked.append(axis)
        out, at = [], 0
        for x in xs:
            out.append(pa.Diagonal(ct.diag[at : at + x.shape[0]]))
            at += x.shape[0]
        return tuple(out)

    L = pa.Diagonal(LANES.diag[:1])
    g = pa.grad(lambda a, b: pa.sum(pa.concatenate([a, b]).diag ** 2), (0, 1))(LANES, L)
    close(g[0].diag, 2 * LANES.diag)
    close(g[1].diag, 2 * L.diag)

    @pa.sum.vjp.method
    def sum_vjp(ct, y, x: Diagonal, /, **params):
        asked.append(params["axis"])
        return pa.Diagonal(ct * pa.ones_like(x.diag))

    close(pa.grad(lambda D: pa.sum(D))(D).diag, 1)
    assert asked == [0, None]


# ---------------------------------------------------------------------- strangers' types
def test_types_that_are_not_linear_have_tangents():
    LowRank = outside("low_rank").LowRank
    rng = np.random.default_rng(0)
    x, w = LowRank(rng.standard_normal((4, 2)), rng.standard_normal((3, 2))), rng.standard_normal((3, 3))
    f = lambda x, w: pa.sum(pa.sin(x @ w))
    uses = [
        lambda: pa.grad(f, (0, 1))(x, w),
        lambda: pa.jvp(f, (x, w), (x, w)),
        lambda: pa.hvp(lambda x: f(x, w), x, x),
        lambda: pa.grad(lambda u: f(LowRank(u, x.v), w))(x.u),
        lambda: pa.vmap(pa.grad(f), in_axes=(None, 0))(x, np.stack([w, w.T])),
        lambda: pa.jacfwd(pa.grad(lambda v: f(LowRank(x.u, v), w)))(x.v),
    ]
    expected, seen = [use() for use in uses], []

    @pa.matmul.vjp.method
    def rule(ct, y, a: LowRank, b: pa.Array, /):
        seen.append("vjp")
        outer = ct @ b.mT
        return pa.Tangent(LowRank, [outer @ a.v, outer.mT @ a.u]), a.v @ (a.u.mT @ ct)

    for use, e in zip(uses, expected, strict=True):
        seen.clear()
        same(use(), e)
        assert seen

    @pa.matmul.jvp.method
    def forward(dxs, y, a: LowRank, b: pa.Array, /):
        da, db = dxs
        assert da is None or isinstance(da, pa.Tangent)
        seen.append("jvp")
        y = 0 if da is None else da.u @ (a.v.mT @ b) + a.u @ (da.v.mT @ b)
        return y if db is None else y + a @ db

    for use, e in zip(uses, expected, strict=True):
        seen.clear()
        same(use(), e)
        assert seen


def test_integer_leaves():
    Sparse = outside("sparse").Sparse
    x = Sparse(X, np.array([0, 1, 1]), np.array([1, 0, 2]), 2, 3)
    f = lambda x, v: pa.sum((x @ v) ** 2)
    expected = pa.grad(f, (0, 1))(x, X), pa.jvp(f, (x, X), (x, X))

    @pa.matmul.vjp.method
    def rule(ct, y, a: Sparse, b: pa.Array, /):
        return (
            Sparse(pa.take(ct, a.rows) * pa.take(b, a.columns), a.rows, a.columns, a.n, a.m),
            pa.at(pa.zeros_like(b), a.columns).add(a.values * pa.take(ct, a.rows)),
        )

    same((pa.grad(f, (0, 1))(x, X), pa.jvp(f, (x, X), (x, X))), expected)

    @pa.matmul.vjp.method
    def by_tangent(ct, y, a: Sparse, b: pa.Array, /):
        values = pa.take(ct, a.rows) * pa.take(b, a.columns)
        return pa.Tangent(Sparse, [values, pa.NoTangent, pa.NoTangent], (a.n, a.m)), None

    same(pa.grad(f)(x, X), expected[0][0])
    close(pa.grad(f, 1)(x, X), 0)  # the rule says None


def test_types_without_a_dense_form():
    quantity = outside("quantity")
    Quantity, metre = quantity.Quantity, quantity.unit(m=1)
    q = Quantity(X, metre)
    f = lambda q: pa.sum((2.0 * q).value ** 2)
    expected = pa.grad(f)(q)

    @pa.multiply.vjp.method
    def rule(ct, y, a: pa.Array, b: Quantity, /):
        assert isinstance(ct, pa.Tangent) and ct.primal_type is Quantity
        return pa.NoTangent, pa.Tangent(Quantity, [a * ct.value], (b.unit,))

    same(pa.grad(f)(q), expected)

    @pa.multiply.vjp.method
    def dense(ct, y, a: pa.Array, b: Quantity, /):
        return None, a * ct.value

    text = r"multiply\.vjp: its reverse rule returned ndarray\(float64\[3\]\) for argument 'y'.*Tangent"
    with pytest.raises(pa.StructureError, match=text):
        pa.grad(f)(q)


# ---------------------------------------------------------------------- projection
def test_cotangents_are_projected_onto_the_structure():
    """Whatever form a rule gives its cotangents: dense, another structure, float64 of float32, complex of real."""
    expected = pa.grad(lambda D: loss(D, A))(D)
    forms = [
        lambda ct, a, b: ct @ b.mT,
        lambda ct, a, b: pa.Diagonal((ct @ b.mT)[[0, 1, 2], [0, 1, 2]]),
        lambda ct, a, b: pa.Tangent(Diagonal, [(ct @ b.mT)[[0, 1, 2], [0, 1, 2]]]),
        lambda ct, a, b: (ct @ b.mT) * (1 + 1j),
        lambda ct, a, b: pa.astype(ct @ b.mT, dtype=np.float64),
    ]
    for form in forms:
        pa.matmul.vjp.method(_annotated(lambda ct, y, a, b: (form(ct, a, b), None)))
        g = pa.grad(lambda D: loss(D, A))(D)
        assert type(g) is Diagonal and g.diag.dtype == np.float64
        close(g.diag, expected.diag)
        single = pa.grad(lambda D: loss(D, A.astype(np.float32)))(pa.Diagonal(D.diag.astype(np.float32)))
        assert single.diag.dtype == np.float32
        h = pa.hvp(lambda D: loss(D, A), D, D)
        assert type(h) is Diagonal


def _annotated(rule):
    def matmul_vjp(ct, y, a: Diagonal, b: pa.Array, /):
        return rule(ct, y, a, b)

    return matmul_vjp


@pytest.mark.parametrize("zero", [None, pa.NoTangent, pa.Zeros((3, 3))])
def test_symbolic_zeros(zero):
    pa.matmul.vjp.method(_annotated(lambda ct, y, a, b: (zero, zero)))
    gD, gW = pa.grad(loss, (0, 1))(D, A)
    assert type(gD) is Diagonal
    close(gD.diag, 0)
    close(gW, 0)

    @pa.sin.vjp.method
    def sin_vjp(ct, y, x: pa.HostArray, /):
        return (zero if zero is None or zero is pa.NoTangent else pa.Zeros(x.shape),)

    close(pa.grad(lambda x: pa.sum(pa.sin(x) + x))(X), 1)


def test_structured_cotangents_of_dense_arrays_become_dense():
    @pa.sin.vjp.method
    def sin_vjp(ct, y, x: np.ndarray, /):
        return (pa.Diagonal(pa.cos(x)[[0, 1, 2], [0, 1, 2]]),)

    g = pa.grad(lambda x: pa.sum(pa.sin(x)))(A)
    assert type(g) is np.ndarray
    close(g, np.diag(np.cos(np.diag(A))))


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


# ---------------------------------------------------------------------- declining, opting out
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


# ---------------------------------------------------------------------- registration, looking at rules
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


def test_code_of_a_program_with_a_rule():
    reverse_rule([])
    for f, args in ((loss, (D, A)), (pa.vmap(loss, in_axes=(0, None)), (LANES, A))):
        program = pa.make_ir(f)(*args)
        assert "ruled_call" in str(program) and "ruled_call" not in program.code
        namespace = {}
        exec(program.code, namespace)
        close(namespace[program.name](args[0].diag, A), f(*args))


def test_changed_buffers_are_noticed():
    reverse_rule([])
    with pa.debug_mutation():
        W = A.copy()
        y, pullback = pa.vjp(lambda D: D @ W, D)
        W[0, 0] = 7.0
        with pytest.raises(pa.MutationError):
            pullback(np.ones((3, 3)))


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
