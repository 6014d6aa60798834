"""The search for what a function reads from outside: globals, variables of enclosing functions, attributes, default values.

It goes by the bytecode of the function and of all functions that it can reach: each global and each variable of an enclosing
function that is loaded, and of each object reached the attributes whose names occur anywhere in that code.
"""

import dis
import functools
import sys
import types
from collections import deque
from contextvars import ContextVar

import numpy as np

from ...dispatch import Container, Layer, is_library, isa, tree

LIBRARY = __name__.partition(".")[0]
FIXED = (LIBRARY, "numpy", "scipy", "math", "cmath", "operator", "functools", "itertools", "builtins")  # modules that stay
MOST = 2000  # places that are looked for
MISSING = object()
SEQUENCES = (set, frozenset, deque)  # containers whose contents are no leaves of a tree
NAMESPACES = (("types", "SimpleNamespace"), ("argparse", "Namespace"))  # classes that stay as they are; their objects do not
EDITS = ("append", "extend", "add", "insert", "update", "clear", "appendleft", "setdefault")  # methods that only write
LOADS = {"LOAD_GLOBAL": "global", "LOAD_NAME": "global", "LOAD_DEREF": "cell", "LOAD_CLASSDEREF": "cell",
         "LOAD_FROM_DICT_OR_DEREF": "cell"}  # fmt: skip


class Same:
    """A value by its identity. It is kept alive, so that no other takes its place."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __hash__(self):
        return id(self.value)

    def __eq__(self, other):
        return type(other) is Same and other.value is self.value


class Search:
    """One search. places: path of a place -> the reader's variable that holds what is there.

    `reader()` is a function of the objects among the arguments that gives what is at each place, as a tuple.
    """

    def __init__(self, f, objects):
        self.places, self.lines = {}, []
        self.space = {"MISSING": MISSING, "content": content, "Same": Same}
        self.names, self.followed, self.objects = {}, set(), []  # names: a dict, which keeps their order
        self.home = (getattr(f, "__module__", None) or "").partition(".")[0]
        self.inside(("f",), self.bound(f), f)
        for i, x in enumerate(objects):
            self.inside(("argument", i), f"objects[{i}]", x)
        self.follow_attributes()

    def fixed(self, module):
        """Whether a module, by its name, is one that stays as it is: not the user's."""
        package = (module or "").partition(".")[0]
        return package in FIXED or package != self.home and installed(package)

    def reader(self):
        """See the class."""
        if not self.lines:
            return lambda *objects: ()
        body = "\n".join(f"    {line}" for line in self.lines)
        exec(f"def read(*objects):\n{body}\n    return ({', '.join(self.places.values())},)", self.space)
        return self.space["read"]

    def bound(self, value):
        """The reader's name for a value that stays."""
        name = f"o{len(self.space)}"
        self.space[name] = value
        return name

    def visit(self, path, text, value):
        """A place. path: which one; text: the expression that reads it."""
        if path in self.places or len(self.places) >= MOST:
            return
        if isinstance(value, types.ModuleType):
            if not self.fixed(value.__name__):
                self.objects.append((path, self.bound(value), value))
            return
        self.inside(path, self.place(path, text), value)

    def place(self, path, text):
        name = self.places[path] = f"v{len(self.places)}"
        self.lines.append(f"{name} = {text}")
        return name

    def inside(self, path, text, value):
        """What is read through a value; that it is this one is known."""
        if is_constant(value) or isa(value, (np.ndarray, np.generic, Layer, Container, types.BuiltinFunctionType)):
            return
        if not isinstance(value, types.FunctionType):
            if (id(value), path[0] == "argument") in self.followed:
                return
            self.followed.add((id(value), path[0] == "argument"))
        within = lambda name, part: self.inside((*path, name, id(part)), self.bound(part), part)
        if isinstance(value, types.FunctionType):
            self.function(path, text, value)
        elif isinstance(value, types.MethodType):
            within("function", value.__func__)
            within("self", value.__self__)
        elif isinstance(value, functools.partial):
            within("function", value.func)
            for part in (value.args, value.keywords):
                self.visit((*path, id(part)), self.bound(part), part)
        elif isinstance(value, ContextVar):
            self.visit((*path, "get"), f"{text}.get(MISSING)", value.get(MISSING))
        elif isinstance(value, (list, tuple, dict, *SEQUENCES)):
            for leaf in tree.leaves(list(value) if isinstance(value, SEQUENCES) else value):
                if leaf is not value and not isinstance(leaf, SEQUENCES):
                    within("leaf", leaf)
        elif (type(value).__module__, type(value).__name__) in NAMESPACES:
            self.objects.append((path, text, value))
        elif isinstance(value, type) or not self.fixed(type(value).__module__):
            cls = value if isinstance(value, type) else type(value)
            if not self.fixed(cls.__module__):
                self.objects.append((path, text, value))
                self.methods(path, cls)
        else:  # an object of ours, which may hold functions of the user's
            for name, part in own(value).items():
                if isinstance(part, (types.FunctionType, types.MethodType)):
                    within(name, part)

    def methods(self, path, cls):
        """The methods that are called without being named: operators, calls, creation."""
        for base in cls.__mro__:
            for name, part in vars(base).items():
                if name.startswith("__") and isinstance(part, types.FunctionType) and not self.fixed(base.__module__):
                    self.function((*path, name, id(part)), self.bound(part), part)

    # ------------------------------------------------------------------ functions
    def function(self, path, text, f):
        if (f.__code__, id(f.__closure__)) in self.followed:
            return
        self.followed.add((f.__code__, id(f.__closure__)))
        if hasattr(f, "__wrapped__"):
            self.inside((*path, id(f.__wrapped__)), self.bound(f.__wrapped__), f.__wrapped__)
        cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
        if is_ours(f.__code__):  # a closure around a function of the user's
            for name, cell in cells.items():
                self.inside((*path, name, id(content(cell))), self.bound(content(cell)), content(cell))
            return
        if self.fixed(f.__module__ or ""):
            return
        for values in (f.__defaults__, f.__kwdefaults__):
            if values and not all(map(never_changes, values.values() if isinstance(values, dict) else values)):
                self.visit((*path, id(values)), self.bound(values), values)
        for (where, name), edits in self.loads(f.__code__).items():
            if where == "cell" and name in cells:
                place = f.__code__.co_freevars.index(name)
                self.variable((*path, name), f"content({text}.__closure__[{place}])", content(cells[name]), edits)
            elif where == "global" and (name in f.__globals__ or name not in builtins_of(f)):
                read = f"{self.bound(f.__globals__)}.get({name!r}, MISSING)"
                self.variable((id(f.__globals__), name), read, f.__globals__.get(name, MISSING), edits)

    def loads(self, code):
        """(where, name) of what the code reads from outside -> whether it only writes there. The names in it are noted."""
        found, previous = {}, None
        for step in dis.get_instructions(code):
            if previous is not None:
                edits = step.opname in ("LOAD_ATTR", "LOAD_METHOD") and step.argval in EDITS
                found[previous] = found.get(previous, True) and edits
            where = LOADS.get(step.opname)
            previous = None if where is None else (where, step.argval)
        self.names.update(dict.fromkeys(code.co_names))
        for constant in code.co_consts:
            if isinstance(constant, str) and constant.isidentifier():  # for getattr
                self.names[constant] = None
            elif isinstance(constant, types.CodeType):  # a function inside, a comprehension
                for key, edits in self.loads(constant).items():
                    found[key] = found.get(key, True) and edits
        return found

    def variable(self, path, text, value, edits):
        """A global or a variable of an enclosing function. edits: it is written to only, so that its contents do not matter."""
        if not edits or not isinstance(value, (list, dict, set)):
            self.visit(path, text, value)
        elif (*path, "itself") not in self.places:
            self.place((*path, "itself"), f"Same({text})")

    # ------------------------------------------------------------------ attributes
    def follow_attributes(self):
        """Of each object reached the attributes whose names occur in code reached, which may lead to more of both."""
        done = set()
        while len(self.places) < MOST:
            new = [(o, name) for o in self.objects for name in self.names if (o[0], name) not in done]
            if not new:
                break
            for (path, text, value), name in new:
                done.add((path, name))
                self.attribute((*path, name), text, value, name)

    def attribute(self, path, text, value, name):
        read = f"getattr({text}, {name!r}, MISSING)"
        if name in own(value):
            self.visit(path, read, getattr(value, name, MISSING))
            return
        cls = value if isinstance(value, type) else type(value)
        found = next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), MISSING)
        for behind in ("fget", "func", "__func__"):  # of a property, a cached property, a static method
            found = getattr(found, behind, found)
        if isinstance(found, types.FunctionType):
            self.function((*path, id(found)), self.bound(found), found)
        elif isinstance(found, types.MemberDescriptorType) or found is not MISSING and not hasattr(type(found), "__get__"):
            self.visit(path, read, getattr(value, name, MISSING))


def content(cell):
    """What is in a cell; MISSING before it is assigned."""
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def own(x):
    """The attributes that an object has of its own."""
    try:
        return vars(x)
    except TypeError:
        return {}


def builtins_of(f):
    found = f.__globals__.get("__builtins__", {})
    return vars(found) if isinstance(found, types.ModuleType) else found


@functools.cache
def installed(package):
    """Whether a package, by its name, is Python's own or installed beside it."""
    if package in sys.stdlib_module_names:
        return package != "__main__"
    file = getattr(sys.modules.get(package), "__file__", None) or ""
    return "site-packages" in file or "dist-packages" in file


def is_ours(code):
    """Whether code is the library's, and in a file."""
    return not code.co_filename.startswith("<") and is_library(code.co_filename)


def never_changes(value):
    """Whether a value is a constant, or a tuple of them."""
    return all(map(never_changes, value)) if type(value) is tuple else is_constant(value)


def is_constant(value):
    """Whether a value is one that never changes and counts by what it is."""
    return value is None or isa(value, (bool, int, float, complex, str, bytes))
