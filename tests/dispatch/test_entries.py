"""The functions that users call: fixed arrays, sequences, variable arguments, parameters of any name, wrong counts."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import polyad as pa

_spec = importlib.util.spec_from_file_location("making", Path(__file__).with_name("making.py"))
making = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(making)
make, named = making.make, making.named

pytestmark = pytest.mark.quick


class A:
    pass


class B(A):
    pass


class C(A):
    pass


def test_fixed_arrays():
    @pa.generic
    def one(x, /): ...
    @pa.generic
    def three(x, y, z, /): ...

    one.method(named("a", x=A))
    three.method(named("abc", x=A, y=object, z=int))
    two = make(named("ab", x=A, y=B))
    assert (one(B()), two(C(), B()), three(A(), None, True)) == ("a", "ab", "abc")


def test_sequence():
    @pa.generic(sequence=True)
    def join(xs, /, axis=0): ...

    @join.method
    def join_same(*xs: A, axis):
        return ("A", len(xs), axis)

    @join.method
    def join_mixed(x: int, *xs: A, axis):
        return ("int, A", len(xs), axis)

    assert join([A(), B()]) == join((A(), B())) == ("A", 2, 0)
    assert join([1, A()], axis=2) == join((1, A()), 2) == ("int, A", 1, 2)
    assert join([]) == ("A", 0, 0)
    with pytest.raises(pa.MethodError, match=r"join\(\S*A, str\)"):
        join([A(), "x"])


def test_sequence_of_an_iterator_is_used_up_once():
    assert pa.concatenate(np.ones(n) for n in (1, 2)).shape == (3,)
    assert pa.stack(iter([np.ones(2)] * 3)).shape == (3, 2)
    np.testing.assert_array_equal(pa.concatenate(np.eye(2)), np.eye(2).reshape(-1))

    def failing(error):
        yield np.ones(1)
        raise error

    for error in (KeyError("mine"), TypeError("mine")):
        with pytest.raises(type(error), match="mine") as caught:
            pa.concatenate(failing(error))
        assert caught.value is error


def test_sequence_wants_a_sequence():
    with pytest.raises(pa.MethodError, match=r"concatenate takes a list or tuple of arrays, not int; write conc"):
        pa.concatenate(3)


def test_static_parameters():
    @pa.generic
    def scale(x, /, factor, *, offset=1): ...

    @scale.method
    def scale_int(x: int, /, factor, *, offset):
        return x * factor + offset

    assert scale(2, 3) == scale(2, factor=3) == scale(2, 3, offset=1) == 7
    assert scale(2, "ab", offset="c") == "ababc"  # outside of the key: any type
    assert len(pa.dispatch.table(scale)) == 1
    with pytest.raises(TypeError, match="factor"):
        scale(2)
    with pytest.raises(TypeError, match="axis"):
        scale(2, 3, axis=0)


def test_variadic():
    @pa.generic
    def total(first, /, *xs, start=0): ...

    @total.method
    def total_int(first: int, /, *xs: int, start):
        return first + sum(xs) + start

    @total.method
    def total_text(first: str, /, *xs: object, start):
        return first

    assert total(1) == 1
    assert total(1, 2, 3, start=4) == 10
    assert total("a", 1, None) == "a"
    with pytest.raises(pa.MethodError):
        total(1, "a")


def test_variadic_without_a_first_argument():
    @pa.generic
    def count(*xs): ...

    count.method(lambda *xs: len(xs))
    assert [count(), count(1), count(1, "a")] == [0, 1, 2]


def test_keywords_of_any_name_are_passed_on():
    @pa.generic
    def op(x, /, **options): ...

    @op.method
    def op_int(x: int, /, **options):
        return options

    assert op(1) == {}
    assert op(1, a=2, x=3) == {"a": 2, "x": 3}


def test_parameters_may_have_any_name():
    @pa.generic
    def op(table, target, /, type, kernel=1, miss=2, cached=3, KeyError=4): ...

    @op.method
    def op_int(table: int, target: int, /, type, kernel, miss, cached, KeyError):
        return table, target, type, kernel, miss, cached, KeyError

    assert op(5, 6, 7) == (5, 6, 7, 1, 2, 3, 4)


def test_defaults_are_those_of_the_declaration():
    marker = object()

    @pa.generic
    def op(x, y=None, /, axis=marker): ...

    @op.method
    def op_default(x: int, y: None, /, axis="ignored"):
        return axis

    @op.method
    def op_int(x: int, y: int, /, axis):
        return y

    assert op(1) is marker
    assert op(1, 2) == 2


def test_arrays_are_positional():
    """[plum 40, 132, 164: `f(x=1)` could not be resolved]"""
    with pytest.raises(TypeError, match="positional-only arguments passed as keyword.*'x'"):
        pa.sin(x=1.0)


def test_wrong_argument_counts():
    op = make(named("any", x=object, y=object))
    for args in ((), (1,), (1, 2, 3)):
        with pytest.raises(TypeError, match=r"op\(\)"):
            op(*args)
