"""How the transformations take arguments and give results: positions, trees, dtypes, shapes, complex numbers."""

import dataclasses
from typing import NamedTuple

import numpy as np
import pytest
from typed_numbers import same

import polyad as pa

pytestmark = pytest.mark.quick

close = np.testing.assert_allclose


# ---------------------------------------------------------------------- arguments
def polynomial(x, y, z=1.0):
    return x**2 * y + 3 * y * z


@pytest.mark.parametrize(
    ("argnums", "right"),
    [(0, 12.0), (1, 7.0), (-1, 7.0), (-2, 12.0), ((0,), (12.0,)), ((0, 1), (12.0, 7.0)), ((1, 0), (7.0, 12.0)),
     ((-1, 0), (7.0, 12.0)), ([0, 1], (12.0, 7.0))],
)  # fmt: skip
def test_argnums(argnums, right):
    assert pa.grad(polynomial, argnums)(2.0, 3.0) == right
    value, slopes = pa.value_and_grad(polynomial, argnums)(2.0, 3.0)
    assert value == 21 and slopes == right
    for jacobian in (pa.jacfwd, pa.jacrev, pa.jacobian):
        assert jacobian(polynomial, argnums)(2.0, 3.0) == right


def test_positions_around_others():
    f = lambda a, b, c, d: a * b * c * d
    assert pa.grad(f, 2)(1.0, 2, 3.0, 4) == 8
    assert pa.grad(f, (3, 1))(1.0, 2.0, 3.0, 4.0) == (6, 12)
    assert pa.jacfwd(f, (3, 1))(1.0, 2.0, 3, 4.0) == (6, 12)


def test_keywords_are_constants():
    assert pa.grad(polynomial)(2.0, y=3.0, z=5.0) == 12
    assert pa.grad(polynomial, 1)(2.0, 3.0, z=5.0) == 19
    assert pa.value_and_grad(polynomial)(2.0, y=3.0) == (21, 12)
    for jacobian in (pa.jacfwd, pa.jacrev, pa.jacobian, pa.hessian):
        assert jacobian(polynomial)(2.0, y=3.0) == (6 if jacobian is pa.hessian else 12)


def test_names_and_docstrings_stay():
    def loss(x):
        """A loss."""
        return x * x

    for t in (pa.grad, pa.value_and_grad, pa.derivative, pa.jacfwd, pa.jacrev, pa.jacobian, pa.hessian):
        assert t(loss).__name__ == "loss" and t(loss).__doc__ == "A loss."


def test_methods_and_partial_objects():
    class Model:
        def __call__(self, x):
            return x**2

        def loss(self, x):
            return self(x) * 2

    from functools import partial

    assert pa.grad(Model())(3.0) == 6 and pa.grad(Model().loss)(3.0) == 12
    assert pa.grad(partial(polynomial, y=2.0))(3.0) == 12


# ---------------------------------------------------------------------- trees
class Layer(NamedTuple):
    w: object
    b: object


@dataclasses.dataclass
class Model:
    layers: list
    scale: object
    name: str = dataclasses.field(default="model", metadata={"static": True})


def loss(p):
    h = p.layers[0].w @ p.layers[0].b
    return pa.sum(h) * p.scale["s"]


def test_trees_of_all_kinds():
    w, b = np.arange(4.0).reshape(2, 2), np.array([1.0, -1.0])
    model = Model([Layer(w, b)], {"s": 2.0, "unused": np.zeros((2, 0)), "none": None}, "m")
    g = pa.grad(loss)(model)
    assert isinstance(g, Model) and isinstance(g.layers[0], Layer) and g.name == "m" and g.scale["none"] is None
    close(g.layers[0].w, 2 * np.array([b, b]))
    close(g.layers[0].b, 2 * w.sum(0))
    same(g.scale["s"], np.float64(np.sum(w @ b)))
    same(g.scale["unused"], np.zeros((2, 0)))
    y, dy = pa.jvp(loss, (model,), (g,))
    close(dy, sum(np.sum(np.asarray(x) ** 2) for x in pa.tree.leaves(g)))
    (back,) = pa.vjp(loss, model)[1](1.0)
    assert all(np.array_equal(a, b) for a, b in zip(pa.tree.leaves(back), pa.tree.leaves(g), strict=True))


def test_none_and_empty_arguments():
    assert pa.grad(lambda x, y: x * 2.0, (0, 1))(1.0, None) == (2, None)
    assert pa.grad(lambda x: 1.0)({}) == {}
    assert pa.jacfwd(lambda x: {"a": 2.0})(None) == {"a": None} == pa.jacrev(lambda x: {"a": 2.0})(None)


def test_trees_as_results():
    f = lambda x: {"a": x * 2.0, "b": (pa.sum(x), 5, None)}
    x = np.array([1.0, 2.0])
    y, dy = pa.jvp(f, (x,), (np.ones(2),))
    assert y["b"][1] == 5 and dy["b"][1] is pa.NoTangent and dy["b"][2] is None and dy["b"][0] == 2
    y, pullback = pa.vjp(f, x)
    close(pullback({"a": np.ones(2), "b": (3.0, pa.NoTangent, None)})[0], [5, 5])
    close(pullback({"a": pa.NoTangent, "b": (3.0, 0, None)})[0], [3, 3])
    for jacobian in (pa.jacfwd, pa.jacrev):
        j = jacobian(f)(x)
        close(j["a"], 2 * np.eye(2))
        close(j["b"][0], [1, 1])
        assert j["b"][1] is pa.NoTangent and j["b"][2] is None


# ---------------------------------------------------------------------- dtypes
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64, np.longdouble])
def test_dtype_stays(dtype):
    x, w = np.array([0.5, 1.5], dtype), np.array([2.0, 3.0])
    tolerance = 5e-3 if dtype == np.float16 else 1e-6
    programs = [
        lambda x: pa.sum(x * w),  # mixed with float64
        lambda x: pa.sum(pa.sin(x) * 2.0 + 1),
        lambda x: pa.sum(x**2) * 0.5,
        lambda x: pa.sum(pa.where(x > 1, x, 0.0)),
        lambda x: pa.sum(pa.sqrt(x) + w) + x[0],
        lambda x: pa.sum(pa.stack([x, w])),
        lambda x: pa.mean(pa.astype(x, "float64")),
        lambda x: pa.max(x),
        lambda x: w @ x,
    ]
    for f in programs:
        g = pa.grad(f)(x)
        assert g.dtype == dtype and type(g) is np.ndarray
        close(g.astype(float), pa.grad(f)(x.astype(float)), rtol=tolerance)
        y, dy = pa.jvp(f, (x,), (np.ones(2, dtype),))
        assert np.asarray(y).dtype == np.asarray(dy).dtype
        close(float(dy), float(np.sum(g)), rtol=tolerance)
        for jacobian in (pa.jacfwd, pa.jacrev):
            assert jacobian(lambda x: x * w[:1])(x).shape == (2, 2)


def test_float32_second_order_and_scalars():
    x = np.float32(0.5)
    assert type(pa.grad(lambda x: x**3 * 2.0)(x)) is np.float32
    assert type(pa.derivative(pa.grad(lambda x: pa.exp(x) * x))(x)) is np.float32
    assert pa.hessian(lambda x: pa.sum(x**3))(np.ones(2, np.float32)).dtype == np.float32
    assert type(pa.jvp(lambda x: x * 2, (x,), (1.0,))[1]) is np.float32  # a Python number as tangent
    assert type(pa.jvp(lambda x: x * 2, (x,), (1,))[1]) is np.float32
    assert pa.vjp(lambda x: x * 2, x)[1](1)[0].dtype == np.float32
    n = 3
    y, dy = pa.jvp(lambda x, n: x**n, (x, n), (1.0, pa.NoTangent))
    assert y.dtype == dy.dtype == np.float32  # the integer stays a Python one


def test_real_stays_real():
    x = np.array([1.0, 2.0])
    f = lambda x: pa.sum(pa.abs(x * (1 + 2j)) ** 2)
    same(pa.grad(f)(x), 10 * x)
    same(pa.grad(lambda x: pa.real(pa.sum(pa.exp(1j * x))))(x), -np.sin(x))
    same(pa.grad(lambda x: pa.imag(pa.sum(pa.exp(1j * x))))(x), np.cos(x))
    same(pa.vjp(lambda x: x * 1j, x)[1](np.array([1j, 1j]))[0], np.array([-1.0, -1.0]))
    assert pa.grad(lambda x: pa.real(pa.sum(x * np.complex64(1j) + x)))(x.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("dtype", [">f8", ">f4"])
def test_big_endian(dtype):
    x = np.array([1.0, 2.0], dtype)
    g = pa.grad(lambda x: pa.sum(x**3))(x)
    close(g, [3, 12])
    assert g.dtype.itemsize == x.dtype.itemsize
    close(pa.jvp(lambda x: x**3, (x,), (np.ones(2, dtype),))[1], [3, 12])
    close(pa.jacfwd(lambda x: x**3)(x), np.diag([3, 12]))
    close(pa.jacrev(lambda x: x**3)(x), np.diag([3, 12]))


def test_memory_layouts():
    x = np.arange(12.0).reshape(3, 4)
    frozen = x.copy()
    frozen.flags.writeable = False
    for view in (x.T, x[::2, ::-1], x[:, 1:3], np.asfortranarray(x), frozen, np.broadcast_to(x[0], (2, 4))):
        same(pa.grad(lambda v: pa.sum(v**2))(view), 2 * view.copy())
        same(pa.jvp(lambda v: v**2, (view,), (view,))[1], 2 * view.copy() ** 2)
        same(pa.vjp(lambda v: v.T, view)[1](view.T)[0], view.copy())


# ---------------------------------------------------------------------- numbers and 0-d arrays
@pytest.mark.parametrize("x", [2.0, np.float64(2.0), np.array(2.0)])
@pytest.mark.parametrize(
    "f",
    [lambda x: x, lambda x: x * x, lambda x: 3.0, lambda x: x + 0.0, lambda x: pa.where(x > 0, x, 0.0), pa.sum,
     pa.ravel, lambda x: pa.reshape(x, ()), lambda x: pa.broadcast_to(x, ())],
)  # fmt: skip
def test_derivatives_of_numbers_are_numbers(f, x):
    g = lambda x: pa.sum(f(x)) if f is pa.ravel else f(x)
    assert type(pa.grad(g)(x)) is np.float64
    assert type(pa.derivative(g)(x)) is np.float64
    assert type(pa.vjp(g, x)[1](1.0)[0]) is np.float64
    assert type(pa.value_and_grad(g)(x)[1]) is np.float64
    assert type(pa.hessian(g)(x)) in (np.float64, np.ndarray)
    assert np.shape(pa.hessian(g)(x)) == () == np.shape(pa.jacrev(g)(x)) == np.shape(pa.jacfwd(g)(x))


# ---------------------------------------------------------------------- inputs that go nowhere, or everywhere
def test_unused_arguments():
    x, y = np.ones((2, 3), np.float32), np.ones(2, complex)
    f = lambda x, y, n: 1.0
    gx, gy = pa.grad(f, (0, 1))(x, y, 3)
    same(gx, np.zeros((2, 3), np.float32))
    same(gy, np.zeros(2, complex))
    dx, dy, dn = pa.vjp(f, x, y, 3)[1](1.0)
    same(dx, np.zeros((2, 3), np.float32))
    assert dn is pa.NoTangent
    same(pa.jacrev(lambda x: np.ones(4))(x), np.zeros((4, 2, 3), np.float32))
    assert pa.jacfwd(lambda x: np.ones(4))(x).shape == (4, 2, 3)
    value, slope = pa.jvp(lambda x: 5.0, (x,), (x,))
    assert value == 5 and slope == 0


@pytest.mark.parametrize(
    "f",
    [lambda x, y: 1.0, lambda x, y: pa.sum(x + y), lambda x, y: pa.sum(x + y.T), lambda x, y: pa.sum((x + y) ** 2),
     lambda x, y: pa.sum(pa.stack([x, y])), lambda x, y: pa.sum(x[::-1] + y) + pa.sum(x)],
)  # fmt: skip
@pytest.mark.parametrize("n", [2, 50])
def test_gradients_may_be_written_to(f, n):
    x = np.ones((n, n))
    a, b = pa.grad(f, (0, 1))(x, x)
    before = b.copy()
    a += 7
    close(b, before)
    b += 1  # a large gradient is no read-only view either
    close(x, 1)


def test_pullbacks_do_not_return_what_was_given():
    ct = np.ones(3)
    for f in (lambda x: x, lambda x: x + 1.0, lambda x: x[::-1], lambda x: pa.reshape(x, (3,))):
        (g,) = pa.vjp(f, np.zeros(3))[1](ct)
        g += 1
        close(ct, 1)


def test_same_input_twice_and_inputs_as_results():
    x = np.array([1.0, 2.0])
    a, b = pa.grad(lambda x, y: pa.sum(x * y), (0, 1))(x, x)
    close(a, x)
    close(b, x)
    close(pa.grad(lambda x: pa.sum(x * x))(x), 2 * x)
    y, pullback = pa.vjp(lambda x: (x, x, x * 1.0), x)
    close(pullback((np.ones(2), 2 * np.ones(2), 3 * np.ones(2)))[0], [6, 6])
    y, dy = pa.jvp(lambda x, y: (y, x), (x, 2 * x), (np.ones(2), np.zeros(2)))
    close(dy, [np.zeros(2), np.ones(2)])
    close(pa.jacrev(lambda x: x)(x), np.eye(2))
    close(pa.jacfwd(lambda x: x)(x), np.eye(2))


def test_arguments_are_not_written_to():
    x, ct = np.array([1.0, 2.0]), np.array([1.0, 1.0])
    _, pullback = pa.vjp(lambda x: (x + x) + (x + x) * x, x)
    (first,) = pullback(ct)
    first += 100
    (second,) = pullback(ct)
    close(second, 2 + 4 * x)
    close(ct, 1)
    close(x, [1, 2])


def test_empty_arrays():
    x = np.zeros((0, 3))
    same(pa.grad(lambda x: pa.sum(x**2))(x), np.zeros((0, 3)))
    same(pa.grad(pa.prod)(x), np.zeros((0, 3)))
    same(pa.jvp(lambda x: x * 2, (x,), (x,))[1], x)
    for jacobian in (pa.jacfwd, pa.jacrev, pa.jacobian):
        same(jacobian(lambda x: pa.sum(x, axis=0))(x), np.zeros((3, 0, 3)))
        same(jacobian(lambda x: pa.sin(x[:0]))(np.ones(2)), np.zeros((0, 2)))
    same(pa.hessian(lambda x: pa.sum(x**3))(np.zeros(0)), np.zeros((0, 0)))


def test_integers_among_the_leaves():
    tree = {"x": np.ones(2), "n": np.array([3, 4]), "flag": True}
    f = lambda t: pa.sum(t["x"] * t["n"]) if t["flag"] else 0.0
    _, pullback = pa.vjp(f, tree)
    (g,) = pullback(1.0)
    close(g["x"], [3, 4])
    assert g["n"] is pa.NoTangent and g["flag"] is pa.NoTangent
    _, dy = pa.jvp(f, (tree,), ({"x": np.ones(2), "n": pa.NoTangent, "flag": pa.NoTangent},))
    assert dy == 7


@pytest.mark.parametrize(
    "g",
    [lambda x: pa.astype(x, int), lambda x: (x // 1.0).astype(int), lambda x: x > 1, lambda x: np.argsort([1, 0])],
)
def test_integer_results(g):
    x = np.array([1.5, 2.5])
    y, dy = pa.jvp(g, (x,), (x,))
    assert dy is pa.NoTangent and y.dtype.kind in "ib"
    y, pullback = pa.vjp(g, x)
    same(pullback(pa.NoTangent)[0], np.zeros(2))
    assert pa.jacfwd(g)(x) is pa.NoTangent and pa.jacrev(g)(x) is pa.NoTangent


def test_integers_made_on_the_way():
    x = np.array([0.2, 2.7, 1.1])
    close(pa.grad(lambda x: pa.sum(x[pa.astype(x, int)] * 2.0))(x), [2, 2, 2])
    close(pa.grad(lambda x: pa.sum(x * pa.astype(x, int)))(x), [0, 2, 1])
    close(pa.jvp(lambda x: x * pa.astype(x, int), (x,), (np.ones(3),))[1], [0, 2, 1])


# ---------------------------------------------------------------------- complex numbers
Z = np.array([1 + 2j, -0.5 + 0.3j, 3.0 - 1j])
OF_COMPLEX = {  # name: (real function, ∂f/∂x - i ∂f/∂y)
    "abs": (lambda z: pa.sum(pa.abs(z)), lambda z: np.conj(z) / np.abs(z)),
    "abs2": (lambda z: pa.sum(pa.abs(z) ** 2), lambda z: 2 * np.conj(z)),
    "real": (lambda z: pa.sum(pa.real(z)), lambda z: np.ones_like(z)),
    "imag": (lambda z: pa.sum(pa.imag(z)), lambda z: -1j * np.ones_like(z)),
    "conj": (lambda z: pa.sum(pa.real(pa.conj(z) * z)), lambda z: 2 * np.conj(z)),
    "angle": (lambda z: pa.sum(pa.angle(z)), lambda z: -1j * np.conj(z) / np.abs(z) ** 2),
    "holomorphic": (lambda z: pa.sum(pa.real(pa.exp(z) * z)), lambda z: np.exp(z) * (1 + z)),
    "holomorphic-imag": (lambda z: pa.sum(pa.imag(pa.sin(z) ** 2)), lambda z: -1j * np.sin(2 * z)),
    "sign": (lambda z: pa.sum(pa.real(pa.sign(z))), lambda z: 1 / np.abs(z) - z.real * np.conj(z) / np.abs(z) ** 3),
    "matmul": (lambda z: pa.real(z @ z), lambda z: 2 * z),
    "vecdot": (lambda z: pa.real(pa.vecdot(z, z)), lambda z: 2 * np.conj(z)),
}


@pytest.mark.parametrize("name", OF_COMPLEX)
def test_gradient_by_complex_arguments(name):
    f, right = OF_COMPLEX[name]
    right = right(Z)
    for transform in (pa.grad, pa.jacrev, pa.jacfwd, pa.jacobian):
        same(transform(f)(Z), right)
    step = 1e-6
    for k in range(3):
        e = np.eye(3)[k]
        by_x = (f(Z + step * e) - f(Z - step * e)) / (2 * step)
        by_y = (f(Z + 1j * step * e) - f(Z - 1j * step * e)) / (2 * step)
        close(right[k], by_x - 1j * by_y, rtol=1e-7, atol=1e-8)
    g = pa.grad(f)(Z.astype(np.complex64))
    assert g.dtype == np.complex64


@pytest.mark.parametrize(
    ("f", "right"),
    [
        (lambda z: z**3, lambda z: 3 * z**2),
        (lambda z: pa.exp(pa.sin(z) / z), lambda z: np.exp(np.sin(z) / z) * (np.cos(z) / z - np.sin(z) / z**2)),
        (pa.log, lambda z: 1 / z),
        (pa.sqrt, lambda z: 0.5 / np.sqrt(z)),
        (lambda z: pa.tanh(z) * 1j, lambda z: 1j / np.cosh(z) ** 2),
        (pa.conj, lambda z: 0 * z),  # Wirtinger's ∂/∂z
        (lambda z: pa.abs(z) ** 2 + 0j, np.conj),
        (lambda z: pa.sign(z), lambda z: 0.5 / np.abs(z)),
    ],
)
def test_complex_functions_of_complex_arguments(f, right):
    for jacobian in (pa.jacfwd, pa.jacrev):
        close(jacobian(f)(Z), np.diag(right(Z)), rtol=1e-10, atol=1e-14)
    for z in Z:
        close(pa.derivative(f)(z), right(z), rtol=1e-10, atol=1e-14)


def test_complex_functions_of_real_arguments():
    f = lambda x: pa.exp(1j * x)
    x = np.array([0.3, 0.7])
    for jacobian in (pa.jacfwd, pa.jacrev):
        same(jacobian(f)(x), np.diag(1j * np.exp(1j * x)))
    close(pa.derivative(f)(0.3), 1j * np.exp(0.3j))
    assert pa.jacrev(f)(x.astype(np.float32)).dtype == np.complex64


def test_mixed_trees_of_real_and_complex():
    p = {"x": 0.5, "z": np.array([1 + 1j, 2.0])}
    f = lambda p: pa.sum(p["z"] ** 2) * p["x"]
    for jacobian in (pa.jacfwd, pa.jacrev):
        j = jacobian(f)(p)
        close(j["x"], np.sum(p["z"] ** 2))
        close(j["z"], p["z"])  # 2 z x
    g = pa.grad(lambda p: pa.real(f(p)))(p)
    close(g["x"], np.sum(p["z"] ** 2).real)
    assert g["x"].dtype == float and g["z"].dtype == complex


def test_second_derivatives_of_complex_arguments():
    holomorphic = lambda z: pa.sum(pa.real(z**3))
    close(pa.hessian(holomorphic)(Z), np.diag(6 * Z), atol=1e-12)
    direction = np.array([1.0, 1j, 0.5])
    close(pa.hvp(holomorphic, Z, direction), 6 * Z * direction)
    close(pa.hvp(lambda z: pa.sum(pa.abs(z) ** 2), Z, direction), 2 * np.conj(direction))


def test_no_conjugation_in_pullbacks():
    y, pullback = pa.vjp(lambda z: z * (2 + 1j), Z)
    close(pullback(np.array([1j, 1.0, 1 + 1j]))[0], np.array([1j, 1.0, 1 + 1j]) * (2 + 1j))
