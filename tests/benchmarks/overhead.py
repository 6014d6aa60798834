"""What an eager operation adds to NumPy's own call: at most 0.3 µs plus 60 %, keyword arguments included."""

import numpy as np
from timing import ratio

import polyad as pa

ALLOWED = 0.3  # µs, beside 60 %


def calls():
    """Name, our call, NumPy's call."""
    rng = np.random.default_rng(0)
    x, y, m = rng.uniform(0.5, 1.5, 10), rng.uniform(0.5, 1.5, 10), rng.uniform(0.5, 1.5, (4, 5))
    c = x > y
    for name in ("sin", "exp", "log", "sqrt", "tanh", "abs", "negative", "floor", "isnan"):
        yield f"{name}(x)", lambda f=getattr(pa, name): f(x), lambda f=getattr(np, name): f(x)
    for name in ("add", "multiply", "divide", "power", "maximum", "less", "arctan2"):
        yield f"{name}(x, y)", lambda f=getattr(pa, name): f(x, y), lambda f=getattr(np, name): f(x, y)
    yield "where(c, x, y)", lambda: pa.where(c, x, y), lambda: np.where(c, x, y)
    for name in ("sum", "max", "mean", "prod", "all"):
        ours, theirs = getattr(pa, name), getattr(np, name)
        yield f"{name}(x)", lambda f=ours: f(x), lambda f=theirs: f(x)
        yield f"{name}(m, axis=0)", lambda f=ours: f(m, axis=0), lambda f=theirs: f(m, axis=0)
    yield "sum(m, axis=1, keepdims=True)", (
        lambda: pa.sum(m, axis=1, keepdims=True)), lambda: np.sum(m, axis=1, keepdims=True)  # fmt: skip


def large():
    """Name, our call, NumPy's call: 10⁶ elements, where every pass over memory counts."""
    rng = np.random.default_rng(0)
    x, y, short = rng.uniform(0.5, 1.5, 10**6), rng.uniform(0.5, 1.5, 10**6), rng.uniform(0.5, 1.5, 1000)
    yield "vecdot(x, y)", lambda: pa.vecdot(x, y), lambda: np.vecdot(x, y)
    yield "prod(x)", lambda: pa.prod(x), lambda: np.prod(x)
    yield "clip(x, 0.7, 1.2)", lambda: pa.clip(x, 0.7, 1.2), lambda: np.clip(x, 0.7, 1.2)
    yield "outer(s, s)", lambda: pa.outer(short, short), lambda: np.outer(short, short)


def rows():
    for name, ours, theirs in large():
        yield f"{name}, 10⁶ elements", "numpy", ratio(ours, theirs, repeat=9), 1.2
    for name, ours, theirs in calls():
        times = ratio(ours, theirs, repeat=9)
        yield name, "numpy", times, 1.6 + ALLOWED / times[1]
