"""Random small programs: gradients against differences, adjointness, lanes against a loop, symmetric Hessians."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import polyad as pa

close = np.testing.assert_allclose

UNARY = [
    pa.sin,
    np.cos,
    pa.tanh,
    lambda x: pa.exp(0.3 * pa.sin(x)),
    lambda x: 0.2 * x**2,
    lambda x: pa.sqrt(1.5 + pa.cos(x)),
    lambda x: pa.log(2.5 + np.sin(x)),
    lambda x: -x,
    lambda x: pa.where(x > 1e9, x, 0.5 * x),
    lambda x: pa.arctan(x) / 2,
]
BINARY = [
    pa.add,
    lambda x, y: x - y,
    lambda x, y: pa.tanh(x) * y,
    lambda x, y: x / (2.0 + pa.sin(y)),
    lambda x, y: pa.hypot(x, 1.0 + y**2),
    lambda x, y: pa.exp(pa.sin(x)) ** pa.cos(y),
]
REDUCE = [pa.sum, pa.mean, np.sum, lambda x, **p: pa.prod(0.5 * pa.sin(x), **p), lambda x, **p: pa.max(x, **p) * 0.5]


def change_shape(x, k):
    n = x.ndim
    choices = [
        lambda: pa.ravel(x),
        lambda: pa.transpose(x),
        lambda: pa.expand_dims(x, k % (n + 1)),
        lambda: pa.reshape(x, (x.shape[0], -1)) if n and x.size else x,
        lambda: x[::-1] if n else x,
        lambda: x[..., None, :1] if n else x,
        lambda: x[np.array([0, -1, 0])] if n and x.shape[0] else x,
        lambda: pa.stack([x, 2.0 * x], axis=k % (n + 1)),
        lambda: np.concatenate([x, x * x]) if n else x,
        lambda: pa.broadcast_to(x, (2, *x.shape)),
        lambda: pa.at(x, 0).set(0.25) if n and x.shape[0] else x,
    ]
    return choices[k % len(choices)]()


def run(program, x):
    """Interpret instructions, each (kind, choice, two operands), on a growing list of values; a number comes out."""
    values = [x]
    for kind, choice, i, j in program:
        a, b = values[i % len(values)], values[j % len(values)]
        if kind == "unary":
            y = UNARY[choice % len(UNARY)](a)
        elif kind == "binary":
            try:
                np.broadcast_shapes(a.shape, b.shape)
            except ValueError:
                b = pa.sum(b)
            y = BINARY[choice % len(BINARY)](a, b)
        elif kind == "reduce":
            axis = None if not a.ndim else (None, j % a.ndim, tuple(range(a.ndim)))[i % 3]
            y = REDUCE[choice % len(REDUCE)](a, axis=axis, keepdims=bool(j % 2))
        else:
            y = change_shape(a, choice)
        if y.size <= 64 and y.ndim <= 4:
            values.append(y)
    return sum((pa.sum(v) * (0.3 + 0.1 * k) for k, v in enumerate(values[1:])), pa.sum(values[0]))


small = st.integers(0, 60)
instructions = st.tuples(st.sampled_from(["unary", "binary", "reduce", "shape"]), small, small, small)
programs = st.lists(instructions, min_size=1, max_size=6)
shapes = st.sampled_from([(), (3,), (2, 2), (1, 3), (2, 1, 2)])
seeds = st.integers(0, 2**16)


def point(shape, seed):
    """Distinct values apart from each other, so that no maximum is a tie."""
    rng = np.random.default_rng(seed)
    size = int(np.prod(shape))
    return (rng.permutation(size) * 0.37 - 0.6 + rng.uniform(0, 0.1, size)).reshape(shape)


def differences(f, x, step=1e-5):
    g = np.zeros(x.shape)
    for place in np.ndindex(x.shape):
        e = np.zeros(x.shape)
        e[place] = step
        g[place] = (f(x + e) - f(x - e)) / (2 * step)
    return g


@settings(max_examples=150)
@given(programs, shapes, seeds)
def test_gradient_against_differences(program, shape, seed):
    x = point(shape, seed)
    f = lambda x: run(program, x)
    value, g = pa.value_and_grad(f)(x)
    close(value, f(x), rtol=1e-12)
    assert np.shape(g) == shape
    close(g, differences(f, x), rtol=2e-5, atol=2e-6)


@settings(max_examples=150)
@given(programs, shapes, seeds)
def test_pullback_is_the_adjoint_of_jvp(program, shape, seed):
    x = point(shape, seed)
    rng = np.random.default_rng(seed + 1)
    f = lambda x: (run(program, x), pa.sin(x) * run(program[:2], x))
    v = rng.standard_normal(shape)
    (y0, y1), (t0, t1) = pa.jvp(f, (x,), (v,))
    w0, w1 = rng.standard_normal(), rng.standard_normal(shape)
    _, pullback = pa.vjp(f, x)
    close(w0 * t0 + np.sum(w1 * t1), np.sum(pullback((w0, w1))[0] * v), rtol=1e-9, atol=1e-9)


@settings(max_examples=80)
@given(programs, shapes, seeds)
def test_lanes_of_gradients_against_a_loop(program, shape, seed):
    xs = np.stack([point(shape, seed + k) for k in range(3)])
    g = pa.grad(lambda x: run(program, x))
    close(pa.vmap(g)(xs), np.stack([g(x) for x in xs]), rtol=1e-9, atol=1e-10)
    total = pa.grad(lambda xs: pa.sum(pa.vmap(lambda x: run(program, x))(xs)))
    close(total(xs), np.stack([g(x) for x in xs]), rtol=1e-9, atol=1e-10)


@settings(max_examples=60)
@given(programs, st.sampled_from([(3,), (2, 2), (1, 3)]), seeds)
def test_hessians_are_symmetric_and_agree_between_modes(program, shape, seed):
    x = point(shape, seed)
    f = lambda x: run(program, x)
    h = pa.hessian(f)(x)
    n = x.size
    close(h.reshape(n, n), h.reshape(n, n).T, rtol=1e-8, atol=1e-8)
    close(pa.jacrev(pa.grad(f))(x), h, rtol=1e-8, atol=1e-8)
    close(pa.jacrev(pa.jacfwd(f))(x), h, rtol=1e-8, atol=1e-8)
    v = np.random.default_rng(seed).standard_normal(shape)
    close(pa.hvp(f, x, v), np.tensordot(h, v, axes=v.ndim), rtol=1e-8, atol=1e-8)
    slope = lambda t: np.sum(pa.grad(f)(x + t * v) * v)
    close(np.sum(pa.hvp(f, x, v) * v), (slope(1e-5) - slope(-1e-5)) / 2e-5, rtol=1e-4, atol=1e-5)


@settings(max_examples=60)
@given(programs, shapes, seeds)
def test_programs_of_gradients(program, shape, seed):
    x = point(shape, seed)
    g = pa.grad(lambda x: run(program, x))
    close(pa.make_ir(g)(x)(x), g(x), rtol=1e-12, atol=1e-13)
