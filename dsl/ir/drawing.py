"""Pictures of programs and tapes: a graph of labelled boxes, as DOT text and as SVG.

SVG is laid out by Graphviz' `dot` where it is installed, else by `layout.py`, so a picture is always to be had.
"""

import shutil
import subprocess
from pathlib import Path

from ...dispatch import StructureError
from ..avals import is_number
from ..card import programs_in
from .layout import to_svg

MAX_NODES = 300  # nodes, above which the rest is summed up


class Node:
    """A box. lines: its text; kind: a key of DOT_STYLES; group: numbers of the groups that hold it, outermost first."""

    def __init__(self, lines, kind, group=()):
        self.lines, self.kind, self.group = [*lines], kind, tuple(group)


class Graph:
    """Boxes, arrows between them (number, number, label), and groups: number -> title."""

    def __init__(self, title):
        self.title, self.nodes, self.edges, self.groups = title, [], [], {}

    def add(self, lines, kind, group=()):
        """A new box; returns its number."""
        self.nodes.append(Node([_clipped(line) for line in lines], kind, group))
        return len(self.nodes) - 1

    def connect(self, start, end, label=""):
        self.edges.append((start, end, label))

    def dot(self):
        """The graph in the DOT language."""
        lines = ["digraph {", f"  label={_quoted([self.title])}; labelloc=t;", '  node [fontname="monospace", fontsize=10];']
        lines += self._cluster((), "  ")
        lines += [f"  n{a} -> n{b}{f' [label={_quoted([text])}, fontsize=9]' if text else ''};" for a, b, text in self.edges]
        return "\n".join([*lines, "}"]) + "\n"

    def _cluster(self, path, indent):
        lines = [
            f"{indent}n{i} [label={_quoted(node.lines)}, {DOT_STYLES[node.kind]}];"
            for i, node in enumerate(self.nodes) if node.group == path
        ]  # fmt: skip
        deeper = [node.group for node in self.nodes if len(node.group) > len(path) and node.group[: len(path)] == path]
        inner = dict.fromkeys(group[: len(path) + 1] for group in deeper)
        for group in inner:
            lines += [f"{indent}subgraph cluster_{group[-1]} {{", f"{indent}  label={_quoted([self.groups[group[-1]]])};"]
            lines += [*self._cluster(group, indent + "  "), f"{indent}}}"]
        return lines

    def svg(self):
        """The graph as SVG text."""
        program = shutil.which("dot")
        if program:
            done = subprocess.run([program, "-Tsvg"], input=self.dot(), capture_output=True, text=True, encoding="utf-8")
            if done.returncode == 0:
                return done.stdout[done.stdout.index("<svg") :]
        return to_svg(self)

    def written(self, file=None, format=None):
        """The picture as text, also written to `file`. format: "dot" or "svg", by default that of the file's ending, else dot.

        Raises StructureError for another format.
        """
        if format is None:
            format = Path(file).suffix.removeprefix(".") if file is not None else "dot"
        if format not in ("dot", "svg", "gv"):
            raise StructureError(f"draw: there is no format {format!r}; use dot or svg (Graphviz makes others from dot)")
        text = self.svg() if format == "svg" else self.dot()
        if file is not None:
            Path(file).write_text(text, encoding="utf-8")
        return text


DOT_STYLES = {
    "input": 'shape=ellipse, style=filled, fillcolor="#dbeafe"',
    "constant": 'shape=box, style="filled,dashed", fillcolor="#f3f4f6"',
    "operation": 'shape=box, style="filled,rounded", fillcolor="#fef9c3"',
    "effect": 'shape=box, style="filled,rounded", fillcolor="#fee2e2"',
    "output": 'shape=ellipse, style=filled, fillcolor="#dcfce7"',
    "note": "shape=plaintext",
}  # fmt: skip


def _clipped(text, longest=60):
    text = "".join(c if c.isprintable() else " " for c in str(text))
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _quoted(lines):
    """A label of DOT: backslashes and quotes escaped, lines joined by \\n."""
    return '"' + "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in lines) + '"'


# ---------------------------------------------------------------------- programs
def program_graph(program, limit=MAX_NODES):
    """The picture of a program: its inputs, constants, equations and outputs; programs within operations as groups."""
    graph = Graph(program.name)
    _Drawn(graph, program, (), limit).draw()
    return graph


class _Drawn:
    """One program within a graph. path: groups around it; limit: of boxes."""

    def __init__(self, graph, program, path, limit):
        self.graph, self.program, self.path, self.limit = graph, program, path, limit
        self.names, self.places = program.names(), {}

    def draw(self):
        graph, program = self.graph, self.program
        for v in program.inputs:
            self.places[v] = graph.add([self.names[v], v.aval], "input", self.path)
        constants = dict(program.constants)
        drawn = 0
        for e in program.equations:
            if len(graph.nodes) >= self.limit:
                break
            drawn += 1
            self._equation(e, constants)
        if drawn < len(program.equations):
            left = len(program.equations) - drawn
            graph.add([f"… {left} more equation(s) not drawn", "draw(limit=…) draws more"], "note", self.path)
        for i, v in enumerate(program.outputs):
            if is_number(v):
                graph.add([f"result {i}: {v!r}"], "output", self.path)
                continue
            start = self._source(v, constants)
            box = graph.add([f"result {i}" if len(program.outputs) > 1 else "result", v.aval], "output", self.path)
            if start is not None:
                graph.connect(start, box, self.names[v])

    def _equation(self, e, constants):
        graph = self.graph
        inner = [(k, p) for k, value in e.params.items() for p in programs_in(value)]
        hidden = {k for k, _ in inner}
        shown = [f"{k}={_label(value)}" for k, value in self.shown_params(e).items() if k not in hidden]
        numbers = [f"input {i}: {v!r}" for i, v in enumerate(e.inputs) if is_number(v)]
        results = [f"{self.names[v]}: {v.aval}" for v in e.outputs]
        kind = "effect" if e.op.card.acts(e.params) else "operation"
        lines = [e.op.__name__, *shown, *numbers, *results]
        box = graph.add(lines, kind, self.path)
        several = len(e.inputs) > 1
        for i, v in enumerate(e.inputs):
            if is_number(v):
                continue
            start = self._source(v, constants)
            if start is not None:
                graph.connect(start, box, f"{i}: {self.names[v]}" if several else self.names[v])
        self.places.update(dict.fromkeys(e.outputs, box))
        for n, (name, program) in enumerate(inner):
            number = len(graph.groups)
            several = sum(k == name for k, _ in inner) > 1
            graph.groups[number] = f"{name}{f' {n}' if several else ''} of {e.op.__name__}: {program.name}"
            first = len(graph.nodes)
            if first < self.limit:
                _Drawn(graph, program, (*self.path, number), self.limit).draw()
            else:
                graph.add([f"{len(program.equations)} equation(s) not drawn"], "note", (*self.path, number))
            if len(graph.nodes) > first:
                graph.connect(box, first, "runs")

    def shown_params(self, e):
        defaults = e.op.generic.signature.parameters
        return {k: v for k, v in e.params.items() if not _default(defaults.get(k), v)}

    def _source(self, v, constants):
        """The box that a value comes from; a constant's is made where it is first read."""
        if v not in self.places and v in constants:
            self.places[v] = self.graph.add([self.names[v], v.aval, "constant"], "constant", self.path)
        return self.places.get(v)


def _default(parameter, value):
    if parameter is None:
        return False
    default = parameter.default
    return default is value or (type(default) is type(value) and is_number(value) and default == value)


def _label(value):
    if hasattr(value, "__qualname__") and not isinstance(value, type):
        return value.__name__
    return repr(value)
