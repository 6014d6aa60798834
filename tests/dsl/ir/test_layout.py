"""Pictures of graphs: boxes that do not overlap, and a graph without any."""

import xml.etree.ElementTree as ET
from itertools import combinations

import numpy as np
import pytest

import polyad as pa
from polyad.dsl.ir import drawing
from polyad.dsl.ir.drawing import Graph, program_graph
from polyad.dsl.ir.layout import Level, to_svg

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(autouse=True)
def without_graphviz(monkeypatch):
    monkeypatch.setattr(drawing.shutil, "which", lambda name: None)


def layer(x, w):
    pa.debug_print('"quoted" <&> \\ {}', x)
    h = pa.tanh(x @ w) + np.ones(2)
    return pa.cond(pa.sum(h) > 0, lambda h: h * 2.0, lambda h: pa.sin(h), h), pa.sum(h, axis=0)


def boxes(level, x=0.0, y=0.0):
    """The rectangles of each level of the layout, nested ones with those that hold them."""
    found = {item: place for item, place in level.places.items() if item[0] != "gap"}
    yield list(found.values()), level
    for item, inner in level.inner.items():
        assert inner.width <= found[item][2] and inner.height <= found[item][3]
        yield from boxes(inner)


@pytest.mark.parametrize("f, args", [
    (layer, (np.ones((3, 4)), np.ones((4, 2)))),
    (pa.grad(lambda x: pa.logsumexp(pa.tanh(x * x))), (np.ones(3),)),
    (lambda x: pa.scan(lambda c, r: (c + pa.sum(r), c), 0.0, x), (np.ones((3, 2)),)),
    (lambda x: 3.0, (1.0,)), (lambda x: x, (1.0,)), (lambda: (), ()), (lambda x, y: y, (1.0, 2.0)),
])  # fmt: skip
def test_layout(f, args):
    made = pa.make_ir(f)(*args)
    graph = program_graph(made)
    for places, level in boxes(Level(graph, ())):
        for (x0, y0, w0, h0), (x1, y1, w1, h1) in combinations(places, 2):
            assert x0 + w0 <= x1 or x1 + w1 <= x0 or y0 + h0 <= y1 or y1 + h1 <= y0, "two boxes overlap"
        for a, b, _ in level.edges:
            assert level.places[a][1] + level.places[a][3] < level.places[b][1], "an arrow points upwards"
    root = ET.fromstring(to_svg(graph))
    width, height = float(root.get("width")), float(root.get("height"))
    for rect in root.iter(f"{SVG}rect"):
        x, y, w, h = (float(rect.get(k)) for k in ("x", "y", "width", "height"))
        assert min(x, y) >= 0 and x + w <= width and y + h <= height
    kinds = [g.get("class") for g in root.iter(f"{SVG}g")]
    assert sum(k.startswith("node") for k in kinds) == len(graph.nodes)
    assert sum(k == "edge" for k in kinds) == len(graph.edges)


def test_graph_without_boxes():
    assert ET.fromstring(to_svg(Graph("nothing"))).tag == f"{SVG}svg"


args = ({"w": np.ones((3, 2)), "b": np.ones(2), "n": 3}, np.ones(3))
