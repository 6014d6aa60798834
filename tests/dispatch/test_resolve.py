"""How a call finds its method: which one, layers, leaked values, threads, generators, two types that claim a call."""

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


def message(call, error=pa.MethodError):
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


# ---------------------------------------------------------------------- invoke, which


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
