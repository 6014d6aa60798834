"""Programs: what tracing makes of a function, in A-normal form; printable, readable as Python, run by the operations.

Evaluating a program calls the public operations again, so every transformation applies to a program as to any function.
"""

import itertools
import keyword
import math

import numpy as np

from ..dispatch import ConcreteValueError, Layer, StructureError, tree
from .avals import aval_of, infer, is_number
from .axes import named, resolved
from .libraries import host_copy
from .ops.indexing import Slice


class Var:
    """One value of a program: known by identity, with shape and dtype.

    lanes: for a trace inside a map, axis name -> whether the value is the same in all lanes by a collective; without the
    axes of which it knows nothing.
    """

    __slots__ = ("aval", "lanes")

    def __init__(self, aval, lanes=()):
        self.aval, self.lanes = aval, dict(lanes)


class Equation:
    """One step: an operation (generic function), its inputs (Vars or Python numbers), parameters and outputs (Vars)."""

    __slots__ = ("inputs", "op", "outputs", "params")

    def __init__(self, op, inputs, params, outputs):
        self.op, self.inputs, self.params, self.outputs = op, inputs, named(op, params), outputs


class Program:
    """A traced function.

    inputs, outputs: Vars (an output may be a Python number); constants: pairs (Var, array); equations: in order;
    in_structure, out_structure: the trees of arguments and result. Call it like the function it came from.
    """

    def __init__(self, name, inputs, constants, equations, outputs, in_structure, out_structure):
        self.name, self.inputs, self.constants, self.equations = name, inputs, constants, equations
        self.outputs, self.in_structure, self.out_structure = outputs, in_structure, out_structure

    def __call__(self, *args):
        leaves = tree.match(self.in_structure, args, f"program {self.name}")
        for var, x in zip(self.inputs, leaves, strict=True):
            found = aval_of(x)
            if found.shape != var.aval.shape or found.dtype != var.aval.dtype:
                raise StructureError(f"program {self.name} was traced for {var.aval}, not for {found}; trace it again")
        return tree.unflatten(self.out_structure, evaluate(self, leaves))

    def names(self):
        """A short name for each Var, in order of appearance; none is the function's own, which `.code` defines."""
        defined = itertools.chain(self.inputs, (v for v, _ in self.constants), *(e.outputs for e in self.equations))
        free = (name for name in map(letters, itertools.count()) if name != self.name)
        return dict(zip(dict.fromkeys(defined), free, strict=False))

    @property
    def __name__(self):
        return self.name

    def __str__(self):
        names = self.names()
        show = lambda v: names[v] if isinstance(v, Var) else repr(v)
        typed = lambda v: f"{names[v]}: {v.aval}"
        lines = [f"{self.name}({', '.join(typed(v) for v in self.inputs)}):"]
        lines += [f"  const {typed(v)}" for v, _ in self.constants]
        for e in self.equations:
            params = "".join(f" {k}={_show(v)}" for k, v in e.params.items() if not _is_default(e.op, k, v))
            left = ", ".join(typed(v) for v in e.outputs)
            lines.append(f"  {left} = {e.op.__name__}{params} {' '.join(show(v) for v in e.inputs)}")
        lines.append(f"  return {', '.join(show(v) for v in self.outputs)}")
        return "\n".join(lines)

    __repr__ = __str__

    @property
    def code(self):
        """The program as Python source that defines a function of its flat inputs; it needs only numpy and polyad.

        Raises ConcreteValueError if a constant belongs to a transformation that is under way.
        """
        names = self.names()
        show = lambda v: names[v] if isinstance(v, Var) else _number(v)
        ours = __package__.partition(".")[0]
        foreign = {e.op for e in self.equations if e.op.__module__.partition(".")[0] != ours}
        lines = ["import numpy as np", "import polyad as pa"]
        lines += sorted(f"from {op.__module__} import {op.__name__}" for op in foreign) + [""]
        lines += [f"{names[v]} = {_source(x)}" for v, x in self.constants]
        lines += ["", "", f"def {_identifier(self.name)}({', '.join(names[v] for v in self.inputs)}):"]
        for e in self.equations:
            arrays = ", ".join(show(v) for v in e.inputs)
            arrays = f"[{arrays}]" if e.op.generic.sequence else arrays
            params = [f"{k}={_source(v)}" for k, v in e.params.items() if not _is_default(e.op, k, v)]
            left = ", ".join(names[v] for v in e.outputs)
            called = e.op.__name__ if e.op in foreign else f"pa.{e.op.card.public}"
            lines.append(f"    {left} = {called}({', '.join([arrays, *params])})")
        results = [show(v) for v in self.outputs]
        lines.append(f"    return {results[0] if len(results) == 1 else '(' + ', '.join(results) + ',)'}")
        return "\n".join(lines) + "\n"


def evaluate(program, leaves):
    """The flat results of a program for flat arguments, by calling its operations."""
    env = dict(program.constants)
    env.update(zip(program.inputs, leaves, strict=True))
    value = lambda v: env[v] if isinstance(v, Var) else v
    for e in program.equations:
        y = e.op.generic.spread(*[value(v) for v in e.inputs], **resolved(e.op, e.params))
        for var, part in zip(e.outputs, y if isinstance(y, tuple) else (y,), strict=True):
            env[var] = part
    return [value(v) for v in program.outputs]


def without_dead_code(equations, outputs):
    """The equations whose results are used, and collectives, which every process must run."""
    needed, kept = {v for v in outputs if isinstance(v, Var)}, []
    for e in reversed(equations):
        if e.op.card.collective or any(v in needed for v in e.outputs):
            kept.append(e)
            needed.update(v for v in e.inputs if isinstance(v, Var))
    return kept[::-1], needed


def check(program):
    """Each Var is defined once before its use, and each constant and result has the shape and dtype it says.

    Raises AssertionError naming the equation.
    """
    known = set()
    for v, value in [*zip(program.inputs, program.inputs), *program.constants]:
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
    if any(isinstance(v, Var) and v not in known for v in program.outputs):
        raise AssertionError("the program returns a value that is not defined")


def letters(n):
    """a, b, …, z, aa, ab, …, without Python's own words and the names that `.code` imports."""
    name = ""
    n += 1
    while n:
        n, r = divmod(n - 1, 26)
        name = chr(97 + r) + name
    return f"{name}_" if keyword.iskeyword(name) or name in ("np", "pa") else name


def _is_default(op, name, value):
    default = op.generic.signature.parameters[name].default
    return default is value or (type(default) is type(value) and is_number(value) and default == value)


def _show(value):
    return str(value) if isinstance(value, np.dtype) else repr(value).replace(" ", "")


def _identifier(name):
    return name if name.isidentifier() and not keyword.iskeyword(name) else "program"


def _source(value):
    """A constant or parameter as a Python expression."""
    if isinstance(value, Layer):
        raise ConcreteValueError(
            f"a constant of the program is a {type(value).__name__} of a transformation under way, which has no "
            "source; make it an argument of the function"
        )
    if isinstance(value, (type, np.dtype)):
        return f"np.dtype({np.dtype(value).str!r})"
    if isinstance(value, tuple):
        inner = ", ".join(_source(v) for v in value) + ("," if len(value) == 1 else "")
        return f"pa.Slice(({inner}))" if isinstance(value, Slice) else f"({inner})"
    if is_number(value):
        return _number(value)
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        flat = host_copy(value)
        listed = ", ".join(_number(v) for v in flat.reshape(-1).tolist())
        return f"np.array([{listed}], np.dtype({flat.dtype.str!r})).reshape({flat.shape!r})[()]"
    return repr(value)


def _number(v):
    """A Python number as an expression, infinities, NaNs and signed zeros included."""
    if isinstance(v, complex):
        return f"complex({_number(v.real)}, {_number(v.imag)})"
    if isinstance(v, float) and not math.isfinite(v):
        return "np.nan" if math.isnan(v) else "np.inf" if v > 0 else "-np.inf"
    return repr(v)
