"""The steps of explicit graphs: shared, copied constants, of one thread, and held by values alone."""

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import polyad as pa
from polyad.dsl.ir.programs import check

pytestmark = pytest.mark.quick


close = np.testing.assert_allclose


def run(f, *args):
    """The function's result, its program checked and its source run."""
    check(f.program)
    y = f(*args)
    namespace = {}
    exec(f.code, namespace)
    leaves = pa.tree.leaves(args)
    flat = namespace["graph"](*[np.asarray(x, v.aval.dtype)[()] for x, v in zip(leaves, f.program.inputs, strict=True)])
    flat = flat if isinstance(flat, tuple) else (flat,)
    for a, b in zip(flat, pa.tree.leaves(y), strict=True):
        close(a, b)
    return y


def test_forward_steps_are_shared():
    x = pa.placeholder((3,))
    y = pa.sum(pa.exp(pa.sin(x)))
    f = pa.function([x], [y, pa.gradients(y, x)])
    names = [e.op.__name__ for e in f.program.equations]
    assert names.count("exp") == names.count("sin") == 1


def test_constants_are_copied():
    x, w = pa.placeholder((2,)), np.ones(2)
    y = pa.sum(x * w)
    w[0] = 100
    assert run(pa.function([x], y), np.ones(2)) == 2


def test_in_place_code_and_choices():
    x = pa.placeholder((3,))
    y = x * 1
    y[0] = 5.0
    z = pa.where(y > 1, y, -y)
    close(run(pa.function([x], z), np.array([0.0, 1.0, 2.0])), [5, -1, 2])


def doubled_until_ten(x, step):
    """Never ends for steps below 1."""
    return pa.while_loop(lambda v: v < 10, lambda v: v * (1 + step), x)


def test_loops_read_the_graph():
    """Loops over plain numbers whose bodies read placeholders."""
    x = pa.placeholder()
    loops = {
        "while": lambda x: pa.while_loop(lambda v: v < 10, lambda v: v * x, 1.0),
        "fori": lambda x: pa.fori_loop(0, 3, lambda i, v: v * x, 1.0),
        "scan": lambda x: pa.scan(lambda c, v: (c * x + v, c), 0.0, np.arange(3.0))[0],
        "both": lambda x: pa.fori_loop(0, 2, lambda i, v: pa.cond(x > 2, lambda: v * x, lambda: doubled_until_ten(v, x)), 1.0),
    }
    for loop in loops.values():
        y = loop(x)
        f = pa.function([x], [y, *pa.gradients(y, [x])])
        for at in (2.0, 3.0):
            close(f(at), [loop(at), pa.grad(loop)(at)])


def test_threads_make_graphs_of_their_own():
    x = pa.placeholder()

    def made(step):
        y = pa.cond(x > 0, lambda: pa.fori_loop(0, 50, lambda i, v: v + step, x), lambda: x - step)
        return [pa.function([x], y)(at) for at in (1.0, -1.0)]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(made, range(8)))
    close(found, [[1 + 50 * step, -1 - step] for step in range(8)])


def test_memory_is_held_by_values_alone():
    x, big = pa.placeholder((1000,)), np.ones(1000)
    y = pa.sum(x * big)
    origin = weakref.ref(y.variable.origin)
    del y
    gc.collect()
    assert origin() is None
