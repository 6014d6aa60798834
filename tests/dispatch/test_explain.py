"""What the errors of dispatch say: types and shapes, the closest methods, the method to write, and no values."""

import re

import numpy as np
import pytest

import polyad as pa

pytestmark = pytest.mark.quick


class A: ...


class B(A): ...


class C(B): ...


class Other: ...


@pa.generic
def op(x, y, /): ...


@op.method
def op_a(x: A, y: object):
    return ("A", y)


@op.method
def op_b(x: B, y: int):
    return ("B", *pa.call_next(op_b, x, y))


@op.method
def op_c(x: C, y: int):
    return ("C", *pa.call_next(op_c, x, y))


class Secret:
    """Looks like an array; whoever prints it, or reads its elements, fails."""

    shape, dtype = (2, 3), np.dtype("float32")

    def __repr__(self):
        raise AssertionError("a message printed a value")

    __str__ = __format__ = __iter__ = __len__ = __getitem__ = __array__ = __bool__ = __eq__ = __repr__
    __hash__ = object.__hash__


class Broken:
    """An array-like whose attributes fail."""

    @property
    def shape(self):
        raise OSError("device lost")

    dtype = None


def message(call, error=pa.MethodError):
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


def test_method_error_is_a_type_error():
    assert issubclass(pa.MethodError, TypeError) and issubclass(pa.AmbiguousMethodError, pa.MethodError)


@pytest.mark.parametrize(
    "call", [lambda x: pa.sin(x), lambda x: pa.add(x, 1), lambda x: pa.concatenate([x]), lambda x: pa.sum(x, axis=0)]
)
def test_message_shows_types_and_shapes_but_no_values(call):
    assert "Secret(float32[2, 3])" in message(lambda: call(Secret()))
    assert "Broken" in message(lambda: call(Broken()))


def test_message_shows_dtype_and_shape_of_arrays():
    text = message(lambda: op(np.full((2, 3), 12345.0), "12345"))
    assert text.startswith("no method op(ndarray(float64[2, 3]), str)\n")
    assert "12345" not in text


def test_message_shows_the_three_closest_methods():
    @pa.generic
    def near(x, y, /): ...

    for types in ((int, int), (int, str), (str, str), (A, A), (int, float)):
        near.generic.add(lambda x, y: None, types)
    text = message(lambda: near(1, None))
    assert text.count("closest:") == 3
    for mismatch in ("near(int, !int)", "near(int, !str)", "near(int, !float)"):
        assert mismatch in text
    assert all(re.search(rf"at {re.escape(__file__)}:\d+$", line) for line in text.splitlines() if "closest" in line)


def test_message_compares_the_number_of_arguments():
    @pa.generic
    def f(x, /, *ys): ...

    @f.method
    def f_two(x: int, y: int, /): ...

    assert "closest: f(int, !int)" in message(lambda: f(1))


def test_message_names_a_union_by_its_classes():
    @pa.generic
    def f(x, /): ...

    f.generic.add(lambda x: x, (int | None,))
    assert "f(!int | NoneType)" in message(lambda: f("a"))


@pytest.mark.parametrize("wrong", [[1.0], (1.0,)])
@pytest.mark.parametrize("call", [pa.sin, lambda x: pa.add(1.0, x), lambda x: pa.concatenate([x, np.ones(2)])])
def test_hint_for_lists(wrong, call):
    assert "hint: lists and tuples are not arrays: convert with polyad.asarray" in message(lambda: call(wrong))


@pytest.mark.parametrize("wrong", [None, "text"])
def test_hint_for_what_is_no_number(wrong):
    assert "hint: the operation takes arrays and numbers only" in message(lambda: pa.multiply(wrong, 2.0))


def test_hint_for_others_is_to_register():
    assert "@sin.method" in message(lambda: pa.sin(Other()))


def test_class_as_argument():
    assert "op(type, int)" in message(lambda: op(int, 1))


def test_ambiguous_error_names_the_method_to_write():
    @pa.generic
    def f(x, y, z, /): ...

    f.generic.add(lambda x, y, z: 1, (A, B, object))
    f.generic.add(lambda x, y, z: 2, (B, A, int))
    text = message(lambda: f(B(), B(), 1), pa.AmbiguousMethodError)
    assert text.startswith("f(") and "is ambiguous" in text
    assert re.search(r"hint: define f\(\S*\.B, \S*\.B, int\)$", text)
    assert text.count("candidate:") == 2


def test_ambiguous_error_for_classes_without_order_names_the_argument():
    class Both(A, Other): ...

    @pa.generic
    def f(x, /): ...

    f.generic.add(lambda x: 1, (A,))
    f.generic.add(lambda x: 2, (Other,))
    text = message(lambda: f(Both()), pa.AmbiguousMethodError)
    assert re.search(r"hint: define f\(\S*Both\)", text)
    f.generic.add(lambda x: 3, (Both,))  # what the message says to write
    assert f(Both()) == 3
