"""What only large arrays do (rows, threads, blocks, chunks, stages), tried on small ones: with the bounds of all that set low,
random programs give what their operations give."""

import os

import numpy as np
import pytest

import polyad as pa
from polyad.devices import compilers
from polyad.devices.codegen.control import sizes
from polyad.devices.codegen.loops import emission, fusion, groups, padding, splitting
from polyad.devices.codegen.program import compiled
from polyad.dsl.ir.passes import optimized
from polyad.dsl.ir.programs import evaluate

pytestmark = pytest.mark.optimized

SEEDS = range(int(os.environ.get("POLYAD_RANDOM_PROGRAMS", "40")))  # more of them for a longer search
MOST = 3000  # elements of a value
LOW = [
    (fusion, "LARGE", 2), (fusion, "FEWEST", 1), (groups, "PARALLEL", 1),
    (emission, "BLOCK", 4), (emission, "CHUNKS", 3), (emission, "TILE", 2),
    (splitting, "TILES", ((4, 32), (2, 64))), (splitting, "LANES", 1), (padding, "LANES", 2), (sizes, "LARGEST", 4),
]  # fmt: skip


@pytest.fixture(autouse=True)
def low(monkeypatch):
    for module, name, value in LOW:
        monkeypatch.setattr(module, name, value)


def step(rng, values):
    """One more value, made of some of those so far."""
    pick = lambda options: options[rng.integers(len(options))]
    x = pick(values)
    axis = int(rng.integers(x.ndim)) if x.ndim else None
    kind = pick([*KINDS, "unary", "binary", "reduce"])
    if kind in ("place", "loops", "lanes") and x.dtype.kind in "biu":
        x = x * 1.0
    return KINDS[kind](rng, pick, values, x, axis)


def unary(rng, pick, values, x, axis):
    name = pick(["sin", "tanh", "exp", "negative", "square", "abs", "clip", "sqrt"])
    if name == "clip":
        return pa.clip(x, -0.5, 0.8) if x.dtype.kind == "f" else x * 2
    return pa.sqrt(pa.abs(x) + 0.1) if name == "sqrt" else getattr(pa, name)(0.5 * x)


def binary(rng, pick, values, x, axis):
    y = pick(values)
    try:
        shape = np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        y, shape = pa.sum(y), x.shape
    if np.prod(shape, dtype=int) > MOST:
        return x + pa.mean(y)
    name = pick(["add", "multiply", "subtract", "maximum", "where", "divide"])
    if name in ("maximum", "where") and "c" in (x.dtype.kind, y.dtype.kind):
        name = "add"
    if name == "where":
        return pa.where(x > y, 0.3 * x, y)
    return pa.divide(x, pa.abs(y) + 1.0) if name == "divide" else getattr(pa, name)(0.7 * x, y)


def reduce(rng, pick, values, x, axis):
    x = pa.real(x) if x.dtype.kind == "c" and rng.random() < 0.7 else x
    real = ["max", "min", "logsumexp", "softmax", "any", "count"] if x.dtype.kind == "f" and x.size else []
    name = pick(["sum", "mean", "prod", "var", "std", "norm", *real])
    axes = pick([None, axis, -1 if x.ndim else None, tuple(range(max(x.ndim - 1, 0))) or None])
    keep = rng.random() < 0.5
    if name == "softmax":
        return pa.softmax(x, axis=-1) if x.ndim else pa.exp(-x)
    if name == "norm":
        return pa.sqrt(pa.sum(pa.abs(x) ** 2, axis=axes, keepdims=keep) + 0.01)
    if name == "any":
        return pa.where(pa.any(x > 0.5, axis=axes, keepdims=True), x, -x)
    if name == "count":
        return pa.astype(pa.count_nonzero(x > 0, axis=axes, keepdims=keep), float) * 0.1
    if name == "std":
        return pa.sqrt(pa.var(x, axis=axes, keepdims=keep) + 0.01)
    return getattr(pa, name)(0.5 * x, axis=axes, keepdims=keep)


def shape(rng, pick, values, x, axis):
    name = pick(["T", "ravel", "new", "slice", "flip", "roll", "tile", "repeat", "pad", "diff", "stack"])
    if name == "T" or axis is None:
        return x.T
    if name == "new":
        return x[None] if rng.random() < 0.5 else x[..., None]
    if name == "slice":
        cut = [slice(None)] * x.ndim
        cut[axis] = pick([slice(1, None), slice(None, None, 2), slice(None, None, -1), slice(-3, None)])
        return x[tuple(cut)]
    if name == "pad":
        mode = pick(["constant", "edge", "wrap"]) if x.size else "constant"
        return pa.pad(x, [(int(rng.integers(3)), 1)] * x.ndim, mode=mode)
    ways = {
        "ravel": lambda: pa.ravel(x), "flip": lambda: pa.flip(x, axis=axis), "roll": lambda: pa.roll(x, 2, axis=axis),
        "tile": lambda: pa.tile(x, 2), "repeat": lambda: pa.repeat(x, 2, axis=axis), "diff": lambda: pa.diff(x, axis=axis),
        "stack": lambda: pa.stack([x, 2 * x], axis=axis),
    }  # fmt: skip
    return ways[name]()


def place(rng, pick, values, x, axis):
    if not x.ndim or not x.shape[axis]:
        return x * 0.9 + 0.1
    how = pick(["set", "add", "add", "multiply", "gone"])
    n = x.shape[axis]
    if how == "gone":  # written as a whole, then in part
        return pa.at(pa.at(x, slice(None)).set(0.5), 0).add(x[0])
    cut = pick([int(rng.integers(n)), slice(0, None, 2), rng.integers(n, size=5)])
    cut = np.unique(cut) if how in ("set", "multiply") and isinstance(cut, np.ndarray) else cut
    cut = (slice(None),) * axis + (cut,)
    return getattr(pa.at(x, cut), how)(pa.sum(x) * 0.1 if how != "add" else x[cut] * 0.5)


def scan(rng, pick, values, x, axis):
    if not x.ndim:
        return x * 0.9 + 0.1
    name = pick(["cumsum", "concatenate", "cumprod", "cummax"])
    if name == "cummax":
        return pa.cumulative_max(x, axis=axis) if hasattr(pa, "cumulative_max") and x.dtype.kind == "f" else x[::-1]
    if name == "concatenate":
        return pa.concatenate([x, -x], axis=axis)
    return pa.cumsum(x, axis=axis) * 0.2 if name == "cumsum" else pa.cumprod(pa.tanh(x), axis=axis)


def product(rng, pick, values, x, axis):
    name = pick(["matmul", "outer", "einsum", "tensordot", "vector"])
    if name == "outer" and x.size**2 <= MOST:
        return pa.outer(x, pa.cos(x)) * 0.1
    if x.ndim >= 2 and name == "vector":
        return (x @ pa.sum(x, axis=tuple(range(x.ndim - 1)))) * 0.1
    if x.ndim < 2:
        return x * pa.sum(x * 0.1)
    if name == "einsum":
        return pa.einsum("...ij,...ij->...i", x, pa.sin(x)) * 0.1
    if name == "tensordot":
        return pa.tensordot(x, x, axes=([axis], [axis])) * 0.1 if (x.size // max(x.shape[axis], 1)) ** 2 <= MOST else -x
    return (x @ pa.swapaxes(x, -1, -2)) * 0.1


def order(rng, pick, values, x, axis):
    if not x.ndim or not x.size or x.dtype.kind == "c":
        return x * 0.9 + 0.1
    name = pick(["sort", "argmax", "argmin", "best", "mask"])
    if name == "sort":
        return pa.sort(x, axis=axis)
    if name == "mask":
        return pa.where(pa.logical_and(x > -0.5, pa.isfinite(x)), x, 0.25)
    if name == "best":
        return pa.take_along_axis(x, pa.argmax(x, axis=axis, keepdims=True), axis=axis)
    return pa.astype(getattr(pa, name)(x, axis=axis), float) * 0.1


def reads(rng, pick, values, x, axis):
    if not x.ndim or not x.shape[0]:
        return x * 0.9 + 0.1
    n, places = x.shape[0], rng.integers(-x.shape[0], x.shape[0], size=pick([3, 40]))
    name = pick(["gather", "take", "segments", "computed"])
    if x.size // n * len(places) > MOST:
        return x[::-1]
    if name == "segments":
        return pa.at(pa.zeros_like(x), rng.integers(n, size=n)).add(x)
    if name == "computed":
        return x[pa.astype(pa.abs(pa.ravel(x)[:5]) * 1.5, int) % n]
    return x[places] if name == "gather" else pa.take(x, places, axis=0)


def loops(rng, pick, values, x, axis):
    name = pick(["cond", "scan", "while", "fori", "checkpoint", "rows"])
    real = pa.real
    if not x.ndim or not x.shape[0] or name == "checkpoint":
        return pa.checkpoint(lambda x: pa.sin(x) * pa.exp(-pa.abs(x)))(x)
    if name == "cond":
        return pa.cond(pa.sum(real(x)) > 0.1, lambda x: pa.tanh(x) * 0.5, lambda x: x[::-1] * 2.0, x)
    if name == "scan":
        last, ys = pa.scan(lambda c, e: (0.5 * pa.tanh(c) + e, c * e), pa.zeros_like(x[0]), x, reverse=rng.random() < 0.5)
        return ys + last
    if name == "while":
        return pa.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, pa.sin(c[1]) + 0.1 * c[1][::-1]), (0, x))[1]
    if name == "fori":
        n = x.shape[0]
        return pa.fori_loop(0, min(n, 6), lambda i, c: pa.at(c, i).add(0.5 * pa.tanh(c[(i + 1) % n])), x)
    return pa.map(lambda e: e * 0.5 + pa.sum(pa.sin(e)), x)


def types(rng, pick, values, x, axis):
    """Complex, single and whole numbers on the way."""
    name = pick(["complex", "single", "whole", "flags"])
    if name == "complex":
        return pa.abs(pa.exp(1j * pa.real(x)) + x)
    x = pa.real(x)
    if name == "single":
        return pa.astype(pa.astype(x * 0.5, np.float32) * 3, float)
    if name == "whole":
        whole = pa.astype(pa.clip(pa.where(pa.isfinite(x), x, 0.0), -9.0, 9.0) * 4, int)
        return pa.astype(pa.cumsum(whole % 3 - whole // 5, axis=-1) if x.ndim else whole << 1, float) * 0.05
    return pa.astype(pa.logical_xor(x > 0, x < 0.5), float) + x


def lanes(rng, pick, values, x, axis):
    if not x.ndim or not x.shape[0]:
        return x * 0.9 + 0.1
    name = pick(["row", "both", "slope"])
    if name == "row":
        return pa.vmap(lambda r: pa.sum(r) * 0.1 + r * r)(x)
    if name == "both":
        return pa.vmap(lambda r: pa.tanh(r) - pa.sum(r), in_axes=x.ndim - 1, out_axes=0)(x)
    return pa.vmap(pa.grad(lambda r: pa.sum(pa.real(pa.sin(r) * r))))(x)


KINDS = {f.__name__: f for f in (unary, binary, reduce, shape, place, scan, product, order, reads, loops, types, lanes)}


def function(seed, numbers="all", lengths=None, steps=None):
    """(function of two arrays, the arrays). numbers: "all", or "real" without whole and complex ones. lengths: of the axes;
    steps: how many."""
    rng = np.random.default_rng(seed)
    n, m, k = rng.integers(1, 10, 3) if lengths is None else lengths
    shapes = [((n, m), (m,)), ((n, m, k), (m, 1)), ((n, m, k), (n, 1, k)), ((n, 1, m), (k, m)), ((n * m,), (1,))]
    arrays = [rng.normal(size=shape) for shape in shapes[rng.integers(5)]]
    sort = rng.random()
    if sort < 0.15:
        arrays = [x.astype(np.float32) for x in arrays]
    elif sort < 0.3:
        arrays[0] = np.where(rng.random(arrays[0].shape) < 0.1, rng.choice([0.0, np.nan, np.inf, -np.inf]), arrays[0])
    elif sort < 0.4 and numbers == "all":
        arrays[0] = np.rint(3 * arrays[0]).astype(int) if sort < 0.35 else arrays[0] + 0.5j
    choices, count, ends = rng.integers(2**32), rng.integers(2, 10) if steps is None else steps, rng.integers(1, 4)

    def f(*xs):
        values, chooser = list(xs), np.random.default_rng(choices)
        for _ in range(count):
            y = step(chooser, values)
            if y.size <= MOST:
                values.append(y)
        return values[-ends:]

    return f, arrays


def compare(f, arrays):
    with np.errstate(all="ignore"):
        program = optimized(pa.make_ir(f)(*arrays))
        wanted, eager = evaluate(program, arrays), pa.tree.leaves(f(*arrays))
        found = compiled(program)(*arrays)
    single = any(x.dtype == np.float32 for x in arrays)
    for a, b, c in zip(found, wanted, eager, strict=True):
        b, c = np.asarray(b), np.asarray(c)
        assert (a.shape, a.dtype) == (b.shape, b.dtype) == (c.shape, c.dtype)
        rtol = 1e-3 if single else 1e-10
        atol = rtol * max(1.0, np.max(np.abs(b), initial=0.0, where=np.isfinite(b)))
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, err_msg="compiled")
        np.testing.assert_allclose(b, c, rtol=rtol, atol=atol, err_msg="in a trace")


@pytest.mark.parametrize("seed", SEEDS)
def test_values(seed):
    compare(*function(seed))


@pytest.mark.parametrize("seed", SEEDS)
def test_gradients(seed, monkeypatch):
    monkeypatch.setattr(compilers, "STRICT", ("-O1", *compilers.STRICT[1:]))  # the values are as users have them
    f, arrays = function(seed, "real")
    compare(pa.grad(lambda *xs: sum(pa.sum(pa.tanh(0.1 * pa.real(y))) for y in f(*xs)), (0, 1)), arrays)
