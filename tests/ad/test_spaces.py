"""Tangents of what is not linear, has integer leaves, or has no dense form."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import polyad as pa

close = np.testing.assert_allclose


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
        spec = importlib.util.spec_from_file_location(known, Path(__file__).parents[1] / "outside" / f"{name}.py")
        sys.modules[known] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[known])
    return sys.modules[known]


def same(found, expected):
    assert pa.tree.structure(found) == pa.tree.structure(expected)
    for a, b in zip(pa.tree.leaves(found), pa.tree.leaves(expected), strict=True):
        close(a, b, rtol=1e-12, atol=1e-12)


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
