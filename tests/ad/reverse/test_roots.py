"""Even functions of norms are differentiated whole where the norm has no slope; against what they are without the root."""

import numpy as np
import pytest

import polyad as pa

norm = pa.linalg.norm
close = lambda x, y, **bounds: np.testing.assert_allclose(x, y, **{"rtol": 1e-12, "atol": 1e-13, **bounds})

# functions of a vector of two: what is asked for, and the same without a root
WHOLE = {
    "norm**2": lambda x: norm(x) ** 2,
    "norm**2.0": lambda x: norm(x) ** 2.0,
    "square": lambda x: pa.square(norm(x)),
    "product": lambda x: norm(x) * norm(x),
    "one norm": lambda x: (lambda r: r * r)(norm(x)),
    "numpy": lambda x: np.linalg.norm(x) ** 2,
    "np.square": lambda x: np.square(np.linalg.norm(x)),
    "sqrt": lambda x: pa.sqrt(pa.sum(x * x)) ** 2,
    "dot": lambda x: pa.sqrt(x @ x) ** 2,
    "vecdot": lambda x: pa.sqrt(pa.vecdot(x, x)) * pa.sqrt(pa.vecdot(x, x)),
    "half": lambda x: ((x @ x) ** 0.5) ** 2,
    "scaled": lambda x: 4 * (norm(x) / 2.0) ** 2,
    "negative": lambda x: (-norm(x)) ** 2,
    "spring": lambda x: (lambda d: 0.5 * 2.0 * d * d)(norm(x)),
    "by a followed scale": lambda x: ((2 + x[0]) * norm(x) / (2 + x[0])) ** 2,
    "keepdims": lambda x: pa.sum(norm(x, keepdims=True) ** 2),
    "axis": lambda x: pa.sum(norm(x[None], axis=1) ** 2),
    "hypot": lambda x: pa.hypot(x[0], x[1]) ** 2,
    "abs": lambda x: pa.sum(pa.abs(x) ** 2),
    "abs*abs": lambda x: pa.sum(pa.abs(x) * pa.abs(x)),
    "complex": lambda x: pa.abs(x[0] + 1j * x[1]) ** 2,
    "difference": lambda x: norm(x - 1.0 + 1.0) * norm(x - 1.0 + 1.0),
    "lanes": lambda x: pa.sum(pa.vmap(lambda v: norm(v) ** 2)(x[None])),
    "vector_norm": lambda x: pa.linalg.vector_norm(x) ** 2,
    "matrix": lambda x: norm(x[None]) ** 2,
    "broadcast": lambda x: pa.sum(pa.broadcast_to(norm(x), shape=(3,)) ** 2) / 3,
    "part": lambda x: pa.sum(norm(pa.stack([x, x]), axis=1)[1] ** 2),
    "reshaped": lambda x: pa.sum(norm(x[None], axis=1).reshape(1, 1).T ** 2),
    "x**0.5": lambda x: pa.square((x @ x) ** 0.5),
    "cond": lambda x: pa.cond(x[0] > -1, lambda: norm(x) ** 2, lambda: x[0]),
    "in place": lambda x: in_place(x),
    "program": lambda x: pa.jit(lambda x: norm(x) ** 2)(x),
    "sqeuclidean": lambda x: pa.sqeuclidean(x, 0.0),
    "cdist": lambda x: pa.cdist(x[None], np.zeros((1, 2)))[0, 0] ** 2,
    "checkpoint": lambda x: pa.checkpoint(lambda x: norm(x) ** 2)(x),
}
MODES = {
    "forward over reverse": pa.hessian,
    "forward twice": lambda f: pa.jacfwd(pa.jacfwd(f)),
    "reverse twice": lambda f: pa.jacrev(pa.grad(f)),
    "reverse over forward": lambda f: pa.jacrev(pa.jacfwd(f)),
    "jit": lambda f: pa.jit(pa.hessian(f)),
    "of a program": lambda f: pa.hessian(pa.jit(f)),
    "lanes": lambda f: lambda x: pa.vmap(pa.hessian(f))(np.stack([x, x + 1]))[0],
    "hvp": lambda f: lambda x: np.stack([pa.hvp(f, x, e) for e in np.eye(2)]),
}


def in_place(x):
    r = norm(x)
    r *= 2.0
    return r**2 / 4


COMPILED = ("norm**2", "product", "spring", "complex", "hypot")  # with the modes that wait for a compiler


@pytest.mark.parametrize(
    ("name", "mode"), [(n, m) for n in WHOLE for m in MODES if m not in ("jit", "of a program") or n in COMPILED]
)
def test_second_derivative_of_squares(name, mode):
    for x in (np.zeros(2), np.array([0.0, 0.5])):
        close(MODES[mode](WHOLE[name])(x), 2 * np.eye(2), rtol=1e-9, atol=1e-9)
    close(pa.grad(WHOLE[name])(np.array([0.3, -0.4])), [0.6, -0.8])
    assert WHOLE[name](np.array([3.0, 4.0])) == pytest.approx(25)


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("mode", ["forward twice", "reverse twice"])
def test_programs_of_two_modes(mode, traced):
    for f in (lambda x: norm(x) * norm(x), lambda x: norm(x * 2.0) * norm(x * 2.0) / 4):
        h = MODES[mode](f)
        close((pa.jit(h) if traced else h)(np.zeros(2)), 2 * np.eye(2))


def test_a_kernel_where_points_meet():
    for k in (lambda a, b: pa.exp(-(norm(a - b) ** 2)), lambda a, b: pa.exp(-pa.sqeuclidean(a, b))):
        a = np.array([1.0, -2.0])
        for mixed in (pa.jacfwd(pa.grad(k), 1), pa.jacrev(pa.grad(k), 1), pa.jit(pa.jacfwd(pa.grad(k), 1))):
            close(mixed(a, a), 2 * np.eye(2))
    points = np.array([[0.0, 1.0], [0.0, 1.0], [2.0, 1.0]])
    energy = lambda p: pa.sum(pa.exp(-0.5 * norm(p[:, None] - p[None], axis=-1) ** 2))
    smooth = lambda p: pa.sum(pa.exp(-0.5 * pa.cdist(p, p, "sqeuclidean")))
    close(pa.hessian(energy)(points), pa.hessian(smooth)(points))
    direction = np.arange(6.0).reshape(3, 2)
    step = lambda t: pa.grad(smooth)(points + t * direction)
    close(pa.hvp(energy, points, direction), (step(1e-5) - step(-1e-5)) / 2e-5, rtol=1e-6, atol=1e-8)


def test_higher_powers_and_orders():
    for p in (2, 3, 4, 5.0, 6, 2.5):
        h = pa.hessian(lambda x, p=p: norm(x) ** p)
        close(h(np.zeros(2)), (2 if p == 2 else 0) * np.eye(2))
        x = np.array([0.3, 0.4])
        unit = np.outer(x, x) / 0.25
        close(h(x), p * 0.5 ** (p - 2) * ((p - 2) * unit + np.eye(2)))
    fourth = pa.jacfwd(pa.jacfwd(pa.hessian(lambda x: norm(x) ** 4)))(np.zeros(2))
    delta = np.eye(2)
    pairs = sum(np.einsum(f"{spec}->ijkl", delta, delta) for spec in ("ij,kl", "ik,jl", "il,jk"))
    close(fourth, 8 * pairs)
    close(pa.hessian(lambda x: pa.std(x) ** 2)(np.ones(3)), pa.hessian(pa.var)(np.ones(3)))
    assert pa.grad(lambda x: pa.sqrt(x) ** 2)(0.0) == 1


def test_complex_and_float32():
    z = np.array([0j, 0j])
    for f in (lambda z: pa.sum(pa.abs(z) ** 2), lambda z: norm(z) ** 2, lambda z: norm(z) * norm(z)):
        close(pa.hvp(f, z, np.array([1j, 1 + 0j])), [-2j, 2])
        close(pa.grad(f)(z + 1 + 2j), 2 * np.conj(z + 1 + 2j))
    h = pa.hessian(lambda x: norm(x) ** 2)(np.zeros(2, np.float32))
    assert h.dtype == np.float32
    close(h, 2 * np.eye(2))


def test_distances():
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((2, 4, 3)), rng.standard_normal((5, 3))
    distance = pytest.importorskip("scipy.spatial.distance")
    for metric in ("euclidean", "sqeuclidean", "cityblock", "chebyshev"):
        close(pa.cdist(x[0], y, metric), distance.cdist(x[0], y, metric))
        close(pa.cdist(x, y, metric)[1], distance.cdist(x[1], y, metric))
    close(pa.sqeuclidean(x[0, 0], y[0]), distance.sqeuclidean(x[0, 0], y[0]))
    assert pa.sqeuclidean(x[0], y[:4], axis=None) == pytest.approx(np.sum((x[0] - y[:4]) ** 2))
    with pytest.raises(pa.ShapeError, match="cdist: metric='cosine' is not offered"):
        pa.cdist(x[0], y, "cosine")


def test_check_grads_at_a_point_without_slope():
    pa.check_grads(lambda x: norm(x) ** 2, (np.zeros(2),), order=2)


@pytest.mark.parametrize("size", [2, 5000])
def test_distances_of_picked_elements(size):
    """They are the same where the same elements are picked, and others where others are."""
    x, v = np.zeros(size), np.ones(size)  # tangents do not tell elements apart
    h = lambda i, j: lambda x: pa.hypot(x[i], x[j])
    places = lambda x: pa.hypot(x[np.array([0, 1])], x[np.array([1, 0])])
    for f, g in ((h(0, 1), h(0, 1)), (h(0, -1), h(0, -1)), (places, places)):
        found = pa.hvp(lambda x, f=f, g=g: pa.sum(f(x) * g(x)), x, v)
        close(found[0], 4.0 if f is places else 2.0)
    with pytest.warns(pa.ConventionWarning, match="hypot"):
        pa.hvp(lambda x: h(0, 1)(x) * h(0, 0)(x), x, v)
    one, two = np.array([0, 1]), np.array([1, 1])
    with pytest.warns(pa.ConventionWarning, match="hypot"):
        pa.hvp(lambda x: pa.sum(pa.hypot(x[one], x[one]) * pa.hypot(x[two], x[one])), x, v)
