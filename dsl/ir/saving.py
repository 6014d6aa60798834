"""Programs written to files: `program.save(file)`, for running them where the function's source is not; loading.py reads them.

A file is a header in JSON and the bytes of the constants behind it; operations stand in it by name. Layout, after that of
safetensors: 8 bytes MAGIC, 8 bytes length of the header (little-endian), header, data.
"""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ...dispatch import Layer, StructureError, isa, tree
from ..array_libraries import host_copy
from ..avals import Aval, is_number
from ..axes import AxisName
from ..card import library_name, outside
from ..effects import Print
from ..ops.effects import EachLane
from ..ops.indexing import Slice
from .inlining import inlined
from .programs import Program

MAGIC = b"polyad\n1"
OBJECTS = {"Print": (Print, ("text", "count", "names")), "EachLane": (EachLane, ("f", "size", "result", "mapped"))}


def save(self: Program, file: Any) -> None:
    """Write a program, its constants and the programs in its operations to a file.

    file: path, or a binary file that is open for writing. Raises StructureError for what a file cannot hold: functions of the
    user's (callbacks), arguments or results in trees of other classes than tuple, list and dict, values of a transformation
    under way.

    >>> import io, polyad as pa
    >>> file = io.BytesIO()
    >>> pa.make_ir(lambda x: pa.sin(x) * 2.0)(1.0).save(file)
    >>> _ = file.seek(0)
    >>> float(pa.Program.load(file)(0.5)) == 2 * float(pa.sin(0.5))
    True
    """
    writer = _Writer()
    writer.number(self)
    for p in writer.programs:  # grows meanwhile
        writer.written.append(writer.program(p, p is writer.programs[0]))
    header = {"programs": writer.written, "arrays": writer.arrays}
    text = json.dumps(header, separators=(",", ":"), allow_nan=False).encode()
    text += b" " * (-len(text) % 8)
    data = b"".join([MAGIC, len(text).to_bytes(8, "little"), text, *writer.data])
    if hasattr(file, "write"):
        file.write(data)
        return
    path = Path(file)
    handle, beside = tempfile.mkstemp(dir=path.parent or ".", prefix=path.name)  # whole, or not at all
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise


class _Writer:
    def __init__(self):
        self.programs, self.written, self.arrays, self.data, self.end = [], [], [], [], 0
        self.places = {}

    def number(self, program):
        """The number of a program in the file."""
        if id(program) not in self.places:
            self.places[id(program)] = len(self.programs)
            self.programs.append(program)
        return self.places[id(program)]

    def program(self, program, outermost):
        written = inlined(program)
        names = {}

        def ref(v):
            return self.value(v) if is_number(v) else names[v]

        def new(v):
            names[v] = len(names)
            lanes = [[_name(k), same] for k, same in v.lanes.items()]
            return [_aval(v.aval), None if v.weak is None else v.weak.__name__, lanes]

        found = {"name": program.name, "calls_itself": program.calls_itself, "inputs": [new(v) for v in written.inputs]}
        found["constants"] = [[new(v), self.array(x)] for v, x in written.constants]
        found["steps"] = [
            [_op(e.op), [ref(v) for v in e.inputs], {k: self.parameter(e, k, v) for k, v in e.params.items()},
             [new(v) for v in e.outputs]] for e in written.equations
        ]  # fmt: skip
        found["outputs"] = [ref(v) for v in written.outputs]
        if outermost and program.in_structure is not None:
            found["trees"] = [_structure(program, s) for s in (program.in_structure, program.out_structure)]
        return found

    def array(self, x):
        if isinstance(x, Layer):
            raise _refused(f"a constant is a {type(x).__name__} of a transformation under way; make it an argument instead")
        values = host_copy(x)
        values = np.ascontiguousarray(values, values.dtype.newbyteorder("<")).reshape(np.shape(values))
        raw = values.tobytes()
        self.arrays.append([values.dtype.str, list(values.shape), self.end, self.end + len(raw), not isa(x, np.ndarray)])
        self.data.append(raw)
        self.end += len(raw)
        return len(self.arrays) - 1

    def parameter(self, e, name, value):
        try:
            return self.value(value)
        except StructureError as error:
            raise _refused(f"{e.op.__name__}'s parameter {name}: {error}") from None

    def value(self, x):
        """A parameter or number in JSON: what JSON has by itself, all else a list that begins with its kind."""
        if x is None or isa(x, (bool, str)):
            return x
        if is_number(x):
            return _encode_number(x)
        if hasattr(x, "equations"):
            return ["program", self.number(x)]
        if isinstance(x, Slice):
            return ["slice", *map(self.value, x)]
        if type(x) in (tuple, list):
            return [type(x).__name__, *map(self.value, x)]
        if x is Ellipsis:
            return ["ellipsis"]
        if isinstance(x, np.dtype) or isinstance(x, type) and issubclass(x, (np.generic, int, float, complex)):
            return ["dtype", _dtype(np.dtype(x))]
        if isinstance(x, Aval):
            return ["aval", *_aval(x)]
        if isinstance(x, AxisName):
            return ["axis", _name(x.name), x.size]
        if isa(x, (np.generic, np.ndarray)):
            return ["array", self.array(x)]
        for name, (cls, attributes) in OBJECTS.items():
            if type(x) is cls:
                return ["object", name, *[self.value(getattr(x, a)) for a in attributes]]
        raise StructureError(f"a {type(x).__name__} cannot be written to a file" + " (a function of yours)" * callable(x))


def _refused(what):
    return StructureError(f"save: {what}")


def _encode_number(x):
    if isa(x, int):
        return ["int", str(x)]
    return ["float", x.hex()] if isa(x, float) else ["complex", x.real.hex(), x.imag.hex()]


def _dtype(dtype):
    if dtype.kind not in "biufc":
        raise StructureError(f"a dtype {dtype} is none of numbers")
    return dtype.newbyteorder("<").str


def _aval(aval):
    return [_dtype(np.dtype(aval.dtype)), list(aval.shape)]


def _name(name):
    if not isa(name, (str, int)):
        raise _refused(f"an axis is named {name!r}; use text")
    return name


def _op(op):
    if library_name(op):
        return op.__name__
    key = next((key for key, known in outside.items() if known is op), None)
    if key is None:
        raise _refused(f"the operation {op.__name__} is not known by a name")
    return list(key)


def _structure(program, structure):
    """A tree's structure as JSON, leaves by their numbers."""
    count = 1 if structure is tree.LEAF else structure.num_leaves

    def write(x):
        if x is None:
            return None
        if type(x) in (tuple, list):
            return [type(x).__name__, *map(write, x)]
        if type(x) is dict and all([isinstance(k, str) for k in x]):
            return {k: write(v) for k, v in x.items()}
        if type(x) is int:
            return x
        raise _refused(
            f"program {program.name} takes or returns a {type(x).__name__}; a file holds trees of tuples, lists and dicts with "
            "text as keys: give and return the arrays in it"
        )

    return write(tree.unflatten(structure, list(range(count))))


Program.save = save
