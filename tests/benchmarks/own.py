"""An operation declared outside the library, with C and no kernel, against the library's own like it."""

import numpy as np
from timing import ratio

import polyad as pa

REACH = 1.15  # of the time of a built-in operation
REACH_OF_PROGRAMS = 1.25  # there a subtraction more counts


@pa.elementwise(partials=[lambda y, x: pa.sin(x)], c="(1 - cos({0}))")
def versine(x, /):
    """1 - cos(x)."""


@pa.elementwise(partials=[lambda y, a, b: pa.exp(-b), lambda y, a, b: -a * pa.exp(-b)], c="{0} * exp(-{1})")
def damped(a, b, /):
    """a · exp(-b)."""


def work():
    """Name, the built-in peer, both functions, arguments."""
    pairs = {"versine": (versine, pa.cos, 1), "damped": (damped, pa.arctan2, 2)}
    for n in (10, 100_000):
        x = np.random.default_rng(0).uniform(-1, 1, n)
        for name, (ours, theirs, arity) in pairs.items():
            xs = (x,) * arity
            yield f"{name}, {n} elements", theirs.__name__, ours, theirs, xs
            yield f"jit {name}, {n} elements", f"jit {theirs.__name__}", pa.jit(ours), pa.jit(theirs), xs
            slopes = [pa.grad(lambda *xs, f=f: pa.sum(f(*xs))) for f in (ours, theirs)]
            yield f"grad {name}, {n} elements", f"grad {theirs.__name__}", *slopes, xs
        whole = pa.jit(lambda x: 1 - pa.cos(x))
        yield f"jit versine, {n} elements", "jit 1 - cos(x)", pa.jit(versine), whole, (x,)


def rows():
    for name, peer, ours, theirs, xs in work():
        for _ in range(3):
            ours(*xs), theirs(*xs)
        reach = REACH if not name.startswith("grad") else None  # whose rules differ
        reach = REACH_OF_PROGRAMS if name.startswith("jit") else reach
        yield name, peer, ratio(lambda: ours(*xs), lambda: theirs(*xs)), reach
