"""From cards to dependence: the patterns of each card, first and second order, cover what is not zero."""

import numpy as np
import pytest

import polyad as pa
from polyad.dsl import operations
from polyad.dsl.avals import dtype_of
from polyad.testing.rules import _differentiable


def nonzero(matrix):
    return np.asarray(matrix) != 0


def covers(pattern, matrix):
    """The pattern has every entry of the matrix that is not zero."""
    matrix = np.asarray(matrix).reshape(pattern.shape)
    assert not (nonzero(matrix) & ~pattern.toarray()).any()


def exact(pattern, matrix):
    assert np.array_equal(pattern.toarray(), nonzero(np.asarray(matrix).reshape(pattern.shape)))


smooth = [pytest.param(op, id=name) for name, op in operations.items() if op.card.samples and op.card.differentiable]
each_operation = pytest.mark.parametrize("op", smooth)


def samples(op):
    """Each sample of an operation by its number, for `each`."""
    return {f"sample {i}": (op, make) for i, make in enumerate(op.card.samples)}


def floating(op, make):
    """The operation as a function of its floating arguments that returns its floating results, and these arguments."""
    f, xs = _differentiable(op, *make(np.random.default_rng(7)))
    return (lambda *v: [y for y in pa.tree.leaves(f(*v)) if dtype_of(y).kind in "fc"]), xs


def slopes(f, xs):
    """Which entries of the Jacobian are not zero, along real or imaginary directions."""
    columns = []
    for k, x in enumerate(xs):
        for j in range(np.size(x)):
            seen = 0
            for one in (1, 1j) if dtype_of(x).kind == "c" else (1,):
                dxs = [np.zeros(np.shape(v), dtype_of(v)) for v in xs]
                dxs[k].reshape(-1)[j] = one
                dy = pa.jvp(f, xs, tuple(dx[()] for dx in dxs))[1]
                seen = seen | nonzero(np.concatenate([np.ravel(t) for t in dy])) if dy else np.zeros(0, bool)
            columns.append(seen)
    return np.stack(columns, axis=1)


@pytest.mark.filterwarnings("ignore")
@each_operation
def test_pattern_of_a_card(op, each):
    each(samples(op), covers_the_jacobian)


def covers_the_jacobian(op, make):
    f, xs = floating(op, make)
    if not xs or not sum(map(np.size, xs)):
        return
    true = slopes(f, xs)
    everywhere = pa.jacobian_sparsity(f, tuple(range(len(xs))))(*xs)
    here = pa.jacobian_sparsity(f, tuple(range(len(xs))), local=True)(*xs)
    covers(everywhere, true)
    covers(here, true)
    covers(everywhere, here.toarray())
    if op.card.kind == "elementwise":
        exact(here, true)
    if op.card.kind == "linear" and op.card.home != "fft":  # fft cuts and fills up
        exact(everywhere, true)


@pytest.mark.filterwarnings("ignore")
@each_operation
def test_hessian_of_a_card(op, each):
    each(samples(op), covers_the_hessian)


def covers_the_hessian(op, make):
    f, xs = floating(op, make)
    if not xs or any(dtype_of(x).kind == "c" for x in xs):
        return

    def g(*v):
        return sum((pa.sum(pa.sin(pa.abs(y) + 0.3)) for y in f(*v)), start=0.0)

    if dtype_of(g(*xs)).kind != "f" or not sum(map(np.size, xs)):
        return
    where = tuple(range(len(xs)))
    blocks = pa.hessian(g, where)(*xs)
    dense = np.block([[np.reshape(b, (np.size(x), np.size(y))) for b, y in zip(row, xs)] for row, x in zip(blocks, xs)])
    pattern = pa.hessian_sparsity(g, where)(*xs)
    covers(pattern, dense)
    if make is not op.card.samples[0]:
        return  # what follows comes of the pattern and of first derivatives' local ones, checked for each sample
    covers(pa.hessian_sparsity(g, where, local=True)(*xs), dense)
    np.testing.assert_allclose(pa.sparse_hessian(g, where, pattern=pattern)(*xs).toarray(), dense, rtol=1e-6, atol=1e-8)
