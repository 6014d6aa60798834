"""The pseudoinverse, at bounds between singular values too, and least squares."""

import numpy as np
import pytest

import polyad as pa
from polyad import linalg


def same(x, y, rtol=1e-10, atol=1e-12):
    np.testing.assert_allclose(x, y, rtol=rtol, atol=atol)


def random(seed, *shape, dtype=float):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if dtype is complex else x


@pytest.mark.parametrize("shape", [(5, 3), (3, 3), (2, 4)])
@pytest.mark.parametrize("columns", [(), (2,)])
def test_lstsq(shape, columns):
    a, b = random(12, *shape), random(13, shape[0], *columns)
    found, expected = linalg.lstsq(a, b), np.linalg.lstsq(a, b)
    for x, y in zip(found, expected, strict=True):
        same(x, y)
        assert np.shape(x) == np.shape(y)
    pa.check_grads(lambda a, b: linalg.lstsq(a, b).x, (a, b), order=1)


def test_pinv_of_constant_rank():
    """Right also where singular values are equal, and at rank-deficient matrices along directions that keep the rank."""
    same(pa.jvp(linalg.pinv, (np.eye(3),), (random(14, 3, 3),))[1], -random(14, 3, 3))
    f = lambda left, right: linalg.pinv(left @ right)
    pa.check_grads(f, (random(15, 4, 2), random(16, 2, 3)), order=1)
    assert linalg.pinv(np.zeros((2, 3))).shape == (3, 2)


@pytest.mark.parametrize("shape", [(4, 3), (3, 3), (3, 5), (2, 4, 3)])
@pytest.mark.parametrize("dtype", [float, complex])
def test_pinv_of_some_singular_values(shape, dtype):
    """A bound between singular values that are not 0: NumPy's values at points nearby, and second order."""
    x, dx = (
        random(seed, *shape).astype(dtype) + (1j * random(seed + 9, *shape) if dtype is complex else 0) for seed in (17, 18)
    )
    s = np.linalg.svd(x, compute_uv=False)
    bound, step = float(np.max(s[..., 2] / s[..., 0]) + np.min(s[..., 1] / s[..., 0])) / 2, 1e-6
    assert np.all(s[..., 1] > bound * s[..., 0]) and np.all(s[..., 2] < bound * s[..., 0])
    slope = (np.linalg.pinv(x + step * dx, bound) - np.linalg.pinv(x - step * dx, bound)) / (2 * step)
    for f in (lambda x: linalg.pinv(x, rtol=bound), pa.jit(lambda x: np.linalg.pinv(x, bound))):
        y, dy = pa.jvp(f, (x,), (dx,))
        np.testing.assert_allclose(y, np.linalg.pinv(x, bound), rtol=1e-10)
        np.testing.assert_allclose(dy, slope, rtol=1e-6, atol=1e-7)
    pa.check_grads(lambda x: linalg.pinv(x, rtol=bound), (x,), order=2, rtol=1e-4)


def slope_of(f, order, step=3e-3):
    """A central difference of f at 0."""
    weights = {1: [0, 1, -8, 0, 8, -1, 0], 2: [2, -27, 270, -490, 270, -27, 2], 3: [1, -8, 13, 0, -13, 8, -1]}[order]
    over = {1: 12, 2: 180, 3: 8}[order]
    return sum(w * f(i * step) for i, w in enumerate(weights, -3)) / (over * step**order)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 3), (3, 4)])
@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("values", [(1, 1, 0), (1, 1, 0.2), (1, 0.2, 0.2)])
def test_pinv_at_equal_singular_values(shape, dtype, values):
    """Among those that count and among the others: orders 1, 2 and 3, none of which reads derivatives of singular vectors."""
    *lead, m, n = shape
    left, right = (np.linalg.qr(random(i, *lead, k, 3, dtype=dtype))[0] for i, k in ((1, m), (2, n)))
    x, dx, ct = (
        (left * values) @ np.conj(np.swapaxes(right, -1, -2)),
        random(3, *shape, dtype=dtype),
        random(4, n, m, dtype=dtype),
    )
    f = lambda x: pa.real(pa.sum(ct * linalg.pinv(x, rtol=0.5)))
    along = lambda t: f(x + t * dx)
    expected = [slope_of(lambda t: np.real(np.sum(ct * np.linalg.pinv(x + t * dx, 0.5))), order) for order in (1, 2, 3)]
    first = pa.derivative(along)
    second = pa.derivative(first)
    back = lambda t: pa.real(pa.sum(pa.grad(f)(x + t * dx) * dx))
    third = pa.derivative(second)(0.0)
    same([first(0.0), second(0.0)], expected[:2], rtol=1e-4, atol=1e-4)
    same(third, expected[2], rtol=1e-2, atol=1e-2)
    same([back(0.0), pa.derivative(back)(0.0), pa.grad(back)(0.0)], [first(0.0), second(0.0), second(0.0)], rtol=1e-8)
    if lead:
        same(pa.jit(pa.grad(back))(0.0), second(0.0), rtol=1e-8)
        same(pa.vmap(pa.grad(back))(np.zeros(2)), [second(0.0)] * 2, rtol=1e-8)
    if lead and dtype is complex:
        same(pa.grad(pa.derivative(back))(0.0), third, rtol=1e-7)


@pytest.mark.parametrize("rtol", [np.array([0.1]), np.array([0.1, 0.2])])
def test_bounds_of_pinv_that_do_not_fit(rtol):
    for call in (lambda x: linalg.pinv(x, rtol=rtol), lambda x: pa.eval_shape(lambda x: linalg.pinv(x, rtol=rtol), x)):
        with pytest.raises(pa.ShapeError, match="pinv"):
            call(np.eye(2))
    stack = random(5, 2, 3, 3)
    assert pa.eval_shape(lambda x: linalg.pinv(x, rtol=np.array([0.1, 0.2])), stack).shape == (2, 3, 3)
