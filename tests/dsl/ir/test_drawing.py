"""Pictures of programs: DOT by its structure, SVG as XML whose boxes do not overlap."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import polyad as pa
from polyad.dsl.ir import drawing
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
