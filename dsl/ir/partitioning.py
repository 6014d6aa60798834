"""A program in two parts, of which the second runs later, when the rest of its inputs is known.

So a derivative's forward and backward part are made from one program of both: what the second part reads of the first is
saved, and the choice of what to save is a cheapest cut, in bytes, through what can be computed again.
"""

import numpy as np

from ...dispatch import StructureError, tree
from .mincut import Network
from .programs import Program, Var, without_dead_code


def cheap(equation):
    """Return whether a step may be computed again rather than its result saved: elementwise ones, and those that move no
    data."""
    card = equation.op.card
    return card.kind == "elementwise" or card.view is not None


def never(equation):
    """No step is computed again: all that the second part reads is saved."""
    return False


def always(equation):
    """Every step may be computed again."""
    return True


class Partition:
    """Two programs for one. first: of the early inputs; it returns the first results and what has to be saved beside inputs and
    results. second: of `saved` and the late inputs; it returns the other results.

    saved: Vars that the second part reads of the first.
    """

    def __init__(self, first, second, saved, count):
        self.first, self.second, self.saved = first, second, saved
        self._count = count
        place = {v: (1, i) for i, v in reversed(list(enumerate(first.outputs))) if isinstance(v, Var)}
        place.update({v: (0, i) for i, v in enumerate(first.inputs)})
        self._places = [place[v] for v in saved]

    def split(self, leaves, outputs):
        """(first results, values for `saved`) from the inputs of the first program and what it returned."""
        given = leaves, outputs
        return list(outputs[: self._count]), [given[which][i] for which, i in self._places]

    @property
    def nbytes(self):
        """The number of bytes that are saved."""
        return sum(_size(v) for v in self.saved)


def partition_program(program, first, late, recompute=cheap, free=()):
    """Split a program by when its inputs are known.

    program: a Program. first: how many of its outputs are wanted from the first part; they depend on no late input.
    late: how many of its inputs, the last ones, are known to the second part only. recompute: function of an Equation, whether
    the second part may compute it again rather than have its results saved; collectives and steps with an effect run once.
    free: Vars that cost nothing to save, since they are at hand anyway. Returns a Partition whose programs take and return flat
    lists. Raises StructureError.

    >>> import polyad as pa
    >>> from polyad.dsl.ir.partitioning import partition_program
    >>> program = pa.make_ir(lambda x, ct: (pa.sin(x), ct * pa.cos(x)))(1.0, 1.0)
    >>> parts = partition_program(program, first=1, late=1)
    >>> parts.first
    lambda(a: float64[]):
      b: float64[] = sin a
      return b
    >>> parts.second
    lambda_later(a: float64[], b: float64[]):
      c: float64[] = cos a
      d: float64[] = multiply b c
      return d
    """
    cut = len(program.inputs) - late
    early_inputs, late_inputs = program.inputs[:cut], program.inputs[cut:]
    before, after = _by_time(program, late_inputs)
    made = {v: e for e in before for v in e.outputs}
    results, others = program.outputs[:first], program.outputs[first:]
    constants = {v for v, _ in program.constants}
    known = set(early_inputs) | made.keys()
    if any([isinstance(v, Var) and v not in known and v not in constants for v in results]):
        raise StructureError(f"partition_program({program.name}): one of the first {first} results depends on a late input")
    read = [v for e in after for v in e.inputs] + others
    read = list(dict.fromkeys([v for v in read if isinstance(v, Var) and v in known]))
    repeatable = {e for e in before if recompute(e) and not e.op.card.collective and not e.op.card.acts(e.params)}
    kept = set(early_inputs) | {v for v in results if isinstance(v, Var) and v in known}
    saved, again = _choose_saved(read, made, repeatable, kept, set(free))
    forwarded = [v for v in saved if v not in kept]
    one = _pruned_program(program, "", early_inputs, before, [*results, *forwarded])
    two = _pruned_program(program, "_later", [*saved, *late_inputs], _interleaved(after, others, again, made), others)
    return Partition(one, two, saved, first)


def _by_time(program, late_inputs):
    """(steps that depend on no late input, the others)."""
    tainted, before, after = set(late_inputs), [], []
    for e in program.equations:
        late = any([v in tainted for v in e.inputs if isinstance(v, Var)])
        (after if late else before).append(e)
        if late:
            tainted.update(e.outputs)
    return before, after


def _choose_saved(read, made, repeatable, kept, free):
    """(Vars to save, steps to run again) so that all of `read` is at hand, with the fewest bytes saved."""
    network, ins, outs = Network(), {}, {}
    waiting = list(read)
    while waiting:
        v = waiting.pop()
        if v in ins:
            continue
        ins[v], outs[v] = network.place(), network.place()
        cost = 0 if v in free else 2 * _size(v) + (v not in kept)  # of equal cuts, the one that saves nothing new
        network.edge(ins[v], outs[v], cost)
        if made.get(v) in repeatable:
            waiting += _sources(made[v], made, kept)
    for v, place in ins.items():
        if made.get(v) not in repeatable:
            network.edge(0, place)
        else:
            for u in _sources(made[v], made, kept):
                network.edge(outs[u], place)
    for v in read:
        network.edge(outs[v], 1)
    side = network.cut()
    saved = [v for v in ins if ins[v] in side and outs[v] not in side]
    again, waiting = set(), [v for v in read if v not in saved]
    while waiting:
        e = made[waiting.pop()]
        if e not in again:
            again.add(e)
            waiting += [u for u in _sources(e, made, kept) if u not in saved]
    used = {*read, *[u for e in again for u in _sources(e, made, kept)]}
    return _in_order([v for v in saved if v in used], made), again


def _interleaved(after, outputs, again, made):
    """The late steps, with those that run again each just before it is needed, so that few results are alive at once."""
    steps, done = [], set()

    def need(v):
        waiting = [v]
        while waiting:
            e = made.get(waiting[-1]) if isinstance(waiting[-1], Var) else None
            if e is None or e not in again or e in done:
                waiting.pop()
                continue
            inputs = [u for u in e.inputs if isinstance(u, Var) and made.get(u) in again and made[u] not in done]
            if inputs:
                waiting += inputs[::-1]
            else:
                done.add(e)
                steps.append(e)

    for e in after:
        for v in e.inputs:
            need(v)
        steps.append(e)
    for v in outputs:
        need(v)
    return steps


def _sources(equation, made, kept):
    """The Vars that a step reads, without constants, which both parts have."""
    return [v for v in equation.inputs if isinstance(v, Var) and (v in made or v in kept)]


def _in_order(saved, made):
    """Saved Vars in the order in which they come to be: inputs first."""
    order = {v: i for i, v in enumerate(made)}
    return sorted(saved, key=lambda v: order.get(v, -1))


def _pruned_program(program, suffix, inputs, equations, outputs):
    """One of the two programs, without steps and constants that it does not use."""
    kept, needed = without_dead_code(equations, outputs)
    constants = [pair for pair in program.constants if pair[0] in needed]
    return Program(program.name + suffix, inputs, constants, kept, outputs, _flat(inputs), _flat(outputs))


def _flat(variables):
    """The structure of a tuple of arrays; of one array as it is, for readers."""
    return tree.structure(tuple([0] * len(variables)))


def _size(v):
    return v.aval.size * np.dtype(v.aval.dtype).itemsize
