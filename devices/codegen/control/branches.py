"""Choices in C, and programs called by others: `choice`, and `call`, also of programs that call themselves."""

from ..plan.subprograms import simple
from ..text.expressions import Name
from ..text.scalars import Unsupported, ctype
from ..text.statements import Assign, Local, switch
from .registers import LARGEST, points, results_of


def choice(body, e):
    index, *operands = e.inputs
    (chosen,) = body.elements(index, index.aval)
    if any(v.aval.size > LARGEST for v in e.outputs):
        raise Unsupported("results of a choice that are not small")
    names = [[Name(body.graph.functions.unique("k")) for _ in points(v.aval.shape)] for v in e.outputs]
    declared = [Local(ctype(v.aval.dtype), name.name) for v, own in zip(e.outputs, names, strict=True) for name in own]
    cases = []
    for branch in e.params["branches"]:
        program = simple(branch)
        child = body.child(program)
        child.bound.update(zip(program.inputs, operands, strict=True))
        child.run(program)
        for (atom, aval), own in zip(results_of(program), names, strict=True):
            child.statements += [Assign(name, x) for name, x in zip(own, child.elements(atom, aval), strict=True)]
        cases.append(child.statements)
    body.statements += [*declared, switch(chosen, cases)]
    for v, own in zip(e.outputs, names, strict=True):
        body.memo.update({(v, idx): name for idx, name in zip(points(v.aval.shape), own, strict=True)})


def inlined(body, e):
    """`call` of a program that does not call itself."""
    program = simple(e.params["program"])
    child = body.child(program)
    child.bound.update(zip(program.inputs, e.inputs, strict=True))
    child.run(program)
    values = [child.elements(atom, aval) for atom, aval in results_of(program)]
    body.statements += child.statements
    for v, own in zip(e.outputs, values, strict=True):
        body.memo.update({(v, idx): x for idx, x in zip(points(v.aval.shape), own, strict=True)})
