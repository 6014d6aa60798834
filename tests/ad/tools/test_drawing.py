"""Pictures of what reverse mode records: operations, inputs, lines, rules, programs and lanes."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import polyad as pa
from polyad.dsl.ir import drawing

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(autouse=True)
def without_graphviz(monkeypatch):
    monkeypatch.setattr(drawing.shutil, "which", lambda name: None)


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


def loss(p, x):
    h = pa.tanh(x @ p["w"] + p["b"])
    whole, part = pa.modf(h)
    return pa.sum(whole * 2.0) + pa.sum(part)


args = ({"w": np.ones((3, 2)), "b": np.ones(2), "n": 3}, np.ones(3))


def test_tape_shows_operations_inputs_and_lines():
    labels, edges, _ = parsed(pa.draw_tape(loss)(*args))
    texts = list(labels.values())
    expected = ("argument 0['b']", "argument 0['w']", "argument 1")
    assert all(labels[f"n{i}"].startswith(text) for i, text in enumerate(expected))
    assert not any("['n']" in text for text in texts)
    product = named(labels, "matmul")
    assert labels[product].startswith("matmul\\nfloat64[2]\\ntest_drawing.py:")
    assert {(named(labels, "argument 1"), product), (named(labels, "argument 0['w']"), product)} <= set(edges)
    assert any(text.startswith("multiply") and "of ndarray(float64[2]), float" in text for text in texts)
    assert any("a step of modf" in text for text in texts)
    assert sum(text.startswith("result") for text in texts) == 1


def test_tape_of_a_gradient_names_rules():
    labels, _, _ = parsed(pa.draw_tape(pa.grad(lambda x: pa.sin(x) * x))(1.0))
    assert any("a step of the reverse rule of" in text for text in labels.values())


def test_tape_as_svg_and_limit(tmp_path):
    text = pa.draw_tape(loss, tmp_path / "t.svg")(*args)
    assert ET.fromstring(text).tag == f"{SVG}svg" and (tmp_path / "t.svg").exists()
    labels, _, _ = parsed(pa.draw_tape(loss, limit=5)(*args))
    assert any("more step(s) not drawn" in text for text in labels.values())


def test_tape_of_results_that_depend_on_nothing():
    labels, _, _ = parsed(pa.draw_tape(lambda x: (x * 2.0, 3.0))(1.0))
    assert any("does not depend on the arguments" in text for text in labels.values())


def test_tape_of_a_program_and_in_lanes():
    made = pa.make_ir(loss)(*args)
    assert "tanh" in pa.draw_tape(made)(*args)
    assert "float64[4,2]" in pa.draw_tape(pa.vmap(loss, (None, 0)))(args[0], np.ones((4, 3)))
