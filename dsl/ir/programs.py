"""Programs: what tracing makes of a function, in A-normal form; printable, readable as Python, run by the operations.

Evaluating a program calls the public operations again, so every transformation applies to a program as to any function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ...dispatch import StructureError, tree
from ..avals import aval_of, infer
from ..axes import named, resolved
from ..card import programs_in
from ..roots import equal
from .drawing import MAX_NODES, program_graph
from .pass_selection import chosen
from .source import free_names, function_name, line, named_vars, source, text

# Pairs (asked, run): where `asked()` holds, `run(program, env, run_equations)` runs the equations, to look at their values.
inspectors = []


class Var:
    """One value of a program: known by identity, with shape and dtype.

    lanes: for a trace inside a map, axis name -> whether the value is the same in all lanes by a collective; without the
    axes of which it knows nothing. origin: in an explicit graph, which has no list of equations, what it comes from.
    weak: the Python type of a number, which follows the dtype of what it meets; else None. standing: the class of the plain
    value in its place, for type tests, where shape and dtype do not tell; else None.
    """

    __slots__ = ("aval", "lanes", "origin", "standing", "weak")
    aval: Any
    origin: Any
    weak: Any

    def __init__(self, aval, lanes=(), weak=None, standing=None):
        self.aval, self.lanes, self.weak, self.standing = aval, dict(lanes), weak, standing


class Equation:
    """One step: an operation (generic function), its inputs (Vars or Python numbers), parameters and outputs (Vars)."""

    __slots__ = ("inputs", "op", "outputs", "params")

    def __init__(self, op, inputs, params, outputs):
        self.op, self.inputs, self.params, self.outputs = op, inputs, named(op, params), outputs


def same_step(steps, known, v, w, alike):
    """Return whether two Vars of a trace are made alike by its steps. known: pairs (Var, array) of its constants."""
    if v is w or not isinstance(v, Var) or not isinstance(w, Var):
        return v is w or alike(v, w)
    e, f = [next((e for e in reversed(steps) if any([u is o for o in e.outputs])), None) for u in (v, w)]
    if e is None and f is None:
        a, b = [next((x for u, x in known if u is of), of) for of in (v, w)]
        return not isinstance(a, Var) and not isinstance(b, Var) and alike(a, b)
    if e is None or f is None or e.op is not f.op or len(e.inputs) != len(f.inputs) or len(e.outputs) > 1:
        return False
    if e.op.card.acts(e.params) or e.op.card.collective or not equal(e.params, f.params):
        return False
    return all([same_step(steps, known, a, b, alike) for a, b in zip(e.inputs, f.inputs, strict=True)])


class Program:
    """A traced function.

    inputs, outputs: Vars (an output may be a Python number); constants: pairs (Var, array); equations: in order;
    in_structure, out_structure: the trees of arguments and result; None for a program of lists of arrays, as operations have
    them. Call it like the function it came from. lifted: what layers have made of it, by what was asked for. calls_itself:
    whether it stands, as a parameter, in its own equations, or in those of a program there. donated: inputs whose memory may
    become that of results. passes: names of those by which it is compiled.
    """

    donated: tuple

    def __init__(
        self, name: str, inputs: Any, constants: Any, equations: Any, outputs: Any, in_structure: Any, out_structure: Any
    ) -> None:
        self.name, self.inputs, self.constants, self.equations = name, inputs, constants, equations
        self.outputs, self.in_structure, self.out_structure = outputs, in_structure, out_structure
        self.lifted = {}
        self.calls_itself, self.donated, self.passes = False, (), chosen()

    def __call__(self, *args: Any) -> Any:
        leaves = tree.match(self.in_structure, args, f"program {self.name}")
        for var, x in zip(self.inputs, leaves, strict=True):
            found = aval_of(x)
            if found != var.aval and not found.fits(var.aval):
                raise StructureError(f"program {self.name} was traced for {var.aval}, not for {found}; trace it again")
        return tree.unflatten(self.out_structure, evaluate(self, leaves))

    def names(self) -> dict[Var, str]:
        """A short name for each Var, in order of appearance; none is the function's own, which `.code` defines."""
        return named_vars(self, free_names(self))

    @property
    def __name__(self):
        """The name of the function that `.code` defines: `name` where that is one of Python's, else "program"."""
        return function_name(self)

    @property
    def acts(self):
        """Return whether running it does something beside its results."""
        if "acts" not in self.lifted:
            self.lifted["acts"] = False  # for a program that calls itself
            self.lifted["acts"] = any(e.op.card.acts(e.params) for e in self.equations)
        return self.lifted["acts"]

    def __str__(self):
        return text(self)

    __repr__ = __str__

    def line(self, e: Equation, names: dict[Var, str]) -> str:
        """An equation as text. names: of the Vars."""
        return line(e, names)

    @property
    def code(self) -> str:
        """The program as Python source that defines a function of its flat inputs, by the name `__name__`; it needs only numpy
        and polyad.

        Raises ConcreteValueError if a constant belongs to a transformation that is under way.
        """
        return source(self)

    def draw(self, file: Any = None, format: Literal["dot", "svg"] | None = None, limit: int = MAX_NODES) -> str:
        """A picture of the program: values, operations with parameters, shapes and dtypes; programs in operations as frames.

        file: where to write it, too. format: "dot" (for Graphviz) or "svg", by default that of the file's ending, else dot.
        limit: of boxes; the equations beyond are counted in a note. Returns the text. In a notebook a program shows as SVG.
        """
        return program_graph(self, limit).written(file, format)

    if TYPE_CHECKING:  # saving.py and loading.py, which build upon this module, put them here

        def save(self, file: Any) -> None: ...
        @staticmethod
        def load(file: Any) -> Program: ...

    def _repr_svg_(self):
        return program_graph(self).svg()


def evaluate(program, leaves):
    """The flat results of a program for flat arguments, by calling its operations."""
    env = dict(program.constants)
    env.update(zip(program.inputs, leaves, strict=True))
    inspect = next((run for asked, run in inspectors if asked()), None)
    if inspect is None:
        _run(program, env)
    else:
        inspect(program, env, _run)
    return [env[v] if isinstance(v, Var) else v for v in program.outputs]


def _run(program, env):
    """Put the values of the equations' Vars into env."""
    value = lambda v: env[v] if isinstance(v, Var) else v
    for e in program.equations:
        y = e.op.generic.spread(*[value(v) for v in e.inputs], **resolved(e.op, e.params))
        for var, part in zip(e.outputs, y if isinstance(y, tuple) else (y,), strict=True):
            env[var] = part


def without_dead_code(equations, outputs):
    """The equations whose results are used, those with an effect, and collectives, which every process must run."""
    needed, kept = {v for v in outputs if isinstance(v, Var)}, []
    for e in reversed(equations):
        if e.op.card.collective or e.op.card.acts(e.params) or any(v in needed for v in e.outputs):
            kept.append(e)
            needed.update(v for v in e.inputs if isinstance(v, Var))
    return kept[::-1], needed


def check(program, around=()):
    """Each Var is defined once before its use, and each constant and result has the shape and dtype it says; so too in programs
    within operations. around: programs that are being checked.

    Raises AssertionError naming the equation.
    """
    known, around = set(), (*around, program)
    for v, value in [*zip(program.inputs, program.inputs, strict=True), *program.constants]:
        if v in known:
            raise AssertionError("an input or constant is defined twice")
        if value is not v and aval_of(value) != v.aval:
            raise AssertionError(f"a constant is {aval_of(value)}, not {v.aval}")
        known.add(v)
    for e in program.equations:
        for v in e.inputs:
            if isinstance(v, Var) and v not in known:
                raise AssertionError(f"{e.op.__name__} uses a value that is not defined before it")
        avals = [v.aval if isinstance(v, Var) else v for v in e.inputs]
        found = infer(e.op, avals, e.params)
        found = list(found) if isinstance(found, tuple) else [found]
        said = [v.aval for v in e.outputs]
        if found != said:
            raise AssertionError(f"{e.op.__name__} gives {', '.join(map(str, found))}, not {', '.join(map(str, said))}")
        for v in e.outputs:
            if v in known:
                raise AssertionError(f"{e.op.__name__} defines a value twice")
            known.add(v)
        for inner in [p for value in e.params.values() for p in programs_in(value)]:
            if inner not in around:
                try:
                    check(inner, around)
                except AssertionError as error:
                    raise AssertionError(f"in {inner.name} of {e.op.__name__}: {error}") from None
    if any(isinstance(v, Var) and v not in known for v in program.outputs):
        raise AssertionError("the program returns a value that is not defined")
