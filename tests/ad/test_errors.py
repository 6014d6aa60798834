"""Errors name the function, the argument, its type and shape, and the next step."""

import math
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


# ---------------------------------------------------------------------- tangents and cotangents
X = np.ones((2, 3))


# ---------------------------------------------------------------------- what would lose the derivative
CONCRETE = {
    "float()": float,
    "complex()": complex,
    ".item()": lambda x: x.item(),
    ".tolist()": lambda x: x.tolist(),
    "float() ": math.sin,
    "a NumPy array": np.asarray,
    "a NumPy array ": lambda x: np.array([x, x]),
    "float()  ": lambda x: np.zeros(2).__setitem__(0, x),
}


@pytest.mark.parametrize("what", CONCRETE)
@pytest.mark.parametrize("transform", [lambda f: pa.grad(f)(1.5), lambda f: pa.jvp(f, (1.5,), (1.0,))])
def test_concrete_values(what, transform):
    with pytest.raises((pa.ConcreteValueError, ValueError)) as caught:
        transform(CONCRETE[what])
    error = caught.value
    while not isinstance(error, pa.ConcreteValueError):  # NumPy words some of them itself, ours being the cause
        error = error.__cause__
    text = str(error)
    assert what.strip() in text and "float64[]" in text and "polyad" in text
    assert "stop_gradient" in text or "polyad.at" in text


@pytest.mark.parametrize("call", [lambda x: np.histogram2d(x[0], x[1]), np.spacing, np.frompyfunc(abs, 1, 1)])
@pytest.mark.parametrize("transform", [lambda f: pa.grad(f)(np.eye(2)), lambda f: pa.jvp(f, (np.eye(2),), (np.eye(2),))])
def test_numpy_functions_without_a_card(call, transform):
    with says(pa.MissingRuleError, "np.", "polyad"):
        transform(call)


def test_values_cannot_be_pickled():
    import pickle

    with says(pa.ConcreteValueError, "Reverse[1]", "pickled"):
        pa.grad(lambda x: len(pickle.dumps(x)) * x)(1.0)


# ---------------------------------------------------------------------- linearize, linear_transpose, jet, derivatives, gvp
def test_linearize():
    _, f_jvp = pa.linearize(loss, X, 2.0)
    with says(pa.StructureError, "linearize(loss)", "2 argument(s)", "not 1"):
        f_jvp(X)
    with says(pa.ShapeError, "linearize(loss)", "tangent of argument 0", "[3]", "[2, 3]"):
        f_jvp(np.ones(3), 1.0)
    with says(pa.DTypeError, "tangent of argument 0", "complex128", "real part"):
        f_jvp(X * 1j, 1.0)
    _, f_jvp = pa.linearize(lambda p, n: p["a"] * n, {"a": X}, 3)
    with says(pa.StructureError, "tangent of argument 0", "'a'", "'b'"):
        f_jvp({"b": X}, pa.NoTangent)
    with says(pa.DTypeError, "tangent of argument 1", "int", "NoTangent"):
        f_jvp({"a": X}, 1.0)
    with says(pa.StructureError, "linearize(<lambda>)", "has_aux", "(value, aux)"):
        pa.linearize(lambda x: x, X, has_aux=True)
    with says(pa.DTypeError, "linearize(loss)", "argument 0", "not an array of numbers"):
        pa.linearize(loss, "text")


def test_linear_transpose():
    with says(pa.DTypeError, "linear_transpose(<lambda>)", "argument 1['n']", "int64", "functools.partial"):
        pa.linear_transpose(lambda x, p: x, X, {"n": np.arange(3)})
    with says(pa.DTypeError, "argument 0", "int64"):
        pa.linear_transpose(lambda x: x, pa.Aval((3,), np.dtype(int)))
    with says(pa.DTypeError, "returns", "int64[2, 3]", "floating"):
        pa.linear_transpose(lambda x: x.astype(int), X)
    back = pa.linear_transpose(lambda x: {"a": x}, X)
    with says(pa.ShapeError, "linear_transpose(<lambda>)", "cotangent['a']", "[2, 3]"):
        back({"a": np.ones(3)})
    with says(pa.StructureError, "linear_transpose(<lambda>)", "cotangent"):
        back(X)


@pytest.mark.parametrize(
    ("primals", "series", "error", "parts"),
    [
        (X, [X], pa.StructureError, ["tuples", "([dx, ddx],)"]),
        ((X,), (X,), pa.StructureError, ["series of argument 0", "list of its derivatives", "NoTangent"]),
        ((X, X), ([X],), pa.StructureError, ["one entry per argument"]),
        ((X, X), ([X], [X, X]), pa.StructureError, ["1 for argument 0, 2 for argument 1", "zeros at the end"]),
        ((X,), ([X, np.ones(3)],), pa.ShapeError, ["entry 1 of the series of argument 0", "[3]", "[2, 3]"]),
        ((X,), ([X * 1j],), pa.DTypeError, ["entry 0 of the series of argument 0", "complex128", "real part"]),
        (({"a": X},), ([{"b": X}],), pa.StructureError, ["series of argument 0, entry 0", "'a'", "'b'"]),
        ((3,), ([1.0],), pa.DTypeError, ["entry 0", "int", "NoTangent"]),
        (("text",), ([X],), pa.DTypeError, ["argument 0", "not an array of numbers"]),
    ],
)
def test_jet(primals, series, error, parts):
    with says(error, "jet(loss)", *parts):
        pa.jet(loss, primals, series)


def test_derivatives():
    with says(pa.DTypeError, "derivatives(loss)", "int", "3.0 instead of 3"):
        pa.derivatives(loss, 2)(3)
    for x in (np.ones(3), [1.0], {"a": 1.0}):
        with says(pa.ShapeError, "derivatives(loss)", "one floating number", "vmap", "jet"):
            pa.derivatives(loss, 2)(x)
    for n in (-1, 1.5, True, None):
        with says(pa.ShapeError, "derivatives(loss)", "whole number", repr(n)):
            pa.derivatives(loss, n)


def test_gvp():
    with says(pa.ShapeError, "tangent of argument 0", "[3]", "[2, 3]"):
        pa.gvp(pa.sum, pa.sin, X, np.ones(3))
    with says(pa.ShapeError, "one real number"):
        pa.gvp(pa.sin, pa.sin, X, X)


def test_values_kept_of_the_new_transformations():
    for enter in (
        lambda f: pa.linearize(f, 1.0), lambda f: pa.linear_transpose(f, 1.0), lambda f: pa.jet(f, (1.0,), ([1.0],)),
        lambda f: pa.derivatives(f, 2)(1.0),
    ):  # fmt: skip
        kept = []
        enter(lambda x, kept=kept: kept.append(x) or x)
        with says(pa.LeakedLayerError, "after that transformation ended", "return it"):
            kept[0] + 1.0


def test_concrete_values_of_series():
    for convert in (float, np.asarray, lambda x: x.item()):
        with pytest.raises(pa.ConcreteValueError):
            pa.derivatives(convert, 1)(1.5)


# ---------------------------------------------------------------------- rules that return something else
def cube(**rules):
    """An operation x³ with these rules."""

    @pa.opaque(kernel=None)
    def cubed(x, /):
        """x³, element by element."""

    @cubed.method
    def cubed_dense(x: pa.HostArray, /):
        return x**3

    for name, rule in rules.items():
        cubed.rule(name)(rule)
    return cubed


WRONG = [
    (np.ones(5), pa.ShapeError, ["ndarray(float64[5])", "[5]", "ndarray(float64[2, 3])", "must have that shape"]),
    (np.ones((4, 2, 2)), pa.ShapeError, ["[4, 2, 2]", "[2, 3]", "must have that shape"]),
    (np.full((2, 3), "a"), pa.DTypeError, ["no numbers", "ndarray(float64[2, 3])", "None for zero"]),
    (np.full((2, 3), None), pa.DTypeError, ["no numbers", "None for zero"]),
    (object(), pa.DTypeError, ["object", "no numbers"]),
    ("text", pa.StructureError, ["str", "ndarray(float64[2, 3])", "None for zero"]),
    ((X,), pa.StructureError, ["tuple", "must return an array"]),
    ({"x": X}, pa.StructureError, ["dict", "must return an array"]),
]


@pytest.mark.parametrize(("wrong", "error", "parts"), WRONG)
def test_reverse_rules(wrong, error, parts):
    for rules in ({"vjp": [lambda ct, y, x: wrong]}, {"vjp": lambda i, ct, y, x: wrong}, {"vjp_all": lambda ct, y, x: [wrong]}):
        with says(error, "cubed: its reverse rule returned", "argument 0", *parts):
            pa.grad(lambda x: pa.sum(cube(**rules)(x)))(X)  # noqa: B023  called here
        with says(error, "cubed: its reverse rule returned", *parts):
            pa.vjp(cube(**rules), X)[1](X)


@pytest.mark.parametrize(("wrong", "error", "parts"), WRONG)
def test_forward_rules(wrong, error, parts):
    op = cube(jvp=lambda dxs, y, x: wrong)
    with says(error, "cubed: its forward rule returned", *parts):
        pa.jvp(op, (X,), (X,))
    with says(error, "cubed: its forward rule returned", *parts):
        pa.grad(lambda x: pa.sum(op(x)))(X)  # transposed


def test_a_wrong_number_of_rules_or_cotangents():
    with says(pa.RegistrationError, "cubed: its rule 'vjp' has 0 function(s) for 1 array(s)", "for each array"):
        pa.grad(lambda x: pa.sum(cube(vjp=[])(x)))(X)
    with says(pa.MissingRuleError, "cubed: its rule vjp_all returned 2 cotangent(s) for 1 array(s)", "one for each"):
        pa.grad(lambda x: pa.sum(cube(vjp_all=lambda ct, y, x: [ct, ct])(x)))(X)
    with says(pa.MissingRuleError, "cubed has no reverse derivative", "@cubed.rule('vjp')", "differentiable=False"):
        pa.grad(lambda x: pa.sum(cube()(x)))(X)
    with says(pa.MissingRuleError, "cubed has no forward derivative", "@cubed.rule('jvp')"):
        pa.jvp(cube(), (X,), (X,))


BACKWARD = [
    (lambda saved, ct: ct, pa.StructureError, ["1 differentiated argument(s)", "return a tuple"]),
    (lambda saved, ct: (ct, ct), pa.StructureError, ["a tuple of 2", "1 differentiated argument(s)"]),
    (lambda saved, ct: (np.ones(5),), pa.ShapeError, ["argument[0]", "[5]", "[2, 3]"]),
    (lambda saved, ct: (1j * ct,), pa.DTypeError, ["argument[0]", "complex128", "take its real part"]),
    (lambda saved, ct: ("text",), pa.DTypeError, ["argument[0]", "str", "array of shape [2, 3]"]),
]


@pytest.mark.parametrize(("backward", "error", "parts"), BACKWARD)
def test_backward_functions_of_custom_vjp(backward, error, parts):
    f = pa.custom_vjp(lambda x: x**3)
    f.defvjp(lambda x: (x**3, x), backward)
    with says(error, "custom_vjp(<lambda>)", "backward returned", *parts):
        pa.grad(lambda x: pa.sum(f(x)))(X)


FORWARD = [
    (lambda xs, dxs: dxs[0], pa.StructureError, ["must return a pair (y, dy)"]),
    (lambda xs, dxs: (xs[0] ** 3, np.ones(5)), pa.ShapeError, ["[5]", "[2, 3]"]),
    (lambda xs, dxs: (xs[0] ** 3, 1j * dxs[0]), pa.DTypeError, ["complex128", "take its real part"]),
    (lambda xs, dxs: (xs[0] ** 3, "text"), pa.DTypeError, ["str", "array of shape [2, 3]"]),
    (lambda xs, dxs: (xs[0] ** 3, (dxs[0], dxs[0])), pa.StructureError, ["structure", "NoTangent"]),
]


@pytest.mark.parametrize(("rule", "error", "parts"), FORWARD)
def test_rules_of_custom_jvp(rule, error, parts):
    f = pa.custom_jvp(lambda x: x**3)
    f.defjvp(rule)
    with says(error, "custom_jvp(<lambda>)", "rule returned", *parts):
        pa.jvp(f, (X,), (X,))
    with says(error, "custom_jvp(<lambda>)", "rule returned", *parts):
        pa.grad(lambda x: pa.sum(f(x)))(X)


# ---------------------------------------------------------------------- the product of a Hessian and a vector
def test_hvp():
    with says(pa.DTypeError, "hvp(loss)", "argument 0", "ndarray(int64[3])", "no derivative", "x.astype(float)"):
        pa.hvp(loss, np.arange(3), np.ones(3))
    with says(pa.DTypeError, "hvp(loss)", "argument 0", "bool"):
        pa.hvp(loss, True, 1.0)
    with says(pa.ShapeError, "hvp(loss)", "tangent of argument 0", "[4]", "[3]"):
        pa.hvp(loss, np.ones(3), np.ones(4))
    with says(pa.DTypeError, "hvp(loss)", "tangent of argument 0", "complex128", "real part"):
        pa.hvp(loss, np.ones(3), np.ones(3) * 1j)
    with says(pa.StructureError, "hvp(<lambda>)", "tangent of argument 0", "'a'", "'b'"):
        pa.hvp(lambda p: p["a"], {"a": 1.0}, {"b": 1.0})
    with says(pa.ShapeError, "hvp(sin)", "one real number", "sum or mean"):
        pa.hvp(pa.sin, X, X)


# ---------------------------------------------------------------------- values that outlive their transformation
ESCAPED = {
    "an operation": lambda v: v + 1.0,
    "a NumPy function": np.sin,
    "an index": lambda v: v[0],
    "a test": lambda v: bool(v[0, 0] > 1),
    "a number": lambda v: float(v[0, 0]),
    "another gradient": lambda v: pa.grad(lambda x: pa.sum(x * v))(X),
    "the result of another": lambda v: pa.grad(lambda x: pa.sum(v))(X),
    "an argument": lambda v: pa.grad(lambda x: pa.sum(pa.sin(x)))(v),
    "a tangent": lambda v: pa.jvp(pa.sin, (X,), (v,)),
    "a cotangent": lambda v: pa.vjp(pa.sin, X)[1](v),
    "lanes": lambda v: pa.vmap(lambda x: x + v)(X),
    "a program": lambda v: pa.jit(lambda x: x + v)(X),
    "another value of it": lambda v: v * v,
}


@pytest.mark.parametrize("use", ESCAPED)
@pytest.mark.parametrize("enter", [
    lambda f: pa.grad(f)(X), lambda f: pa.jvp(f, (X,), (X,)), lambda f: pa.vjp(f, X), lambda f: pa.hvp(f, X, X),
    lambda f: pa.jacfwd(f)(X),
])  # fmt: skip
def test_values_that_escaped(use, enter):
    kept = []
    enter(lambda x: (kept.append(pa.sin(x)), pa.sum(x))[1])
    with says(pa.LeakedLayerError, "(<lambda>)", "entered at", "test_errors.py", "transformation ended", "return it"):
        ESCAPED[use](kept[0])
    assert "array" in str(kept[0])  # to look at, for instance in a debugger
