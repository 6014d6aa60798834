"""Errors of sums and products of many numbers near 10⁴ in compiled code: as of NumPy's sums in blocks, in every direction."""

import numpy as np
import pytest

import polyad as pa

COUNTS = (500, 513, 100_003, 1_000_000)  # below a block, above one, uneven, many


def pair(n, dtype):
    """Two rows of numbers near 10⁴, no two sums of which round alike."""
    rng = np.random.default_rng(n)
    found = [1e4 + rng.normal(size=n) for _ in range(2)]
    if dtype in "FD":
        found = [x + 1j * (1e4 + rng.normal(size=n)) for x in found]
    return [x.astype(dtype) for x in found]


def tens(x):
    """As many whole rows of ten as there are."""
    return x[: len(x) // 10 * 10]


SUMS = {
    "sum": lambda a, b: np.sum(a),
    "dot": lambda a, b: a @ b,
    "dot with steps": lambda a, b: a[::2] @ b[::-2] if len(a) % 2 == 0 else a[::2] @ b[::2],
    "product of rows": lambda a, b: (a[None] @ b[:, None])[0, 0],
    "fused": lambda a, b: np.sum(a * b + a),
    "transpose": lambda a, b: np.sum(tens(a).reshape(10, -1).T),
    "transposed rows": lambda a, b: np.sum(tens(a).reshape(-1, 10).T, axis=1),
    "last": lambda a, b: np.sum(tens(a).reshape(10, -1), axis=1),
    "first and last": lambda a, b: np.sum(tens(a).reshape(5, -1, 2), axis=(0, 2))[:3],
    "steps within rows": lambda a, b: np.sum(tens(a).reshape(-1, 10)[:, ::3]),
    "matrix by vector": lambda a, b: tens(a).reshape(10, -1) @ tens(b)[: len(b) // 10],
    "column by column": lambda a, b: np.sum(tens(a * b).reshape(10, -1).T, axis=0),
    "mean of a transpose": lambda a, b: np.mean(tens(a).reshape(10, -1).T),
    "einsum": lambda a, b: np.einsum("i,i->", a, b),
    "in a loop": lambda a, b: pa.fori_loop(0, 2, lambda i, s: s * 0.5 + a @ b, a[0] * 0),
}


@pytest.mark.parametrize("dtype", "fdFD")
@pytest.mark.parametrize("n", COUNTS)
def test_sums(dtype, n):
    args, exact = pair(n, dtype), [x.astype(np.clongdouble if dtype in "FD" else np.longdouble) for x in pair(n, dtype)]
    eps = np.finfo(dtype).eps
    results = pa.jit(lambda a, b: {name: f(a, b) for name, f in SUMS.items()})(*args)
    for name, found in results.items():
        plain = {"in a loop": lambda a, b: 1.5 * (a @ b), "einsum": lambda a, b: a @ b}.get(name, SUMS[name])
        right = plain(*exact)
        assert np.max(abs(found - right)) <= 16 * eps * np.max(abs(right)), name


@pytest.mark.parametrize("dtype", "fdFD")
@pytest.mark.parametrize("n", (500, 513, 1000, 100_003))
def test_equal_numbers(dtype, n):
    """Whose sums are all rounded to the same side."""
    x = np.full(n, 0.5152 - 0.1311j if dtype in "FD" else 0.5152).astype(dtype)
    right, eps = n * x[0].astype(np.clongdouble if dtype in "FD" else np.longdouble), np.finfo(dtype).eps
    for found in pa.jit(lambda x: [np.sum(x), np.sum(x[::-1]), x @ (x * 0 + 1)])(x):
        assert abs(found - right) <= 16 * eps * abs(right)


@pytest.mark.parametrize("dtype", "fd")
def test_spread_of_a_transpose(dtype):
    a, _ = pair(1_000_000, dtype)
    right = np.var(a.astype(np.longdouble))
    for f in (lambda x: pa.var(x.reshape(10, -1).T), lambda x: pa.var(x.reshape(1000, -1).T), pa.var):
        assert abs(pa.jit(f)(a) / right - 1) < 1e3 * np.finfo(dtype).eps


def test_slopes():
    """The dot product in the slope of a quotient, and the sums that go back through a broadcast."""
    a, b = pair(1_000_000, "f")
    f = lambda s, a, b: pa.sum((a * s) * b) + (a * s) @ b
    right = 2 * np.dot(a.astype(float), b.astype(float))
    assert abs(pa.jit(pa.grad(f))(np.float32(1.0), a, b) / right - 1) < 16 * np.finfo("f").eps
