"""Sorting within compiled programs: NumPy's order for all numbers, and one C function where there were several steps."""

import numpy as np
import pytest

import polyad as pa
from polyad.devices.codegen.lowerings.sorting import LONG, RUN
from polyad.devices.compilers import find_compiler

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="there is no compiler")

# none, one, both sides of each bound between ways to sort, and of powers of 2 between them
LENGTHS = (0, 1, 2, RUN - 1, RUN, RUN + 1, 2 * RUN + 1, 100, 4 * LONG - 1, 4 * LONG, 8 * LONG - 1, 8 * LONG, 3000)


def compiled(f, *args, sources=1):
    """What the compiled function gives at its second call; it is that many C functions, and gives what the operations do."""
    g, wanted = pa.jit(f), f(*args)
    g(*args)
    found = g(*args)
    for a, b in zip(pa.tree.leaves(found), pa.tree.leaves(wanted), strict=True):
        assert (a.dtype, np.shape(a)) == (b.dtype, np.shape(b))
        np.testing.assert_array_equal(a, b)
    assert len(pa.jit.source(g)) == sources
    return found


def numbers(dtype, shape):
    """Numbers with ties, extremes and, if there are any, infinities, zeros of both signs and what is not a number."""
    rng, dtype = np.random.default_rng(len(shape)), np.dtype(dtype)
    x = rng.integers(-9 if dtype.kind in "if" else 0, 2 if dtype.kind == "b" else 10, shape).astype(dtype)
    kept = rng.random(shape)
    if dtype.kind == "f":
        x = np.where(kept < 0.3, rng.normal(size=shape), x).astype(dtype)
        for k, v in enumerate((np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0)):
            x[(kept > 0.4 + 0.1 * k) & (kept < 0.5 + 0.1 * k)] = v
    elif dtype.kind != "b":
        x[kept < 0.1], x[kept > 0.9] = np.iinfo(dtype).min, np.iinfo(dtype).max
    return x


def order(x, axis, descending):
    """Stable places, by NumPy."""
    if descending:
        turned = np.flip(x, axis)
        return np.flip(x.shape[axis] - 1 - np.argsort(turned, axis=axis, kind="stable"), axis)
    return np.argsort(x, axis=axis, kind="stable")


@pytest.mark.parametrize("n", LENGTHS)
def test_lengths(n):
    """Of keys of each width and kind, in one program."""
    ways = (lambda x: x, lambda x: x[:, ::-1].copy(), np.sort, lambda x: np.sort(x)[:, ::-1].copy())
    f = pa.jit(lambda *xs: [(pa.argsort(x), pa.argsort(x, descending=True)) for x in xs])
    for way in ways:
        given = [way(numbers(dtype, (3, n))) for dtype in "dflI"]
        for x, (up, down) in zip(given, f(*given), strict=True):
            np.testing.assert_array_equal(up, order(x, 1, False), err_msg=x.dtype.char)
            np.testing.assert_array_equal(down, order(x, 1, True), err_msg=x.dtype.char)


@pytest.mark.parametrize("dtype", "?bhilqBHILQfd")
def test_dtypes_and_axes(dtype):
    x = numbers(dtype, (3, 70, 2))

    def f(x):
        return [pa.argsort(x, axis=a, descending=d) for a in (0, 1, -1) for d in (False, True)] + [pa.argsort(x, axis=None)]

    found = compiled(f, x)
    for y, (a, d) in zip(found, [(a, d) for a in (0, 1, -1) for d in (False, True)], strict=False):
        np.testing.assert_array_equal(y, order(x, a, d))
    np.testing.assert_array_equal(found[-1], order(x.ravel(), 0, False))
    np.testing.assert_array_equal(compiled(lambda x: pa.sort(x, axis=1), x), np.sort(x, axis=1))


def test_every_number_of_a_width():
    every = np.arange(1 << 16, dtype=np.uint16)[::-1].copy()
    for dtype in ("H", "h"):
        np.testing.assert_array_equal(pa.jit(lambda x: pa.sort(x) + 0)(every.view(dtype)), np.sort(every.view(dtype)))
    bits = np.random.default_rng(0).integers(0, 1 << 32, 4000, dtype=np.uint32)  # subnormal, NaN of all kinds
    x = bits.view(np.float32)
    np.testing.assert_array_equal(pa.jit(pa.argsort)(x), np.argsort(x, kind="stable"))
    x = np.random.default_rng(0).integers(0, 1 << 64, 4000, dtype=np.uint64).view(np.float64)
    np.testing.assert_array_equal(pa.jit(pa.argsort)(x), np.argsort(x, kind="stable"))


def test_complex_numbers_are_left_to_numpy():
    z = np.array([1 + 2j, np.nan, 1 - 1j, 0.5, complex(1, np.nan)])
    g = pa.jit(lambda z: pa.sort(z * 2) + 1)
    for _ in range(2):
        np.testing.assert_array_equal(g(z), np.sort(z * 2) + 1)


def test_what_is_made_of_it():
    x = numbers("d", (4, 30)) + np.arange(30)
    x = np.where(np.isfinite(x), x, 0.0)
    compiled(lambda x: pa.median(x, axis=1) + 1, x)
    compiled(lambda x: (pa.quantile(x, 0.3, axis=0), pa.percentile(x, np.array([10.0, 90.0]))), x)
    compiled(lambda x: pa.partition(x, 3) + pa.sort(x)[:, ::-1], x)
    compiled(lambda x: pa.lexsort([pa.rint(x[0]), pa.rint(x[1])]) + 1, x)
    compiled(lambda x: pa.unique(pa.rint(x[0]), size=30) + 1, x)
    compiled(lambda x: pa.take_along_axis(x, pa.argsort(x, descending=True)[:, :3], axis=1) * 2, x)
    with_nan = np.where(x > 20, np.nan, x)
    compiled(lambda x: (pa.nanmedian(x, axis=1), pa.median(x, axis=0)), with_nan)


def test_in_loops_and_branches():
    x = np.random.default_rng(0).normal(size=(6, 9))

    def smoothed(x):
        return pa.scan(lambda c, row: (0.5 * c + pa.sort(row), pa.median(c)), x[0], x)

    compiled(smoothed, x)
    compiled(lambda x: pa.fori_loop(0, 4, lambda i, c: pa.sort(c + c[..., ::-1] * x, axis=0), x), x)
    compiled(lambda x: pa.while_loop(lambda c: pa.sum(c) < 50, lambda c: pa.sort(pa.abs(c) * 1.5, descending=True), x), x)
    compiled(lambda x: pa.cond(x[0, 0] < 0, lambda x: pa.sort(x, axis=1), lambda x: pa.argsort(x) * 1.0, x), x)
    long = np.random.default_rng(1).normal(size=(3, 3000))  # with memory that is not on the stack
    compiled(lambda x: pa.scan(lambda c, row: (pa.sort(c + row), c[0]), x[0], x), long)


def test_lanes():
    x = np.random.default_rng(0).normal(size=(5, 3, 20))
    compiled(pa.vmap(lambda x: pa.sort(x, axis=0) * 2), x)
    compiled(pa.vmap(lambda x: pa.sort(x, axis=None) * 2), x)
    compiled(pa.vmap(lambda x: pa.scan(lambda c, row: (pa.sort(c - row), pa.median(row)), x[0], x)), x)


def test_rows_that_threads_share():
    x = np.random.default_rng(0).normal(size=(64, 5000))
    compiled(lambda x: (pa.argsort(x) + 1, pa.sort(x.T, axis=0) * 2), x)


def test_derivatives():
    x = np.random.default_rng(0).normal(size=(3, 12))
    weights = np.arange(12.0)
    for f in (
        lambda x: pa.sum(pa.sort(x) * weights),
        lambda x: pa.sum(pa.median(x, axis=1) ** 2),
        lambda x: pa.sum(pa.quantile(x * x, 0.2, axis=0)),
        lambda x: pa.sum(pa.scan(lambda c, row: (pa.sort(c * row), pa.median(c)), x[0], x)[1]),
    ):
        g = pa.jit(pa.grad(f))
        g(x)
        np.testing.assert_allclose(g(x), pa.grad(f)(x), rtol=1e-12)
        assert len(pa.jit.source(g)) == 1
        np.testing.assert_allclose(pa.jit(lambda x, f=f: pa.jvp(f, (x,), (x,))[1])(x), pa.jvp(f, (x,), (x,))[1], rtol=1e-12)


def test_only_what_is_used_is_written():
    source = lambda n: pa.jit.source(jitted(n))[0]

    def jitted(n):
        g = pa.jit(lambda x: pa.sort(x) + 1)
        g(np.arange(float(n)))
        return g

    assert ["bytes_u64_8(" in source(n) for n in (5, 100, 3000)] == [False, False, True]
    assert ["merged_u64(" in source(n) for n in (5, 100, 3000)] == [False, True, False]
