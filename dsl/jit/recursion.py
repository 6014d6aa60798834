"""Jitted functions that call themselves while they are traced: calls of one program, instead of a trace without end.

A function that is called again, for arguments of the same kind, inside a choice or a loop of its own trace becomes a
program that calls itself. What its results are is not known at first: the branches that do not call it say so, and tracing
it again with what they said confirms it, or gives a wider answer.
"""

from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ...dispatch import StructureError, open_runs
from ...dispatch import tree as pytree
from ..array_libraries import bottom
from ..avals import aval_of, is_number
from ..control.call import call
from ..control.recursion_check import MAX_NESTED_CHOICES, Unfinished, afresh
from ..control.self_calls import fill, unfinished
from ..control.subprograms import as_array, as_numbers, flat_program, number_type, settled
from ..ir.programs import Var, without_dead_code
from ..layers.batching import lanes_of
from ..layers.tracing import NeedsPython, Traced, TraceRun, identity
from .arguments import Static, is_array, kind_of

MAX_RETRACES = 10
_calls: ContextVar[tuple] = ContextVar("polyad_jit_calls", default=())  # the calls of jitted functions that are being traced


class OpenCall:
    """A call under way. run: the innermost trace where it began; program: the `Recursive` that is made of it, or None."""

    __slots__ = ("jitted", "kinds", "program", "run")

    def __init__(self, jitted, kinds, run, program=None):
        self.jitted, self.kinds, self.run, self.program = jitted, kinds, run, program


@contextmanager
def under_way(jitted, leaves, run, program=None):
    """Around the trace of a call. leaves: of its arguments, as it sees them."""
    token = _calls.set((*_calls.get(), OpenCall(jitted, _kinds(leaves), run, program)))
    try:
        yield
    finally:
        _calls.reset(token)


def _kinds(leaves):
    return tuple([_kind(x) for x in leaves])


def _kind(x) -> Any:
    """Return what a trace knows of an argument."""
    if is_number(x):
        return aval_of(x), type(x), ()
    if is_array(x):
        return aval_of(x), x.variable.weak if isinstance(x, Traced) else None, tuple(lanes_of(x).items())
    return kind_of(x)


def call_in_trace(jitted, args, kwargs):
    """A call with values of a trace: it becomes a part of that."""
    leaves, structure = jitted.arguments.flatten(args, kwargs)
    kinds = _kinds(leaves)
    calls = [c for c in _calls.get() if c.jitted is jitted]
    same = [c for c in calls if c.kinds == kinds]
    for c in reversed(same):
        if c.program is not None:
            return c.program(leaves)
    runs = [run for run in open_runs() if isinstance(run, TraceRun)]
    key = jitted, structure, kinds
    known = next((run.programs[key] for run in runs if key in run.programs), None)
    if known is not None:
        return known(leaves)
    here: Any = runs[0] if runs else None
    if all([c.run is here for c in same]):
        if len({(c.run, c.kinds) for c in calls}) > MAX_NESTED_CHOICES:
            raise StructureError(
                f"{jitted.name}: it calls itself for other shapes each time, more than {MAX_NESTED_CHOICES} calls deep; keep "
                "the shapes, or end the recursion"
            )
        with under_way(jitted, leaves, here):
            return jitted.f(*args, **kwargs)
    if key in jitted.asking:
        here.ask_around()
    program = Recursive(jitted, leaves, structure, bool(kwargs))
    try:
        program.make(here)
    except NeedsPython:
        jitted.asking.add(key)
        raise
    here.programs[key] = program
    return program(leaves)


class Recursive:
    """A jitted function as a program that may call itself. known: (structure, static leaves, shapes and dtypes, types of the
    numbers) of its results, None before anything is; read: the values from outside that it reads."""

    def __init__(self, jitted, leaves, structure, with_names):
        self.jitted, self.structure, self.with_names = jitted, structure, with_names
        self.statics = [None if is_array(x) or is_number(x) else x for x in leaves]
        self.variables = [self._variable(x) for x in leaves]
        self.example = bottom(next((x for x in leaves if is_array(x)), None))
        self.known: Any = None
        self.read, self.program, self.acts, self.leaves = [], None, False, leaves

    @staticmethod
    def _variable(x):
        if is_array(x) or is_number(x):
            aval, weak, lanes = _kind(x)
            return Var(aval, lanes, weak=weak)
        return None

    def __call__(self, leaves):
        if self.known is None:
            raise Unfinished(self.jitted.name)
        structure, statics, unused, kinds = self.known
        xs = [as_array(x, self.example, v.aval.dtype) for x, v in zip(leaves, self.variables, strict=True) if v is not None]
        results = iter(as_numbers(call(*self.read, *xs, program=self.program), kinds))
        return pytree.unflatten(structure, [next(results) if s is None else s.value for s in statics])

    def make(self, run):
        """Trace it until what it gives is what was assumed."""
        name = self.jitted.name
        for _ in range(MAX_RETRACES):
            outputs = () if self.known is None else self.known[2]
            inputs = [v for v in self.variables if v is not None]
            self.program = unfinished(name, [*[Var(aval_of(x)) for x in self.read], *inputs], outputs, self.acts)
            try:
                made, found, read = self._trace(name)
            except Unfinished:
                raise RecursionError(
                    f"{name}: it calls itself whatever the choice; one function of a polyad.cond must end the recursion"
                ) from None
            same = (
                found == self.known and list(map(identity, read)) == list(map(identity, self.read)) and made.acts == self.acts
            )
            self.known, self.read, self.acts = found, read, made.acts
            if same:
                fill(self.program, made)
                return
        raise StructureError(
            f"{name}: its results are of other shapes or dtypes with each call of itself; make them alike by astype"
        )

    def _trace(self, name):
        with TraceRun(name, self.example, captures=True) as run:
            variables = [None if v is None else Var(v.aval, v.lanes, v.weak) for v in self.variables]
            seen = [s.value if type(s) is Static else s if v is None else Traced[run.depth](v, run)
                    for s, v in zip(self.statics, variables, strict=True)]  # fmt: skip
            whole = pytree.unflatten(self.structure, seen)
            args, kwargs = whole if self.with_names else (whole, {})
            with afresh(), under_way(self.jitted, self.leaves, run, self):
                leaves, structure = pytree.flatten(self.jitted.f(*args, **kwargs))
            statics = [None if is_array(y) or is_number(y) else Static(y) for y in leaves]
            outputs = [run.atom(y) for y, s in zip(leaves, statics, strict=True) if s is None]
        equations, needed = without_dead_code(run.equations, outputs)
        pairs = [pair for pair in run.constants.values() if pair[0] in needed]
        inputs = [*[v for v, unused in pairs], *[v for v in variables if v is not None]]
        kinds = [number_type(v) for v in outputs]
        made = settled(flat_program(name, inputs, [], equations, outputs), [], self.example)
        found = structure, _Statics(statics), [v.aval for v in made.outputs], kinds
        return made, found, [x for unused, x in pairs]


class _Statics(list):
    """Static leaves, None for an array; equal if the objects are."""

    def __eq__(self, other):
        return len(self) == len(other) and all(
            [a is b or None not in (a, b) and a.value == b.value for a, b in zip(self, other, strict=True)]
        )

    __hash__ = None
