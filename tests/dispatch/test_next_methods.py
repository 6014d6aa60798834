"""From inside of a method to another one: the next, that of other types, from containers and into families."""

import threading

import numpy as np
import pytest

import polyad as pa

pytestmark = pytest.mark.quick


class A: ...


class B(A): ...


class C(B): ...


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


def message(call, error=pa.MethodError):
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


def test_call_next_follows_the_chain():
    assert op(C(), 1) == ("C", "B", "A", 1)
    assert op(B(), 1) == ("B", "A", 1)
    assert op(C(), "y") == ("A", "y")


def test_call_next_sees_later_methods():
    @pa.generic
    def f(x, /): ...

    @f.method
    def f_c(x: C):
        return ("C", *pa.call_next(f_c, x))

    f.generic.add(lambda x: ("A",), (A,))
    assert f(C()) == ("C", "A")
    f.generic.add(lambda x: ("B",), (B,))
    assert f(C()) == ("C", "B")


def test_call_next_without_next():
    @pa.generic
    def f(x, /): ...

    @f.method
    def f_a(x: A):
        return pa.call_next(f_a, x)

    assert "call_next found no less specific method" in message(lambda: f(A()))


def test_call_next_of_an_ambiguous_pair():
    @pa.generic
    def f(x, y, /): ...

    @f.method
    def f_aa(x: A, y: A):
        return pa.call_next(f_aa, x, y)

    f.generic.add(lambda x, y: 1, (A, object))
    f.generic.add(lambda x, y: 2, (object, A))
    assert "candidate" in message(lambda: f(A(), A()), pa.AmbiguousMethodError)


def test_call_next_of_what_is_no_method():
    assert "not a method of any generic function" in message(lambda: pa.call_next(len, A()))
    assert "not a method of any generic function" in message(lambda: pa.call_next(op, A(), 1))
    assert "does not take these arguments" in message(lambda: pa.call_next(op_b, A(), 1))


def test_call_next_of_a_method_of_two_functions():
    def shared(x):
        return pa.call_next(shared, x)

    @pa.generic
    def f(x, /): ...
    @pa.generic
    def g(x, /): ...

    f.generic.add(shared, (A,))
    g.generic.add(shared, (A,))
    assert "several generic functions (" in message(lambda: f(A()))


def test_call_next_with_parameters_and_variable_arguments():
    @pa.generic
    def f(x, /, *ys, scale=1): ...

    @f.method
    def f_b(x: B, *ys: object, scale):
        return ("B", *pa.call_next(f_b, x, *ys, scale=scale + 1))

    @f.method
    def f_any(x: object, *ys: object, scale):
        return (len(ys), scale)

    assert f(B(), 1, 2) == ("B", 2, 2)


@pa.array_type(leaves=("values",), linear=True)
class Wrapped(pa.Container):
    """A dense array in a box."""

    def __init__(self, values):
        self.values = values

    @property
    def shape(self):
        return self.values.shape

    @property
    def dtype(self):
        return self.values.dtype

    def dense(self):
        return self.values


class SubWrapped(Wrapped): ...


pa.array_type(leaves=("values",), linear=True)(SubWrapped)


def test_call_next_from_a_container_method_makes_it_dense():
    @pa.elementwise(partials=[None], kernel=None, numpy=())
    def twice(x, /):
        """2x."""

    twice.generic.add(lambda x: 2 * x, (pa.HostArray,))

    @twice.method
    def twice_wrapped(x: Wrapped):
        return ("mine", pa.call_next(twice_wrapped, x))

    with pa.densify("allow"):
        tag, y = twice(Wrapped(np.ones(2)))
        assert tag == "mine"
        np.testing.assert_array_equal(y, [2.0, 2.0])
    with pa.densify("error"), pytest.raises(pa.DensifyError):
        twice(Wrapped(np.ones(2)))


def test_call_next_into_and_from_a_family():
    """own method of the subclass, then the family's for the subclass, then the family's for the class, then dense"""

    @pa.elementwise_family.method
    def family_wrapped(f, x: Wrapped, /, **params):
        return ("family", pa.call_next(family_wrapped, f, x))

    @pa.elementwise_family.method
    def family_sub(f, x: SubWrapped, /, **params):
        return ("family of sub", *pa.call_next(family_sub, f, x))

    @pa.cos.method
    def cos_sub(x: SubWrapped):
        return ("own", *pa.call_next(cos_sub, x))

    x = np.linspace(0, 1, 3)
    with pa.densify("allow"):
        *path, y = pa.cos(SubWrapped(x))
        assert path == ["own", "family of sub", "family"]
        np.testing.assert_allclose(y, np.cos(x))
        *path, y = pa.sin(SubWrapped(x))
        assert path == ["family of sub", "family"]
        np.testing.assert_allclose(y, np.sin(x))


def test_family_method_registered_during_first_calls():
    """The operation's table must not keep an answer from before the registration."""
    for _ in range(10):

        @pa.array_type(leaves=("values",), linear=True)
        class New(Wrapped): ...

        ops, x, seen = [pa.exp, pa.tan, pa.negative, pa.cbrt], New(np.ones(2)), []
        gate = threading.Barrier(len(ops) + 1)

        def work(op, x=x, gate=gate, seen=seen):
            with pa.densify("allow"):
                gate.wait()
                seen.append(op(x))

        threads = [threading.Thread(target=work, args=(op,)) for op in ops]
        for thread in threads:
            thread.start()
        gate.wait()
        pa.elementwise_family.generic.add(lambda f, x: "family", (object, New))
        for thread in threads:
            thread.join()
        assert len(seen) == len(ops) and [op(x) for op in ops] == ["family"] * len(ops)


def test_invoke():
    assert pa.invoke(op, (A, object), C(), 1) == ("A", 1)
    assert pa.invoke(op, (B, int), C(), 1) == ("B", "A", 1)
    assert "invoke: no method op(int, int)" in message(lambda: pa.invoke(op, (int, int), C(), 1))
    assert "invoke: no method op(" in message(lambda: pa.invoke(op, (A,), C(), 1))


def test_invoke_takes_the_arguments_of_the_function():
    @pa.generic
    def f(x, /, factor=3, *, offset=0): ...

    @f.method
    def f_int(x: int, /, factor, *, offset):
        return x * factor + offset

    assert pa.invoke(f, (int,), 2) == 6
    assert pa.invoke(f, (int,), 2, 4, offset=1) == pa.invoke(f, (int,), 2, factor=4, offset=1) == 9
    np.testing.assert_array_equal(pa.invoke(pa.sum, (pa.HostArray,), np.ones((2, 3)), axis=0), [2.0, 2.0, 2.0])
    hosts = (pa.HostArray, pa.HostArray)
    np.testing.assert_array_equal(pa.invoke(pa.concatenate, hosts, [np.ones(1), np.zeros(1)]), [1.0, 0.0])
