"""Pictures of programs: DOT by its structure, SVG as XML whose boxes do not overlap."""

import re
import xml.etree.ElementTree as ET
from itertools import combinations

import numpy as np
import pytest

import polyad as pa
from polyad.dsl.ir import drawing
from polyad.dsl.ir.drawing import Graph, program_graph
from polyad.dsl.ir.layout import Level, to_svg
from polyad.dsl.ir.programs import Equation, Program, Var

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(autouse=True)
def without_graphviz(monkeypatch):
    monkeypatch.setattr(drawing.shutil, "which", lambda name: None)


def layer(x, w):
    pa.debug_print('"quoted" <&> \\ {}', x)
    h = pa.tanh(x @ w) + np.ones(2)
    return pa.cond(pa.sum(h) > 0, lambda h: h * 2.0, lambda h: pa.sin(h), h), pa.sum(h, axis=0)


program = pa.make_ir(layer)(np.ones((3, 4)), np.ones((4, 2)))


def parsed(text):
    """(labels by box, edges, titles of clusters) of DOT text; quotes and braces are balanced."""
    assert text.startswith("digraph {") and text.rstrip().endswith("}")
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)
    assert bare.count("{") == bare.count("}") and bare.count('"') % 2 == 0
    labels = dict(re.findall(r'^ *(n\d+) \[label="((?:[^"\\]|\\.)*)"', text, re.MULTILINE))
    edges = re.findall(r"^ *(n\d+) -> (n\d+)", text, re.MULTILINE)
    return labels, edges, re.findall(r'subgraph cluster_\d+ \{\n *label="((?:[^"\\]|\\.)*)"', text)


def named(labels, start):
    return next(box for box, text in labels.items() if text.startswith(start))


def test_dot_shows_equations_shapes_and_where_values_come_from():
    labels, edges, clusters = parsed(program.draw())
    assert re.fullmatch(r"matmul\\n\w+: float64\[3,2\]", labels[named(labels, "matmul")])
    assert (named(labels, "a\\n"), named(labels, "matmul")) in edges
    assert (named(labels, "matmul"), named(labels, "tanh")) in edges
    assert any("constant" in text for text in labels.values())
    assert "axis=0" in next(text for text in labels.values() if text.startswith("sum") and "axis" in text)
    assert {end for edge in edges for end in edge} <= set(labels)
    assert sum(text.startswith("result") for text in labels.values()) == 4  # two of the program, one of each branch
    assert len(clusters) == 2 and all("of choice" in title for title in clusters)


def test_text_is_escaped():
    labels, _, _ = parsed(program.draw())
    assert '\\"quoted\\" <&> ' in labels[named(labels, "effect_call")]
    root = ET.fromstring(program.draw(format="svg"))
    assert any('"quoted" <&>' in (text.text or "") for text in root.iter(f"{SVG}text"))


@pytest.mark.parametrize("name", ['a"b', "<x>&", "λ", "two words", "back\\slash", "new\nline", ""])
def test_unusual_names(name):
    parts = ("inputs", "constants", "equations", "outputs", "in_structure", "out_structure")
    odd = Program(name, *[getattr(program, part) for part in parts])
    parsed(odd.draw())
    assert ET.fromstring(odd.draw(format="svg")).tag == f"{SVG}svg"


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


def test_files_and_formats(tmp_path):
    svg, dot = tmp_path / "p.svg", tmp_path / "p.dot"
    assert program.draw(svg) == svg.read_text(encoding="utf-8") and program.draw(str(dot)) == dot.read_text(encoding="utf-8")
    assert ET.parse(svg).getroot().tag == f"{SVG}svg"
    assert program._repr_svg_().startswith("<svg")
    with pytest.raises(pa.StructureError, match="no format 'png'"):
        program.draw(tmp_path / "p.png")


def test_graphviz_is_used_where_it_is(monkeypatch, tmp_path):
    script = tmp_path / "dot"
    script.write_text("#!/bin/sh\ncat > /dev/null\necho \"<?xml version='1.0'?><svg>graphviz</svg>\"\n")
    script.chmod(0o755)
    monkeypatch.setattr(drawing.shutil, "which", lambda name: str(script))
    assert program._repr_svg_() == "<svg>graphviz</svg>\n"
    script.write_text("#!/bin/sh\nexit 1\n")
    assert ET.fromstring(program._repr_svg_()).tag == f"{SVG}svg"


def test_large_programs_are_cut_with_a_note():
    def f(x):
        for _ in range(1000):
            x = pa.sin(x)
        return x

    long = pa.make_ir(f)(1.0)
    labels, _, _ = parsed(long.draw(limit=50))
    assert len(labels) <= 53 and any("more equation(s) not drawn" in text for text in labels.values())
    assert len(parsed(long.draw(limit=2000))[0]) == 1002
    ET.fromstring(long._repr_svg_())


def test_a_program_that_holds_itself_ends():
    v, w = Var(pa.Aval((), np.dtype(float))), Var(pa.Aval((), np.dtype(float)))
    loop = Program("loop", [v], [], [], [w], None, None)
    loop.equations.append(Equation(program.equations[-1].op, [v], {"program": loop}, [w]))
    labels, _, _ = parsed(loop.draw(limit=40))
    assert len(labels) < 140


def test_graph_without_boxes():
    assert ET.fromstring(to_svg(Graph("nothing"))).tag == f"{SVG}svg"
