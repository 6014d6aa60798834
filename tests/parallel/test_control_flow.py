"""Collectives within loops and choices: in `vmap`, and in `pmap` on 1, 2 and 3 ranks; eager, as programs, with derivatives."""

import numpy as np
import pytest

import polyad as pa

SCRIPT = '''
import numpy as np
import polyad as pa

rng = np.random.default_rng(0)
w, X = rng.standard_normal((2, 2)) * 0.5, rng.standard_normal((4, 3, 2))


def lane(w, xs):
    """A carry that starts as a constant and becomes the same in all lanes; loops and choices with collectives; one without in
    which the lanes stop at different steps."""

    def step(c, x):
        h = pa.tanh(w @ c + x)
        return pa.psum(h, "i") * 0.3, pa.sum(h)

    c, ys = pa.scan(step, np.full(2, 0.4), xs)
    grow = lambda s: (pa.sin(s[0]) + 0.1 * pa.psum(s[0], "i"), s[1] + 1)
    y = pa.while_loop(lambda s: s[1] < 3, grow, (pa.sum(ys), 0))[0]
    z = pa.while_loop(lambda v: v < 1, lambda v: 2 * v, pa.abs(y) + 0.05)
    total, parts = pa.scan(lambda c, r: (c + r * pa.axis_index("i") * y, c), pa.psum(y, "i"), np.arange(3.0))
    chosen = pa.cond(pa.psum(y, "i") > 0, lambda: pa.pmean(y, "i") * y, lambda: y)
    return pa.sum(c) + z + chosen + total * 0.1 + pa.sum(parts) * 0.2


def traced(f):
    return lambda *args: pa.make_ir(f)(*args)(*args)


over = lambda mapped, f=lane: lambda w, X: mapped(f, in_axes=(None, 0), axis_name="i")(w, X)
total = lambda f: lambda w, X: pa.sum(pa.sin(f(w, X)))
slopes = lambda f: pa.grad(total(f), (0, 1))
inside = lambda w, xs: pa.grad(lane, (0, 1))(w, xs)


def same(found, right, what):
    for a, b in zip(pa.tree.leaves(found), pa.tree.leaves(right), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11, err_msg=what)


value, slope, own = over(pa.vmap)(w, X), slopes(over(pa.vmap))(w, X), over(pa.vmap, inside)(w, X)
'''

LOCKSTEP = """
# without any map: all lanes together
def by_hand(w, X):
    n = len(X)
    c, sums = np.full(2, 0.4), [0.0] * n
    for t in range(X.shape[1]):
        h = [pa.tanh(w @ c + X[k, t]) for k in range(n)]
        c = sum(h[1:], h[0]) * 0.3
        sums = [s + pa.sum(v) for s, v in zip(sums, h)]
    y = pa.stack(sums)
    for _ in range(3):
        y = pa.sin(y) + 0.1 * pa.sum(y)
    results = []
    for k in range(n):
        z = pa.abs(y[k]) + 0.05
        while z < 1:
            z = 2 * z
        chosen = pa.sum(y) / n * y[k] if pa.sum(y) > 0 else y[k]
        total, parts = pa.sum(y), 0
        for r in range(3):
            parts = parts + total
            total = total + r * k * y[k]
        results.append(pa.sum(c) + z + chosen + total * 0.1 + parts * 0.2)
    return pa.stack(results)

same(value, by_hand(w, X), "value")
same(slope, slopes(by_hand)(w, X), "slopes")
same(pa.jacfwd(over(pa.vmap))(w, X), pa.jacfwd(by_hand)(w, X), "forward")
same(pa.hessian(total(over(pa.vmap)))(w, X), pa.hessian(total(by_hand))(w, X), "second")
for what, f, right in [
    ("program", traced(over(pa.vmap)), value),
    ("program of slopes", traced(slopes(over(pa.vmap))), slope),
    ("slopes of program", slopes(traced(over(pa.vmap))), slope),
    ("program in lanes", over(pa.vmap, traced(lane)), value),
    ("slopes inside", traced(over(pa.vmap, inside)), own),
    ("program inside", over(pa.vmap, traced(inside)), own),
    ("slopes of program inside", over(pa.vmap, lambda w, xs: pa.grad(traced(lane), (0, 1))(w, xs)), own),
    ("second", traced(pa.hessian(total(over(pa.vmap)))), pa.hessian(total(by_hand))(w, X)),
]:
    same(f(w, X), right, what)
"""

RANKS = """
for what, f, right in [
    ("value", over(pa.pmap), value),
    ("slopes", slopes(over(pa.pmap)), slope),
    ("slopes inside", over(pa.pmap, inside), own),
    ("program inside", over(pa.pmap, traced(inside)), own),
    ("program", traced(over(pa.pmap)), value),
    ("program of slopes", traced(slopes(over(pa.pmap))), slope),
    ("program of slopes inside", traced(over(pa.pmap, inside)), own),
]:
    same(f(w, X), right, what)
"""


def test_lanes_of_one_process():
    exec(SCRIPT + LOCKSTEP, {})


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_ranks(mpirun, ranks):
    mpirun(SCRIPT + RANKS, ranks)


def test_what_is_the_same_in_all_lanes_counts_once():
    """A loop hands on whether its results are the same in all lanes: a loss made of them is one number."""

    def loss(x, form):
        c, _ = form(lambda x: pa.scan(lambda c, r: (pa.psum(c * x, "i") * r, None), pa.psum(x, "i"), np.array([0.5, 2.0])))(x)
        return c * c

    traced = lambda f: lambda x: pa.make_ir(f)(x)(x)
    x = np.array([0.3, -0.2, 0.7])
    found = [pa.vmap(pa.grad(lambda x, form=form: loss(x, form)), axis_name="i")(x) for form in (lambda f: f, traced)]
    right = pa.grad(lambda x: (pa.sum(x) ** 3) ** 2)(x)  # psum(c x) of one c is c psum(x)
    for slopes in found:
        np.testing.assert_allclose(slopes, right)


EFFECTS = """
import numpy as np
import polyad as pa
from polyad.parallel import world

seen = []

def note(v):
    pa.io_callback(lambda v: seen.append(float(v)), None, v)
    return v

def kept(v):
    return v * 2 + pa.io_callback(lambda v: (seen.append(float(v)), np.float64(v + 1))[1], np.float64(0), v)

loop = lambda v: pa.fori_loop(0, 2, lambda k, s: note(s) * 2, v)
two_ways = lambda v: (note(v) if v > 0 else note(-v)) * pa.psum(v, "i")
maps = {
    "a value": (pa.pmap(kept), 1), "jit": (pa.jit(pa.pmap(kept)), 1), "jit inside": (pa.pmap(pa.jit(kept)), 1),
    "loop": (pa.pmap(loop), 2), "loop, jit": (pa.jit(pa.pmap(loop)), 2), "loop, jit inside": (pa.pmap(pa.jit(loop)), 2),
    "two ways": (pa.pmap(two_ways, axis_name="i"), 1), "a map inside": (pa.pmap(lambda v: pa.vmap(note)(v * np.ones(3))), 3),
}
for name, (f, each) in maps.items():
    for lanes in (1, 2, 1, 5):
        seen.clear()
        x = np.arange(lanes) - 0.5
        right = {"a value": 3 * x + 1, "loop": 4 * x}.get(name)
        found = f(x)
        assert right is None or np.allclose(found, right), (name, found)
        counts = [len(each) for each in world().gather_objects(list(seen))]
        assert sum(counts) == each * lanes, (name, lanes, counts)
"""


def test_effects_happen_once_for_each_lane(mpirun):
    """A rank without lanes runs one for its collectives, without its effects."""
    mpirun(EFFECTS, 3)
