"""Tracing: what the program of a function is, that it does what the function does, and what cannot be traced."""

from typing import NamedTuple

import numpy as np
import pytest

import polyad as pa
from polyad.dsl.ir.programs import check

pytestmark = pytest.mark.quick

x3 = np.array([0.5, -1.0, 2.0])


class Pair(NamedTuple):
    left: object
    right: object


def run_code(program, *leaves):
    """The result of the program's source, in a module of its own."""
    namespace = {}
    exec(program.code, namespace)
    name = program.name if program.name in namespace else "program"
    return namespace[name](*leaves)


def test_printed():
    def line(w, x):
        return np.sum(w @ x + 1.0, axis=0, keepdims=True)

    program = pa.make_ir(line)(np.ones((2, 3)), x3)
    assert str(program) == "\n".join([
        "line(a: float64[2,3], b: float64[3]):",
        "  c: float64[2] = matmul a b",
        "  d: float64[2] = add c 1.0",
        "  e: float64[1] = sum axis=0 keepdims=True d",
        "  return e",
    ])  # fmt: skip
    assert repr(program) == str(program)
    assert program.code == "\n".join([
        "import numpy as np",
        "import polyad as pa",
        "",
        "",
        "",
        "def line(a, b):",
        "    c = pa.matmul(a, b)",
        "    d = pa.add(c, 1.0)",
        "    e = pa.sum(d, axis=0, keepdims=True)",
        "    return e",
        "",
    ])  # fmt: skip


def test_printed_with_constants_and_several_results():
    table = np.array([[1.0, 2.0]])
    program = pa.make_ir(lambda x: {"y": x[::2] * table, "n": 3})(x3)
    assert str(program) == "\n".join([
        "lambda(a: float64[3]):",
        "  const b: float64[1,2]",
        "  c: float64[2] = index spec=(::2,) a",
        "  d: float64[1,2] = multiply c b",
        "  return 3, d",
    ])  # fmt: skip


@pytest.mark.parametrize(
    "constant",
    [
        np.array(2.5), np.zeros((0, 3)), np.array([1 + 2j, complex(np.inf, np.nan), complex(-0.0, -np.inf)]),
        np.array([np.nan, np.inf, -np.inf, -0.0]), np.array([True, False]), np.array([[1, -2]], np.int8),
        np.float32(0.1), np.array(3, np.uint64), np.array([1.0], ">f8"),
    ],
    ids=str,
)  # fmt: skip
def test_constants(constant):
    for f in (lambda x: pa.where(x > 0, constant, constant), lambda x: (x, constant)):
        x = np.zeros(constant.shape)
        program = pa.make_ir(f)(x)
        check(program)
        for found in (program(x), run_code(program, x)):
            for a, b in zip(pa.tree.leaves(found), pa.tree.leaves(f(x)), strict=True):
                np.testing.assert_array_equal(a, b)
                np.testing.assert_array_equal(np.signbit(np.real(a)), np.signbit(np.real(b)))
                assert a.dtype == b.dtype and a.shape == b.shape


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, -0.0, 1e-300, True, 7, 2 - 3j, complex(np.nan, -np.inf)])
def test_numbers_in_the_source(number):
    program = pa.make_ir(lambda x: (x * number, number))(x3)
    with np.errstate(invalid="ignore"):
        for found in zip(run_code(program, x3), (x3 * number, number), strict=True):
            np.testing.assert_array_equal(*found)


def test_parameters_in_the_source():
    f = lambda x: (
        pa.sum(pa.astype(x, dtype=np.float32), axis=(0, -1), dtype=float),
        np.transpose(x, (1, 0))[1:, None, -1], x[np.array([1, 0]), ..., 0].astype("int8"), pa.clip(x, None, 1.0),
        np.reshape(x, np.array([3, 2])), np.take(x, 1, axis=np.int64(0)),
    )  # fmt: skip
    x = np.arange(6.0).reshape(2, 3)
    for a, b in zip(run_code(pa.make_ir(f)(x), x), f(x), strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype


def test_names_in_the_source_do_not_collide():
    constants = [np.array([float(k)]) for k in range(40)]

    def f(x):  # f is also the name of the sixth value
        for c in constants:
            x = x * 2 + c
        return x

    program = pa.make_ir(f)(x3)
    assert len(set(program.names().values())) == len(program.names()) > 100
    np.testing.assert_array_equal(run_code(program, x3), f(x3))
    np.testing.assert_array_equal(run_code(pa.make_ir(lambda x: x + 1)(x3), x3), x3 + 1)
    f.__name__ = "b"
    np.testing.assert_array_equal(run_code(pa.make_ir(f)(x3), x3), f(x3))


def test_names_are_the_same_each_time():
    f = lambda x, y: np.sum(np.sin(x) * y @ np.ones((3, 3)))
    assert str(pa.make_ir(pa.hessian(f))(x3, x3)) == str(pa.make_ir(pa.hessian(f))(x3, x3))


def test_one_constant_used_twice():
    table = np.array([1.0, 2.0, 3.0])
    program = pa.make_ir(lambda x: x * table + table)(x3)
    assert len(program.constants) == 1
    assert len(pa.make_ir(lambda x: x * table + table.copy())(x3).constants) == 2


def test_dead_code_is_removed():
    def f(x):
        np.exp(x) @ np.ones((3, 100))
        return np.sin(x)

    program = pa.make_ir(f)(x3)
    assert [e.op for e in program.equations] == [pa.sin] and not program.constants


def test_results_that_are_arguments_or_constants():
    c = np.ones(2)
    program = pa.make_ir(lambda x, y: (y, x, c, 2.0, y))(x3, 1.0)
    check(program)
    found = program(x3, 4.0)
    assert found[0] == 4.0 and found[1] is x3 and found[2] is c and found[3] == 2.0
    assert pa.make_ir(lambda x: None)(x3)(x3) is None
    assert pa.make_ir(lambda x: ())(x3)(x3) == ()


def test_trees():
    f = lambda p, x: {"out": Pair(p["w"] * x[0], [x[1], np.sum(p["w"])])}
    p, x = {"w": x3, "unused": None}, (2.0, x3)
    program = pa.make_ir(f)(p, x)
    found, expected = program(p, x), f(p, x)
    assert isinstance(found["out"], Pair)
    for a, b in zip(pa.tree.leaves(found), pa.tree.leaves(expected), strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(pa.StructureError, match="program lambda.*structures of two trees differ"):
        program({"w": x3}, x)


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ((np.ones(4),), r"traced for float64\[3\], not for float64\[4\]; trace it again"),
        ((x3.astype(np.float32),), r"traced for float64\[3\], not for float32\[3\]"),
        ((x3[0],), r"not for float64\[\]"),
        ((x3, x3), "structures of two trees differ"),
    ],
)
def test_called_with_other_arguments(args, text):
    with pytest.raises(pa.StructureError, match=text):
        pa.make_ir(np.sin)(x3)(*args)


# --- transformations of functions, and of programs -------------------------------------------------------------


def smooth(x):
    return np.sum(np.sin(x) * x[::-1] ** 2) + np.max(x) * x[0]


TRANSFORMED = {
    "itself": lambda f: f,
    "grad": pa.grad,
    "value_and_grad": pa.value_and_grad,
    "jvp": lambda f: lambda x: pa.jvp(f, (x,), (np.ones_like(x),)),
    "vmap": lambda f: lambda x: pa.vmap(lambda c: f(x * c))(np.arange(1.0, 3.0)),
    "hessian": pa.hessian,
    "grad of vmap": lambda f: pa.grad(lambda x: np.sum(pa.vmap(lambda c: f(x * c))(np.arange(2.0)))),
    "vmap of grad": lambda f: lambda x: pa.vmap(lambda c: pa.grad(f)(x * c))(np.arange(2.0)),
}


def same(found, expected):
    for a, b in zip(pa.tree.leaves(found), pa.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
        assert np.shape(a) == np.shape(b)


@pytest.mark.parametrize("name", TRANSFORMED)
def test_programs_of_transformations_and_transformations_of_programs(name):
    transform = TRANSFORMED[name]
    expected = transform(smooth)(x3)
    program = pa.make_ir(transform(smooth))(x3)
    check(program)
    same(program(x3), expected)
    same(run_code(program, x3) if not isinstance(expected, tuple) else program(x3), expected)
    inner = pa.make_ir(smooth)(x3)
    same(transform(inner)(x3), expected)
    again = pa.make_ir(transform(inner))(x3)
    check(again)
    same(again(x3), expected)
    same(pa.make_ir(again)(x3)(x3), expected)


def test_constants_of_an_outer_transformation():
    def f(x):
        program = pa.make_ir(lambda y: y * x + np.sin(x))(2.0)
        with pytest.raises(pa.ConcreteValueError, match="has no source"):
            program.code
        return program(3.0)

    np.testing.assert_allclose(pa.grad(f)(0.7), 3 + np.cos(0.7))
    np.testing.assert_allclose(pa.vmap(f)(x3), 3 * x3 + np.sin(x3))
    program = pa.make_ir(f)(0.7)
    np.testing.assert_allclose(program(0.7), 2.1 + np.sin(0.7))


def test_arguments_of_an_outer_transformation():
    f = lambda x: pa.make_ir(lambda y: y * y)(x)(x)
    np.testing.assert_allclose(pa.grad(f)(0.7), 1.4)
    np.testing.assert_allclose(pa.hessian(f)(0.7), 2.0)


def test_a_program_kept_after_the_transformation():
    kept = []
    pa.grad(lambda x: kept.append(pa.make_ir(lambda y: y * x)(2.0)) or x * x)(1.0)
    with pytest.raises(pa.LeakedLayerError):
        kept[0](2.0)


# --- what cannot be traced -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x if x[0] > 0 else -x, lambda x: [0, 1, 2][x[0].astype(int)] * x, lambda x: x[: int(np.sum(x))],
        lambda x: x[x > 0], lambda x: x if np.any(x > 0) else -x, lambda x: range(x[0].astype(int)), lambda x: 2.0 in x,
    ],
)  # fmt: skip
def test_values_asked_for(f):
    with pytest.raises(pa.ConcreteValueError, match=r"make_ir\(lambda\): Python asked for the value .*polyad.where"):
        pa.make_ir(f)(x3)


@pytest.mark.parametrize("argument", ["text", np.array(["a"]), np.array([None]), object()])
def test_arguments_that_are_no_arrays(argument):
    with pytest.raises(pa.DTypeError, match=r"make_ir\(lambda\): leaf 1 of the arguments is .*not an array of numbers"):
        pa.make_ir(lambda x, y: x)(x3, argument)


@pytest.mark.parametrize("result", ["text", object(), {1, 2}])
def test_results_that_are_no_arrays(result):
    with pytest.raises(pa.DTypeError, match="is not an array of numbers"):
        pa.make_ir(lambda x: (x, result))(x3)


@pytest.mark.parametrize("operand", [[1.0, 2.0, 3.0], "text", None, np.array([None, 1, 2]), np.array(["a"])])
def test_operands_that_are_no_arrays(operand):
    with pytest.raises((pa.DTypeError, pa.MethodError)):
        pa.make_ir(lambda x: pa.add(x, operand))(x3)


def test_leaked():
    kept = []
    pa.make_ir(lambda x: kept.append(x) or x)(x3)
    with pytest.raises(pa.LeakedLayerError, match="make_ir"):
        kept[0] + 1
    with pytest.raises(pa.LeakedLayerError):
        pa.make_ir(lambda x: kept[0])(x3)


# ---------------------------------------------------------------------- parameters that a transformation follows
@pa.opaque()
def wave(x, /, k=1.0):
    """sin(k x)."""


@wave.method
def wave_of_array(x: pa.HostArray, /, k=1.0):
    return np.sin(k * x)


@wave.rule("shape")
def wave_shape(x, k=1.0):
    return pa.Aval(x.shape, x.dtype)


@wave.rule("jvp")
def wave_jvp(dxs, y, x, k=1.0):
    return k * pa.cos(k * x) * dxs[0]


def waves(x, k):
    return k * wave(x, k=k)


@pytest.mark.filterwarnings("ignore::polyad.PerformanceWarning")
@pytest.mark.parametrize("compiled", [
    lambda: pa.grad(pa.jit(waves), 1), lambda: pa.jit(pa.grad(waves, 1)), lambda: pa.jit(pa.value_and_grad(waves, 1)),
    lambda: pa.jit(lambda x, k: pa.derivative(lambda k: waves(x, k))(k)),
])  # fmt: skip
def test_a_followed_parameter_under_jit_is_what_it_is_eagerly(compiled):
    """Its derivative is that of the method's NumPy code: at the first call, at which jit gives up, and at the second."""
    f, slope = compiled(), np.sin(2.0) + 2.0 * np.cos(2.0)
    found = [f(1.0, 2.0) for _ in range(3)]
    assert [float(y[1] if isinstance(y, tuple) else y) for y in found] == pytest.approx([slope] * 3)


@pytest.mark.filterwarnings("ignore::polyad.PerformanceWarning")
def test_lanes_of_a_followed_parameter_under_jit():
    f = pa.jit(pa.vmap(waves, (None, 0)))
    for _ in range(2):
        np.testing.assert_allclose(f(1.0, np.array([2.0, 3.0])), [2 * np.sin(2.0), 3 * np.sin(3.0)])


def test_a_program_does_not_hold_a_followed_parameter():
    with pytest.raises(pa.ConcreteValueError, match=r"wave: its parameter k is Reverse\[2\].*declare k as an array"):
        pa.make_ir(pa.grad(waves, 1))(1.0, 2.0)


@pytest.mark.filterwarnings("ignore::polyad.PerformanceWarning")
@pytest.mark.parametrize("transformed", [
    lambda: pa.jvp(waves, (1.0, 2.0), (1.0, 1.0)), lambda: pa.vmap(waves)(np.ones(2), np.array([2.0, 3.0])),
])  # fmt: skip
def test_a_rule_that_is_given_a_followed_parameter_says_so(transformed):
    with pytest.raises(
        pa.MutationError, match=r"wave: .*one of its parameters \(k\) is followed: declare that one as an array"
    ):
        transformed()
