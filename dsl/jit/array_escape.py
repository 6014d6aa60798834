"""Whether the arrays that a function reads from outside can only have met values of the trace.

Contents of an array that NumPy reads alone, while f is traced, can show in three ways: in the results, as a constant of the
program, or in what Python does next. The first two are seen in the tree. The third needs a branch, or a whole number made of
the contents, and where f's bytecode has nothing that could make one, the contents need not be compared at each call. This is a
test for plain formulas, the rest is taken to need it. What stands under a number in a dict is a branch, too.
"""

import dis
import types

import numpy as np

from ...dispatch import isa
from ..card import operations
from ..layers.weak_types import REGULAR
from .bytecode import caught_parts, instructions
from .contents import Same, holds, parts
from .opcodes import ATTRIBUTES, LOADS, PASSED_OVER, unknown

SAFE = ("T", "shape", "ndim", "dtype", "size", "real", "imag", "copy", "reshape", "ravel", "flatten", "dot", "sum", "mean",
        "transpose", "swapaxes", "conj", "range", "enumerate", "zip", "len", "tuple", "list", "dict", "reversed", "items",
        "values", "keys", "append", "super", "tree", "map", "leaves", "vmap", "grad", "value_and_grad", "jvp", "vjp",
        "hessian", "jit", "linalg")  # fmt: skip
COMPARISONS = ("COMPARE_OP", "CONTAINS_OP", "IS_OP")
STEERING = ("FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC", "CONVERT_VALUE", "SEND",
            "YIELD_VALUE", "LOAD_BUILD_CLASS", "BEFORE_WITH", "SETUP_WITH", "IMPORT_NAME",
            "BUILD_SET", "SET_ADD", "SET_UPDATE")  # fmt: skip  # a set's length shows how many are equal
BOOLEAN = ("greater", "less", "equal", "logical", "is", "arg", "any", "all", "sign", "count", "bitwise")


def only_met(tree, reads, values, arrays):
    """See the module. reads: `Reads`; values: what was read; arrays: those among that."""
    if any([_numbered(v, set()) for v in values]):
        return False
    if tree.root is None or tree.constants or not all([x.dtype.kind in "fc" for x in arrays if isa(x, np.ndarray)]):
        return False
    known = reads.names
    return all([_harmless(s) for s in tree.root.below()]) and all([_straight(code, known) for code in reads.codes])


def _harmless(segment):
    """Return whether a segment holds no number that may be an array's: among its parameters, or as a result."""
    for e in segment.steps():
        if any([_holds_number(v) for v in e.params.values()]) or any([isa(v, np.generic) for v in e.inputs]):
            return False
    how, what = segment.question or ("", ())
    return how == "return" and not any([isa(getattr(v, "value", None), (np.ndarray, np.generic)) for v in what])


def _holds_number(value):
    if isinstance(value, (tuple, list)):
        return any([_holds_number(v) for v in value])
    return isa(value, (float, complex, np.ndarray, np.generic))


def _straight(code, known):
    """Return whether code, with the functions inside it, only computes. known: name of a variable or attribute -> whether there
    are constants alone."""
    if caught_parts(code) or not all([_is_safe(name, known) for name in code.co_names]):
        return False
    steps = [s for s in instructions(code) if s.opname not in PASSED_OVER]
    if unknown(steps):
        return False
    if not all([_by_names(keys) for keys in _literal_keys(code)]):
        return False
    for i, step in enumerate(steps):
        if step.opname in STEERING or step.opname.startswith("MATCH"):
            return False
        if step.opname in COMPARISONS and not all([_is_setting(s, known) for s in steps[i - 2 : i]]):
            return False
        asks = "JUMP" in step.opname and "IF" in step.opname and "NONE" not in step.opname
        if asks and steps[i - 1].opname not in COMPARISONS and not _is_setting(steps[i - 1], known):
            return False
    return all([_straight(part, known) for part in code.co_consts if isinstance(part, types.CodeType)])


def _numbered(value, seen):
    """Return whether a container, or one in it, is a dict with other keys than text. seen: ids of those that were looked at."""
    value = value.value if type(value) is Same else value
    if not holds(type(value)) or id(value) in seen:
        return False
    seen.add(id(value))
    keys = getattr(value, "keys", tuple)()
    return not _by_names(keys) or any([_numbered(part, seen) for part in parts(value)])


def _by_names(keys):
    """Return whether keys of a dict are text alone, which no number is equal to."""
    return all([isinstance(key, str) for key in keys])


def _literal_keys(code):
    """The keys of each dict that is written out in code: a tuple, with None for one that is no constant."""
    steps = instructions(code)
    for i, step in enumerate(steps):
        if step.opname == "BUILD_CONST_KEY_MAP":
            yield next(s.argval for s in reversed(steps[:i]) if s.opname == "LOAD_CONST")
        elif step.opname == "BUILD_MAP" and step.arg:
            end, keys = i, []
            while len(keys) < step.arg:
                value = _start(steps, end)
                end = _start(steps, value)
                made = [s for s in steps[end:value] if s.opname not in PASSED_OVER]
                keys.append(made[0].argval if len(made) == 1 and made[0].opname == "LOAD_CONST" else None)
            yield tuple(keys)


def _start(steps, end):
    """Find the first instruction of those that make the value on top before steps[end]; at a jump that, and nothing fits."""
    depth = 0
    while depth < 1 and end > 0 and "JUMP" not in steps[end - 1].opname:
        end -= 1
        depth += dis.stack_effect(steps[end].opcode, steps[end].arg)
    return end


def _is_setting(step, known):
    """Return whether a constant is loaded, or a variable or attribute that holds no array: it is a part of the key."""
    if step.opname == "LOAD_CONST":
        return True
    is_load = step.opname in (*ATTRIBUTES, *LOADS) and step.opname.startswith("LOAD")
    return is_load and known.get(step.argval, False)


def _is_safe(name, known):
    if name in SAFE:
        return True
    operation = operations.get(name)
    if operation is not None:
        return operation.card.kind in REGULAR and not name.startswith(BOOLEAN)
    return name in known and not hasattr(np.ndarray, name) and not hasattr(np, name)
