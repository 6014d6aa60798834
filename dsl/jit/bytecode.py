"""What the bytecode of a function says of what it reads: names, chains of attributes, modules that it imports."""

import dis
import functools
import types

LOADS = {"LOAD_GLOBAL": "global", "LOAD_NAME": "global", "STORE_GLOBAL": "global", "DELETE_GLOBAL": "global",
         "LOAD_DEREF": "cell", "LOAD_CLASSDEREF": "cell", "LOAD_FROM_DICT_OR_DEREF": "cell", "STORE_DEREF": "cell"}  # fmt: skip
ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
PASSED_OVER = ("PUSH_NULL", "PRECALL", "CACHE", "RESUME")
EDITS = ("append", "extend", "add", "insert", "update", "clear", "appendleft", "setdefault")  # methods that only write
BY_NAME = ("getattr", "hasattr", "setattr", "delattr")  # whose second argument is a name
WHOLE = ("vars", "dir", "__dict__", "__getattribute__", "__getattr__", "__setattr__", "__slots__", "getmembers", "asdict",
         "astuple", "getattr_static", "attrgetter", "methodcaller")  # fmt: skip


class Facts:
    """What a code object, with the functions inside it, reads.

    reads: (where, name) of each global or variable of an enclosing function -> whether it is only edited there. chains:
    (where, name, attributes, whether the last is called without an argument) of each of their loads. names: all names of
    attributes and all text that may be one, as a dict, which keeps their order. imports: (module, level) of each import.
    stored: names of attributes that are written. whole: a name of an attribute is computed. guarded: something in it may be
    caught, or asked for as one that may be absent.
    """

    def __init__(self):
        self.reads, self.chains, self.names, self.imports, self.stored = {}, [], {}, [], set()
        self.whole = self.guarded = False


@functools.lru_cache(1024)
def instructions(code):
    """The instructions of a code object."""
    return list(dis.get_instructions(code))


@functools.lru_cache(4096)
def facts(code):
    """The `Facts` of a code object."""
    found, steps = Facts(), instructions(code)
    found.names.update(dict.fromkeys(code.co_names))
    found.guarded = bool(getattr(code, "co_exceptiontable", b"")) or not {"hasattr", "getattr"}.isdisjoint(code.co_names)
    for i, step in enumerate(steps):
        where = LOADS.get(step.opname)
        if where is not None:
            _load(found, where, step, steps[i + 1 : i + 12])
        elif step.opname == "IMPORT_NAME":
            found.imports.append((step.argval, steps[i - 2].argval or 0))
        if step.opname in ("STORE_ATTR", "DELETE_ATTR"):
            found.stored.add(step.argval)
        if step.argval in BY_NAME and step.opname.startswith("LOAD") and not _names_a_constant(steps[i + 1 :]):
            found.whole = True
        if step.argval in WHOLE and (step.opname in ATTRIBUTES or step.opname in LOADS):
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
    """Whether the steps after the load of `getattr` or its kin call it with a constant name. They go on until the call, and
    the name is constant if nothing that follows its load takes it up again before."""
    depth, name = 0, False
    for s in steps:
        if s.opname in ("CALL", "PRECALL") and depth == s.arg:
            return name
        if s.opname in PASSED_OVER:
            continue
        if "JUMP" in s.opname or s.opname == "KW_NAMES":
            return False
        if depth == 1 and s.opname == "LOAD_CONST":
            name = isinstance(s.argval, str)
            depth = 2
            continue
        depth += dis.stack_effect(s.opcode, s.arg)
        if depth <= 2:
            name = False
    return False
