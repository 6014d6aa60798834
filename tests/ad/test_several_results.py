"""Operations that give several results: declared as a user would, with one kind of rule at a time."""

from collections import namedtuple

import numpy as np
import pytest

import polyad as pa
from polyad.testing import check_rule

pytestmark = pytest.mark.quick

Pair = namedtuple("Pair", ["total", "places"])


def declare(name, **rules):
    """x, y -> (x sin y, x**2 + y, number of positive x): two floating results and an integer one."""

    def prototype(x, y, /):
        """x sin y, x² + y, and how many x are positive; x, y of equal shape."""

    prototype.__name__ = prototype.__qualname__ = name
    op = pa.opaque(kernel=None, numpy=())(prototype)

    def kernel(x: pa.HostArray, y: pa.HostArray, /):
        return x * np.sin(y), x**2 + y, np.sum(np.asarray(x) > 0)

    op.method(kernel)
    op.rule("shape")(lambda x, y: (x, x, pa.Aval((), np.dtype(np.intp))))
    op.rule("batch")(lambda size, xs, batched: batch(op, size, xs, batched))
    for rule, function in rules.items():
        op.rule(rule)(function)
    return op


def batch(op, size, xs, batched):
    x, y = [v if b else pa.broadcast_to(v, (size, *pa.dsl.avals.shape_of(v))) for v, b in zip(xs, batched)]
    return x * pa.sin(y), x**2 + y, pa.sum(x > 0, axis=tuple(range(1, len(x.shape))))


def jvp(dxs, results, x, y):
    dx, dy = dxs
    first = [d for d in (None if dx is None else dx * pa.sin(y), None if dy is None else dy * x * pa.cos(y)) if d is not None]
    second = [d for d in (None if dx is None else 2 * x * dx, dy) if d is not None]
    return sum(first[1:], first[0]), sum(second[1:], second[0]), None


def pulled(ct, parts):
    terms = [c * part for c, part in zip(ct, parts) if c is not None]
    return sum(terms[1:], terms[0]) if terms else None


vjp = [
    lambda ct, z, x, y: pulled(ct[:2], (pa.sin(y), 2 * x)),
    lambda ct, z, x, y: pulled(ct[:2], (x * pa.cos(y), 1.0)),
]

OPS = [
    declare("forward_only", jvp=jvp),
    declare("reverse_only", vjp=vjp),
    declare("both_ways", jvp=jvp, vjp=vjp),
]
X, Y = np.array([0.3, -0.8, 1.2]), np.array([0.5, 0.1, -0.7])


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.__name__)
def test_rules(op):
    check_rule(op, X, Y)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.__name__)
@pytest.mark.parametrize("used", [(0,), (1,), (0, 1), (1, 1)])
def test_some_results_used(op, used):
    """A result that is not used has no cotangent; one used twice has the sum of two."""
    f = lambda x, y: sum(pa.sum(op(x, y)[k] ** 2) for k in used)
    pa.check_grads(f, (X, Y), order=2)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.__name__)
def test_nested(op):
    f = lambda x: pa.sum(op(x, x)[0] * op(x, x)[1])
    lanes = np.stack([X, Y])
    np.testing.assert_allclose(pa.vmap(pa.grad(f))(lanes), np.stack([pa.grad(f)(X), pa.grad(f)(Y)]))
    program = pa.make_ir(pa.grad(f))(X)
    pa.dsl.ir.programs.check(program)
    np.testing.assert_allclose(program(X), pa.grad(f)(X))
    np.testing.assert_allclose(pa.hessian(f)(X), pa.hessian(f)(X).T, atol=1e-12)


def test_counts_are_constants():
    count = lambda x: OPS[2](x, x)[2]
    assert pa.grad(lambda x: pa.sum(x) * count(x))(X).tolist() == [2.0, 2.0, 2.0]
    assert pa.vmap(count)(np.stack([X, -X])).tolist() == [2, 1]


def test_named_results_keep_their_names():
    def prototype(x, /):
        """Sum and order of a vector."""

    prototype.__name__ = prototype.__qualname__ = "total_and_order"
    op = pa.opaque(kernel=None, numpy=())(prototype)
    op.method(lambda x: Pair(np.sum(x), np.argsort(x)))
    op.rule("shape")(lambda x: Pair(pa.Aval((), x.dtype), pa.Aval(x.shape, np.dtype(np.intp))))
    op.rule("jvp")(lambda dxs, y, x: (pa.sum(dxs[0]), None))
    seen = {}

    def f(x):
        seen["result"] = op(x)
        return seen["result"].total

    assert pa.grad(f)(X).tolist() == [1.0, 1.0, 1.0]
    assert type(seen["result"]) is Pair and isinstance(seen["result"].places, np.ndarray)
    assert type(pa.make_ir(op)(X)(X)) is Pair
