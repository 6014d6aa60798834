"""What transformations ask of arguments, tangents, cotangents and results, and the errors where it is not so."""

import re

import numpy as np
import pytest

import polyad as pa
from polyad.dispatch import current_depth

pytestmark = pytest.mark.quick


def loss(x, y=1.0):
    return pa.sum(x * y)


def says(error, *parts):
    """A context that expects this error with all these parts in its text."""
    return pytest.raises(error, match="".join(f"(?=[\\s\\S]*{re.escape(p)})" for p in parts))


@pytest.fixture(autouse=True)
def depth_is_restored():
    yield
    assert current_depth() == 0


GRADIENTS = {"grad": pa.grad, "jacfwd": pa.jacfwd, "jacrev": pa.jacrev, "jacobian": pa.jacobian}


@pytest.mark.parametrize("name", GRADIENTS)
@pytest.mark.parametrize(
    ("x", "kind"),
    [(3, "int"), (True, "bool"), (np.arange(3), "ndarray(int64[3])"), (np.array([True]), "ndarray(bool[1])"),
     (np.int32(2), "int32")],
)  # fmt: skip
def test_integers(name, x, kind):
    with says(pa.DTypeError, f"{name}(loss)", "argument 0", kind, "no derivative", "3.0 instead of 3", "argnums"):
        GRADIENTS[name](loss)(x)
    with says(pa.DTypeError, "argument 1", kind):
        GRADIENTS[name](loss, 1)(1.0, x)
    with says(pa.DTypeError, "argument 0['n'][1]", kind):
        GRADIENTS[name](lambda p: p["x"])({"x": 1.0, "n": [2.0, x]})


@pytest.mark.parametrize("x", [np.array([1.0, None]), "text", object(), np.array(["a"]), b"bytes", len, 10**30, {1, 2}])
def test_what_is_no_array_of_numbers(x):
    with says(pa.DTypeError, "grad(loss)", "argument 0", "not an array of numbers", "lambda"):
        pa.grad(loss)(x)
    with says(pa.DTypeError, "vjp(loss)", "argument 1", "not an array of numbers"):
        pa.vjp(loss, 1.0, x)
    with says(pa.DTypeError, "jvp(loss)", "argument 0[1]", "not an array of numbers"):
        pa.jvp(loss, ([1.0, x],), ([1.0, x],))


@pytest.mark.parametrize(("argnums", "count"), [(2, 2), (-3, 2), ((0, 5), 2)])
def test_argnums_out_of_range(argnums, count):
    for transform in GRADIENTS.values():
        with says(pa.ShapeError, "(loss)", repr(argnums), f"{count} positional", "keyword"):
            transform(loss, argnums)(1.0, 2.0)
    with says(pa.ShapeError, "0 positional"):
        pa.grad(loss)(x=1.0)


def test_argnums_of_other_kinds():
    for argnums in ("x", 1.0, None, True, ("y",)):
        with says(pa.StructureError, "grad(loss)", "integer", repr(argnums)):
            pa.grad(loss, argnums)(1.0, 2.0)
    with says(pa.ShapeError, "twice"):
        pa.grad(loss, (0, -2))(1.0, 2.0)


@pytest.mark.parametrize(("x", "kind"), [(np.ones(3), "ndarray(float64[3])"), ([1.0, 2.0], "list"), ({"a": 1.0}, "dict")])
def test_derivative_of_arrays(x, kind):
    with says(pa.ShapeError, "derivative(loss)", kind, "one floating number", "jacfwd"):
        pa.derivative(loss)(x)


def test_derivative_of_integers():
    with says(pa.DTypeError, "derivative(loss)", "int", "3.0 instead of 3"):
        pa.derivative(loss)(3)


@pytest.mark.parametrize(
    ("f", "error", "parts"),
    [
        (lambda x: x, pa.ShapeError, ["float64[2]", "[2]", "sum or mean", "jacrev"]),
        (lambda x: (pa.sum(x), pa.sum(x)), pa.ShapeError, ["2 arrays", "has_aux"]),
        (lambda x: {"a": x[0], "b": 1.0}, pa.ShapeError, ["2 arrays"]),
        (lambda x: pa.sum(x) * 1j, pa.DTypeError, ["complex128", "real"]),
        (lambda x: None, pa.ShapeError, ["nothing", "return"]),
        (lambda x: 3, pa.DTypeError, ["int", "real"]),
        (lambda x: pa.sum(x) > 1, pa.DTypeError, ["bool"]),
        (lambda x: "text", pa.DTypeError, ["str", "one real number"]),
    ],
)
def test_results_without_gradient(f, error, parts):
    for transform in (pa.grad, pa.value_and_grad, pa.hessian, pa.sparse_hessian):
        if transform is pa.hessian and not {"nothing", "int", "bool", "str"} & set(parts):
            continue  # second derivatives of any floating result
        with says(error, f"{transform.__name__}(<lambda>)", "one real number", *parts):
            transform(f)(np.ones(2))


@pytest.mark.parametrize("f", [lambda x: x, lambda x: (x,), lambda x: [x, x], lambda x: (x, x, x)])
def test_aux_of_another_structure(f):
    for name, transform in {
        "grad": lambda f: pa.grad(f, has_aux=True)(1.0),
        "vjp": lambda f: pa.vjp(f, 1.0, has_aux=True),
        "jvp": lambda f: pa.jvp(f, (1.0,), (1.0,), has_aux=True),
    }.items():
        with says(pa.StructureError, f"{name}(<lambda>)", "has_aux", "(value, aux)"):
            transform(f)


X = np.ones((2, 3))


@pytest.mark.parametrize(
    ("primals", "tangents", "error", "parts"),
    [
        (X, X, pa.StructureError, ["tuples", "(x,)", "ndarray(float64[2, 3])"]),
        ((X,), X, pa.StructureError, ["tuples"]),
        ((X,), (X, X), pa.StructureError, ["one entry per argument"]),
        (({"a": X},), ({"b": X},), pa.StructureError, ["tangent of argument 0", "'a'", "'b'"]),
        (([X],), (X,), pa.StructureError, ["tangent of argument 0"]),
        ((X,), (np.ones(3),), pa.ShapeError, ["tangent of argument 0", "[3]", "[2, 3]"]),
        (([X, X],), ([X, 1.0],), pa.ShapeError, ["tangent of argument 0[1]", "float", "[]", "[2, 3]"]),
        ((X,), (X * 1j,), pa.DTypeError, ["tangent of argument 0", "complex128", "float64[2, 3]", "real part"]),
        ((X,), (np.array("a"),), pa.DTypeError, ["tangent of argument 0"]),
        ((3,), (1.0,), pa.DTypeError, ["tangent of argument 0", "int", "NoTangent"]),
        ((np.arange(2),), (np.ones(2),), pa.DTypeError, ["int64[2]", "NoTangent"]),
    ],
)
def test_wrong_tangents(primals, tangents, error, parts):
    with says(error, "jvp(loss)", *parts):
        pa.jvp(loss, primals, tangents)


@pytest.mark.parametrize(
    ("f", "ct", "error", "parts"),
    [
        (lambda x: x, np.ones(3), pa.ShapeError, ["[3]", "[2, 3]"]),
        (lambda x: x, 1.0, pa.ShapeError, ["float", "[2, 3]"]),
        (lambda x: x, X * 1j, pa.DTypeError, ["complex128", "float64[2, 3]", "real part"]),
        (lambda x: x, "text", pa.DTypeError, ["str"]),
        (lambda x: (x, x), X, pa.StructureError, []),
        (lambda x: (x, x), (X,), pa.StructureError, []),
        (lambda x: {"a": x}, {"a": np.ones(2)}, pa.ShapeError, ["cotangent['a']", "[2, 3]"]),
        (lambda x: (x, 3), (X, 1.0), pa.DTypeError, ["cotangent[1]", "int", "NoTangent"]),
        (lambda x: np.ones(2), np.ones(3), pa.ShapeError, ["[3]", "[2]"]),
    ],
)
def test_wrong_cotangents(f, ct, error, parts):
    _, pullback = pa.vjp(f, X)
    with says(error, "vjp(<lambda>)", "cotangent", *parts):
        pullback(ct)


def test_allow_int():
    f = lambda p, n: pa.sum(p["x"]) ** n * p["k"]
    p = {"x": np.ones(2), "k": 3}
    for transform in (pa.grad, pa.jacfwd, pa.jacrev, pa.jacobian):
        with says(pa.DTypeError, "argument 0['k']", "allow_int=True"):
            transform(f, (0, 1))(p, 2)
        slopes = transform(f, (0, 1), allow_int=True)(p, 2)
        np.testing.assert_allclose(slopes[0]["x"], [12, 12])
        assert slopes[0]["k"] is slopes[1] is pa.NoTangent
    value, slopes = pa.value_and_grad(f, allow_int=True)(p, 2)
    assert value == 12 and slopes["k"] is pa.NoTangent
    assert pa.grad(lambda n: n * 2.0, allow_int=True)(3) is pa.NoTangent
    assert pa.grad(lambda b, x: x * b, (0, 1), allow_int=True)(True, 2.0) == (pa.NoTangent, 1)
    curvature = pa.hessian(f, allow_int=True)(p, 2)
    np.testing.assert_allclose(curvature["x"]["x"], np.full((2, 2), 6))
    assert curvature["k"] is pa.NoTangent
    g = lambda x: pa.grad(lambda q: q[0] ** 2 * q[1] if q[0] > 0 else q[0], allow_int=True)((x, 3))
    slopes = pa.vmap(g)(np.array([1.0, -1.0]))  # in lanes that split, too
    np.testing.assert_allclose(slopes[0], [6, 1])
    assert slopes[1] is pa.NoTangent
    (gradient, aux) = pa.grad(lambda x, n: (x * n, {"n": n}), (0, 1), has_aux=True, allow_int=True)(2.0, 3)
    assert gradient == (3, pa.NoTangent) and aux == {"n": 3}
    with says(pa.ShapeError, "out of range"):
        pa.grad(f, 5, allow_int=True)(p, 2)
