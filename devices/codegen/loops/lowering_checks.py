"""What lowerings return, looked at where it comes in: the error names the operation and where its lowering is written."""

import math

from ....dispatch import describe
from ....dsl.card import library_name, programs_in
from ....dsl.declaration_checks import place_text
from ...lowering import fault
from ..text.expressions import names_in
from ..text.statements import Block, everything
from .nests import Nest, Reduce


def checked_nests(e, nests, graph):
    """Return what `nests` of a lowering gave. Raises RegistrationError where it is no list of nests, or they leave a part of a
    result unwritten."""
    if not isinstance(nests, (list, tuple)):
        raise fault(e, "nests", f"returned {describe(nests)}; it must return a list of nests, or of blocks with `emit`")
    for nest in nests:
        if not isinstance(nest, Nest) and not (hasattr(nest, "emit") and hasattr(nest, "writes") and hasattr(nest, "reads")):
            raise fault(e, "nests", f"returned a list with {describe(nest)}; a nest is a Nest, or a block such as Scan")
    if e not in graph.in_place:
        for out in e.outputs:
            missing = out.aval.size - sum([_elements_of(nest, out) for nest in nests])
            if missing > 0:
                raise fault(e, "nests", f"does not fill the result: of {out.aval} it leaves {missing} element(s) unwritten")
    return nests


def _elements_of(nest, out):
    """Count the elements of a result that a nest writes, at most."""
    if not isinstance(nest, Nest):
        return out.aval.size if out in nest.writes else 0
    every = [out.aval.size if isinstance(root, Reduce) else math.prod(nest.shape) for root in nest.roots if root.var is out]
    return sum(every)


def checked_statements(nest, statements, graph):
    """The statements of a block. Raises RegistrationError where they do not mention a result that the block is to write."""
    e = nest.equation
    mentioned = {name for s in everything(statements) for x in s.expressions for name in names_in(x)}
    for out in nest.writes:
        if out in e.outputs and out.aval.size and graph.buffers[out].name not in mentioned:
            raise fault(
                e, "nests", f"does not fill the result: no statement of its {type(nest).__name__} stores into {out.aval}"
            )
    return statements


def checked_steps(e, made):
    """The statements of a step and the function of the loop that a Scan is given. Raises RegistrationError."""
    form = "it must return (statements of a step, function of the loop)"
    if not (isinstance(made, tuple) and len(made) == 2 and isinstance(made[0], (list, tuple)) and callable(made[1])):
        raise fault(e, "nests", f"gives its Scan a function that returned {describe(made)}; {form}")
    for s in made[0]:
        if not hasattr(s, "expressions") and not isinstance(s, Block):
            raise fault(e, "nests", f"gives its Scan {describe(s)} as a statement; statements are records such as Assign")
    return made


def told(error, equations):
    """Say why a program has no C, with the operations of others that are in it, for it is theirs that nobody has tried."""
    found = dict(_of_others(equations, set())) if "does not compile" in str(error) else {}
    listed = ", ".join([f"{name}{place}" for name, place in found.items()])
    return f"{error}; C in it that is not the library's: {listed}" if listed else str(error)


def _of_others(equations, seen):
    """Pairs (name, place of what its C is made of) of the operations of others in equations, and in programs within them."""
    for e in equations:
        lowered = e.op.card.lowering
        makers = [f for f in (lowered.nests, lowered.index_map, lowered.template) if callable(f)] if lowered else []
        if library_name(e.op) is None and (makers or e.op.card.c is not None):
            yield e.op.card.name, place_text(makers[0] if makers else e.op.generic.prototype)
        for inner in [p for value in e.params.values() for p in programs_in(value)]:
            if inner not in seen:
                seen.add(inner)
                yield from _of_others(inner.equations, seen)
