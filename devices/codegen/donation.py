"""Programs that may write results into the memory of arguments which their caller gives away.

A result takes the memory of an argument of its shape and dtype if each of its elements is computed from the element at the same
place, and nothing else reads that argument from there on.
"""

import threading

import numpy as np

from ...dispatch import isa
from ...dsl.control.self_calls import deep
from ...dsl.ir.passes import optimized
from ...dsl.ir.programs import Var
from .calls import Fault, caller
from .loops.lowering_checks import told
from .plan.plan import elementwise
from .program import by_operations, loading, one_by_one, owned, steps_in_c, with_sources
from .text.scalars import Unsupported
from .toolchain.library import NoCompiler, warn_once


def compile_donating(program):
    """A function of the flat inputs, of which those in `program.donated` are given away."""
    try:
        return _compiled(optimized(program), program.donated)
    except (NoCompiler, Unsupported) as error:
        warn_once(told(error, program.equations))
        return lambda *leaves: [owned(y) for y in by_operations(program, leaves)]


def _compiled(program, donated):
    if deep(program):
        return lambda *leaves: [owned(y) for y in by_operations(program, leaves)]
    constants = dict(program.constants)
    given = [v for v in donated if v not in program.outputs]
    in_two = lambda steps: [part for step in steps for part in _in_two(step, program, given)]
    steps, sources = steps_in_c(program, constants, True, in_two)
    started, made = loading(sources), []
    for k, (step, source, library) in enumerate(zip(steps, sources, started, strict=True)):
        if source is None:
            made.append(None)
            continue
        library = library.result()
        later = {v for _, equations in steps[k + 1 :] for e in equations for v in e.inputs}
        pairs = {} if source.faults else _pairs(step[1], source, [v for v in given if v not in later], later)
        made.append((source, _Reusing(library, source, pairs) if pairs else caller(library, source)))

    def run(*leaves):
        env = dict(constants)
        env.update(zip(program.inputs, leaves, strict=True))
        free, kept = _free(program.inputs, leaves, given), {id(x) for x in (*leaves, *constants.values())}
        for (_, equations), step in zip(steps, made, strict=True):
            if step is None:
                one_by_one(equations, env, program.passes)
                continue
            source, function = step
            xs = [env[v] for v in source.inputs]
            try:
                ys = function(xs, free, kept) if type(function) is _Reusing else function(*xs)
            except Fault:  # only where nothing is reused: the operations raise what is wrong
                one_by_one(equations, env, program.passes)
                continue
            env.update(zip(source.outputs, ys, strict=True))
        results = []
        for v in program.outputs:
            y = env[v] if isinstance(v, Var) else v
            results.append(y.copy() if isa(y, np.ndarray) and (id(y) in kept or y.base is not None) else y)
            kept.add(id(results[-1]))
        return results

    return with_sources(run, made)


def _in_two(step, program, given):
    """A step, or two of which the second makes results of arguments given away element by element: what else reads these
    is then in the first."""
    is_c, equations = step
    shapes = {v.aval.shape for v in given}
    last, inside = [], set()
    for e in reversed(equations) if is_c else ():
        (v, *more) = e.outputs
        readers = [r for r in equations if v in r.inputs]
        ends = (
            v in program.outputs and not readers or v not in program.outputs and readers and all([r in inside for r in readers])
        )
        if not more and elementwise(e) and v.aval.shape in shapes and ends:
            last.insert(0, e)
            inside.add(e)
    read = {v for e in last for v in e.inputs}
    first = [e for e in equations if e not in inside]
    split = first and any([v in read and any([v in e.inputs for e in first]) for v in given])
    return [(is_c, first), (is_c, last)] if split else [step]


def _free(inputs, leaves, given):
    """The arguments given away whose memory is theirs alone: Var -> array."""
    free = {}
    for k, (v, x) in enumerate(zip(inputs, leaves, strict=True)):
        alone = type(x) is np.ndarray and x.base is None and x.flags.owndata and x.flags.carray and x.dtype.isnative
        others = [y for j, y in enumerate(leaves) if j != k and isa(y, np.ndarray)]
        if v in given and alone and not any([np.may_share_memory(x, y) for y in others]):
            free[v] = x
    return free


def _pairs(equations, source, given, later):
    """Match results (by number) of a step with the arguments (Vars) whose memory they take."""
    pairs, outputs = {}, list(source.outputs)
    for x in given:
        ends = _ends(x, equations, {*outputs, *later}) if x in source.inputs else None
        if ends is None or len(ends) != 1:
            continue
        (y,) = ends
        unread = not any(v is y for e in equations for v in e.inputs)
        if unread and y in outputs and y not in later and y.aval == x.aval and outputs.index(y) not in pairs:
            pairs[outputs.index(y)] = x
    return pairs


def _ends(x, equations, wanted):
    """The wanted values that are computed from x element by element; None if x is read in any other way."""
    reached, ends = {x}, set()
    for e in equations:
        if not reached.intersection([v for v in e.inputs if isinstance(v, Var)]):
            continue
        if not elementwise(e) or any([v.aval.shape != x.aval.shape for v in e.outputs]):
            return None
        reached.update(e.outputs)
        ends.update([v for v in e.outputs if v in wanted])
    return ends


class _Reusing:
    """The function of a step that writes results into arguments. pairs: number of a result -> the argument."""

    def __init__(self, library, source, pairs):
        self.source, self.pairs, self.local = source, pairs, threading.local()
        self.function = caller(library, source, self._new)

    def __call__(self, xs, free, kept):
        targets = [free.get(self.pairs.get(k)) for k in range(len(self.source.outputs))]
        self.local.targets = iter(targets)
        ys = self.function(*xs)
        kept.difference_update([id(t) for t in targets if t is not None])
        return ys

    def _new(self, shape, dtype):
        """The memory of the next result."""
        target = next(self.local.targets)
        return np.empty(shape, dtype) if target is None else target
