"""Functions that are written out as text: for any number of arrays, whichever are followed, small and large ones."""

import itertools
import linecache
import traceback

import numpy as np
import pytest

import polyad as pa

CASES = {  # number of arrays, function of them
    "sin": (1, pa.sin), "exp": (1, pa.exp), "square": (1, pa.square), "negative": (1, pa.negative), "abs": (1, pa.abs),
    "sum": (1, lambda x: pa.sum(x, axis=0) * x / 70.0), "max": (1, lambda x: pa.max(x) * x), "sort": (1, lambda x: pa.sort(x)),
    "cumsum": (1, lambda x: pa.cumsum(x) / 70.0), "reshape": (1, lambda x: pa.reshape(x, shape=(1, -1)) ** 2),
    "slice": (1, lambda x: x[1:] * x[:-1]), "gather": (1, lambda x: x[[0, 2, 0]] ** 2),
    "same dtype": (1, lambda x: pa.astype(x, dtype=np.float64) * x), "whole": (1, lambda x: pa.astype(x, dtype=np.int64) * x),
    "add": (2, pa.add), "subtract": (2, pa.subtract), "multiply": (2, pa.multiply), "divide": (2, pa.divide),
    "maximum": (2, pa.maximum), "logaddexp": (2, pa.logaddexp), "hypot": (2, pa.hypot), "power": (2, pa.power),
    "matmul": (2, pa.matmul), "xlogy": (2, pa.xlogy), "broadcast": (2, lambda x, y: x[:, None] * y[:3]),
    "convolve": (2, lambda x, y: pa.convolve(x, y[:3])), "where": (3, lambda x, y, z: pa.where(x > 1.0, y, z)),
    "set": (2, lambda x, y: pa.at(x)[1].set(y[0] ** 2)), "add at": (2, lambda x, y: pa.at(x)[[1, 1]].add(y[:2] ** 2)),
    **{f"stack {n}": (n, lambda *xs: pa.stack(xs) ** 2) for n in (1, 4, 5)},
}  # fmt: skip


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def along(direction, f, xs):
    """The derivative of f at xs in a direction, by central differences."""
    moved = lambda h: f(*[x + h * d for x, d in zip(xs, direction, strict=True)])
    return (moved(1e-6) - moved(-1e-6)) / 2e-6


@pytest.mark.parametrize("size", [4, 5000])
@pytest.mark.parametrize("name", CASES)
def test_derivatives_by_any_of_the_arrays(name, size):
    count, f = CASES[name]
    rng = np.random.default_rng(3)
    xs, vs = rng.uniform(0.5, 1.5, (count, size)), rng.normal(size=(count, size)) / np.sqrt(size)
    w = rng.normal(size=np.shape(f(*xs)))
    for places in [p for n in {1, 2, count} for p in itertools.combinations(range(count), n)]:

        def of_some(*parts, places=places):
            given = list(xs)
            for i, part in zip(places, parts, strict=True):
                given[i] = part
            return f(*given)

        here, v = tuple(xs[list(places)]), tuple(vs[list(places)])
        slopes = pa.grad(lambda *parts: pa.sum(of_some(*parts) * w), argnums=tuple(range(len(places))))
        times_v = lambda *parts: sum(map(np.vdot, v, slopes(*parts)))
        close(pa.jvp(of_some, here, v)[1], along(v, of_some, here))
        close(times_v(*here), np.vdot(w, along(v, of_some, here)))
        close(sum(map(np.vdot, v, pa.jvp(slopes, here, v)[1])), along(v, times_v, here))


@pytest.mark.parametrize("transform", [pa.grad, lambda f: lambda x: pa.jvp(f, (x,), (x,))])
def test_a_traceback_shows_what_was_written(transform):
    """The lines of functions that are no part of a file, with the operation's name."""

    def broken(y, x):
        raise ZeroDivisionError

    op = pa.scalar_rule(np.sin, broken, name="cracked", vectorized=True)
    with pytest.raises(ZeroDivisionError) as caught:
        transform(lambda x: pa.sum(op(x)))(np.ones(3))
    frames = [f for f in traceback.extract_tb(caught.value.__traceback__) if f.filename.startswith("<generic cracked: ")]
    assert frames
    assert all(f.name == "cracked" and f.line for f in frames)
    assert "slope0(y, " in frames[-1].line
    linecache.checkcache()
    assert linecache.getline(frames[-1].filename, frames[-1].lineno).strip() == frames[-1].line


def test_equal_texts_are_compiled_once():
    pa.grad(lambda x: pa.sum(pa.sinh(x) + pa.cosh(x)))(np.ones(3))
    x = np.ones(3)
    with_code = lambda op: [t for cls, t in op.generic.table.items() if cls.__name__ == "Reverse[1]"]
    (first,), (second,) = with_code(pa.sinh), with_code(pa.cosh)
    assert first.__code__.co_code == second.__code__.co_code
    assert first.__code__.co_consts is second.__code__.co_consts or first.__code__.co_consts == second.__code__.co_consts
    assert first.__name__ == "sinh"
    np.testing.assert_allclose(pa.grad(lambda x: pa.sum(pa.sinh(x)))(x), np.cosh(x))
