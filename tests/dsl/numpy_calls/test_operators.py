"""Python's operators, methods and conversions on followed values: what they are on arrays, or why not."""

import operator

import numpy as np
import pytest
from numpy_agreement import agree

import polyad as pa

x0 = np.array([[1.2, -0.7, 2.5], [0.4, 3.1, -1.6]])


a, b = np.array([6, 3, 12, 5]), np.array([3, 5, 1, 5])
m, n = np.array([True, True, False, False]), np.array([True, False, True, False])


BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
          operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]  # fmt: skip


@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.__name__)
@pytest.mark.parametrize("other", [np.array([0.5, 2.0, 1.5]), 2, 2.5, np.float64(2), np.float32(0.5), np.int64(3), True])
def test_operators_with_arrays_on_either_side(op, other):
    if op in (operator.sub, operator.pow) and other is True:
        return  # NumPy has no such operation of booleans
    x = np.abs(x0)
    agree(lambda v: op(v, other), x)
    agree(lambda v: op(other, v), x)
    agree(lambda v, w: op(v, w), x, x + 1)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: -x + +x + abs(x), lambda x: x**2 + 2**x, lambda x: x @ x0.T + x0 @ x.T,
        lambda x: x.sum(axis=0) + x.sum(0) + x.mean() + x.mean(axis=0), lambda x: x.T @ x.mT.T,
        lambda x: x.reshape(3, -1) + x.reshape((3, 2)) + x.reshape([3, 2]) + x.reshape(np.int64(3), 2),
        lambda x: x.reshape(-1) + x.reshape(np.int64(6)) + x.ravel() + x.flatten(),
        lambda x: x.transpose() + x.transpose(1, 0) + x.transpose((1, 0)) + x.transpose(-1, 0) + x.swapaxes(0, 1),
        lambda x: x.astype(np.float32), lambda x: x.astype("float32") + x.astype(int), lambda x: x.astype(complex),
        lambda x: x.max() + x.min(axis=1).prod() + x.dot(x0.T).sum(),
        lambda x: x.real + x.imag + x.conj() + x.conjugate(),
        lambda x: (x > 1).any(axis=0) & (x > 1).all(0), lambda x: x[None].squeeze() + x[None].squeeze(0),
        lambda x: x.take(np.array([0, 2]), axis=1), lambda x: x.clip(0, 1) + x.clip(min=0) + x.clip(max=1),
        lambda x: x.max(axis=0, keepdims=True) + x.mean(1, keepdims=True), lambda x: round(x[0, 0]) + round(x[0, 1], 1),
        lambda x: x.transpose(0, 1)[::-1, 1], lambda x: x.T.T.reshape(6)[x.ndim + x.size - x.shape[0] - 3],
    ],
)  # fmt: skip
def test_methods(f):
    agree(f, x0)


@pytest.mark.parametrize("op", [operator.and_, operator.or_, operator.xor], ids=lambda op: op.__name__)
@pytest.mark.parametrize(("left", "right"), [(a, b), (m, n), (a, 6), (m, True), (a, m), (a.astype(np.int8), np.uint8(5))])
def test_bits(op, left, right):
    agree(lambda u, v: op(u, v), left, right)
    agree(lambda u: op(u, right), left)
    agree(lambda u: op(right, u), left)


def test_more_bits():
    agree(lambda u, v: u << (v & 3), a, b)
    agree(lambda u, v: u >> v, a, b)
    agree(lambda u: (1 << (u & 3)) + (100 >> u), a)
    agree(operator.invert, a)
    agree(operator.invert, m)
    agree(lambda u: np.bitwise_count(u) if type(u) is np.ndarray else u, a, expected=a)
    np.testing.assert_array_equal(pa.bitwise_and(a, b), a & b)


@pytest.mark.parametrize("op", [operator.and_, operator.or_, operator.xor, operator.lshift])
def test_no_bits_of_floats(op):
    for under in (lambda f: pa.vjp(f, x0), lambda f: pa.vmap(f)(x0), lambda f: pa.make_ir(f)(x0)):
        with pytest.raises(pa.DTypeError, match="bitwise_.*float64"):
            under(lambda v: op(v, 1))
        with pytest.raises(pa.DTypeError, match="bitwise_.*float64"):
            under(lambda v: ~v)


def test_in_place_on_followed_values_rebinds():
    def f(x):
        y = x
        y += x * 2
        y *= 3
        y -= 1
        assert y is x
        return np.sum(y + x)

    np.testing.assert_array_equal(pa.grad(f)(x0), np.full((2, 3), 18.0))
    np.testing.assert_allclose(pa.vmap(f)(x0[None]), [np.sum(18 * x0 - 2)])


def test_formatting():
    seen = []
    pa.grad(lambda x: seen.append(f"{x:.2f} {x}") or x * x)(1.5)
    assert seen == ["1.50 1.5"]
    with pytest.raises(pa.ConcreteValueError):
        pa.make_ir(lambda x: f"{x:.2f}" and x)(1.5)
    with pytest.raises(pa.ConcreteValueError):
        pa.vmap(lambda x: f"{x:.2f}" and x)(x0[0])


TEXTS = {
    "str": lambda x: x * len(str(x)),
    "f-string": lambda x: x * len(f"{x}"),
    "format": lambda x: x * len(format(x, "")),
    "number": lambda x: x * complex(f"{x}"),
    "join": lambda x: x * len("|".join(map(str, [x, x * 2]))),
    "repr": lambda x: x * len(repr(x)),
    "in a list": lambda x: x * len(str([x])),
    "!r": lambda x: x * len(f"{x!r}"),
}


@pytest.mark.filterwarnings("ignore:jit.*runs eagerly")
@pytest.mark.parametrize("name", TEXTS)
def test_what_is_computed_from_text(name):
    """The text is that of the number: under jit at each call, and under derivatives, whose repr says that they follow it."""
    f, tangent = TEXTS[name], lambda f: lambda x: pa.jvp(f, (x,), (np.ones_like(x),))[0]
    for a, b in ((1.25, 11.5), (np.float64(1.25), np.float64(11.5)), (np.float32(0.1), np.float32(2.5)), (3, 12345), (2j, 1j)):
        g = pa.jit(f)
        for x in (a, a, b, b, a):
            assert repr(g(x)) == repr(f(x))
            if type(x) is not int and name not in ("repr", "in a list", "!r"):
                number = np.asarray(x)[()]
                assert tangent(f)(x) == f(number)
                assert pa.jit(tangent(f))(x) == f(number)
    if name != "number":
        v = np.array([1.0, 2.5])
        assert repr(pa.jit(f)(v)) == repr(f(v))


def test_text_inside_a_choice_under_jit():
    f = lambda x: pa.cond(x > 0, lambda x: x * len(str(x)), lambda x: -x, x)
    with pytest.warns(pa.PerformanceWarning, match="runs eagerly"):
        assert pa.jit(f)(12.5) == 50.0


def test_a_class_that_knows_better_is_asked():
    class Theirs:
        def __radd__(self, other):
            return "theirs"

        def __rmatmul__(self, other):
            return "theirs too"

    d = pa.Diagonal(np.ones(2))
    assert d + Theirs() == "theirs" and d @ Theirs() == "theirs too"
    with pytest.raises(TypeError, match="unsupported operand"):
        d @ object()


def test_what_asks_for_one_number_names_the_shape():
    def f(x):
        for ask, what in ((bool, "bool"), (int, "int"), (lambda v: f"{v:.2f}", "format")):
            with pytest.raises(pa.ShapeError, match=rf"{what}\(\) of an array of shape \[2, 3\] is ambiguous; use .any"):
                ask(x)
        with pytest.raises(TypeError, match="only integer values can be used as an index, not float64"):
            operator.index(x[0, 0])
        assert int(x[0, 0]) == 1 and bool(x[0, 0]) and operator.index(pa.argmax(x)) == 4
        return x

    pa.vjp(f, x0)


@pytest.mark.parametrize(("value", "error", "text"), [
    (np.nan, ValueError, "cannot convert float NaN to integer"), (np.inf, OverflowError, "infinity"),
    (-np.inf, OverflowError, "infinity"), (2.0**63, None, ""), (-(2.0**63), None, ""), (-(2.0**63) + 1024, None, ""),
    (1e300, None, ""), (-3.7, None, ""),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:jit.*runs eagerly")
def test_whole_numbers_as_python_has_them(value, error, text):
    f = pa.jit(lambda x: (int(x), x)[0])
    for _ in range(2):
        if error is None:
            assert f(np.float64(value)) == int(value)
            continue
        with pytest.raises(error, match=text):
            f(np.float64(value))


def test_the_namespace_and_its_versions():
    def f(x):
        assert x.__array_namespace__() is x.__array_namespace__(api_version="2021.12") is pa.dsl
        with pytest.raises(ValueError, match="__array_namespace__: api_version='2019.01' is none of 2021.12, .*2025.12"):
            x.__array_namespace__(api_version="2019.01")
        return x

    pa.vjp(f, x0)
