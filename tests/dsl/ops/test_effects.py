"""Calls of Python functions as operations: what the function gets and gives, lanes, equality, and errors by its name."""

import functools

import numpy as np
import pytest

import polyad as pa
from polyad.dsl.ops.effects import EachLane, name_of, same_function

pytestmark = pytest.mark.quick

FLOAT = pa.Aval((), float)


def test_all_lanes_in_one_call():
    shapes = []

    def f(a, b):
        shapes.append((a.shape, b.shape))
        return a * b

    run = lambda a, b: pa.callback(f, pa.Aval((2,), float), a, b, lanes="all")
    y = pa.vmap(run, (0, None))(np.ones((3, 2)), np.array([1.0, 2.0]))
    assert shapes == [((3, 2), (3, 2))] and y.tolist() == [[1.0, 2.0]] * 3
    pa.vmap(pa.vmap(run, (0, None)), (None, 0))(np.ones((3, 2)), np.ones((4, 2)))
    assert shapes[1] == ((3, 4, 2), (3, 4, 2)) or shapes[1] == ((4, 3, 2), (4, 3, 2))


def test_arguments_are_read_only_and_results_apart():
    x = np.ones(2)
    with pytest.raises(ValueError, match="read-only"):
        pa.callback(lambda x: x.fill(0.0), x, x)
    kept = np.zeros(2)
    y = pa.callback(lambda x: kept, x, x)
    kept[:] = 7.0
    assert y.tolist() == [0.0, 0.0]


def test_no_derivative():
    f = lambda x: pa.callback(np.sin, FLOAT, x)
    for run in (pa.grad(f), lambda x: pa.jvp(f, (x,), (1.0,))):
        with pytest.raises(pa.MissingRuleError, match="callback of sin.*custom_jvp or custom_vjp.*stop_gradient"):
            run(1.0)
    assert pa.grad(lambda x: f(pa.stop_gradient(x)) * x)(1.0) == np.sin(1.0)
    integer = lambda x: pa.callback(lambda v: np.int64(3), pa.Aval((), int), x)
    assert pa.grad(lambda x: integer(x) * x)(1.0) == 3.0


@pytest.mark.parametrize("f, result, error, text", [
    (lambda x: np.ones(3), pa.Aval((2,), float), pa.ShapeError, r"callback of <lambda>: it .*\[3\] where float64\[2\]"),
    (lambda x: 1j, FLOAT, pa.DTypeError, r"complex"),
    (lambda x: "text", FLOAT, pa.DTypeError, r"it returned str"),
    (lambda x: 1.5, pa.Aval((), int), pa.DTypeError, r"float64 where int64"),
    (lambda x: (x, x), FLOAT, pa.StructureError, r"2 array\(s\) where 1"),
    (lambda x: x, (FLOAT, FLOAT), pa.StructureError, r"callback of <lambda>: its result"),
])  # fmt: skip
def test_results_that_are_not_as_announced(f, result, error, text):
    with pytest.raises(error, match=text):
        pa.callback(f, result, 1.0)


def test_errors_of_the_function_come_through():
    def broken(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        pa.io_callback(broken, None, 1.0)


def test_one_lane_after_the_other():
    """Each lane has its own call, with what all share; results come in the announced dtype."""
    seen = []

    def f(a, b):
        seen.append((a.shape, b.tolist()))
        return np.float32(b.sum() + a.sum())

    y = pa.vmap(lambda a, b: pa.callback(f, FLOAT, a, b), (None, 0))(np.ones(2), np.arange(6.0).reshape(3, 2))
    assert seen == [((2,), [0.0, 1.0]), ((2,), [2.0, 3.0]), ((2,), [4.0, 5.0])]
    assert y.tolist() == [3.0, 7.0, 11.0] and y.dtype == float


def made(value, default=0, keyword=0, code=0):
    if code:
        return lambda x, d=default, *, k=keyword: x - value
    return lambda x, d=default, *, k=keyword: x + value


def test_functions_made_by_the_same_code_with_the_same_values_are_the_same():
    """A step that is recorded twice is then one step."""
    array = np.ones(2)
    for a, b in (
        (made(1.0), made(1.0)), (made(array), made(array)), (made("a", 2, 3), made("a", 2, 3)),
        (functools.partial, functools.partial), (made(None), made(None)),
    ):  # fmt: skip
        assert same_function(a, b)
    first = made(1)
    others = (made(2), made(1.0), made(True), made(array), made(1, default=1), made(1, keyword=1), made(1, code=1), np.sin)
    assert not any(same_function(first, other) for other in others)
    assert not same_function(made(array), made(array.copy()))  # which may change
    lanes = [EachLane(made(v), n, (FLOAT,), m) for v, n, m in ((1, 2, [True]), (1, 2, [True]), (1, 3, [True]), (2, 2, [True]))]
    assert lanes[0] == lanes[1] and hash(lanes[0]) == hash(lanes[1])
    assert lanes[0] not in lanes[2:] and lanes[0] != EachLane(made(1), 2, (FLOAT,), [False]) and lanes[0] != 1
    assert repr(lanes[0]) == "EachLane(<lambda>,2)" and name_of(functools.partial(abs)) == "partial"
