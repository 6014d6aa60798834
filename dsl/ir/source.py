"""Programs as text for reading and as Python source that can be run.

Programs in operations stand indented under them; in source they are functions inside, which read by its name what the
operation only hands through."""

import itertools
import keyword
import math
import sys

import numpy as np

from ...dispatch import ConcreteValueError, Layer, isa
from ..array_libraries import host_copy
from ..avals import Aval, infer, is_number
from ..card import programs_in
from ..ops.indexing import Slice
from .inlining import inlined

LIBRARY = __name__.partition(".")[0]


def letters(n):
    """a, b, …, z, aa, ab, …, without Python's own words and the names that source code imports."""
    name = ""
    n += 1
    while n:
        n, r = divmod(n - 1, 26)
        name = chr(97 + r) + name
    return f"{name}_" if keyword.iskeyword(name) or name in ("np", "pa") else name


def free_names(program):
    """Names that nothing has yet, without the program's own."""
    return (name for name in map(letters, itertools.count()) if name != program.name)


def named_vars(program, free, known=()):
    """A name for each Var of a program but not of those in it, in order of appearance. known: names that some have already."""
    names = dict(known)
    for v in itertools.chain(program.inputs, [v for v, _ in program.constants], *[e.outputs for e in program.equations]):
        if v not in names:
            names[v] = next(free)
    return names


# ---------------------------------------------------------------------- to read
def text(program):
    """The program as typed equations, programs in operations indented under them."""
    return "\n".join(_lines(program, free_names(program), ()))


def _lines(program, free, around):
    names, typed = named_vars(program, free), lambda v: f"{names[v]}: {v.aval}"
    yield f"{program.name}({', '.join(map(typed, program.inputs))}):"
    for v, _ in program.constants:
        yield f"  const {typed(v)}"
    around = (*around, program)
    for e in program.equations:
        yield f"  {line(e, names)}"
        for inner in [p for value in e.params.values() for p in programs_in(value)]:
            if inner not in around:  # one that calls itself is written out once
                yield from (f"    {text}" for text in _lines(inner, free, around))
    yield f"  return {', '.join(_operand_text(v, names) for v in program.outputs)}"


def line(e, names):
    """An equation as text. names: of the Vars."""
    params = "".join(f" {k}={_parameter(v)}" for k, v in e.params.items() if not is_default(e.op, k, v))
    left = ", ".join(f"{names[v]}: {v.aval}" for v in e.outputs)
    return (
        f"{left + ' = ' if left else ''}{e.op.__name__}{params} {' '.join(_operand_text(v, names) for v in e.inputs)}".rstrip()
    )


def _operand_text(v, names):
    return repr(v) if is_number(v) else names[v]


def _parameter(value):
    if programs := programs_in(value):
        return ",".join(p.name for p in programs)
    if hasattr(value, "__qualname__") and not isinstance(value, type):
        return value.__name__
    return str(value) if isinstance(value, np.dtype) else repr(value).replace(" ", "")


def is_default(op, name, value):
    """Return whether a parameter need not be written."""
    default = op.generic.signature.parameters[name].default
    return default is value or (type(default) is type(value) and is_number(value) and default == value)


# ---------------------------------------------------------------------- to run
def source(program):
    """The program as Python source that defines a function of its flat inputs; it needs only numpy and polyad.

    Raises ConcreteValueError if a constant belongs to a transformation that is under way.
    """
    written = inlined(program)
    writer = Writer(free_names(program))
    name = function_name(program)
    writer.taken.add(name)
    writer.define(name, written, named_vars(written, writer.free))
    return writer.finished()


def function_name(program):
    """The name that the source of a program gives its function: its own, where Python can have it."""
    name = program.name
    return name if name.isidentifier() and not keyword.iskeyword(name) and name not in ("np", "pa") else "program"


class Writer:
    """Python source under way: what the rule `code` of an operation on programs is given."""

    def __init__(self, free):
        self.free, self.numbers = free, itertools.count(1)
        self.imports, self.constants, self.lines, self.indent = set(), [], [], ""
        self.under_way = {}  # programs that call themselves -> name of their function
        self.outside, self.taken = {}, set()  # operations of others -> what they are called here; names that they cannot have

    def finished(self):
        """All of it."""
        head = ["import numpy as np", "import polyad as pa", *sorted(self.imports), "", *self.constants, "", ""]
        head[:0] = ["import importlib"] * any("importlib.import_module(" in text for text in [*self.constants, *self.lines])
        return "\n".join([*head, *self.lines]) + "\n"

    def write(self, text):
        self.lines.append(self.indent + text)

    def function(self, program, closed, groups, results, stem=None):
        """Define a function for a program in an operation; returns its name.

        closed: what its first inputs are outside, which it reads by name. groups: how many of the others each parameter holds,
        a tuple; None: one parameter each. results: how many of its results are in each tuple that it returns; None for one
        tuple, "one" for a result without a tuple.
        """
        if program in self.under_way:
            return self.under_way[program]
        name = f"{_identifier(stem or program.name)}_{next(self.numbers)}"
        if program.calls_itself:
            self.under_way[program] = name
            self.write("@pa.jit")
        program = inlined(program)
        given = list(closed)
        known = {v: g for v, g in zip(program.inputs, given, strict=False) if g.isidentifier()}
        names = named_vars(program, self.free, known)
        constants = [f"{names[v]} = {g}" for v, g in zip(program.inputs, given, strict=False) if not g.isidentifier()]
        self.define(name, program, names, program.inputs[len(given) :], groups, results, constants)
        return name

    def define(self, name, program, names, parameters=None, groups=None, results=None, first=()):
        """Write the definition of a function."""
        left = [names[v] for v in (program.inputs if parameters is None else parameters)]
        shown, unpack = left, list(first)
        if groups is not None:
            shown, left = ["carry", "inputs"][: len(groups)], iter(left)
            for group, count in zip(shown, groups, strict=True):
                if count:
                    unpack.append(f"{tuple_of([next(left) for unused in range(count)])} = {group}")
        self.constants += [f"{names[v]} = {expression(x)}" for v, x in program.constants]
        self.write(f"def {name}({', '.join(shown)}):")
        outer, self.indent = self.indent, self.indent + "    "
        for text in unpack:
            self.write(text)
        show = lambda v: number(v) if is_number(v) else names[v]
        for e in program.equations:
            self.write(self.equation(e, [show(v) for v in e.inputs], [names[v] for v in e.outputs]))
        found = [show(v) for v in program.outputs]
        if results is None:
            self.write(f"return {found[0] if parameters is None and len(found) == 1 else tuple_of(found)}")
        elif results == "one":
            self.write(f"return {found[0]}")
        else:
            found = iter(found)
            self.write(f"return {', '.join(tuple_of([next(found) for unused in range(n)]) for n in results)}")
        self.indent = outer

    def equation(self, e, inputs, outputs):
        """An equation as a statement."""
        if "code" in e.op.card.rules:
            return e.op.card.rules["code"](self, inputs, outputs, **e.params)
        called = f"pa.{e.op.card.public}" if e.op.__module__.partition(".")[0] == LIBRARY else self.imported(e.op)
        arrays = ", ".join(inputs)
        arrays = f"[{arrays}]" if e.op.generic.sequence else arrays
        params = [f"{k}={expression(v)}" for k, v in e.params.items() if not is_default(e.op, k, v)]
        left = ", ".join(outputs) + "," * _gives_tuple_of_one(e)
        return f"{left + ' = ' if left else ''}{called}({', '.join([arrays, *params])})"

    def imported(self, op):
        """Return the name here of an operation of another module: two may have the same, or that of a value or the program.
        Raises ConcreteValueError for one that its module does not know."""
        if op not in self.outside:
            place = _name_in_module(op)
            name = op.__name__ if len(op.__name__) > 3 else f"{op.__name__}_op"  # shorter ones are those of values
            while name in self.taken:
                name += "_op"
            self.taken.add(name)
            self.outside[op] = name
            alias = f" as {name}" * (name != place)
            self.imports.add(f"from {op.__module__} import {place}{alias}")
        return self.outside[op]


def _name_in_module(op):
    """The name by which the module of an operation knows it: its own, or another if that was given to something else since."""
    names = vars(sys.modules.get(op.__module__, sys))
    if names.get(op.__name__) is op:
        return op.__name__
    found = [name for name, value in names.items() if value is op]
    if not found:
        taken = f", where {op.__name__} is another object by now" * (op.__name__ in names)
        raise ConcreteValueError(
            f"the operation {op.__name__} of {op.__module__} is not known by a name there{taken}, so that source code does not "
            "find it; declare it at the top level of a module, under a name of its own"
        )
    return found[0]


def tuple_of(names):
    """A tuple as a Python expression, or target."""
    return f"({', '.join(names)}{',' * (len(names) == 1)})"


def _gives_tuple_of_one(e):
    if len(e.outputs) != 1 or e.op.card.kind != "opaque":
        return False
    return isinstance(infer(e.op, [v if is_number(v) else v.aval for v in e.inputs], e.params), tuple)


def _identifier(name):
    name = "".join(c if c.isalnum() or c == "_" else "_" for c in name)
    return name if name.isidentifier() else "program"


def expression(value):
    """A constant or parameter as a Python expression."""
    if isinstance(value, Layer):
        raise ConcreteValueError(
            f"a constant of the program is a {type(value).__name__} of a transformation under way, which has no "
            "source; make it an argument of the function"
        )
    if isinstance(value, (type, np.dtype)):
        return f"np.dtype({np.dtype(value).str!r})"
    if isinstance(value, tuple):
        inner = ", ".join(expression(v) for v in value) + ("," if len(value) == 1 else "")
        return f"pa.Slice(({inner}))" if isinstance(value, Slice) else f"({inner})"
    if is_number(value):
        return number(value)
    if isinstance(value, Aval):
        return f"pa.Aval({value.shape!r}, np.dtype({value.dtype.str!r}))"
    if hasattr(value, "as_code"):
        return value.as_code(expression)
    if isinstance(value, np.ufunc) and getattr(np, value.__name__, None) is value:  # without a qualified name before NumPy 2.2
        return f"np.{value.__name__}"
    if hasattr(value, "__qualname__"):
        return _function(value)
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        flat = host_copy(value)
        listed = ", ".join(number(v) for v in flat.reshape(-1).tolist())
        return f"np.array([{listed}], np.dtype({flat.dtype.str!r})).reshape({flat.shape!r})[()]"
    return repr(value)


def _function(f):
    """A function of a module's top level as an expression."""
    found = sys.modules.get(f.__module__)
    for part in f.__qualname__.split("."):
        found = getattr(found, part, None)
    if found is not f or f.__module__ == "__main__":
        raise ConcreteValueError(
            f"the function {f.__qualname__} has no name by which source code finds it; define it at the top level of a module"
        )
    return f"importlib.import_module({f.__module__!r}).{f.__qualname__}"


def number(v):
    """A Python number as an expression, infinities, NaNs and signed zeros included."""
    if isa(v, complex):
        return f"complex({number(v.real)}, {number(v.imag)})"
    if isa(v, float) and not math.isfinite(v):
        return "np.nan" if math.isnan(v) else "np.inf" if v > 0 else "-np.inf"
    return repr(v)
