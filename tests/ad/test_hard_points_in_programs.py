"""Hard points in every setting: a gradient is the same where the function runs as it is, in programs, loops, choices, lanes.

The rows are those of the page of conventions and of the bug reports, and programs whose cotangents are zero for a reason (what
is not chosen, not read, overwritten, weighed by zero) at arguments where slopes are infinite or NaN.
"""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import polyad as pa


def beside(name):
    """Another module of these tests."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


pytestmark = pytest.mark.unoptimized
conventions, cases = beside("test_conventions"), beside("test_cases")
GROUP = 8  # rows in one program
NAN, INF = np.nan, np.inf
BAD = np.array([1.0, NAN, 2.0, INF, 0.0])
weights = np.array([1.0, 0.0, 2.0, 0.0, 0.5])
hard = lambda x: x * pa.log(x)  # infinite slope at 0, NaN at NaN
wild = lambda x: pa.tanh(x * x) * pa.exp(x)
calm = lambda c: 0.5 * pa.tanh(c)

ZEROS = {
    "carry": lambda x: pa.sum(pa.scan(lambda c, e: (calm(c * e), c + e), 0.0, x, reverse=True)[1][:2]),
    "carry-backwards": lambda x: pa.sum(pa.scan(lambda c, e: (calm(c * e), c + e), 0.0, x, reverse=True)[1]),
    "carry-forwards": lambda x: pa.sum(pa.scan(lambda c, e: (calm(c * e), c + e), 0.0, x[::-1])[1]),
    "last-carry": lambda x: pa.scan(lambda c, e: (e * 0.5, wild(e * c)), 1.0, x)[0],
    "weights": lambda x: pa.sum(weights * wild(x)),
    "weights-inside": lambda x: pa.sum(pa.sin(weights * pa.where(weights > 0, wild(x), 1.0))),
    "mask": lambda x: pa.sum(wild(x) * (weights > 0)),
    "where": lambda x: pa.sum(pa.where(weights > 0, wild(x), 0.0)),
    "index": lambda x: wild(x)[0] + hard(x)[2],
    "slice": lambda x: pa.sum(wild(x * x)[::2][:2]),
    "gather": lambda x: pa.sum(wild(x)[np.array([0, 0, 2])]),
    "boolean": lambda x: pa.sum(wild(x)[weights > 0]),
    "take": lambda x: pa.sum(pa.take(wild(x), np.array([2, 0]))),
    "overwritten": lambda x: pa.sum(pa.at(wild(x), np.array([1, 3])).set(0.0)),
    "overwritten-slice": lambda x: pa.sum(pa.at(wild(x), slice(1, 5)).set(x[0])),
    "max": lambda x: pa.max(pa.stack([x[0] * 1.0, x[2] * 1.0])) + wild(x)[0],
    "maximum": lambda x: pa.sum(pa.maximum(wild(pa.where(x > 0, x, 1.0)), pa.exp(-x) - 1e9)),
    "clip": lambda x: pa.sum(pa.clip(wild(x[2:4]), -1.0, 1.0)),
    "nanmax": lambda x: pa.nansum(wild(x)),
    "nanmean": lambda x: pa.nanmean(hard(x)[:3]),
    "sort": lambda x: pa.sort(hard(x))[0],
    "concatenate": lambda x: pa.sum(pa.concatenate([wild(x), x])[2:3]),
    "roll": lambda x: pa.roll(wild(x), 2)[2],
    "pad": lambda x: pa.sum(pa.pad(wild(x), 1)[:2]),
    "triangle": lambda x: pa.sum(pa.tril(pa.outer(pa.ones_like(x), wild(x)))[0]),
    "diagonal": lambda x: pa.diag(wild(x))[0, 0],
    "stack": lambda x: pa.sum(pa.stack([wild(x), hard(x)])[:, 2]),
    "split": lambda x: pa.sum(pa.split(wild(x), [1])[0]),
    "flip": lambda x: pa.flip(wild(x))[-1],
    "cumsum": lambda x: pa.cumsum(wild(x))[0],
    "cumprod": lambda x: pa.cumprod(wild(x))[0],
    "unused-result": lambda x: pa.cond(x[0] > 0, lambda v: (v[0] * 2.0, wild(v)), lambda v: (v[2] * 1.0, hard(v)), x)[0],
    "branch": lambda x: pa.cond(x[0] > 0, lambda v: wild(v[0]), lambda v: pa.sum(wild(v)), x),
    "switch": lambda x: pa.switch(1, [lambda v: pa.sum(wild(v)), lambda v: hard(v[2])], x),
    "while": lambda x: pa.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, wild(c[1]), c[2] * 2.0), (0, x, x[0]))[2],
    "fori": lambda x: pa.fori_loop(0, 3, lambda i, c: (c[0] + x[2 * i] * (i < 2), c[1] * wild(x[i])), (0.0, 1.0))[0],
    "map": lambda x: pa.map(lambda e: wild(e), x)[0],
    "lanes": lambda x: pa.vmap(wild)(x)[2],
    "product": lambda x: pa.sum(pa.prod(pa.stack([x, weights]), axis=0)[:1] * wild(x)[:1]),
    "quotient": lambda x: pa.sum(weights / wild(x)),
    "power": lambda x: pa.sum(weights * x**1.5),
    "sqrt": lambda x: pa.sum(weights * pa.sqrt(x)),
    "log": lambda x: pa.sum(pa.where(x > 0, pa.log(x), 0.0)[:1]),
    "softmax": lambda x: pa.sum(pa.softmax(pa.where(weights > 0, wild(x)[:5] * 0.0, -INF))[:1]) + x[0],
    "logsumexp": lambda x: pa.logsumexp(pa.where(weights > 0, pa.cos(x), -INF)),
    "slope": lambda x: pa.sum(weights * pa.vmap(pa.grad(wild))(x)),
    "checkpoint": lambda x: pa.checkpoint(wild)(x)[0],
    "add-at": lambda x: pa.at(pa.zeros(3), np.array([0, 1, 0, 1, 2])).add(wild(x))[0],
    "linear": lambda x: pa.sum(pa.tanh(x * 1.0)[0] * pa.sin(x)[2]),
}


def rows():
    for text, args, *_ in conventions.REAL:
        f = conventions.value(f"lambda {'xyz'[: len(args)].replace('', ',')[1:-1]}: {text}")
        yield conventions.label((text, args)), f, args
    for name, (f, args, _) in cases.GRADIENTS.items():
        if name not in PYTHON:
            yield name, f, args
    for name, f in ZEROS.items():
        yield name, f, (BAD,)


PYTHON = {"B8", "C6", "B10", "B12", "G10", "G10-two"}  # which ask Python for values that a program does not have
ROWS = {name: row for name, *row in rows()}
ORDER = ["scan", "carry", "cond", "while", "fori", "checkpoint", "vmap", "jit", "program"]


def some(name, f):
    """One of the settings of a row's function, another for each row; two where cotangents are zero for a reason."""
    start, all_of_them = 2 * list(ROWS).index(name), settings(f)
    return [(where, all_of_them[where]) for where in [ORDER[(start + k) % len(ORDER)] for k in range(1 + (name in ZEROS))]]


def settings(f):
    """Functions of the same arguments with the same value, by name."""
    one = lambda step: lambda *xs: step(lambda *ys: pa.asarray(f(*ys)) * 1.0, xs)
    return {
        "scan": one(lambda g, xs: pa.scan(lambda c, e: (c, g(*c)), xs, None, length=2)[1][1]),
        "carry": one(lambda g, xs: pa.scan(lambda c, e: ((c[0], g(*c[0])), None), (xs, g(*xs)), None, length=2)[0][1]),
        "cond": one(lambda g, xs: pa.cond(pa.sum(xs[0]) * 0.0 != 1.0, lambda *ys: g(*ys), lambda *ys: g(*ys) * 0.0, *xs)),
        "while": one(lambda g, xs: pa.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, c[1], g(*c[1])), (0, xs, g(*xs)))[2]),
        "fori": one(lambda g, xs: pa.fori_loop(0, 2, lambda i, c: g(*xs), g(*xs))),
        "checkpoint": one(lambda g, xs: pa.checkpoint(g)(*xs)),
        "vmap": one(lambda g, xs: pa.vmap(g)(*[pa.stack([x, x]) for x in xs])[0]),
        "jit": lambda *xs: pa.jit(f)(*xs),
        "program": lambda *xs: pa.make_ir(f)(*xs)(*xs),
    }  # fmt: skip


def same(found, wanted, what):
    for a, b in zip(pa.tree.leaves(found), pa.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12, err_msg=what)


def compiled(transform, row):
    """Compare what a transformation makes of functions, in one program, with what is known. row: (name, function, arguments,
    wanted) of each."""
    found = pa.jit(lambda given: [transform(f, len(xs))(*xs) for (_, f, *_), xs in zip(row, given)])(
        [args for _, _, args, _ in row]
    )
    for (what, _, _, wanted), slopes in zip(row, found, strict=True):
        same(slopes, wanted, f"{what}, compiled")


def in_groups(names):
    """A mark for tests of several rows each, to compile less often."""
    groups = [names[k : k + GROUP] for k in range(0, len(names), GROUP)]
    return pytest.mark.parametrize("names", groups, ids=lambda names: f"{names[0]}-{names[-1]}")


gradient = lambda g, n: pa.grad(g, tuple(range(n)))
jacobian = lambda g, n: pa.jacfwd(g, tuple(range(n)))


@in_groups(list(ROWS))
def test_reverse_mode(names):
    rows = []
    with np.errstate(all="ignore"):
        for name in names:
            f, args = ROWS[name]
            slopes = gradient(f, len(args))
            wanted = slopes(*args)
            same(pa.make_ir(slopes)(*args)(*args), wanted, f"{name}: program")
            rows.append((name, f, args, wanted))
            for where, g in some(name, f):
                same(gradient(g, len(args))(*args), wanted, f"{name}: {where}")
                rows.append((f"{name}: {where}", g, args, wanted))
        compiled(gradient, rows)


@in_groups([*ZEROS, *[name for name in cases.GRADIENTS if name not in PYTHON]])
def test_forward_mode(names):
    rows = []
    with np.errstate(all="ignore"):
        for name in names:
            f, args = ROWS[name]
            wanted = jacobian(f, len(args))(*args)
            for where, g in some(name, f):
                same(jacobian(g, len(args))(*args), wanted, f"{name}: {where}")
                rows.append((f"{name}: {where}", g, args, wanted))
        compiled(jacobian, rows)


@pytest.mark.parametrize("outer", ["fori", "cond", "scan"])
def test_forward_through_loops_inside_of_loops(outer):
    """The inner loop reads a followed value from outside of both, and is a step of the outer loop's program."""
    x = np.array([1.0, 2.0, 3.0])
    g = settings(lambda x: pa.scan(lambda c, e: (c * e, None), 1.0, x)[0])[outer]
    for f in (g, pa.jit(g)):
        np.testing.assert_allclose(pa.make_ir(lambda x: pa.jvp(f, (x,), (x,))[1])(x)(x), 18.0)
        np.testing.assert_allclose(pa.jit(pa.jacfwd(f))(x), [6.0, 3.0, 2.0])
