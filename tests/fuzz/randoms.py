"""The random programs of the other folders, at the sizes of the net.

Each kind: a function of a seed and of how many steps to try, which returns (function, its arguments).
"""

import numpy as np

import polyad as pa

from .compare import quiet
from .package import beside

SHAPES = [(300, 4), (4,), (300, 1), (1, 300), (), (0, 4), (33, 17), (1, 1), (1000, 3), (255,), (8, 9), (16,), (2000,), (7, 3)]
LARGEST = 20000  # elements of a value
LENGTHS = (1, 2, 3, 7, 8, 9, 16, 17, 33, 100, 300)


def of_cards(seed, steps):
    """Operations of all cards after one another."""
    module = beside("dsl/ir/passes", "card_programs")
    module.SHAPES, module.LARGEST = SHAPES, LARGEST
    with quiet():
        program = module.CardProgram(seed, steps)
        rng = np.random.default_rng(seed)
        if program.smooth and rng.random() < 0.5:
            return pa.grad(program.total, argnums=tuple(program.smooth)), program.xs
    return program.f, program.xs


def of_rows(seed, steps):
    """Reductions, products, scans and loops over arrays of several axes."""
    module = beside("devices/codegen", "test_large")
    module.MOST = LARGEST
    rng = np.random.default_rng(seed)
    lengths = [LENGTHS[i] for i in rng.integers(len(LENGTHS), size=3)]
    if np.prod(lengths) > LARGEST:
        lengths[2] = 1
    f, xs = module.function(seed, "real" if seed % 2 else "all", lengths=lengths, steps=steps)
    if seed % 2:
        return pa.grad(lambda *xs: sum(pa.sum(pa.tanh(0.1 * pa.real(y))) for y in f(*xs)), (0, 1)), xs
    return f, xs


def of_text(seed, steps):
    """Python programs with branches and loops, of three elements; their length does not depend on `steps`."""
    module = beside("dsl/jit", "random_programs")
    f = module.program(seed, effects=False)[0]["f"]
    (x, s, n, flag, p), named = module.arguments(np.random.default_rng(seed))
    g = lambda x, s, y, u, v: pa.tree.leaves(f(x, s, n, flag, {"u": (u,), "v": v}, y=y))
    return g, [x, s, named["y"], p["u"][0], p["v"]]


KINDS = {f.__name__: f for f in (of_cards, of_rows, of_text)}
