"""Layouts: what a spec and a mesh make of a shape, and the errors of those that do not fit."""

import numpy as np
import pytest

import polyad as pa
from polyad.parallel.sharded.layout import Layout

P = pa.PartitionSpec


@pytest.fixture
def mesh():
    return pa.Mesh(("a", "b"), (2, 2))


def test_a_part_for_each_axis(mesh):
    layout = Layout(mesh, (4, 6, 2), P("a"))
    assert layout.parts == (("a",), (), ()) and layout.shape == (4, 6, 2) and layout.block_shape == (4, 6, 2)  # of one rank
    assert layout.chunks == ((4,), (6,), (2,)) and layout.start == (0, 0, 0)
    assert layout == Layout(mesh, (4, 6, 2), P("a", None, None)) and hash(layout) == hash(Layout(mesh, (4, 6, 2), P("a")))
    assert layout != Layout(mesh, (4, 6, 2), P("b")) and not layout.is_whole and Layout(mesh, (2,)).is_whole


def test_derived_layouts(mesh):
    layout = Layout(mesh, (4, 6), P("a", partial="b"))
    assert layout.cut(0, ()).spec == P(None, None, partial="b")
    assert layout.reduced(()).partial == () and layout.without(1).shape == (4,) and layout.without(1).parts == (("a",),)
    assert layout.stacked(1, 9).shape == (4, 9, 6) and layout.stacked(1, 9).parts == (("a",), (), ())


MISFITS = {
    "names 'c'; the axes of the mesh are 'a', 'b'": lambda m: Layout(m, (4,), P("c")),
    "names 'a' twice": lambda m: Layout(m, (4, 4), P("a", "a")),
    "names 'b' twice": lambda m: Layout(m, (4, 4), P("b", partial="b")),
    "has 2 parts for the 1 axes of the shape": lambda m: Layout(m, (4,), P("a", "b")),
    "the spec is 'a'; give a PartitionSpec": lambda m: Layout(m, (4,), "a"),
    "do not make up the shape": lambda m: Layout(m, (4,), P("a"), [(3,)]),
}


@pytest.mark.parametrize("text", MISFITS)
def test_misfits_are_named(mesh, text):
    with pytest.raises((pa.StructureError, pa.ShapeError), match=text.replace("(", r"\(")):
        MISFITS[text](mesh)


def test_jit_takes_a_layout_as_it_is(mesh):
    x = pa.shard(np.arange(6.0), P("a"), mesh)
    f = pa.jit(lambda x: pa.sum(x * x))
    assert f(x) == 55.0 == f(pa.shard(np.arange(6.0), P("b"), mesh))
