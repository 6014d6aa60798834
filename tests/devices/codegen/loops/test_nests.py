"""Nests: what they say of themselves, and the statements of one iteration."""

import numpy as np
import pytest

import polyad as pa
from polyad.devices.codegen.loops.bodies import Body, Graph
from polyad.devices.codegen.loops.nests import MOVEMENT, OPERATION, Nest, Reduce, Store, counters, dry_run, fill, work
from polyad.devices.codegen.text.expressions import Access, Name, c, call
from polyad.devices.codegen.text.indices import ZERO, Buffer, Index
from polyad.devices.codegen.text.math_functions import Functions
from polyad.devices.codegen.text.printer import Printer
from polyad.devices.codegen.text.statements import Assign, Local
from polyad.dsl.avals import Aval
from polyad.dsl.ir.programs import Var

pytestmark = pytest.mark.quick


def var(*shape, dtype="d"):
    return Var(Aval(shape, np.dtype(dtype)))


def in_memory(**vars):
    """A graph in which these lie in memory, under these names."""
    graph = Graph(Functions())
    graph.buffers.update({v: Buffer(name, v.aval.dtype, v.aval.shape) for name, v in vars.items()})
    return graph


def text(body):
    return Printer().text(body.statements).replace("\n", " ")


def summed(x, **params):
    """The equation of a sum."""
    f = lambda v: pa.sum(v, **params)
    (e,) = pa.make_ir(f)(np.zeros(x.aval.shape, x.aval.dtype)).equations
    e.inputs = (x,)
    return e


def test_what_a_nest_says_of_itself():
    x = var(4, 5, 6)
    plain = Nest((4, 5, 6), [Store(x), Store(var(4, 5, 6))])
    assert plain.reduced == () and not plain.reduces and plain.kept_first == 3 and plain.writes[0] is x
    e = summed(x, axis=(1, 2))
    reducing = Nest((4, 5, 6), [Store(x), Reduce(e.outputs[0], e, (1, 2), False)])
    assert reducing.reduced == (1, 2) and reducing.reduces and reducing.kept_first == 1
    of_nothing = Nest((4, 5, 6), [Reduce(e.outputs[0], e, (), False)])  # over no axis, and still a reduction
    assert of_nothing.reduced == () and of_nothing.reduces and of_nothing.kept_first == 3


def test_axes_of_one_element_have_no_counter():
    assert counters((1, 3, 1, 0)) == (ZERO, Index(0, [("i1", 1)]), ZERO, Index(0, [("i3", 1)])) and counters(()) == ()


@pytest.mark.parametrize("dtype, add, stored", [
    ("d", False, "y[i0] = v0;"), ("d", True, "y[i0] = y[i0] + v0;"), ("?", True, "y[i0] = (y[i0] || v0);"),
])  # fmt: skip
def test_stores(dtype, add, stored):
    x, y = var(3, dtype=dtype), var(3, dtype=dtype)
    body = Body(in_memory(x=x, y=y))
    assert fill(Nest((3,), [Store(y, x, add=add)]), body) == []
    assert text(body).endswith(stored) and [a.buffer.name for a in body.accesses] == ["x", "y"]


def test_stores_of_numbers_and_at_other_places():
    y, body = var(3, 4, dtype="f"), None
    body = Body(in_memory(y=y))
    fill(Nest((4,), [Store(y, 2, lambda body, idx: (Index(2), idx[0]))]), body)
    assert text(body) == "y[i0 + 8] = 2.0f;"
    x, y = var(4, dtype="l"), var(4, dtype="f")
    body = Body(in_memory(x=x, y=y))
    fill(Nest((4,), [Store(y, x)]), body)
    assert "(float)" in text(body)  # an argument of another dtype is converted


@pytest.mark.parametrize("keepdims, place", [(False, "i0 + 0"), (True, "i0 + 0")])
def test_reductions_put_their_results_where_the_kept_axes_say(keepdims, place):
    x = var(3, 5)
    e = summed(x, axis=1, keepdims=keepdims)
    y = e.outputs[0]
    body = Body(in_memory(x=x, y=y))
    ((total, value, buffer, kept),) = fill(Nest((3, 5), [Reduce(y, e, (1,), keepdims)]), body)
    assert buffer.name == "y" and kept == ((counters((3,))[0], ZERO) if keepdims else counters((3,)))
    assert text(body).startswith("double v0 = x[5 * i0 + i1];") and total.dtype == np.dtype("d")


def test_reads_are_noted_each_once():
    x, y, z = var(3, 5), var(3, 5), var(3, 5)
    nest = Nest((3, 5), [Store(y, x), Store(z, x)])
    dry_run(nest, in_memory(x=x, y=y, z=z))
    assert nest.reads == [(x, counters((3, 5)))]


def test_what_statements_cost():
    x = Access(Buffer("x", np.dtype("d"), (3,)), Index(0, [("i", 1)]))
    assert work(Local("double", "v", x)) == work(Assign(x, Name("v"))) == work(Local("double", "v", Name("u"))) == MOVEMENT
    assert work(Local("double", "v", c("{} + {}", Name("a"), Name("b")))) == OPERATION
    assert work(Local("double", "v", call("sin", x))) == work(Assign(x, call("sin", Name("v")))) == OPERATION
