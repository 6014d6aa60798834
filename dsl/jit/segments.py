"""The tree of segments: what was traced between two questions of Python, and which segment each answer leads to."""

import threading
import time
from itertools import count
from typing import Any

from ...dispatch import Layer, effects_are_kept, isa
from ..avals import Aval, is_number
from ..axes import resolved
from ..card import library_name, programs_in
from ..control.call import call
from ..ir.failures import may_fail
from ..ir.passes.rewriting import single
from ..ir.programs import Equation, Program, Var, evaluate, without_dead_code
from .globals_key import exact

LIMIT, DEPTH = 128, 48  # segments of one tree, and questions on one path, beyond which the function runs eagerly


class Segment:
    """Steps without a question, and how the segment ends.

    equations: the steps. question: None until something ended it; ("answer", Var) where Python asked for a value,
    ("raises", equation) where a step may fail, ("return", leaves: Vars and `Fixed`) at the end. children: answer -> the
    next segment. out, weak: structure of the result, and for its leaves the type of a Python number or None. code: the
    segment as a program, once it has run as a whole. runs: how often it did. seconds: what compiling it took, None before.
    """

    __slots__ = ("children", "code", "equations", "number", "out", "question", "runs", "seconds", "traced", "weak")
    code: Any
    question: Any
    out: Any
    weak: Any

    def __init__(self):
        self.equations, self.question, self.children = [], None, {}
        self.code = self.out = self.weak = self.seconds = self.number = None
        self.runs = self.traced = 0

    def steps(self):
        """All steps, that at its end included."""
        how, what = self.question or (None, None)
        return [*self.equations, what] if how == "raises" else self.equations

    def made(self):
        """Vars that its steps make."""
        return {v for e in self.steps() for v in e.outputs}

    def reads(self):
        """Vars that its steps and its end read and do not make."""
        how, what = self.question or (None, ())
        read = [v for e in self.steps() for v in e.inputs]
        read += [what] if how == "answer" else what if how == "return" else []
        made = self.made()
        return [v for v in dict.fromkeys(read) if isinstance(v, Var) and v not in made]

    def wanted(self):
        """Vars that are read below."""
        found = set()
        for child in self.children.values():
            found |= (child.wanted() | set(child.reads())) - child.made()
        return found

    def ends(self):
        """Vars that its own end reads."""
        how, what = self.question
        read = [what] if how == "answer" else what.inputs if how == "raises" else what
        return {v for v in read if isinstance(v, Var)}

    def below(self):
        """This segment and all that it leads to."""
        yield self
        for child in list(self.children.values()):
            yield from child.below()


class Tree:
    """All segments for arguments of one structure, shapes and dtypes.

    inputs: the Vars of the arguments, None for a static one; donated: those whose memory is given away. places: Var ->
    (number among the arrays that the function reads from outside, view of it or None), looked up anew at each call;
    constants: Var -> other arrays that it met. eager: why the function runs eagerly for such arguments, or None. passing:
    it holds a value of a transformation around, so it serves one call only. shared: equal programs of all trees of the
    function -> the one that is used. held: `Held` objects among the arguments. structure: of the arguments; read: how many
    arrays are read from outside. go: the tree as a function for plain arrays, None if there is none as it is now; entry:
    the short way to it, None if it is not known, False if there is none. reads: `Reads`; watch: `Watch` of the arrays read;
    adopts: it is that of a copy, see `Adoption`. statics: None, or what of the arguments' static attributes may be changed, as
    `statics.key_of` gives it. lifts: Python numbers in its steps are inputs of its programs, as they were others at other
    calls; lifted: their Vars.
    """

    def __init__(self, name, inputs, donated, structure, read, shared, held):
        self.name, self.inputs, self.donated, self.structure = name, inputs, donated, structure
        self.read, self.shared, self.held = read, shared, held
        self.constants, self.places, self.eager, self.passing = {}, {}, None, False
        self.root = self.go = self.entry = self.watch = None
        self.reads, self.adopts, self.statics = None, False, None
        self.lifts, self.lifted = False, set()
        self.size = self.traces = self.calls = 0
        self.numbers, self.lock = count(), threading.Lock()

    def changed(self):
        """It has grown, or another segment is compiled."""
        self.go = self.entry = None

    def attach(self, path, key, segment, run):
        """Take in a segment, and what it leads to, that a run made. path: pairs (segment, answer) up to the one that it
        follows, whose answer is `key`; empty for the root."""
        with self.lock:
            parent = path[-1][0] if path else None
            if self.root is not None if parent is None else key in parent.children:
                return  # another thread was faster
            if parent is None:
                self.root = segment
            else:
                parent.children[key] = segment
            for s in segment.below():
                s.number, s.traced = next(self.numbers), 1
                self.size += 1
            self.changed()
            self.constants.update(run.found)
            self.places.update(run.found_places)
            self.passing = self.passing or any([isinstance(x, Layer) for x in run.found.values()])
            wanted = segment.wanted() | set(segment.reads())
            for above, _ in path:
                if above.code is not None and not (wanted & above.made()) <= set(above.code.gives):
                    above.code = None


class Code:
    """A segment as a program of lists. takes, gives: the Vars of the segment for the program's inputs and outputs."""

    __slots__ = ("gives", "program", "takes")

    def __init__(self, program, takes, gives):
        self.program, self.takes, self.gives = program, takes, gives


LIFTED = ("add", "subtract", "multiply", "divide", "maximum", "minimum")  # operations whose numbers may be inputs


def with_inputs(tree, e):
    """A step whose Python numbers are inputs of its program, which trees with other numbers can then share."""
    if library_name(e.op) not in LIFTED or not any([type(v) is float for v in e.inputs]):
        return e
    dtype = e.outputs[0].aval.dtype
    if dtype.kind != "f" or any([isinstance(v, Var) and v.aval.dtype != dtype for v in e.inputs]):
        return e
    return Equation(e.op, [_lifted(tree, v, dtype) if type(v) is float else v for v in e.inputs], e.params, e.outputs)


def _lifted(tree, number, dtype):
    var = Var(Aval((), dtype))
    tree.constants[var] = dtype.type(number)
    tree.lifted.add(var)
    return var


def code_of(tree, segment):
    """The `Code` of a segment; segments of equal steps share one program."""
    made = [v for e in segment.equations for v in e.outputs]
    wanted = segment.ends() | segment.wanted()
    outputs = [v for v in made if v in wanted]
    if segment.question[0] != "return":
        outputs += [v for e in segment.equations if is_kept(e) or may_fail(e) for v in e.outputs if v not in wanted]
    steps = [with_inputs(tree, e) for e in segment.equations] if tree.lifts else segment.equations
    equations, needed = without_dead_code(steps, outputs)
    inline = lambda v, x: v in needed and v not in tree.lifted and (is_immutable(x) or single(x) is not None)
    fixed = [(v, x) for v, x in tree.constants.items() if inline(v, x)]
    inside = {v for e in equations for v in e.outputs}.union([v for v, unused in fixed])
    takes = list(dict.fromkeys(v for e in equations for v in e.inputs if isinstance(v, Var) and v not in inside))
    program = Program(tree.name, takes, fixed, equations, outputs, None, None)
    if segment is tree.root and segment.question[0] == "return":
        program.donated = tuple([v for v in takes if v in tree.donated and v not in segment.question[1]])
    key = None if program.donated else _key_of(program)
    if key is not None:
        program = tree.shared.setdefault(key, program)
    return Code(program, takes, outputs)


def is_kept(e):
    """Return whether a step's results are kept even where nothing is known to read them: it is not to be run again for them."""
    card = e.op.card
    return (
        card.collective
        or card.raises
        or "lift" in card.rules
        or card.kind == "opaque"
        and card.kernel is None
        or card.acts(e.params)
    )


def is_immutable(x):
    """Return whether x cannot be changed in place, so that it may be a part of the program."""
    return is_number(x) or not isinstance(x, Layer) and getattr(x, "shape", None) == () and not hasattr(x, "__setitem__")


def _key_of(program):
    """A key that equal programs share; None where there is none."""
    key = _meaning(program)
    try:
        hash(key)
    except TypeError:
        return None
    return key


def _meaning(program):
    if program.calls_itself:
        return id(program)
    numbers = {}
    name = lambda v: numbers.setdefault(v, len(numbers)) if isinstance(v, Var) else exact(v)
    typed = lambda v: (name(v), v.aval, v.weak, tuple(v.lanes.items()))
    one = lambda x: None if is_immutable(x) else single(x)
    constant = lambda x: repr(x) if is_immutable(x) else id(x) if one(x) is None else (repr(one(x)), x.shape)
    key = [tuple([typed(v) for v in program.inputs]), tuple([(typed(v), constant(x)) for v, x in program.constants])]
    for e in program.equations:
        params = tuple([(k, _param(v)) for k, v in e.params.items()])
        key.append((e.op, tuple([name(v) for v in e.inputs]), params, tuple([typed(v) for v in e.outputs])))
    return *key, tuple([name(v) for v in program.outputs])


def _param(value):
    programs = programs_in(value)
    if programs:
        return tuple(map(_meaning, programs))
    return exact(value) if isa(value, (tuple, float, complex)) else (type(value), value)


# ---------------------------------------------------------------------- running
def run_segment(tree, segment, env):
    """Run a segment as a whole; compiled from the second time on, the first one from its first time on. Returns the key of
    its end: that of a step that may fail, else None."""
    segment.runs += 1
    code = segment.code
    if code is None:
        code = segment.code = code_of(tree, segment)
        env.update([(v, tree.constants[v]) for v in tree.lifted])
    program = code.program
    if program.equations:
        xs = [env[v] for v in code.takes]
        if not xs or segment.runs == 1 and segment is not tree.root or program.acts and effects_are_kept():
            ys = evaluate(program, xs)
        elif segment.seconds is None:
            started = time.perf_counter()
            ys = call(*xs, program=program)
            segment.seconds = time.perf_counter() - started
            tree.changed()
        else:
            ys = call(*xs, program=program)
        env.update(zip(code.gives, ys))
    how, what = segment.question
    if how != "raises":
        return None
    try:
        run_step(what, env)
    except Exception as error:
        env[what] = error
        return outcome(error)
    return FINE


FINE = ("fine",)


def outcome(error):
    """A failure as a key of the tree."""
    return type(error).__name__, str(error)


def run_step(e, env):
    """One equation, on values by Var."""
    xs = [env[v] if type(v) is Var else v for v in e.inputs]
    y = e.op.generic.spread(*xs, **resolved(e.op, e.params)) if e.params else e.op.generic.spread(*xs)
    if isinstance(y, tuple):
        env.update(zip(e.outputs, y, strict=True))
    else:
        env[e.outputs[0]] = y
