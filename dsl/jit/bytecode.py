"""What the bytecode of a function says of what it reads: names, chains of attributes, modules that it imports."""

import dis
import functools
import types

from .opcodes import ATTRIBUTES, IMPORTS, LOADS, PASSED_OVER, STORES, unknown

EDITS = ("append", "extend", "add", "insert", "update", "clear", "appendleft", "setdefault")  # methods that only write
BY_NAME = ("getattr", "hasattr", "setattr", "delattr")  # whose second argument is a name
NAMES_OF_ALL_ATTRIBUTES = (
    "vars", "dir", "__dict__", "__getattribute__", "__getattr__", "__setattr__", "__slots__", "getmembers", "asdict", "astuple",
    "getattr_static", "attrgetter", "methodcaller",
)  # fmt: skip


class Facts:
    """The names that a code object, with the functions inside it, reads.

    reads: (where, name) of each global or variable of an enclosing function -> whether it is only edited there. chains:
    (where, name, attributes, whether the last is called without an argument) of each of their loads. names: all names of
    attributes and all text that may be one, as a dict, which keeps their order. imports: (module, level) of each import.
    stored: names of attributes that are written. whole: a name of an attribute is computed. guarded: something in it may be
    caught, or asked for as one that may be absent. unknown: the name of an instruction that cannot be read, or None.
    """

    def __init__(self):
        self.reads, self.chains, self.names, self.imports, self.stored = {}, [], {}, [], set()
        self.whole = self.guarded = False
        self.unknown: str | None = None


@functools.lru_cache(1024)
def instructions(code):
    """The instructions of a code object."""
    return list(dis.get_instructions(code))


@functools.lru_cache(1024)
def caught_parts(code):
    """The stretches of bytecode whose errors a `try` or `with` may catch, as pairs of offsets: all of it, if it has any that
    cannot be read. Python has others, such as those that put variables back after a comprehension and raise again."""
    if not code.co_exceptiontable:
        return []
    entries = getattr(dis.Bytecode(code), "exception_entries", None)  # not documented
    if entries is None:
        return [(0, len(code.co_code))]
    handlers = {step.offset for step in instructions(code) if step.opname == "PUSH_EXC_INFO"}
    return [(entry.start, entry.end) for entry in entries if entry.target in handlers]


@functools.lru_cache(4096)
def facts(code):
    """The `Facts` of a code object."""
    found, steps = Facts(), instructions(code)
    found.unknown = unknown(steps)
    found.names.update(dict.fromkeys(code.co_names))
    found.guarded = bool(caught_parts(code)) or not {"hasattr", "getattr"}.isdisjoint(code.co_names)
    for i, step in enumerate(steps):
        where = LOADS.get(step.opname)
        if where is not None:
            _load(found, where, step, steps[i + 1 : i + 12])
        elif step.opname in IMPORTS:
            level = [s for s in steps[:i] if s.opname != "EXTENDED_ARG"][-2].argval  # below the names that are taken from it
            found.imports.append((step.argval, level))
        if step.opname in STORES:
            found.stored.add(step.argval)
        if step.argval in BY_NAME and step.opname.startswith("LOAD") and not _names_a_constant(steps[i + 1 :]):
            found.whole = True
        if step.argval in NAMES_OF_ALL_ATTRIBUTES and (step.opname in ATTRIBUTES or step.opname in LOADS):
            found.whole = True
    for constant in code.co_consts:
        _constant(found, constant)
    return found


def _constant(found, constant):
    if isinstance(constant, types.CodeType):  # a function inside, a comprehension
        inner = facts(constant)
        for key, edits in inner.reads.items():
            found.reads[key] = found.reads.get(key, True) and edits
        found.chains += inner.chains
        found.imports += inner.imports
        found.names.update(inner.names)
        found.stored |= inner.stored
        found.whole, found.guarded = found.whole or inner.whole, found.guarded or inner.guarded
        found.unknown = found.unknown or inner.unknown
    elif isinstance(constant, str):
        found.names.update(dict.fromkeys(part for part in constant.split(".") if part.isidentifier()))
    elif isinstance(constant, tuple):
        for part in constant:
            _constant(found, part)


def _load(found, where, step, following):
    key, attributes = (where, step.argval), []
    following = [s for s in following if s.opname not in PASSED_OVER]
    for s in following:
        if s.opname not in ATTRIBUTES:
            break
        attributes.append(s.argval)
    edits = bool(attributes) and attributes[0] in EDITS
    found.reads[key] = found.reads.get(key, True) and edits
    if step.opname.startswith("LOAD"):
        after = following[len(attributes)] if len(attributes) < len(following) else None
        found.chains.append((*key, tuple(attributes), after is not None and after.opname == "CALL" and after.arg == 0))


def _names_a_constant(steps):
    """Return whether the steps after the load of `getattr` or its kin call it with a constant name. They go on until the call,
    and the name is constant if nothing that follows its load takes it up again before."""
    depth, name = 0, False
    for s in steps[steps[0].opname == "PUSH_NULL" :]:  # of this call, from Python 3.13 on
        if s.opname == "PRECALL":  # half of a call, in Python 3.11
            continue
        if s.opname == "CALL" and depth == s.arg:
            return name
        if "JUMP" in s.opname or s.opname in ("KW_NAMES", "CALL_KW", "CALL_FUNCTION_EX"):
            return False
        if depth == 1 and s.opname == "LOAD_CONST":
            name = isinstance(s.argval, str)
            depth = 2
            continue
        depth += -1 - s.arg if s.opname == "CALL" else dis.stack_effect(s.opcode, s.arg)
        if depth <= 2:
            name = False
    return False
