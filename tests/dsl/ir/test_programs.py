"""Programs: every sample of every card makes a correct one, and `check` finds planted faults."""

import numpy as np
import pytest

import polyad as pa
from polyad.dsl import operations
from polyad.dsl.avals import Aval, dtype_of
from polyad.dsl.ir.programs import Equation, Program, Var, check
from polyad.dsl.ir.source import letters


def samples():
    for name, op in operations.items():
        for i, make in enumerate(op.card.samples):
            yield pytest.param(op, make, id=f"{name}-{i}")


def as_function(op, args, params):
    """The operation as a function of the arrays among its arguments, and those."""
    xs = list(args[0]) if op.generic.sequence else list(args)
    where = [i for i, x in enumerate(xs) if isinstance(x, (np.ndarray, np.generic))]

    def f(*values):
        full = list(xs)
        for i, v in zip(where, values, strict=True):
            full[i] = v
        return op(full, **params) if op.generic.sequence else op(*full, **params)

    return f, [xs[i] for i in where]


@pytest.mark.parametrize(("op", "make"), list(samples()))
def test_every_sample_makes_a_correct_program(op, make):
    f, xs = as_function(op, *make(np.random.default_rng(7)))
    program = pa.make_ir(f)(*xs)
    check(program)
    real = lambda *v: [y for y in pa.tree.leaves(f(*v)) if dtype_of(y).kind == "f"]
    if op.card.differentiable and all(x.dtype.kind == "f" for x in xs) and real(*xs):
        total = lambda *v: sum([pa.sum(y) for y in real(*v)])
        check(pa.make_ir(pa.grad(total, tuple(range(len(xs)))))(*xs))
    check(pa.make_ir(pa.vmap(f))(*[np.stack([x, x]) for x in xs]))


def program():
    return pa.make_ir(lambda x: np.sum(np.sin(x) * np.array([1.0, 2.0])))(np.ones(2))


def undefined(p):
    p.equations[0].inputs[0] = Var(Aval((2,), np.dtype(float)))


def used_before(p):
    p.equations.reverse()


def twice(p):
    p.equations.append(Equation(pa.sin, list(p.inputs), {}, [p.equations[0].outputs[0]]))


def wrong_shape(p):
    p.equations[0].outputs[0].aval = Aval((3,), np.dtype(float))


def wrong_dtype(p):
    p.equations[-1].outputs[0].aval = Aval((), np.dtype(np.float32))


def wrong_operation(p):
    p.equations[1].op = pa.matmul


def wrong_parameter(p):
    p.equations[-1].params["keepdims"] = True


def wrong_constant(p):
    p.constants[0] = (p.constants[0][0], np.ones(5))


def repeated_input(p):
    p.inputs.append(p.inputs[0])


def unknown_result(p):
    p.outputs[0] = Var(Aval((), np.dtype(float)))


def two_results(p):
    p.equations[0].outputs.append(Var(Aval((2,), np.dtype(float))))


@pytest.mark.parametrize(
    ("plant", "text"),
    [
        (undefined, "sin uses a value that is not defined before it"),
        (used_before, "sum uses a value that is not defined before it"),
        (twice, "sin defines a value twice"),
        (wrong_shape, r"sin gives float64\[2\], not float64\[3\]"),
        (wrong_dtype, r"sum gives float64\[\], not float32\[\]"),
        (wrong_operation, r"matmul gives float64\[\], not float64\[2\]"),
        (wrong_parameter, r"sum gives float64\[1\], not float64\[\]"),
        (wrong_constant, r"a constant is float64\[5\], not float64\[2\]"),
        (repeated_input, "an input or constant is defined twice"),
        (unknown_result, "returns a value that is not defined"),
        (two_results, r"sin gives float64\[2\], not float64\[2\], float64\[2\]"),
    ],
)
def test_planted_faults(plant, text):
    p = program()
    check(p)
    plant(p)
    with pytest.raises(AssertionError, match=text):
        check(p)


def test_letters():
    names = [letters(n) for n in range(20000)]
    assert names[:3] == ["a", "b", "c"] and names[25:28] == ["z", "aa", "ab"]
    assert len(set(names)) == len(names)
    for name in names:
        compile(f"{name} = 1", "", "exec")
        assert name not in ("np", "pa")


def test_a_program_is_a_named_function():
    assert (program().name, program().__name__) == ("lambda", "program")
    assert isinstance(program(), Program) and callable(program())


def named(name):
    """A function of this name, and a program of it."""
    f = lambda x: pa.sin(x) * 2.0
    f.__name__ = name
    return f, pa.make_ir(f)(np.ones(3))


@pytest.mark.parametrize("name", ["<lambda>", "f", "force", "np", "pa", "class", "größe", "f.g", "inner_program"])
def test_code_defines_the_name_it_says(name):
    f, program = named(name)
    found = {}
    exec(program.code, found)
    np.testing.assert_array_equal(found[program.__name__](np.ones(3)), f(np.ones(3)))
    assert program.__name__ == name or name in ("<lambda>", "np", "pa", "class", "f.g")
