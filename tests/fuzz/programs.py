"""Programs beside the cards: what has no sample, and what meets in programs (products, factors, sums, loops)."""

import itertools

import polyad as pa

normal = lambda *shape: lambda rng: rng.standard_normal(shape)
positive = lambda *shape: lambda rng: rng.uniform(0.5, 1.5, shape)
heavy = lambda *shape: lambda rng: 1e4 + rng.uniform(0, 1, shape)


def sample(*makers):
    return lambda rng: (tuple(make(rng) for make in makers), {})


def definite(A):
    return A @ pa.conj(pa.swapaxes(A, -1, -2)) + 2.0 * pa.astype(pa.eye(A.shape[-2]), A.dtype)


def likelihood(x, y):
    """The log likelihood of a Gaussian process, but for a constant."""
    d = x[:, None] - x[None, :]
    K = pa.exp(-0.5 * d * d) + 0.1 * pa.astype(pa.eye(x.shape[0]), x.dtype)
    L = pa.linalg.cholesky(K)
    z = pa.linalg.solve_triangular(L, y, lower=True)
    return -0.5 * pa.sum(z * z) - pa.sum(pa.log(pa.diagonal(L)))


def rows(x):
    return pa.reshape(x, (10, -1))


def lower(A):
    return pa.tril(A) * 0.1 + 2.0 * pa.astype(pa.eye(A.shape[-1]), A.dtype)


vector, matrix = sample(normal(3)), sample(normal(3, 4))
PROGRAMS = {
    "cholesky of a product": (lambda A: pa.linalg.cholesky(definite(A)), [sample(normal(3, 4))]),
    "eigvalsh of a product": (lambda A: pa.linalg.eigvalsh(definite(A)), [sample(normal(3, 4))]),
    "quadratic form of an inverse": (lambda A, y: y @ pa.linalg.solve(definite(A), y), [sample(normal(3, 2), normal(3))]),
    "square of a triangular solution": (
        lambda A, y: pa.sum(pa.linalg.solve_triangular(lower(A), y, lower=True) ** 2), [sample(normal(3, 3), normal(3))],
    ),
    "sine of an outer product": (lambda y, z: pa.sum(pa.sin(pa.outer(y, z)) @ z), [sample(normal(3), normal(3))]),
    "outer product": (lambda y, z: pa.outer(y, z) @ z, [sample(normal(3), normal(4))]),
    "three factors": (lambda A, y, z: pa.einsum("ij,jk,k->", A, y, z), [sample(normal(3, 4), normal(4, 2), normal(2))]),
    "sine of a product": (lambda K, y: pa.sin(K.T @ y), [sample(normal(3, 4), normal(3))]),
    "likelihood": (likelihood, [sample(normal(3), normal(3))]),
    "network": (lambda x, w, v: pa.tanh(x @ w) @ v, [sample(normal(5, 3), normal(3, 4), normal(4, 2))]),
    "inner product of large numbers": (lambda x, y: x @ y, [sample(heavy(3), heavy(3))]),
    "sum over columns": (lambda x: pa.sum(rows(x).T, axis=0), [sample(heavy(10))]),
    "sum of a transpose": (lambda x: pa.sum(rows(x).T), [sample(heavy(10))]),
    "sum of large numbers": (lambda x: (pa.sum(x), pa.mean(x)), [sample(heavy(3)), sample(heavy(4, 3))]),
    "mean of small numbers": (lambda x: pa.mean(1e-4 * x), [sample(positive(3)), sample(positive(2, 3))]),
    "mean of numbers near the largest": (lambda x: pa.mean(3e4 * x), [sample(positive(3))]),
    "variance of a transpose": (lambda x: pa.var(rows(x).T), [sample(heavy(10))]),
    "slice": (lambda x: x[1:], [vector, matrix]),
    "slices": (lambda x: x[::-1] * 2.0 + x[-1:], [vector, matrix]),
    "foreign result": (lambda x: pa.astype(x, ">f8"), [vector]),
    "as they are": (lambda x, y: (x, y.T), [sample(normal(3), normal(3, 4))]),
    "scan": (lambda x: pa.scan(lambda c, e: (0.5 * pa.tanh(c) + e, c * e), pa.zeros_like(x[0]), x), [vector, matrix]),
    "cond": (lambda x: pa.cond(pa.sum(pa.real(x)) > 0, lambda: pa.tanh(x), lambda: x * 2.0), [vector, matrix]),
    "while": (
        lambda x: pa.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, pa.sin(c[1]) + 0.1 * c[1][::-1]), (0, x))[1], [vector],
    ),
    "fori": (lambda x: pa.fori_loop(0, 3, lambda i, c: pa.at(c, i % x.shape[0]).multiply(0.5), x), [vector, matrix]),
    "lanes": (lambda x: pa.vmap(lambda r: pa.sum(r) * 0.1 + r * r)(x), [matrix]),
}  # fmt: skip


SUMS = [name for name in PROGRAMS if "numbers" in name or name.startswith(("sum o", "variance"))]


def product(left, right, batch):
    """A product of matrices that arrive transposed or not."""
    turn = lambda A, turned: pa.swapaxes(A, -1, -2) if turned else A
    return lambda A, B: turn(A, left) @ turn(B, right)


for _left, _right, _batch in itertools.product((False, True), (False, True), ((), (2,))):
    _A, _B = ((4, 3) if _left else (3, 4)), ((5, 4) if _right else (4, 5))
    _name = f"product{' turned' * _left}{' by turned' * _right}{' in lanes' * bool(_batch)}"
    PROGRAMS[_name] = (product(_left, _right, _batch), [sample(normal(*_batch, *_A), normal(*_batch, *_B))])
