"""Random functions under random stacks of transformations, against the same derivatives by forward mode alone."""

import contextvars
import linecache
import random
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polyad as pa
from polyad.dispatch import current_depth

pytestmark = pytest.mark.filterwarnings("ignore::polyad.PerformanceWarning")  # jit that runs eagerly, lanes that split
V, W, E = np.array([0.3, -0.7, 1.1]), np.array([1.0, 0.5, -0.25]), np.eye(3)
POINTS = [np.array([0.4, 0.9, -0.6]), np.array([-0.3, 0.2, 0.8]), np.array([0.0, 0.5, -0.5])]


# ---------------------------------------------------------------------- random functions, as source code
# {v} {w}: vectors; {s}: a number; {m}: a matrix. Each line makes a value of the kind that its key says.
LINES = {
    "v": [
        "np.sin({v})", "np.arctan({v}) * {w}", "{v} / (1.0 + {w} ** 2)", "{v} * {s} + {w}", "{m} @ {v}", "np.cumsum({v}) * 0.3",
        "np.concatenate([{v}[1:], {w}[:1]])", "{v}[np.array([2, 0, 0])]", "np.where({v} > 0.2, {w} ** 2, np.sin({w}))",
        "np.linalg.solve({m} * 0.1 + 4.0 * np.eye(3), {v})", "np.real(np.exp(1j * {v}) * np.conj({w} + 1j * {v}))",
        "pa.scan(lambda t, y: (t * 0.5 + y, t * y), {s}, {v})[1]", "pa.associative_scan(pa.multiply, {v})",
        "pa.cond({s} > 0.1, lambda y: np.sin(y) * {s}, lambda y: y + 1.0, {v})", "pa.Diagonal({v}) @ {w}",
        "pa.vmap(lambda y: np.sin(y * {s}))({v})", "pa.grad(lambda y: np.sum(y ** 3 * {v}))({w})",
        "pa.vmap(lambda y: pa.psum(y * y, 'i') * y, axis_name='i')({v})", "pa.checkpoint(lambda y: np.sin(y) * {s})({v})",
        "np.sort({v})", "buffered({v}, {w}, {s})", "branched({v}, {s})",
    ],
    "s": [
        "{v} @ {w}", "np.mean({m}, axis=0)[1]", "np.prod({v})", "np.max({v}) - np.min({w})", "np.linalg.norm({v})",
        "halved({s})", "pa.while_loop(lambda t: t < 2.0, lambda t: t * 2.0 + 1.0, {s} ** 2)",
        "pa.fori_loop(0, 3, lambda i, t: t * 0.5 + {v}[1] * i, {s})", "pa.derivative(lambda y: np.sin(y * {s}) * y)({s})",
        "np.einsum('ij,i,j->', {m}, {v}, {w}) * 0.1",
    ],
    "m": [
        "np.outer({v}, {w}) + np.eye(3)", "{m} @ {m}.T * 0.1", "np.stack([{v}, {w}, {v}])",
        "pa.jacrev(lambda y: np.sin(y) * {s})({v})",
    ],
}  # fmt: skip
ASKS = ("branched", "halved")  # Python asks for a value


def buffered(v, w, s):
    """In-place code."""
    out = np.zeros_like(v)
    out[1:] += w[:-1] * s
    out[0] = v[2]
    out *= w
    return out


def branched(v, s):
    return np.sin(v) if s > 0.3 else v * 2.0


def halved(s):
    s = s + 3.0
    while s > 1:
        s = s * 0.5
    return s


def source(rnd):
    names, lines = {"v": ["x"], "s": ["x[1]"], "m": ["np.outer(x, x)"]}, []
    pick = lambda kind: rnd.choice(names[kind])
    for k in range(rnd.randint(1, 5)):
        kind = rnd.choice("vvvssm")
        text = rnd.choice(LINES[kind]).format(v=pick("v"), w=pick("v"), s=pick("s"), m=pick("m"))
        lines.append(f"    {kind}{k} = {text}")
        names[kind].append(f"{kind}{k}")
    last = [f"np.sum(np.sin({names['v'][-1]}) * np.array([1.0, -0.5, 0.25]))", f"0.3 * np.sin({names['s'][-1]})"]
    last.append(f"0.1 * np.sum(np.tanh({names['m'][-1]}))")
    return "\n".join(["def f(x):", *lines, f"    return {' + '.join(last)}", ""])


def made(text):
    name = f"<random {hash(text)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)  # jit and tracebacks read it
    namespace = {"np": np, "pa": pa, "buffered": buffered, "branched": branched, "halved": halved}
    exec(compile(text, name, "exec"), namespace)
    return namespace["f"]


# ---------------------------------------------------------------------- transformations of functions from R³ to R
# Each: (what makes of f another such function, what that is by forward mode alone, order).
along = lambda f, x, v: pa.jvp(f, (x,), (v,))[1]
same = lambda f: f
by_gradient = lambda f: lambda x: sum(along(f, x, E[i]) * W[i] for i in range(3))
by_direction = lambda f: lambda x: along(f, x, V)
by_two = lambda f: lambda x: along(lambda y: along(f, y, V), x, W)
by_lanes = lambda f: lambda x: f(x) + f(x * 0.5)
both = lambda x: pa.stack([x, x * 0.5])


def with_jvp(f):
    g = pa.custom_jvp(lambda x: f(x))
    g.defjvp(lambda xs, dxs: pa.jvp(f, xs, dxs))
    return lambda x: g(x)


def with_vjp(f):
    g = pa.custom_vjp(lambda x: f(x))
    g.defvjp(lambda x: (f(x), x), lambda x, ct: pa.vjp(f, x)[1](ct))
    return lambda x: g(x)


def in_thread(f):
    def g(x):
        box, context = [], contextvars.copy_context()
        thread = threading.Thread(target=lambda: box.append(context.run(f, x)))
        thread.start()
        thread.join()
        return box[0]

    return g


def on_tape(f):
    def g(x):
        with pa.Tape() as tape:
            x = tape.watch(x)
            y = f(x)
        return pa.sum(tape.gradient(y, x) * W)

    return g


def by_graph(f):
    def g(x):
        p = pa.placeholder((3,))
        return pa.sum(pa.function([p], pa.gradients(f(p), p))(x) * W)

    return g


second = lambda f: lambda x: pa.jet(f, (x,), ([V, np.zeros(3)],))[1][1]
halves = lambda f: lambda x: pa.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, s[1] + f(x) / 2), (0, x[0] * 0.0))[1]
T = {
    "custom_jvp": (with_jvp, same, 0), "custom_vjp": (with_vjp, same, 0), "jit": (pa.jit, same, 0),
    "thread": (in_thread, same, 0), "checkpoint": (pa.checkpoint, same, 0),
    "dots": (lambda f: pa.checkpoint(f, policy=pa.policies.dots), same, 0),
    "hook": (lambda f: lambda x: f(pa.grad_hook({"a": x}, lambda ct: None)["a"]), same, 0),
    "cond": (lambda f: lambda x: pa.cond(x[0] ** 2 >= 0, f, lambda y: y[0], x), same, 0),
    "scan": (lambda f: lambda x: pa.scan(lambda c, y: (c + f(y), None), x[0] * 0.0, both(x))[0], by_lanes, 0),
    "while": (halves, same, 0),
    "make_ir": (lambda f: lambda x: pa.make_ir(f)(x)(x), same, 0), "aot": (lambda f: pa.aot(f, lambda p, xs: p), same, 0),
    "vmap": (lambda f: lambda x: pa.sum(pa.vmap(f, in_axes=1)(pa.stack([x, x * 0.5], axis=1))), by_lanes, 0),
    "closed": (lambda f: lambda x: pa.sum(pa.vmap(lambda s: f(x * s))(np.array([1.0, 0.5]))), by_lanes, 0),
    "psum": (lambda f: lambda x: pa.vmap(lambda y: pa.psum(f(y), "q"), axis_name="q")(both(x))[0], by_lanes, 0),
    "gather": (
        lambda f: lambda x: pa.vmap(lambda y: pa.sum(pa.all_gather(f(y), "g")), axis_name="g")(both(x))[1], by_lanes, 0),
    "pmap": (
        lambda f: lambda x: pa.pmap(lambda s: pa.psum(f(x * s), "p"), axis_name="p")(np.array([1.0, 0.5]))[0], by_lanes, 0),
    "grad": (lambda f: lambda x: pa.sum(pa.grad(f)(x) * W), by_gradient, 1), "tape": (on_tape, by_gradient, 1),
    "jacfwd": (lambda f: lambda x: pa.jacfwd(f)(x) @ W, by_gradient, 1), "graph": (by_graph, by_gradient, 1),
    "jacrev": (lambda f: lambda x: pa.jacrev(f)(x) @ W, by_gradient, 1),
    "tree": (lambda f: lambda x: pa.sum(pa.grad(lambda d: f(d["a"] * d["b"]))({"a": x, "b": 1.0})["a"] * W), by_gradient, 1),
    "transposed": (lambda f: lambda x: pa.linear_transpose(pa.linearize(f, x)[1], V)(1.0)[0] @ W, by_gradient, 1),
    "jvp": (lambda f: lambda x: along(f, x, V), by_direction, 1),
    "linearize": (lambda f: lambda x: pa.linearize(f, x)[1](V), by_direction, 1),
    "derivatives": (lambda f: lambda x: pa.derivatives(lambda t: f(x + t * V), 1)(0.0)[1], by_direction, 1),
    "jet": (second, lambda f: lambda x: along(lambda y: along(f, y, V), x, V), 2),
    "hessian": (lambda f: lambda x: W @ pa.hessian(f)(x) @ V, by_two, 2),
    "hvp": (lambda f: lambda x: W @ pa.hvp(f, x, V), by_two, 2),
    "twice": (lambda f: lambda x: pa.grad(lambda y: pa.grad(f)(y) @ V)(x) @ W, by_two, 2),
}  # fmt: skip
TRACES = {"make_ir", "aot", "graph"}
PROGRAMS = {"scan", "while", "cond"}  # of which lanes and traces make programs
LANES = {"vmap", "closed", "psum", "gather", "pmap", "jacfwd", "jacrev", "hessian"}


def stack(rnd, asks):
    while True:
        names = [rnd.choice(list(T)) for _ in range(rnd.randint(1, 4))]
        traced = TRACES & {*names} or PROGRAMS & {*names} and LANES & {*names}
        if sum(T[name][2] for name in names) <= 2 and not (asks and traced):
            return names


def check(seed):
    rnd = random.Random(seed)
    text, x = source(rnd), rnd.choice(POINTS)
    names = stack(rnd, any(word in text for word in ASKS))
    f = right = made(text)
    for name in names:
        f, right = T[name][0](f), T[name][1](right)
    with np.errstate(all="ignore"):
        wanted = right(x)
        for _ in range(2):  # the second time, what was kept is used
            np.testing.assert_allclose(f(x), wanted, rtol=1e-7, atol=1e-7, err_msg=f"{names} of\n{text}at {x}")
    assert current_depth() == 0


@settings(max_examples=100)
@given(st.integers(0, 2**32))
def test_random_compositions(seed):
    check(seed)


@pytest.mark.parametrize("seed", range(40))
def test_compositions(seed):
    """The same ones each time."""
    check(seed)
