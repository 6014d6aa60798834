"""Looking at generic functions: methods, which, methodswith, ambiguities, table, show."""

import re
from numbers import Number

import numpy as np
import pytest

import polyad as pa
from polyad.ad import Dual
from polyad.dispatch import Method, Run, all_generics, table
from polyad.dispatch.introspect import show


class A: ...


class B(A): ...


class Other: ...


class Both(A, Other): ...


def make(*signatures, varargs=None):
    """A fresh generic function with one method per signature."""

    @pa.generic
    def op(x, y, /, axis=0): ...

    for types in signatures:
        op.generic.add(lambda x, y, axis: (types, axis), types)
    return op


# ---------------------------------------------------------------------- methods
def test_methods_are_printed_with_their_place():
    op = make((A, int), (B, str))
    first, second = pa.methods(op)
    assert isinstance(first, Method)
    assert re.fullmatch(r"op\(\S*A, int\)  at .*test_introspect\.py:\d+", repr(first))
    assert str(second).startswith("op(") and second.types == (B, str)
    pa.methods(op).clear()
    assert len(pa.methods(op)) == 2  # a copy


def test_methods_of_variable_arguments_and_of_kinds():
    @pa.generic
    def op(x, /, *ys): ...

    @op.method(pa.On[pa.CUDA])
    def op_cuda(x: A, *ys: int): ...

    assert re.fullmatch(r"op\(\S*A, \*int, On\[CUDA\]\)", str(pa.methods(op)[0]))


@pytest.mark.parametrize("op", [pa.add, pa.sum, pa.transpose, pa.astype, pa.concatenate], ids=lambda f: f.__name__)
def test_place_of_a_kernel_is_the_library_s_function(op):
    kernel = next(m for m in pa.methods(op) if pa.HostArray in (*m.types, m.varargs))
    assert re.fullmatch(r"numpy\.\w+|.*\.py:\d+", kernel.where) and "None" not in kernel.where


# ---------------------------------------------------------------------- which
def test_which():
    op = make((A, object), (B, int))
    assert str(pa.which(op, B(), 1)).endswith("B, int)")
    assert pa.which(op, B(), 1) is pa.which(op, B, int) is pa.which(op, B(), int)
    assert pa.which(op, A, str).types == (A, object)
    for wrong in ((1, 2), (int, int)):
        with pytest.raises(pa.MethodError, match=r"no method op\(int, int\)"):
            pa.which(op, *wrong)


def test_which_of_an_ambiguous_call():
    with pytest.raises(pa.AmbiguousMethodError, match="hint: define"):
        pa.which(make((A, object), (object, A)), A, A)


def test_which_takes_a_call_s_arguments():
    x = np.ones((2, 3))
    assert pa.which(pa.reshape, x, (3, 2)) is pa.which(pa.reshape, np.ndarray)
    assert pa.which(pa.concatenate, [x, x]) is pa.which(pa.concatenate, np.ndarray, np.ndarray)
    assert pa.which(make((A, int)), A(), 1, 5).types == (A, int)


def test_which_of_a_container():
    x = pa.Diagonal(np.ones(2))
    assert pa.Diagonal in pa.which(pa.matmul, x, x).types


def test_which_of_a_container_without_a_method():
    x = pa.Diagonal(np.ones(2))
    target = pa.which(pa.cumsum, x)
    assert str(target) == "cumsum(Diagonal): no method of its own: on the dense form of Diagonal, guarded by polyad.densify"
    with pa.densify("allow"):
        np.testing.assert_array_equal(target(x, axis=0), np.cumsum(np.eye(2), axis=0))


def test_which_of_a_layer_is_its_function():
    with Run("which") as run:
        x = Dual[run.depth](1.0, 1.0, run)
        target = pa.which(pa.add, x, 1.0)
        assert not isinstance(target, Method)
        y = target(x, 1.0)
    assert (y.primal, y.tangent) == (2.0, 1.0)


# ---------------------------------------------------------------------- methodswith
def test_methodswith():
    op = make((A, object), (object, B), (Other | int, str), (A, A))
    assert [m.types for m in pa.methodswith(A)] == [(A, object), (A, A)]
    assert [m.types for m in pa.methodswith(B)] == [(object, B)]
    assert [m.types for m in pa.methodswith(Other)] == [(Other | int, str)]
    assert all(m.generic is op.generic for m in pa.methodswith(A))
    assert pa.methodswith(Both) == []


def test_methodswith_of_an_array_type_spans_operations():
    found = {m.generic.name for m in pa.methodswith(pa.Diagonal)}
    assert "matmul" in found and len(found) > 3


def test_methodswith_variable_arguments():
    @pa.generic
    def op(*xs): ...

    op.generic.add(lambda *xs: None, (), Both)
    assert [m.generic.name for m in pa.methodswith(Both)] == ["op"]


# ---------------------------------------------------------------------- ambiguities


@pytest.fixture(autouse=True)
def only_live_functions():
    """Functions of earlier tests are gone, so that each test sees its own."""
    import gc

    gc.collect()


def test_planted_pair_is_found_with_the_method_to_write():
    op = make((A, object), (object, B))
    (text,) = pa.ambiguities(__name__)
    assert re.search(r"hint: define op\(\S*A, \S*B\)$", text)
    op.generic.add(lambda x, y, axis: None, (A, B))
    assert pa.ambiguities(__name__) == []


def test_pair_that_meets_in_a_class_of_two_bases():
    op = make((A, int), (Other, int))
    (text,) = pa.ambiguities(__name__)
    assert re.search(r"hint: define op\(\S*Both, int\)$", text)
    assert len(pa.methods(op)) == 2


def test_pair_that_meets_in_a_union():
    op = make((int | str, object), (object, int | A), (float | str, A))
    texts = pa.ambiguities(__name__)
    assert texts and all("hint: define op(" in text for text in texts)
    assert len(pa.methods(op)) == 3
    op = make((int | str, int), (str | float, int))
    assert any("define op(str, int)" in text for text in pa.ambiguities(__name__))
    assert len(pa.methods(op)) == 2


def test_pair_that_meets_in_variable_arguments():
    @pa.generic
    def op(*xs): ...

    op.generic.add(lambda *xs: None, (), A)
    op.generic.add(lambda *xs: None, (), Other)
    assert any(re.search(r"define op\(\S*Both\)", text) for text in pa.ambiguities(__name__))


def test_disjoint_and_ordered_pairs_are_none():
    ops = [make((int, object), (str, object)), make((A, object), (B, object)), make((int, int), (Number, Number))]
    assert pa.ambiguities(__name__) == []
    assert len(ops) == 3


def test_ambiguities_of_a_module_or_its_name():
    op = make((A, object), (object, A))
    assert len(pa.ambiguities(__name__)) == 1
    assert pa.ambiguities(pa.dispatch) == pa.ambiguities("polyad.dispatch") == []
    assert pa.ambiguities(__name__[:-1]) == []  # a prefix of the text is no parent
    assert len(pa.methods(op)) == 2


def test_library_has_no_ambiguities():
    """Of its own methods, whatever types the tests have declared meanwhile."""
    assert pa.ambiguities(pa) == []


# ---------------------------------------------------------------------- table, show, listing
def test_table_shows_what_was_resolved():
    op = make((A, object))
    assert table(op) == {}
    op(A(), 1), op(B(), "b")
    assert set(table(op)) == {(A, int), (B, str)}
    table(op).clear()
    assert len(table(op)) == 2

    @pa.generic
    def one(x, /): ...

    one.generic.add(lambda x: x, (object,))
    one(1)
    assert set(table(one)) == {int}


def test_show():
    lines = show(make((A, object), (B, int))).splitlines()
    assert lines[0] == "op: 2 methods"
    assert all(re.fullmatch(r"  op\(.*\)  at .*:\d+", line) for line in lines[1:])


def test_listing_is_in_a_stable_order():
    names = [(g.function.__module__, g.name) for g in all_generics()]
    assert names == sorted(names) and ("polyad.dsl.ops.arithmetic", "add") in names
    assert repr(pa.add.generic).startswith("<generic add with")


@pytest.mark.parametrize("ask", [pa.methods, pa.which])
def test_only_generic_functions_have_methods(ask):
    with pytest.raises(pa.MethodError, match="is not a generic function of polyad; declare one with @polyad.generic"):
        ask(np.sin)
