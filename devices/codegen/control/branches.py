"""Choices in C, and programs called by others: `choice`, and `call`, also of programs that call themselves."""

from ..plan.subprograms import simple
from ..text.scalars import Unsupported, ctype
from .registers import LARGEST, points, results_of


def choice(body, e):
    index, *operands = e.inputs
    (chosen,) = body.elements(index, index.aval)
    if any(v.aval.size > LARGEST for v in e.outputs):
        raise Unsupported("results of a choice that are not small")
    names = [[body.graph.functions.unique("k") for _ in points(v.aval.shape)] for v in e.outputs]
    declared = [f"{ctype(v.aval.dtype)} {', '.join(own)};" for v, own in zip(e.outputs, names, strict=True) if own]
    lines = [f"switch ({chosen}) {{"]
    for k, branch in enumerate(e.params["branches"]):
        program = simple(branch)
        child = body.child(program)
        child.bound.update(zip(program.inputs, operands, strict=True))
        child.run(program)
        for (atom, aval), own in zip(results_of(program), names, strict=True):
            child.lines += [f"{name} = {text};" for name, text in zip(own, child.elements(atom, aval), strict=True)]
        last = k == len(e.params["branches"]) - 1
        lines += [f"{'default' if last else f'case {k}'}: {{", *child.lines, "break;", "}"]
    body.lines += [*declared, *lines, "}"]
    for v, own in zip(e.outputs, names, strict=True):
        body.memo.update({(v, idx): name for idx, name in zip(points(v.aval.shape), own, strict=True)})


def inlined(body, e):
    """`call` of a program that does not call itself."""
    program = simple(e.params["program"])
    child = body.child(program)
    child.bound.update(zip(program.inputs, e.inputs, strict=True))
    child.run(program)
    texts = [child.elements(atom, aval) for atom, aval in results_of(program)]
    body.lines += child.lines
    for v, own in zip(e.outputs, texts, strict=True):
        body.memo.update({(v, idx): text for idx, text in zip(points(v.aval.shape), own, strict=True)})
