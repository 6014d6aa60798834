"""Generic functions: what they are, registration, invalidation, threads. Other libraries' bug reports stand in brackets."""

import collections.abc
import copy
import gc
import importlib.util
import inspect
import pickle
import subprocess
import sys
import threading
import traceback
import types
import weakref
from abc import ABC
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

import polyad as pa
from polyad.dispatch.layers import Layer

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


# ---------------------------------------------------------------------- forms of entry


def test_declaration_needs_arrays_and_a_name():
    with pytest.raises(pa.RegistrationError, match=r"def op\(x, /, …\)"):

        @pa.generic
        def op(x): ...

    with pytest.raises(pa.RegistrationError, match="def"):
        pa.generic(lambda x, /: x)


# ---------------------------------------------------------------------- being a function
@pa.generic
def module_level(x, y, /, axis: int = 0) -> int:
    """What it does."""


def test_function_attributes():
    assert isinstance(module_level, types.FunctionType)
    assert module_level.__name__ == module_level.__qualname__ == "module_level"
    assert module_level.__module__ == __name__
    assert inspect.getdoc(module_level) == "What it does."
    assert str(inspect.signature(module_level)) == "(x, y, /, axis: int = 0) -> int"
    assert "What it does" in pa.sin.__doc__ or "Sine" in pa.sin.__doc__


def test_pickles_by_name(monkeypatch):
    """[plum 322, multipledispatch 19]"""
    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__) or types.ModuleType(__name__))
    monkeypatch.setattr(sys.modules[__name__], "module_level", module_level, raising=False)
    for f in (module_level, pa.sin, pa.concatenate, pa.matmul):
        assert pickle.loads(pickle.dumps(f)) is f
        assert copy.copy(f) is f
        assert copy.deepcopy([f])[0] is f


def test_pickles_into_another_process():
    code = (
        "import pickle, sys, polyad; f, text = pickle.load(sys.stdin.buffer); assert f is polyad.add;"
        "sys.stdout.buffer.write(pickle.dumps([f, text, f(1, 2)]))"
    )
    sent = pickle.dumps((pa.add, "x"))
    done = subprocess.run([sys.executable, "-P", "-c", code], input=sent, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    assert pickle.loads(done.stdout) == [pa.add, "x", 3]


def test_weak_reference_and_collection():
    """[plum 318]"""
    op = make(named("any", x=object, y=object))
    op(1, 2)
    reference, state = weakref.ref(op), weakref.ref(op.generic)
    assert reference() is op
    del op
    gc.collect()
    assert reference() is state() is None


def test_as_operator_of_a_class():
    plus = make()

    class Number:
        __add__ = plus

    @plus.method
    def plus_numbers(x: Number, y: Number):
        return "numbers"

    @plus.method
    def plus_int(x: Number, y: int):
        return y

    assert Number() + Number() == "numbers"
    assert Number() + 3 == Number().__add__(3) == 3
    with pytest.raises(TypeError, match="no method"):
        Number() + "text"


def test_extension_in_a_subclass_keeps_inherited_methods():
    """[plum 130, 49: a method of a subclass hid the base class's table]"""

    class Base:
        @pa.generic
        def visit(self, x, /): ...

        @visit.method
        def visit_int(self, x: int):
            return "int"

    class Derived(Base):
        @Base.visit.method
        def visit_text(self, x: str):
            return "text"

    assert Derived().visit(1) == Base().visit(1) == "int"
    assert Derived().visit("a") == "text"


def test_functions_of_one_name_stay_apart():
    """[multipledispatch 125, plum's global dispatcher]"""
    first, second = make(named("first", x=int, y=int)), make(named("second", x=object, y=object))
    assert (first(1, 2), second(1, 2)) == ("first", "second")
    with pytest.raises(pa.MethodError):
        first("a", 1)


def test_no_methods():
    with pytest.raises(pa.MethodError, match=r"(?s)no method op\(int, str\).*register one with @op.method"):
        make()(1, "a")
    assert pa.methods(make()) == []


# ---------------------------------------------------------------------- errors inside methods
@pytest.mark.parametrize("error", [KeyError, TypeError, pa.MethodError, AttributeError])
@pytest.mark.parametrize("warm", [False, True])
def test_error_inside_a_method_surfaces_once_and_unchanged(error, warm):
    calls = []

    def failing(x: int, y):
        calls.append(x)
        if x:
            raise raised
        return None

    op, raised = make(failing), error("mine")
    if warm:
        op(0, 0)
    with pytest.raises(error) as caught:
        op(1, 2)
    assert caught.value is raised
    assert raised.__context__ is None and raised.__cause__ is None
    assert calls == ([0, 1] if warm else [1])


def test_missing_method_shows_no_lookup_in_its_traceback():
    with pytest.raises(pa.MethodError) as caught:
        pa.add(np.ones(2), "a")
    text = "".join(traceback.format_exception(caught.value))
    assert "KeyError" not in text and "During handling" not in text


def test_kernel_warning_is_raised_once():
    with pytest.warns(RuntimeWarning) as caught:
        pa.log(np.array([-1.0]))
    assert len(caught) == 1


# ---------------------------------------------------------------------- annotations
@runtime_checkable
class HasLength(Protocol):
    def __len__(self): ...


class ValueMeta(type):
    def __instancecheck__(cls, x):
        return x == 1


class OnlyOne(metaclass=ValueMeta):
    pass


class Named(NamedTuple):
    x: int


REFUSED = [
    Literal["a"], list[int], tuple[int, ...], dict[str, Any], type[int], NDArray[np.float64], ArrayLike, HasLength,
    TypeVar("T"), Callable[[int], int], int | list[int], OnlyOne, 3, ..., (int, str), [int],
    collections.abc.Sequence[int],
]  # fmt: skip


@pytest.mark.parametrize("hint", REFUSED, ids=repr)
def test_refused_annotation(hint):
    """[unxt 675, coordinax 540: one such method switched caching off for all calls]"""
    op = make(named("any", x=object, y=object))
    with pytest.raises(pa.RegistrationError, match=r"(?s)op: the annotation of 'y'.*type\(y\).*annotate a class"):
        op.method(named("bad", x=int, y=hint))
    assert op(1, "a") == "any" and len(pa.methods(op)) == 1


@pytest.mark.parametrize("hint", [Any, None, int | str, int | None, Callable, collections.abc.Sized, Named])
def test_accepted_annotation(hint):
    make().method(named("good", x=int, y=hint))


def test_union_and_none():
    op = make(named("union", x=int | str, y=object), named("none", x=None, y=object))
    assert (op(1, 1), op("a", 1), op(None, 1)) == ("union", "union", "none")


POSTPONED = """
from __future__ import annotations
from typing import TYPE_CHECKING
import numpy as np
import polyad as pa

if TYPE_CHECKING:
    from somewhere import Unknown

@pa.generic
def op(x: Unknown, /, axis: Unknown = 0) -> Unknown: ...

@op.method
def op_array(x: np.ndarray | None, /, axis: Unknown) -> Unknown:
    return "array"
"""


def test_postponed_annotations():
    module = types.ModuleType("postponed")
    exec(compile(POSTPONED, "postponed", "exec", dont_inherit=True), module.__dict__)
    assert module.op(np.ones(2)) == module.op(None) == "array"
    with pytest.raises(pa.RegistrationError, match=r"op: the annotation of 'x', 'Unknown', cannot be evaluated"):
        exec("@op.method\ndef op_bad(x: 'Unknown', /, axis): ...", module.__dict__)


def test_return_annotations_are_ignored():
    """[plum 292: a conversion on return at ten times the cost]"""

    def method(x: int, y: int) -> "nowhere.Undefined":  # noqa: F821
        return "unconverted"

    op = make(method)
    assert op(1, 2) == "unconverted"
    assert pa.which(op, 1, 2).implementation is method
    assert pa.dispatch.table(op)[int, int] is method  # nothing stands between the entry and the method


def test_arity_and_parameters_of_methods_are_checked():
    @pa.generic
    def op(x, y, /, axis=0): ...

    with pytest.raises(pa.RegistrationError, match=r"op takes 2 array argument\(s\), but few declares 1"):
        op.method(named("few", x=int))
    with pytest.raises(pa.RegistrationError, match="passes its parameter.*axis.*by keyword, but op_without does not"):

        @op.method
        def op_without(x: int, y: int): ...

    with pytest.raises(pa.RegistrationError, match="no signature"):
        op.method(dict)

    op.method(lambda x, y, **params: params)
    assert op(1, 2) == {"axis": 0}


def test_varargs_against_fixed():
    """[plum 119, 117] With as many arguments as `f(int, Number)` names, that one is compared argument by argument with
    `f(int, *int)`, and narrower types win: (int, int) is in both and int < Number, so the variable one is taken."""
    import numbers

    @pa.generic
    def f(x, /, *ys): ...

    def variable(x: int, /, *ys: int):
        return "variable"

    def fixed(x: int, y: numbers.Number, /):
        return "fixed"

    for order in ((variable, fixed), (fixed, variable)):

        @pa.generic
        def f(x, /, *ys): ...

        for method in order:
            f.method(method)
        assert [f(1), f(1, 2), f(1, 2.0), f(1, 2, 3)] == ["variable", "variable", "fixed", "variable"]


# ---------------------------------------------------------------------- ambiguity
def test_diamond_is_the_same_error_in_both_orders():
    """[multipledispatch 118: the method depended on the order of registration]"""

    class Left: ...

    class Right: ...

    class Both(Left, Right): ...

    messages = []
    methods = [named("left", x=Left, y=object), named("right", x=Right, y=object)]
    for order in (methods, methods[::-1]):
        with pytest.raises(pa.AmbiguousMethodError) as caught:
            make(*order)(Both(), 1)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert "hint: define op(" in messages[0] and "Both, object)" in messages[0]


def test_crossed_arguments():
    op = make(named("first", x=A, y=object), named("second", x=object, y=A))
    with pytest.raises(pa.AmbiguousMethodError, match=r"define op\(\S*A, \S*A\)"):
        op(A(), A())
    op.method(named("both", x=A, y=A))
    assert op(B(), C()) == "both"


# ---------------------------------------------------------------------- registration is seen by the next call
def test_redefinition_replaces():
    op = make(named("old", x=int, y=int))
    assert op(1, 2) == "old"
    with pytest.warns(pa.ReplacedWarning, match=r"op\(int, int\): <string>:1 takes the place of <string>:1, for the whole"):
        op.method(named("new", x=int, y=int))
    assert op(1, 2) == "new"
    assert [m.implementation.__name__ for m in pa.methods(op)] == ["new"]


def test_later_method_is_seen():
    op = make(named("general", x=A, y=A))
    assert op(B(), B()) == "general"
    op.method(named("special", x=B, y=B))
    assert op(B(), B()) == "special"
    assert op(A(), B()) == "general"


@pytest.fixture
def restored():
    """Operations with the methods registered during a test taken away again."""
    taken = []
    yield taken.append
    for op in taken:
        generic = op.generic
        for method in [m for m in generic.methods if getattr(m.implementation, "__module__", None) == __name__]:
            generic.methods.remove(method)
            del generic.slots[method.types, method.varargs]
        generic.uses_abc = False
        generic.clear()


@pytest.mark.parametrize("other", [np.ndarray, float])
def test_method_overrides_an_inlined_kernel(restored, other):
    x, y = np.ones(3), np.ones(3) if other is np.ndarray else 1.0
    for _ in range(3):
        pa.add(x, y)  # the entry calls NumPy's function itself by now
    restored(pa.add)

    @pa.add.method
    def add_mine(x: np.ndarray, y: other):
        return "mine"

    assert pa.add(x, y) == "mine"
    third = 1.0 if other is np.ndarray else x
    np.testing.assert_array_equal(pa.add(x, third), x + third)


def test_method_for_a_subclass_of_ndarray(restored):
    class Sub(np.ndarray): ...

    x, sub = np.ones(3), np.ones(3).view(Sub)
    np.testing.assert_array_equal(pa.sin(sub), np.sin(x))
    pa.sin(x)
    restored(pa.sin)

    @pa.sin.method
    def sin_sub(x: Sub):
        return "sub"

    assert pa.sin(sub) == "sub"
    np.testing.assert_array_equal(pa.sin(x), np.sin(x))


class MetaOfAbc(type(ABC)):
    pass


@pytest.mark.parametrize("how", ["method", "by_meta", "union"])
def test_abc_registered_after_a_cached_call(how):
    """[case 42: plum, multipledispatch and ovld keep the old method]"""
    if how == "by_meta":

        class Shape(metaclass=MetaOfAbc): ...
    else:

        class Shape(ABC): ...

    class Square: ...

    hint = Shape | int if how == "union" else Shape
    op = make(named("shape", x=hint, y=object), named("other", x=object, y=object))
    assert op(Square(), 1) == "other"
    Shape.register(Square)
    assert op(Square(), 1) == "shape"


def test_class_registered_as_host_array_after_a_call():
    class Mine: ...

    op = make(named("array", x=pa.Array, y=object), named("other", x=object, y=object))
    assert op(Mine(), 1) == "other"
    pa.Array.register(Mine)
    assert op(Mine(), 1) == "array"


def test_registered_rule_is_seen_by_the_next_call():
    x = np.array(2.0)
    op = make(named("any", x=object, y=object))
    op(x, x)
    pa.dispatch.clear_all()
    assert pa.dispatch.table(op) == {}
    assert op(x, x) == "any"


# ---------------------------------------------------------------------- threads
@pytest.fixture
def often():
    """Threads are switched as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def race(*functions):
    """Run functions at the same moment, each in a thread; their results, or the first error."""
    gate, results, errors = threading.Barrier(len(functions)), [None] * len(functions), []

    def run(i, function):
        gate.wait()
        try:
            results[i] = function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(functions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


def test_first_calls_race(often):
    for _ in range(100):
        op = make(named("ab", x=A, y=B), named("bb", x=B, y=B), named("any", x=object, y=object))
        calls = [lambda: (op(A(), B()), op(B(), B()), op(1, 2), op(C(), B()))] * 8
        assert set(race(*calls)) == {("ab", "bb", "any", "ab")}


def test_registration_races_with_calls(often):
    for _ in range(100):
        op = make(named("general", x=A, y=A))
        calls = [lambda: [op(B(), B()) for _ in range(20)]] * 7
        *results, _ = race(*calls, lambda: op.method(named("special", x=B, y=B)))
        for answers in results:
            assert answers == sorted(answers)  # general, then special for ever
        assert op(B(), B()) == "special"


def test_declarations_race_with_listing(often):
    def declare():
        for _ in range(30):
            make()

    race(declare, declare, declare, lambda: [pa.dispatch.all_generics() for _ in range(30)], pa.dispatch.clear_all)


def test_slow_method_search_does_not_hold_up_other_calls():
    started, go_on = threading.Event(), threading.Event()

    class Slow(ABC):
        @classmethod
        def __subclasshook__(cls, other):
            if other is Late:
                started.set()
                assert go_on.wait(10)
            return NotImplemented

    class Late: ...

    op, other = make(named("slow", x=Slow, y=object), named("any", x=object, y=object)), make(named("a", x=A, y=A))
    assert op(1, 1) == "any"
    thread = threading.Thread(target=op, args=(Late(), 1))
    thread.start()
    assert started.wait(10)
    assert op(1, 1) == "any"  # known already: needs no search
    assert other(B(), C()) == "a"  # another function's first call
    go_on.set()
    thread.join()


def test_library_is_loaded_once_and_before_anyone_uses_it(often):
    """Its kernels register with many functions while other threads ask these very functions."""
    for trial in range(20):
        name = f"lazy_library_{trial}"
        Lazy = type("Lazy", (), {"__module__": name})
        ops, loads = [make() for _ in range(8)], []

        def load(ops=ops, loads=loads, Lazy=Lazy):
            loads.append(1)
            for op in ops:
                op.method(named("lazy", x=Lazy, y=object))
                op(Lazy(), 1)  # loading uses the library

        pa.dispatch.lazy_libraries[name] = load
        assert race(*[lambda op=op: op(Lazy(), 1) for op in ops]) == ["lazy"] * 8
        assert loads == [1] and name not in pa.dispatch.lazy_libraries


def test_library_that_fails_to_load_fails_each_time():
    Broken = type("Broken", (), {"__module__": "broken_library"})

    def load():
        raise ImportError("no driver")

    pa.dispatch.lazy_libraries["broken_library"] = load
    try:
        for _ in range(2):
            with pytest.raises(ImportError, match="no driver"):
                make()(Broken(), 1)
    finally:
        del pa.dispatch.lazy_libraries["broken_library"]


# ---------------------------------------------------------------------- memory
def count_classes():
    gc.collect()
    return sum(isinstance(x, type) for x in gc.get_objects())


def test_calls_make_no_classes():
    x = np.ones(3)
    f = lambda x: pa.sum(pa.sin(x) * x)
    nest = lambda: pa.vmap(pa.grad(lambda row: pa.jvp(f, (row,), (row,))[1]))(np.ones((2, 3)))
    nest(), pa.make_ir(f)(x)
    before = count_classes()
    for _ in range(20):
        nest(), pa.make_ir(f)(x)
    assert count_classes() == before


def test_layer_classes_are_one_per_depth():
    assert pa.ad.Dual[7] is pa.ad.Dual[7]
    assert issubclass(pa.ad.Dual[7], Layer)
