"""Random programs with all bounds of size so low that small arrays take the ways of large ones: the product with the Hessian is
that of reverse over reverse, where memory is used once, and what rules of users kept stays as it was."""

import numpy as np
import pytest

import polyad as pa
from polyad.ad.forward import shared_derivatives
from polyad.ad.reverse import walk
from polyad.ad.rules import buffer_reuse, products_in_place, residuals, written

SHAPES = [(7,), (1,), (3, 4), (4, 4), (2, 3, 2)]
kept = []


def keep(*arrays):
    for x in arrays:
        if type(x) is np.ndarray:
            kept.extend([(x, x.copy()), (x.T[:1], x.T[:1].copy()), (np.asarray(memoryview(x)), x.copy())][: 1 + len(kept) % 3])


@pa.custom_jvp
def cube(x):
    return x * x * x


@cube.defjvp
def cube_jvp(primals, tangents):
    (x,), (dx,) = primals, tangents
    slope = 3.0 * x * x
    dy = slope * dx
    keep(x, dx, slope, dy)
    return x * x * x, dy


@pa.custom_vjp
def squared(x):
    return x * x


def squared_forward(x):
    y = x * x
    keep(x, y)
    return y, x


def squared_back(x, ct):
    back = 2.0 * x * ct
    keep(ct, back)
    return (back,)


squared.defvjp(squared_forward, squared_back)


def in_place(x):
    y = x.copy()
    part = y.T[::-1]
    part *= 1.3
    y[:1] = np.sin(part[-1:].T.sum())
    part[...] = np.tanh(part)
    return y


ONE = [
    np.sin, np.tanh, np.negative, np.square, np.abs, np.arctan, cube, squared, in_place, lambda x: np.exp(0.3 * x),
    lambda x: np.sqrt(x * x + 1.0), lambda x: np.log1p(x * x), lambda x: 1.0 / (x * x + 1.5), lambda x: 0.2 * x**3,
    lambda x: np.where(x > 0.1, x * np.log(np.abs(x)), x), lambda x: np.maximum(x, 0.2), lambda x: x, lambda x: (x > 0) * x * x,
    lambda x: pa.checkpoint(lambda x: np.sin(x) * x)(x), pa.jit(lambda x: pa.tanh(x) * x),
    pa.grad(lambda x: pa.sum(pa.sin(x) * x)), lambda x: pa.hvp(lambda y: pa.sum(y**3), x, x), pa.vmap(lambda x: pa.cos(x) * x),
    lambda x: x[::2], lambda x: x[1:] if x.shape[0] > 1 else x, lambda x: x.T, lambda x: x[None], lambda x: x[[0, -1, 0]],
    lambda x: np.sum(x, axis=0, keepdims=True), lambda x: 0.2 * np.cumsum(x, axis=0), lambda x: np.mean(x) * x,
    lambda x: np.concatenate([x, 0.5 * x]), lambda x: np.tanh(0.1 * (x.reshape(-1) @ np.sin(x.reshape(-1)))) * x,
    lambda x: 0.1 * x.reshape(x.shape[0], -1) @ np.sin(x.reshape(x.shape[0], -1)).T,
]  # fmt: skip
TWO = [
    np.add, np.subtract, np.multiply, np.maximum, np.minimum, lambda x, y: x / (y * y + 1.0), lambda x, y: np.hypot(x, y + 3.0),
    lambda x, y: np.where(x > y, x * y, y), lambda x, y: x * y + y, np.logaddexp, lambda x, y: (x * x + 1.0) ** (0.3 * y),
]  # fmt: skip


def fit(x, y):
    try:
        return np.prod(np.broadcast_shapes(x.shape, y.shape)) < 1000
    except ValueError:
        return False


def program(seed, shape):
    """A function of one array, whose steps depend on the seed alone."""

    def f(x):
        rng = np.random.default_rng(seed)
        constants = [rng.normal(size=shape), np.asfortranarray(rng.normal(size=shape)), rng.normal(size=shape[-1:])]
        known, total = [x.reshape(shape)], 0.0
        for _ in range(rng.integers(3, 12)):
            x, y = [known[rng.integers(len(known))] for _ in range(2)]
            if rng.integers(2):
                x = ONE[rng.integers(len(ONE))](x)
            else:
                y = constants[rng.integers(len(constants))] if rng.integers(4) == 0 else y
                x = TWO[rng.integers(len(TWO))](x, y if fit(x, y) else x)
            known.append(np.tanh(x) if rng.integers(3) == 0 else x)
        for x in known[-3:]:
            total = total + 0.1 * (np.sum(x * x) if rng.integers(2) else np.sum(x))
        return total

    return f


@pytest.fixture
def low(monkeypatch):
    """A function that sets the bounds low; they are as they were from the end of the test on."""

    def set_low():
        for module in (residuals, products_in_place, shared_derivatives):
            monkeypatch.setattr(module, "LARGE", 2)
        monkeypatch.setitem(written.SPACE, "LARGE", 2)
        monkeypatch.setattr(buffer_reuse, "LEAST", 1)
        monkeypatch.setattr(products_in_place, "BLOCK_ELEMENTS", 5)
        monkeypatch.setattr(walk, "FEW_ELEMENTS", 1)

    return set_low


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_products_with_the_hessian(shape, low, rng):
    cases = []
    for seed in range(30):
        f, (x, v) = program(seed, shape), rng.normal(size=(2, int(np.prod(shape))))
        v[:: 1 + seed % 4] *= seed % 3 > 0  # zeros, too
        cases.append((f, x, v, pa.grad(lambda x, f=f, v=v: pa.sum(pa.grad(f)(x) * v))(x)))
    low()
    for seed, (f, x, v, expected) in enumerate(cases):
        kept.clear()
        before = x.copy(), v.copy()
        for found in (pa.hvp(f, x, v), pa.jvp(pa.grad(f), (x,), (v,))[1]):
            scale = np.abs(expected).max() + 1e-3
            np.testing.assert_allclose(found / scale, expected / scale, rtol=1e-9, atol=1e-9, err_msg=f"program {seed}")
            assert not np.shares_memory(found, v)
            assert not np.shares_memory(found, x)
        np.testing.assert_array_equal((x, v), before)
        assert all(np.array_equal(x, copy) for x, copy in kept)
        assert buffer_reuse._store() is None
