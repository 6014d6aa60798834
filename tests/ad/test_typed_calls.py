"""Calls with a rule for an array type are one node, in every transformation."""

import numpy as np
import pytest

import polyad as pa
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
