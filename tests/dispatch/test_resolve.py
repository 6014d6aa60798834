"""How a call finds its method: error texts, ambiguity, the next method, layers, leaked values, threads, generators."""

import contextvars
import re
import sys
import threading
from abc import ABC

import numpy as np
import pytest

import polyad as pa
from polyad.ad import Dual
from polyad.dispatch import Run, current_depth
from polyad.dsl import Batched

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


# ---------------------------------------------------------------------- MethodError
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


# ---------------------------------------------------------------------- ambiguity
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


# ---------------------------------------------------------------------- call_next
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


# ---------------------------------------------------------------------- invoke, which
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


def test_which_on_values_and_on_types():
    assert pa.which(op, C(), 1) is pa.which(op, C, int)
    assert pa.which(op, C, int).implementation is op_c
    assert pa.which(op, A, 1).implementation is op_a
    assert "no method op(int, str)" in message(lambda: pa.which(op, int, "a"))
    assert "no method op(int, str)" in message(lambda: pa.which(op, int, str))


# ---------------------------------------------------------------------- layers: the deepest wins
def test_deepest_layer_wins_at_mixed_depths():
    """d/dy of x·y at depth 2 is x, whatever follows x at depth 1; no perturbation confusion."""
    inner = {
        "jvp": lambda x: pa.jvp(lambda y: x * y, (2.0,), (1.0,))[1],
        "grad": lambda x: pa.grad(lambda y: x * y)(2.0),
        "vmap": lambda x: pa.sum(pa.vmap(lambda y: x * y)(np.array([0.5, 0.5]))),
    }
    for name, f in inner.items():
        assert float(pa.jvp(f, (3.0,), (1.0,))[1]) == 1.0, name
        assert float(pa.grad(f)(3.0)) == 1.0, name
        np.testing.assert_array_equal(pa.vmap(f)(np.array([3.0, 4.0])), [3.0, 4.0], name)
        assert float(pa.make_ir(f)(3.0)(5.0) if name != "vmap" else 5.0) == 5.0


def test_which_layer():
    run = Run("test")
    with run:
        x = Dual[run.depth](1.0, 1.0, run)
        assert type(pa.which(pa.add, x, 1.0)).__name__ == "function"


def test_same_depth_of_different_kinds():
    with Run("first") as first:
        x = Dual[first.depth](np.ones(2), np.ones(2), first)
        y = Batched[first.depth](np.ones(2), first)
        with pytest.raises(pa.LeakedLayerError, match="values of two transformations of the same depth") as caught:
            pa.add(x, y)
        assert f"{__file__}:" in str(caught.value)


@pytest.mark.parametrize("kind", ["dual", "reverse", "batched", "traced"])
def test_same_depth_of_different_runs(kind):
    values = []

    def keep(x):
        values.append(x)
        in_thread(lambda: TRANSFORMS[kind](lambda y: x + y))
        return x * 1.0

    with pytest.raises(pa.LeakedLayerError, match="copy_context"):
        TRANSFORMS[kind](keep)


# ---------------------------------------------------------------------- leaked values
def transform_reverse(f):
    return pa.grad(lambda x: pa.sum(f(x)))(np.array([1.0, 2.0]))


def transform_dual(f):
    return pa.jvp(f, (np.array([1.0, 2.0]),), (np.ones(2),))


def transform_vjp(f):
    return pa.vjp(f, np.array([1.0, 2.0]))


def transform_batched(f):
    return pa.vmap(f)(np.array([[1.0, 2.0], [3.0, 4.0]]))


def transform_traced(f):
    return pa.make_ir(f)(np.array([1.0, 2.0]))


TRANSFORMS = {
    "dual": transform_dual, "reverse": transform_reverse, "vjp": transform_vjp, "batched": transform_batched,
    "traced": transform_traced,
}  # fmt: skip
each_kind = pytest.mark.parametrize("kind", TRANSFORMS)


def leak(kind):
    """A value stored outside of its transformation, and the line where that was entered."""
    stored = []

    def f(x):
        stored.append(x)
        return x * 1.0

    TRANSFORMS[kind](f)
    return stored[0]


USES = {
    "unary": pa.sin, "add": lambda x: x + 1.0, "radd": lambda x: np.ones(2) + x, "itself": lambda x: x * x,
    "plain": lambda x: pa.multiply(x, np.ones(2)), "compare": lambda x: x > 0, "equal": lambda x: pa.equal(x, 1.0),
    "bool": lambda x: bool(x[0] > 0), "floor": pa.floor, "sign": pa.sign, "sum": pa.sum, "composite": pa.mean,
    "reshape": lambda x: pa.reshape(x, (2, 1)), "squeeze": pa.squeeze, "ravel": pa.ravel, "item": lambda x: x[0],
    "np.sin": np.sin, "np.sum": np.sum, "np.add": lambda x: np.add(np.ones(2), x), "iterate": lambda x: list(x),
    "concatenate": lambda x: pa.concatenate([x, np.ones(1)]), "stop_gradient": pa.stop_gradient,
    "asarray": lambda x: np.asarray(x), "matmul": lambda x: np.eye(2) @ x, "clip": lambda x: pa.clip(x),
    "where": lambda x: pa.where(np.array([True, False]), x, 0.0), "take": lambda x: pa.take(x, 0, axis=0),
    "astype": lambda x: x.astype(np.float64), "copy": lambda x: x.copy(), "moveaxis": lambda x: pa.moveaxis(x, 0, 0),
}  # fmt: skip


def entered_here(error):
    """The message names a line of this file, not of the library."""
    return re.search(rf"entered at {re.escape(__file__)}:\d+", str(error)) is not None


@each_kind
@pytest.mark.parametrize("use", USES)
def test_leaked_value(kind, use):
    x = leak(kind)
    with pytest.raises(pa.LeakedLayerError) as caught:
        USES[use](x)
    assert entered_here(caught.value)


@pytest.mark.parametrize("ask", [bool, int, float, complex, lambda x: x.item(), np.asarray, lambda x: np.zeros(3)[x]])
@each_kind
def test_leaked_number(kind, ask):
    """Python asks a scalar value for its number."""
    stored = []

    def f(x):
        stored.append(x[0])
        return x * 1.0

    TRANSFORMS[kind](f)
    with pytest.raises(pa.LeakedLayerError) as caught:
        ask(stored[0])
    assert entered_here(caught.value)


@pytest.mark.parametrize("ask", [int, bool, range, lambda x: [1, 2][x], lambda x: np.zeros(3)[x]])
@pytest.mark.parametrize("transform", [lambda f: pa.vmap(f)(np.ones(2, int)), lambda f: pa.make_ir(f)(1)])
def test_leaked_integer(ask, transform):
    stored = []
    transform(lambda n: stored.append(n) or n)
    with pytest.raises(pa.LeakedLayerError, match="entered at"):
        ask(stored[0])


@each_kind
@pytest.mark.parametrize("outer", TRANSFORMS)
@pytest.mark.parametrize("use", [pa.multiply, lambda x, y: y - x, pa.greater, lambda x, y: pa.concatenate([x, y])])
def test_leaked_value_in_a_live_transformation(kind, outer, use):
    """At the same depth, and at depth 2 where the leaked value is of depth 1."""
    x = leak(kind)
    for enter in (TRANSFORMS[outer], lambda f: pa.jvp(lambda z: (TRANSFORMS[outer](f), z)[1], (1.0,), (1.0,))):
        with pytest.raises(pa.LeakedLayerError) as caught:
            enter(lambda y: use(x, y))
        assert entered_here(caught.value)


@each_kind
def test_leaked_value_of_a_deeper_transformation(kind):
    stored = []
    pa.jvp(lambda z: (stored.append(leak(kind)), z)[1], (1.0,), (1.0,))
    assert type(stored[0]).depth == 2
    with pytest.raises(pa.LeakedLayerError, match="entered at"):
        pa.grad(lambda y: pa.sum(y * stored[0]))(np.ones(2))
    with pytest.raises(pa.LeakedLayerError, match="entered at"):
        stored[0] + 1.0


@each_kind
def test_leaked_value_as_the_argument_of_a_transformation(kind):
    x = leak(kind)
    for call in (lambda: pa.grad(lambda v: pa.sum(v * v))(x), lambda: pa.jvp(pa.sin, (x,), (np.ones(2),)),
                 lambda: pa.vmap(pa.sin)(x), lambda: pa.make_ir(pa.sin)(x)(x)):  # fmt: skip
        with pytest.raises(pa.LeakedLayerError):
            call()


def test_leak_names_the_line_of_entry():
    stored = []
    line = sys._getframe().f_lineno + 1
    pa.grad(lambda x: stored.append(x) or x * x)(2.0)
    with pytest.raises(pa.LeakedLayerError, match=rf"a value of .* \(entered at {re.escape(__file__)}:{line}\)"):
        stored[0] + 1


# ---------------------------------------------------------------------- threads
def in_thread(function, context=None):
    """Run a function in a thread and return or raise what it does."""
    outcome = []

    def run():
        try:
            outcome.append((function() if context is None else context.run(function), None))
        except BaseException as error:
            outcome.append((None, error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    ((result, error),) = outcome
    if error is not None:
        raise error
    return result


def test_transformations_in_threads_do_not_meet():
    x = np.linspace(0.1, 1.0, 5)
    cube = lambda v: v * v * v
    jobs = [
        (lambda: pa.vmap(pa.grad(cube))(x), 3 * x**2),
        (lambda: pa.vmap(pa.grad(pa.grad(cube)))(x), 6 * x),
        (lambda: pa.grad(lambda v: pa.sum(pa.vmap(cube)(v)))(x), 3 * x**2),
        (lambda: pa.jvp(pa.vmap(pa.grad(cube)), (x,), (np.ones(5),))[1], 6 * x),
    ]
    failures = []

    def work(number):
        for i in range(25):
            job, right = jobs[(number + i) % len(jobs)]
            if not np.allclose(job(), right) or current_depth() != 0:
                failures.append(number)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert not failures


NESTED = {
    "grad": lambda x: pa.grad(lambda y: x * y * y)(2.0),
    "jvp": lambda x: pa.jvp(lambda y: x * y * y, (2.0,), (1.0,))[1],
    "vmap": lambda x: pa.sum(pa.vmap(lambda y: x * y * y)(np.array([1.0, 3.0 ** 0.5]))),
    "nested": lambda x: pa.grad(lambda y: pa.grad(lambda z: x * z * y * y / 2)(5.0))(2.0) * 2,
}  # fmt: skip


@pytest.mark.parametrize("inner", NESTED)
@pytest.mark.parametrize("outer", [pa.grad, pa.derivative, lambda f: pa.grad(lambda x: pa.grad(f)(x) * x)])
def test_thread_inside_a_transformation(inner, outer):
    """In a copied context it is right. Otherwise it is right too, or an error that names copy_context."""
    f = NESTED[inner]
    right = float(outer(f)(3.0))
    assert right == pytest.approx(4.0)
    copied = outer(lambda x: in_thread(lambda: f(x), contextvars.copy_context()))(3.0)
    assert float(copied) == pytest.approx(right)
    try:
        bare = float(outer(lambda x: in_thread(lambda: f(x)))(3.0))
    except pa.LeakedLayerError as error:
        assert "copy_context" in str(error) and entered_here(error)
    else:
        assert bare == pytest.approx(right)


def test_bare_thread_with_a_deeper_value_is_an_error():
    """The deeper value would win over the thread's own, whose gradient would be a silent zero."""
    f = lambda x: in_thread(lambda: pa.grad(lambda y: x * y * y)(2.0))
    with pytest.raises(pa.LeakedLayerError, match=r"depth 2\) was used at depth 1.*copy_context"):
        pa.grad(lambda z: pa.grad(lambda x: f(x) * z)(3.0))(1.0)


# ---------------------------------------------------------------------- generators
def test_generator_that_ran_inside_goes_on_outside():
    def rows(x):
        for i in range(3):
            yield x[i] * 2.0

    stored = []

    def f(x):
        stored.append(rows(x))
        return next(stored[0])

    np.testing.assert_array_equal(pa.grad(f)(np.ones(3)), [2.0, 0.0, 0.0])
    with pytest.raises(pa.LeakedLayerError, match="entered at"):
        next(stored[0])


def test_generator_fed_by_two_transformations():
    def accumulate():
        total = 0.0
        while True:
            total = total + (yield total)

    totals = accumulate()
    next(totals)
    assert float(pa.grad(lambda x: totals.send(x * x))(3.0)) == 6.0
    with pytest.raises(pa.LeakedLayerError):
        pa.grad(lambda x: totals.send(x))(1.0)


def test_generator_suspended_inside_a_transformation():
    def inner():
        with Run("inner"):
            yield current_depth()

    suspended = inner()
    with pytest.raises(pa.LeakedLayerError, match="generator"), Run("outer"):
        assert next(suspended) == 2
    assert current_depth() == 0
    suspended.close()  # ends late
    assert current_depth() == 0
    assert float(pa.grad(lambda x: x * x)(3.0)) == 6.0


# ---------------------------------------------------------------------- two array types that both claim a call
def two_types():
    """Two array types with products of their own with any array, and a claim on each elementwise call."""

    @pa.array_type(leaves=("row",), structure_ndim=2)
    class Rows(pa.Container):
        """The same row n times."""

        def __init__(self, row):
            self.row = row

        shape = property(lambda self: (*self.row.shape, self.row.shape[-1]))
        dtype = property(lambda self: self.row.dtype)

        def dense(self):
            return pa.broadcast_to(pa.expand_dims(self.row, -2), shape=self.shape)

    @pa.matmul.method
    def rows_left(x: Rows, y: pa.Array, /):
        return "left"

    @pa.matmul.method
    def rows_right(x: pa.Array, y: Rows, /):
        return "right"

    @pa.claim(pa.elementwise_family, Rows)
    def rows_elementwise(op, *xs, **params):
        return NotImplemented

    return Rows


def test_a_combine_rule_that_declines_makes_both_dense():
    """As the error for the pair advises; also where the operation's own methods clash."""
    Rows = two_types()
    x, D, v = Rows(np.array([1.0, 2.0])), pa.Diagonal(np.array([3.0, 4.0])), np.ones(2)
    for call in (lambda: x @ D, lambda: D @ x, lambda: x + D, lambda: D * x):
        with pa.densify("allow"), pytest.raises(pa.AmbiguousMethodError, match="combine_rule for the whole family .which may "
                                                "return NotImplemented: dense, guarded"):  # fmt: skip
            call()
    for family in (pa.bilinear_family, pa.elementwise_family):
        pa.combine_rule(Rows, pa.Diagonal, family)(lambda op, *xs, **params: NotImplemented)
    dense = x.dense(), D.dense()
    for call in (lambda x, D: x @ D, lambda x, D: D @ x, lambda x, D: x + D, lambda x, D: D * x, lambda x, D: pa.less(D, x)):
        with pa.densify("allow"):
            np.testing.assert_array_equal(call(x, D), call(*dense))
            found = pa.grad(lambda r: pa.sum(call(Rows(r), D) * 1.0))(x.row)
            np.testing.assert_allclose(found, pa.grad(lambda r: pa.sum(call(Rows(r).dense(), dense[1]) * 1.0))(x.row))
        with pa.densify("error"), pytest.raises(pa.DensifyError, match="has no method for"):
            call(x, D)
    assert x @ v == "left" and v @ x == "right"
    with pa.densify("allow"):
        np.testing.assert_array_equal(pa.jit(lambda r: Rows(r) @ D)(x.row), dense[0] @ dense[1])


def test_a_claim_for_one_of_the_types_leaves_the_clash():
    """Nobody has said of the pair that it may become dense."""
    Rows = two_types()
    pa.claim(pa.bilinear_family, Rows)(lambda op, *xs, **params: NotImplemented)
    with pa.densify("allow"), pytest.raises(pa.AmbiguousMethodError):
        Rows(np.ones(2)) @ pa.Diagonal(np.ones(2))


def test_a_family_method_for_an_abstract_class_leaves_plain_calls_as_fast():
    """Containers alone are looked up in families: that a class was registered says nothing to calls of plain arrays."""

    class Named(ABC): ...

    class Own(pa.Container):
        shape, dtype = (2,), np.dtype(float)

    pa.array_type()(Own)

    def named(op, x: Named, /, **params):
        return "named"

    Named.register(type("Mixed", (Own,), {}))
    pa.elementwise_family.method(named)
    x = np.ones(2)
    pa.tan(x)
    assert pa.tan.generic.namespace["__kernel"] is np.tan
    assert pa.tan.generic.table[np.ndarray].raw is np.tan
    with pytest.raises(pa.MethodError):
        pa.tan(Own())
    Named.register(Own)
    assert pa.tan(Own()) == "named"
