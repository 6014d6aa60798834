"""Products at sizes at which BLAS is called, and below: axes of length 1, transpositions, strides of every kind."""

import itertools

import numpy as np
import pytest

import polyad as pa
from polyad.devices.codegen.lowerings.blas import layout
from polyad.devices.codegen.text.indices import Index

pytestmark = pytest.mark.unoptimized
TOLERANCE = {"f": 2e-4, "F": 2e-4, "d": 1e-12, "D": 1e-12}
LENGTHS = (1, 2, 300)


@pytest.fixture(autouse=True)
def silence(capfd):
    """BLAS says on standard error, not to its caller, what it does not compute."""
    yield
    out, err = capfd.readouterr()
    assert "illegal value" not in out + err


def numbers(rng, shape, dtype):
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype in "FD" else x).astype(dtype)


def strided(a, b):
    """Products of matrices with every kind of step between their elements: long, negative, none."""
    yield a[::-1] @ b
    yield a @ b[:, ::-1]
    yield a[:, ::-1] @ b[::-1]
    yield a.T.T[::2] @ b
    yield a @ b[:, ::2]
    yield a[:, ::2] @ b[::2]
    yield np.broadcast_to(a[:1], a.shape) @ b
    yield a @ np.broadcast_to(b[:, :1], b.shape)


def laid(x, turned):
    return x.T.copy() if turned else x


def agree(found, right, dtype, note):
    np.testing.assert_allclose(found, right, rtol=0, atol=TOLERANCE[dtype] * 100, err_msg=str(note))


@pytest.mark.parametrize("dtype, lengths", [("f", 300), ("d", 1), ("d", 2), ("d", 300), ("F", 300), ("D", 300)])
def test_transposed(dtype, lengths):
    """Values and gradients of products of all lengths, as they lie in memory by rows or by columns."""
    rng = np.random.default_rng(0)
    cases = list(itertools.product(LENGTHS, LENGTHS, LENGTHS, (False, True), (False, True)))
    cases = [case for case in cases if case[2] == lengths and case[:3].count(300) > (dtype != "d")]
    given = [(laid(numbers(rng, (m, k), dtype), s), laid(numbers(rng, (k, n), dtype), t)) for m, k, n, s, t in cases]
    weights = [numbers(rng, (m, n), dtype) for m, k, n, _, _ in cases]

    def f(given):
        total, made = 0.0, []
        for (_, _, _, s, t), (a, b), w in zip(cases, given, weights, strict=True):
            made.append((a.T if s else a) @ (b.T if t else b))
            total = total + np.sum(w * made[-1]).real
        return total, made

    (_, made), slopes = pa.jit(pa.value_and_grad(f, has_aux=True))(given)
    for case, y, (by_a, by_b), (a, b), w in zip(cases, made, slopes, given, weights, strict=True):
        s, t = case[3:]
        a, b = a.T if s else a, b.T if t else b
        agree(y, a @ b, dtype, case)
        agree(by_a.T if s else by_a, w @ b.T, dtype, case)
        agree(by_b.T if t else by_b, a.T @ w, dtype, case)


@pytest.mark.parametrize("dtype", "fdFD")
@pytest.mark.parametrize("lengths", [(2, 300, 300), (300, 2, 300), (300, 300, 2), (40, 41, 42), (8, 6, 4)])
def test_strides(dtype, lengths):
    rng = np.random.default_rng(1)
    n, k, m = lengths
    a, b = numbers(rng, (n, k), dtype), numbers(rng, (k, m), dtype)
    for position, (y, right) in enumerate(zip(pa.jit(lambda a, b: [*strided(a, b)])(a, b), strided(a, b), strict=True)):
        agree(y, right, dtype, position)


def pieces(n):
    """name -> (function of a matrix and a vector of n) in which there are outer products, of vectors as columns and rows."""
    return {
        "sine": lambda a, y: pa.sum(pa.sin(a.T @ y)),
        "quadratic": lambda a, y: y @ pa.linalg.solve(a, y),
        "triangle": lambda a, y: pa.sum(pa.linalg.solve_triangular(pa.tril(a), y, lower=True) ** 2),
        "outer": lambda a, y: pa.sum(pa.sin(pa.outer(y, y)) @ y),
        "einsum": lambda a, y: pa.einsum("ij,jk,k->", a / n, a / n, y),
        "likelihood": likelihood,
        "columns": lambda a, y: pa.sum(pa.cos(y[:, None] @ y[None]) * a),
    }


def likelihood(a, y):
    """Of a Gaussian process with a squared exponential kernel of the first column of a."""
    x = a[:, 0]
    kernel = pa.exp(-0.5 * (x[:, None] - x[None]) ** 2) + 0.5 * pa.eye(len(x))
    factor = pa.linalg.cholesky(kernel)
    z = pa.linalg.solve_triangular(factor, y, lower=True)
    return -0.5 * pa.sum(z * z) - pa.sum(pa.log(pa.diagonal(factor)))


@pytest.mark.parametrize("n", [2, 40, 300])
def test_programs_with_outer_products(n):
    rng = np.random.default_rng(n)
    a, y = rng.normal(size=(n, n)) + 2 * n**0.5 * np.eye(n), rng.normal(size=n)
    functions = pieces(n).values()
    every = lambda transform: lambda a, y: [transform(f)(a, y) for f in functions]
    for transform in (lambda f: f, lambda f: pa.grad(f, (0, 1))):
        found, right = pa.jit(every(transform))(a, y), every(transform)(a, y)
        for name, u, v in zip(pieces(n), found, right, strict=True):
            for p, q in zip(pa.tree.leaves(u), pa.tree.leaves(v), strict=True):
                np.testing.assert_allclose(p, q, rtol=1e-9, atol=1e-9, err_msg=name)


def test_leading_dimensions():
    at = lambda i, j: Index(0, [("i", i), ("j", j)])
    row, column, one = ("i", 5), ("j", 7), ("i", 1)
    assert layout(at(7, 1), row, column) == (False, 7) and layout(at(20, 1), row, column) == (False, 20)
    assert layout(at(1, 5), row, column) == (True, 5) and layout(at(0, 1), one, column) == (False, 7)
    assert layout(at(1, 0), row, ("j", 1)) == (False, 1) and layout(at(9, 0), row, ("j", 1)) == (False, 9)
    for place in (at(-7, 1), at(0, 1), at(6, 1), at(14, 2), at(1, 4), at(1, 0), at(2**31, 1)):
        assert layout(place, row, column) is None
