"""Calling a compiled function from Python: arguments checked and brought into shape, results allocated."""

from typing import Any, cast

import numpy as np

from ...dispatch import isa
from ...dsl.avals import UNKNOWN
from .text.numpy_objects import layout_known
from .toolchain.dynamic_loading import ffi, function, pointers

CALL = """\
def call({arguments}):
{empties}
    failed = {attempt}
    if failed:
        return again(failed, ({listed}), ({made}))
    return {results}
"""


class Fault(Exception):
    """The code found an index out of range."""


def caller(library, source, new=np.empty):
    """function(*input arrays) -> list of results, for a library of this source. new: function(shape, dtype) that gives the
    memory of a result, called for one after the other. Raises Fault, MemoryError, TypeError."""
    interface, n, m = ffi(), len(source.inputs), len(source.outputs)
    open_ends = [UNKNOWN in v.aval.shape for v in source.inputs]  # whose lengths are given with them
    run = function(library.address("run"), n + m + 1 + sum(open_ends))
    kept = list(source.constants.values())
    constants = pointers([x.ctypes.data for x in kept])
    wanted = [(np.dtype(v.aval.dtype.char), v.aval.shape) for v in source.inputs]  # in the machine's order of bytes

    def again(failed, inputs, outputs):
        if failed == 1:  # arguments of another kind or in strange memory
            inputs = [checked_argument(x, *facts) for x, facts in zip(inputs, wanted, strict=True)]
            lengths = [[pointers(x.shape)] if o else [] for x, o in zip(inputs, open_ends, strict=True)]
            places = [p for x, n in zip(inputs, lengths, strict=True) for p in (interface.from_buffer(cast("Any", x)), *n)]
            failed = run(*places, *map(interface.from_buffer, outputs), constants)
        if failed == 2:
            raise MemoryError("a compiled program's temporaries do not fit into memory")
        if failed:
            raise Fault
        return [finished(y, *result) for y, result in zip(outputs, made_of)]

    def finished(y, dtype, shape):
        if UNKNOWN in shape:
            y = taken(y, dtype.newbyteorder("="), shape)
        y = y if dtype.isnative else y.astype(dtype)
        return y if shape else y[()]

    def taken(cell, dtype, shape):
        address, length = map(int, cell)
        y = np.empty((length, *shape[1:]), dtype)
        if y.size:
            interface.memmove(interface.from_buffer(cast("Any", y)), interface.cast("void *", address), y.nbytes)
        library.call("release", address)
        return y

    made_of = [(v.aval.dtype, v.aval.shape) for v in source.outputs]
    names, made = [f"x{k}" for k in range(n)], [f"y{k}" for k in range(m)]
    known = pointers([id(np.ndarray), *[id(dtype) for dtype, _ in wanted]])
    space = {"empty": new, "again": again, "constants": constants, "known": known, "kept": (kept, library, wanted),
             "finished": finished}  # fmt: skip
    if layout_known():
        space["run"] = function(library.address("run_arrays"), n + m + 2, "uintptr_t", n + m)
        attempt = f"run({''.join(f'id({name}), ' for name in (*names, *made))}constants, known)"
    else:
        attempt = "1"
    results = []
    for k, (dtype, shape) in enumerate(made_of):
        grows = UNKNOWN in shape  # then it is made by the code, which says where it is
        space[f"e{k}"], space[f"t{k}"] = (np.dtype(np.int64), (2,)) if grows else (dtype.newbyteorder("="), shape)
        plain = not grows and dtype.isnative  # the code writes in the machine's order of bytes
        results.append((f"y{k}" if shape else f"y{k}[()]") if plain else f"finished(y{k}, *made_of[{k}])")
    space["made_of"], results = made_of, ", ".join(results)
    text = CALL.format(
        arguments=", ".join(names), empties="\n".join(f"    {y} = empty(t{k}, e{k})" for k, y in enumerate(made)) or "    pass",
        attempt=attempt, listed="".join(f"{x}, " for x in names), made="".join(f"{y}, " for y in made), results=f"[{results}]",
    )  # fmt: skip
    exec(text, space)  # a function of this many arguments, without loops over them
    return space["call"]


def checked_argument(x, dtype, shape):
    """An argument as an array of this dtype and shape, in a row and aligned. Raises TypeError where the program is for
    others."""
    y = np.asarray(x)
    number = not isa(x, (np.ndarray, np.generic))  # a Python number is of any dtype that holds it
    fits = len(y.shape) == len(shape) and all(n in (m, UNKNOWN) for m, n in zip(y.shape, shape, strict=True))
    if not fits or (np.dtype(y.dtype.char) != dtype and not (number and np.can_cast(y.dtype, dtype, "same_kind"))):
        raise TypeError(f"a compiled program for {dtype}{list(shape)} was called with {y.dtype}{list(y.shape)}; trace it again")
    return np.require(y, dtype, ["C", "ALIGNED"]).reshape(y.shape)
