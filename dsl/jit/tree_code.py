"""A tree as one Python function: from compiled segment to compiled segment, by the answers, without looking anything up."""

from typing import Any

import numpy as np

from ...dispatch import Layer
from ...dispatch import tree as pytree
from ..ir.programs import Var
from .results import Fresh, result
from .run import answer_key

MAX_PATH_SEGMENTS = 24  # segments on one path that are written out


def path_function(tree, resume):
    """A function of the leaves of the arguments and of the arrays that are read from outside, all plain, that returns the
    result; None if the first segment is not compiled.

    resume: function(segment or None, path, env, xs) that goes on where the known paths, or those worth writing out, end.
    """
    if tree.root is None or _compiled(tree.root) is None:
        return None
    code = _Code(tree)
    code.space.update(
        resume=resume, unflatten=pytree.unflatten, answer_key=answer_key, result=result, tree=tree, array=np.array
    )
    names = ", ".join(code.arguments)
    code.line(1, "tree.calls += 1")
    code.segment(tree.root, (), 1)
    exec("\n".join([f"def go({names}):", *code.lines]), code.space)
    return code.space["go"]


def _compiled(segment):
    """The compiled function of a segment, None if there is none or what surrounds a call must see its steps; "nothing" if it
    has no steps."""
    if segment.code is None or segment.question[0] == "raises":
        return None
    program = segment.code.program
    if program.acts:
        return None
    return program.lifted.get("host") if program.equations else "nothing"


class _Code:
    """Lines of Python. names: Var -> its name; space: what they name."""

    def __init__(self, tree):
        self.tree, self.lines = tree, []
        self.space: dict[str, Any] = {"ndarray": np.ndarray}
        self.arguments = [f"x{i}" for i in range(len(tree.inputs))]
        self.names = {v: n for v, n in zip(tree.inputs, self.arguments, strict=True) if v is not None}
        read = [f"r{i}" for i in range(tree.read)]
        self.names.update({v: self.read(read[i], view) for v, (i, view) in tree.places.items()})
        self.arguments += read
        self.names.update({v: self.bound(x) for v, x in tree.constants.items()})
        donated = [v for v in self.names if v in tree.donated]
        plain = [v for v in self.names if v.weak is None and not isinstance(tree.constants.get(v), Layer)]
        self.given_arrays = {v for v in plain if v not in donated}

    def read(self, name, view):
        """The name of an array read from outside, or of a view of it."""
        if view is None:
            return name
        offset, shape, strides = view
        self.line(1, f"w{len(self.lines)} = ndarray({shape}, {name}.dtype, {name}, {offset}, {strides})")
        return f"w{len(self.lines) - 1}"

    def line(self, depth, text):
        self.lines.append("    " * depth + text)

    def bound(self, value):
        name = f"k{len(self.space)}"
        self.space[name] = value
        return name

    def segment(self, segment, path, depth):
        """The lines of a segment, and of what follows it. path: pairs (segment, name of its answer) up to it."""
        run = None if segment is None or len(path) >= MAX_PATH_SEGMENTS else _compiled(segment)
        if segment is None or run is None:
            self.go_on(segment, path, depth)
            return
        self.line(depth, f"{self.bound(segment)}.runs += 1")
        if run != "nothing":
            made = []
            for v in segment.code.gives:
                self.names[v] = f"v{len(self.names)}"
                made.append(self.names[v])
            given = ", ".join([self.given(v) for v in segment.code.takes])
            self.line(depth, f"{', '.join(made)}{',' if made else '()'} = {self.bound(run)}({given})")
        how, what = segment.question
        if how == "return":
            self.results(segment, what, depth)
        else:
            self.choice(segment, what, path, depth)
        for v in segment.code.gives:
            self.names.pop(v, None)

    def given(self, v):
        """Return what a compiled function is given: numbers as arrays, which it takes without a look."""
        return self.names[v] if v.aval.shape else f"array({self.names[v]}, {self.bound(v.aval.dtype)})"

    def choice(self, segment, what, path, depth):
        children, asked = dict(segment.children), self.names[what]
        if what.aval.shape == () and what.aval.dtype.kind == "b":
            for word, key in (("if", True), ("else", False)):
                self.line(depth, f"if {asked}:" if word == "if" else "else:")
                self.segment(children.get(key), (*path, (segment, repr(key))), depth + 1)
            return
        key = f"q{depth}"
        self.line(depth, f"{key} = answer_key({asked})")
        for answer, child in children.items():
            self.line(depth, f"if {key} == {self.bound(answer)}:")
            self.segment(child, (*path, (segment, key)), depth + 1)
        self.go_on(None, (*path, (segment, key)), depth)

    def go_on(self, segment, path, depth):
        known = ", ".join([f"{self.bound(v)}: {name}" for v, name in self.names.items()])
        steps = ", ".join([f"({self.bound(s)}, {key})" for s, key in path])
        arguments = ", ".join(self.arguments)
        self.line(depth, f"return resume({self.bound(segment)}, [{steps}], {{{known}}}, [{arguments}])")

    def results(self, segment, what, depth):
        leaves, copies = [], {}
        for v, kind in zip(what, segment.weak, strict=True):
            if v in self.given_arrays:  # results are arrays of their own
                if v not in copies:
                    copies[v] = f"c{len(copies)}"
                    self.line(depth, f"{copies[v]} = {self.names[v]}.copy()")
                leaves.append(copies[v] + "[()]" * (not v.aval.shape))
                continue
            made = isinstance(v, Var) and v in segment.code.gives
            if made and kind is None:
                leaves.append(self.names[v] + "[()]" * (not v.aval.shape))
            elif isinstance(v, Var):
                leaves.append(f"result({self.bound(v)}, {{{self.bound(v)}: {self.names[v]}}}, {self.bound(kind)})")
            else:
                leaves.append(f"{self.bound(v)}.value" + ".copy()" * (type(v) is Fresh))
        if segment.out is pytree.LEAF:
            self.line(depth, f"return {leaves[0]}")
        else:
            self.line(depth, f"return unflatten({self.bound(segment.out)}, [{', '.join(leaves)}])")
