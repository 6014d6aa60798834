"""Work that must not grow faster than the data: what is counted here is operations and memory, never time."""

import sys

import numpy as np
import pytest

import polyad as pa

close = np.testing.assert_allclose


def random(*shape, seed=0, kind="f"):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if kind == "c" else x


def python_calls(f):
    """How many Python functions f() calls."""
    count = 0

    def watch(frame, event, argument):
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        f()
    finally:
        sys.setprofile(before)
    return count


def largest(f, *args):
    """The number of elements of the largest array in a trace of f."""
    program = pa.make_ir(f)(*args)
    return max(v.aval.size for e in program.equations for v in e.outputs)


# ---------------------------------------------------------------------- matrix products of lanes
SHAPES = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)),
          ((3,), (5, 3, 4)), ((5, 2, 3), (3,))]  # fmt: skip


@pytest.mark.parametrize("size", [0, 1, 6])
@pytest.mark.parametrize("mapped", [(0, 0), (0, None), (None, 0)])
@pytest.mark.parametrize("shapes", SHAPES)
def test_lanes_of_matrix_products(shapes, mapped, size):
    x, y = [random(*(() if m is None else (size,)), *s, seed=i, kind="c") for i, (s, m) in enumerate(zip(shapes, mapped))]
    lane = lambda a, m, k: a if m is None else a[k]
    rows = [np.matmul(lane(x, mapped[0], k), lane(y, mapped[1], k)) for k in range(size)]
    found = pa.vmap(pa.matmul, in_axes=mapped)(x, y)
    one = np.matmul(np.ones(shapes[0]), np.ones(shapes[1])).shape
    assert found.shape == (size, *one)
    if rows:
        close(found, np.stack(rows), rtol=1e-12, atol=1e-12)
    weights = random(size, *one, seed=5)
    mapped_loss = lambda x, y: pa.sum(weights * pa.real(pa.vmap(pa.matmul, in_axes=mapped)(x, y)))
    loop_loss = lambda x, y: sum([
        pa.sum(weights[k] * pa.real(pa.matmul(lane(x, mapped[0], k), lane(y, mapped[1], k)))) for k in range(size)
    ]) + 0.0 * pa.sum(pa.real(x)) + 0.0 * pa.sum(pa.real(y))  # fmt: skip
    for g, h in zip(pa.grad(mapped_loss, (0, 1))(x, y), pa.grad(loop_loss, (0, 1))(x, y), strict=True):
        close(g, h, rtol=1e-12, atol=1e-12)


LEADS = [((4, 1), (1, 5)), ((1, 5), (4, 5)), ((5,), (4, 1)), ((), (4, 5)), ((4, 5), ()), ((2, 1, 5), (4, 1)), ((0,), (1,)),
         ((1,), ()), ((1, 1), (4, 5))]  # fmt: skip


@pytest.mark.parametrize("leads", LEADS)
def test_gradients_of_broadcast_stacks_of_matrices(leads):
    x, y = random(*leads[0], 2, 3), random(*leads[1], 3, 4, seed=1)
    ct = random(*np.matmul(x, y).shape, seed=2)
    dx, dy = pa.vjp(pa.matmul, x, y)[1](ct)
    close(dx, summed(ct @ np.swapaxes(y, -1, -2), x.shape), atol=1e-12)
    close(dy, summed(np.swapaxes(x, -1, -2) @ ct, y.shape), atol=1e-12)
    if x.size and y.size:
        pa.check_grads(pa.matmul, (x, y), order=2)


def summed(full, shape):
    full = full.sum(axis=tuple(range(full.ndim - len(shape))))
    axes = tuple(i for i, n in enumerate(shape) if n == 1 and full.shape[i] != 1)
    return full.sum(axis=axes, keepdims=True)


def test_no_product_is_formed_for_each_lane():
    n = 30
    a, xs = random(n, n), random(n, n, seed=1)
    by_column = lambda a, xs: pa.vmap(lambda v: a @ v)(xs)
    by_row = lambda a, xs: pa.vmap(lambda v: v @ a)(xs)
    for f in (by_column, by_row):
        assert largest(f, a, xs) == n * n
        for argument in (0, 1):
            assert largest(pa.grad(lambda *args, f=f: pa.sum(f(*args) ** 2), argument), a, xs) == n * n
    stack = random(7, n, n, seed=2)
    assert largest(pa.grad(lambda b: pa.sum(pa.matmul(stack, b) ** 2)), a) <= 7 * n * n
    assert largest(pa.grad(lambda b: pa.sum(pa.matmul(stack[:, :1], b) ** 2)), a) <= 7 * n * n  # not 7 products of n by n


# ---------------------------------------------------------------------- one rule for all arrays of a sequence
@pytest.mark.parametrize("derivative", ["grad", "jvp", "hvp"])
@pytest.mark.parametrize("joined", [pa.stack, pa.concatenate])
def test_joining_takes_steps_in_proportion_to_the_arrays(joined, derivative):
    def steps(n):
        xs = [np.array([1.0, k]) for k in range(n)]
        f = lambda xs: pa.sum(joined(xs) ** 2)
        run = {"grad": lambda: pa.grad(f)(xs), "jvp": lambda: pa.jvp(f, (xs,), (xs,)), "hvp": lambda: pa.hvp(f, xs, xs)}
        run[derivative]()
        return python_calls(run[derivative])

    few, many = steps(20), steps(80)
    assert many < 5 * few


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_gradients_of_concatenate(axis):
    xs = [random(2, 3), random(2, 3, seed=1).astype(np.float32), np.arange(6).reshape(2, 3), random(2, 3, seed=2)]
    ct = random(*np.concatenate(xs, axis=axis).shape, seed=3)
    f = lambda a, b, d: pa.concatenate([a, b, xs[2], d, a], axis=axis)
    ct = random(*f(xs[0], xs[1], xs[3]).shape, seed=3)
    parts = np.split(ct, 5, axis=0 if axis is None else axis)
    parts = [p.reshape(2, 3) for p in parts]
    found = pa.vjp(f, xs[0], xs[1], xs[3])[1](ct)
    close(found[0], parts[0] + parts[4])
    close(found[1], parts[1], rtol=1e-6)
    assert found[1].dtype == np.float32
    close(found[2], parts[3])


# ---------------------------------------------------------------------- results of their own
def test_derivatives_by_numbers_are_numbers():
    f = lambda x: x**3
    for slope in (pa.jacfwd(f), pa.jacrev(f), pa.jacobian(f), pa.grad(f)):
        assert type(slope(2.0)) is np.float64
        assert slope(2.0) == 12.0
    assert type(pa.hessian(f)(2.0)) is np.float64
    assert type(pa.jacrev(f)(2.0 + 1j)) is type(pa.jacfwd(f)(2.0 + 1j)) is np.complex128
    blocks = pa.hessian(lambda d: d["a"] ** 2 * pa.sum(d["b"]))({"a": 2.0, "b": np.ones(2)})
    assert type(blocks["a"]["a"]) is np.float64
    assert blocks["a"]["b"].shape == (2,)


def test_tangents_own_their_memory():
    x, dx = np.zeros(2), np.ones(2)
    for f in (lambda x: x, lambda x: (x, x), lambda x: x[:], lambda x: pa.reshape(x, shape=(2, 1)),
              lambda x: pa.broadcast_to(x, shape=(40, 2))):  # fmt: skip
        _, dy = pa.jvp(f, (x,), (dx,))
        for part in pa.tree.leaves(dy):
            assert not np.shares_memory(part, dx)
            part += 1.0
    first, second = pa.jvp(lambda x: (x, x), (x,), (dx,))[1]
    assert not np.shares_memory(first, second)
    np.testing.assert_array_equal(dx, np.ones(2))


def test_stop_gradient_takes_trees():
    d = {"a": np.arange(3.0), "b": (2.0, None)}
    frozen = pa.stop_gradient(d)
    assert pa.tree.structure(frozen) == pa.tree.structure(d)
    g = pa.grad(lambda d: pa.sum(d["a"] * pa.stop_gradient(d)["a"]) + pa.stop_gradient(d["b"])[0] * d["b"][0])(d)
    close(g["a"], d["a"])
    close(g["b"][0], 2.0)
    diagonal = pa.stop_gradient(pa.Diagonal(np.ones(2)))
    assert isinstance(diagonal, pa.Diagonal)
    with pytest.raises(pa.MethodError, match="stop_gradient: str is no array and no tree of arrays"):
        pa.stop_gradient("text")
