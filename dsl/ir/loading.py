"""Programs read from files that saving.py wrote: reading runs nothing, and everything that is read is checked."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from ...dispatch import StructureError, tree
from ..avals import UNKNOWN, Aval, is_number
from ..axes import AxisName
from ..card import operations, outside, programs_in
from ..effects import Print
from ..ops.indexing import Slice
from .programs import Equation, Program, Var, check
from .saving import MAGIC, OBJECTS

MAX_HEADER_BYTES = 1 << 28  # bytes of a header
NUMBER_TYPES = {"bool": bool, "int": int, "float": float, "complex": complex}


def load(file):
    """The program that `save` wrote to a file: path, or a binary file that is open for reading.

    Nothing in the file is run, and the program is checked as one that was just traced. Raises StructureError for a file that is
    none of ours, or damaged, or that needs an operation which is not known here.
    """
    if hasattr(file, "read"):
        data, shown = file.read(), "the file"
    else:
        data, shown = Path(file).read_bytes(), str(file)
    try:
        header, raw = _sections(data)
        program = _Reader(header, raw).read()
        check(program)
    except Exception as error:  # of whatever kind: no one knows what is in it
        raise StructureError(f"load: {shown} holds no program that can be run: {error}") from error
    return program


def _sections(data):
    if data[:8] != MAGIC:
        raise ValueError("it does not begin as a file of a program (of this version) does")
    size = int.from_bytes(data[8:16], "little")
    if size > min(MAX_HEADER_BYTES, len(data) - 16):
        raise ValueError("its header is cut off")
    header = json.loads(data[16 : 16 + size].decode())
    return header, memoryview(data)[16 + size :]


def _expect(condition, what):
    if not condition:
        raise ValueError(what)


class _Reader:
    def __init__(self, header, raw):
        self.given = header["programs"]
        _expect(type(self.given) is list and self.given, "it lists no programs")
        self.arrays = self._arrays(header["arrays"], raw)
        self.programs = [Program("", [], [], [], [], None, None) for _ in self.given]  # a program may hold itself

    def _arrays(self, listed, raw):
        arrays, end = [], 0
        for dtype, shape, start, stop, scalar in listed:
            dtype, shape = self._dtype(dtype), self._shape(shape, 0)
            _expect(start == end and start <= stop <= len(raw), "its arrays do not follow one another")
            _expect(math.prod(shape) * dtype.itemsize == stop - start, "an array is not as long as its shape says")
            values = np.frombuffer(raw[start:stop], dtype).reshape(shape).astype(dtype.newbyteorder("="))
            arrays.append(values[()] if scalar is True else values)
            end = stop
        _expect(end == len(raw), "there is more in it than its arrays")
        return arrays

    def read(self):
        for program, given in zip(self.programs, self.given, strict=True):
            self._fill(program, given)
        for program, given in zip(self.programs, self.given, strict=True):
            program.calls_itself = given["calls_itself"] is True
            if program.calls_itself:
                program.lifted["deep"] = True
        for program in self.programs:
            _expect(not program.calls_itself or _holds(program, program, ()), "a program does not call itself")
            _expect(program.calls_itself or not _holds(program, program, (), True), "a program holds itself without saying so")
        return self.programs[0]

    def _fill(self, program, given):
        known = []

        def new(listed):
            (dtype, shape), weak, lanes = listed
            kind = None if weak is None else NUMBER_TYPES[weak]
            var = Var(Aval(self._shape(shape, UNKNOWN), self._dtype(dtype)), [(k, same is True) for k, same in lanes], kind)
            known.append(var)
            return var

        def ref(v):
            if type(v) is int:
                _expect(0 <= v < len(known), "a step reads a value that is not there")
                return known[v]
            x = self.value(v)
            _expect(is_number(x), "a step reads what is no number")
            return x

        _expect(type(given["name"]) is str, "a program has no name")
        program.name, program.inputs = given["name"], [new(v) for v in given["inputs"]]
        for var, place in given["constants"]:
            program.constants.append((new(var), self._at(self.arrays, place)))
        for op, inputs, params, outputs in given["steps"]:
            op = self._op(op)
            parameters = op.generic.signature.parameters
            values = {k: self.value(v) for k, v in params.items()}
            _expect(all([k in op.generic.params for k in values]), f"{op.__name__} has no such parameter")
            required = [k for k in op.generic.params if parameters[k].default is parameters[k].empty]
            _expect(all([k in values for k in required]), f"{op.__name__} lacks a parameter")
            xs = [ref(v) for v in inputs]
            program.equations.append(Equation(op, xs, values, [new(v) for v in outputs]))
        program.outputs = [ref(v) for v in given["outputs"]]
        if "trees" in given:
            ins, outs = given["trees"]
            program.in_structure = self._structure(ins, len(program.inputs))
            program.out_structure = self._structure(outs, len(program.outputs))

    def _op(self, name) -> Any:
        if type(name) is list:
            module, name = name
            found = outside.get((module, name))
            _expect(found is not None, f"it needs the operation {name} of the module {module}: import that first")
            return found
        _expect(name in operations, f"it needs an operation {name!r}, which this version does not have")
        return operations[name]

    @staticmethod
    def _at(values, place):
        _expect(type(place) is int and 0 <= place < len(values), "it names what is not in it")
        return values[place]

    @staticmethod
    def _dtype(text):
        _expect(type(text) is str and len(text) < 8, "a dtype is no text")
        dtype = np.dtype(text)
        _expect(dtype.kind in "biufc" and dtype.itemsize <= 32, "a dtype is none of numbers")
        return dtype

    @staticmethod
    def _shape(shape, least):
        fits = type(shape) is list and len(shape) <= 64 and all([type(n) is int and n >= least for n in shape])
        _expect(fits, "a shape is none")
        return tuple(shape)

    def value(self, x):
        if type(x) is not list:
            _expect(x is None or type(x) in (bool, str), "a parameter is of an unknown kind")
            return x
        kind, *rest = x
        if kind == "int":
            _expect(len(rest[0]) < 4000, "a number is too long")
            return int(rest[0])
        if kind in ("float", "complex"):
            parts = [float.fromhex(part) for part in rest]
            return parts[0] if kind == "float" else complex(*parts)
        if kind in ("tuple", "list", "slice"):
            parts = [self.value(v) for v in rest]
            if kind == "slice":
                _expect(len(parts) == 3 and all([v is None or type(v) is int for v in parts]), "a slice is none")
            return {"tuple": tuple, "list": list, "slice": Slice}[kind](parts)
        if kind == "ellipsis":
            return Ellipsis
        if kind == "dtype":
            return self._dtype(rest[0]).newbyteorder("=")
        if kind == "aval":
            return Aval(self._shape(rest[1], UNKNOWN), self._dtype(rest[0]).newbyteorder("="))
        if kind == "axis":
            _expect(type(rest[0]) in (str, int) and type(rest[1]) is int, "an axis has no name")
            return AxisName(*rest)
        if kind == "array":
            return self._at(self.arrays, rest[0])
        if kind == "program":
            return self._at(self.programs, rest[0])
        cls, attributes = OBJECTS[rest[0]]
        values = [self.value(v) for v in rest[1:]]
        _expect(kind == "object" and len(values) == len(attributes), "a parameter is of an unknown kind")
        _expect(cls is not Print or "__" not in values[0], "a text to be printed looks into objects")
        return cls(*values)

    def _structure(self, given, count):
        places = []

        def read(x):
            if type(x) is int:
                places.append(x)
                return x
            if type(x) is dict:
                return {k: read(v) for k, v in x.items()}
            if x is None:
                return None
            kind, *rest = x
            return {"tuple": tuple, "list": list}[kind]([read(v) for v in rest])

        leaves, structure = tree.flatten(read(given))
        _expect(sorted(places) == list(range(count)) and leaves == list(range(count)), "its trees do not fit its arrays")
        return structure


def _holds(program, sought, around, silently=False):
    """Return whether a program holds another; silently: not by way of one that says that it calls itself."""
    inside = [p for e in program.equations for value in e.params.values() for p in programs_in(value)]
    inside = [p for p in inside if not (silently and p.calls_itself)]
    return any([p is sought or p not in around and _holds(p, sought, (*around, p), silently) for p in inside])


Program.load = staticmethod(load)
