"""The search for what a function reads from outside: globals, variables of enclosing functions, attributes, default values.

It goes by the bytecode of the function and of all functions that it can reach: each global and each variable of an enclosing
function that is loaded, and of each object reached the attributes whose names occur anywhere in that code. What it cannot
look up at each call is a doubt, with which the function runs eagerly.
"""

import functools
import operator
import sys
import types
import weakref
from collections import deque
from contextvars import ContextVar
from pathlib import PurePath
from typing import Any

import numpy as np

from ...dispatch import Container, Layer, isa, tree
from .bytecode import EDITS, facts
from .contents import Same, holds, parts
from .impure import ARGUMENT, Doubt, along, changing, of_module
from .libraries import LIBRARY, given, installed, is_constant, is_ours, never_changes, plain
from .opcodes import refusal
from .places import MISSING, behind, content, found, own, slots_of
from .type_methods import reading

FIXED = (LIBRARY, "numpy", "scipy", "math", "cmath", "operator", "functools", "itertools", "builtins")  # modules that stay
CALM = (*[name for name in FIXED if name != "scipy"], "collections", "types", "enum", "abc", "dataclasses", "typing", "sys")
MAX_PLACES = 2000  # places that are looked for
NAMESPACES = (("types", "SimpleNamespace"), ("argparse", "Namespace"))  # classes that stay as they are; their objects do not
CREATION = ("__init__", "__new__", "__post_init__", "__init_subclass__", "__del__", "__reduce__", "__setstate__")
PYTHON_FUNCTIONS = (types.FunctionType, functools.partial)
C_METHODS = (types.BuiltinFunctionType, types.MethodWrapperType)  # in C
ALIASES = ("np", "pa", "sp", "plt")  # names of modules that nobody gives to anything else


class Search:
    """One search. places: path of a place -> the reader's variable that holds what is there. labels: path -> what users call
    it; writers: path -> statement that puts `new` there. codes: the code that was followed; resolved: name -> whether constants
    alone were found under it; caches: paths of what cached properties keep; readers: path of a variable -> the functions that
    load it; foreign: whether f may call a library's code. doubt: None, or a pair: what the function does that cannot be looked
    up at each call, and what to do instead.

    `reader()` is a function of the objects among the arguments that gives what is at each place, as a tuple.
    """

    def __init__(self, f, objects):
        self.places, self.labels, self.writers, self.lines = {}, {}, {}, []
        self.space = {"MISSING": MISSING, "content": content, "Same": Same, "found": found, "modules": sys.modules}
        self.names, self.followed, self.objects = {}, set(), []  # names: a dict, which keeps their order
        self.chains, self.modules, self.codes, self.resolved = [], [], {}, {}
        self.whole, self.guarded, self.stored, self.caches = False, False, set(), set()
        self.home = (getattr(f, "__module__", None) or "").partition(".")[0]
        self.doubt, self.readers, self.foreign = None, {}, False
        try:
            self.inside(("f",), self.bound(f), f, getattr(f, "__name__", type(f).__name__))
            for i, x in enumerate(objects):
                label = f"an argument of type {type(x).__name__}"
                if isa(x, Container):  # a static one: its arrays may be written to
                    self.place(("argument", i, "itself"), f"objects[{i}]", label)
                self.inside(("argument", i), f"objects[{i}]", x, label)
            self.follow_attributes()
            self.check_chains()
        except Doubt as doubt:
            self.doubt = doubt.args

    def fixed(self, module):
        """Return whether a module, by its name, is one that stays as it is: not the user's."""
        package = (module or "").partition(".")[0]
        return package in FIXED or package != self.home and installed(package)

    def reader(self):
        """See the class."""
        if not self.lines:
            return lambda *objects: ()
        body = "\n".join(f"    {line}" for line in self.lines)
        exec(f"def read(*objects):\n{body}\n    return ({', '.join(self.places.values())},)", self.space)
        return self.space["read"]

    def writing(self):
        """The source of a function (number of a place, new value, objects) that writes there."""
        lines = [f"if i == {i}: {self.writers[path]}" for i, path in enumerate(self.places) if path in self.writers]
        return "\n    ".join(["def write(i, new, *objects):", *self.lines, *lines, "return"])

    def note(self, module):
        """Note that code of a module may be called, by its name: not to be seen, if it is a library's."""
        package = module.partition(".")[0] if isinstance(module, str) else ""
        self.foreign = self.foreign or package not in CALM and package != self.home and installed(package)

    def bound(self, value):
        """The reader's name for a value that stays."""
        name = f"o{len(self.space)}"
        self.space[name] = value
        return name

    def visit(self, path, text, value, label, writer=None):
        """A place. path: which one; text: the expression that reads it; label: what users call it."""
        if isinstance(path[-1], str):
            self.resolved[path[-1]] = self.resolved.get(path[-1], True) and is_constant(value)
        if path in self.places:
            return
        if isinstance(value, types.ModuleType):
            self.note(value.__name__)
            name = label.rpartition(" ")[2]
            if not (self.fixed(value.__name__) and name in (*ALIASES, value.__name__.rpartition(".")[2])):
                self.place((*path, "module"), f"Same({text})", label, writer)
            if not self.fixed(value.__name__) or (id(value), "module") not in self.followed:
                self.followed.add((id(value), "module"))
                self.objects.append((path, self.bound(value), value, value.__name__))
            return
        self.inside(path, self.place(path, text, label, writer), value, label)

    def place(self, path, text, label, writer=None):
        if len(self.places) >= MAX_PLACES:
            raise Doubt(f"reads more than {MAX_PLACES} places outside", ARGUMENT)
        name = self.places[path] = f"v{len(self.places)}"
        self.labels[path] = label
        self.lines.append(f"{name} = {text}")
        if writer is not None:
            self.writers[path] = writer
        return name

    def inside(self, path, text, value, label):
        """Look for what is read through a value; that it is this one is known."""
        if is_constant(value) or isa(value, (np.ndarray, np.generic, Layer)):
            return
        if isa(value, Container):
            for name in (*value.static, *value.leaves):
                part = getattr(value, name)
                if not plain(part):
                    self.inside((*path, name, id(part)), self.bound(part), part, f"{bare(label)}.{name}")
            self.methods_of_arrays(path, type(value))
            return
        if isinstance(value, (type, types.FunctionType, *C_METHODS)):
            self.note(value.__module__)
        else:
            self.note(type(value).__module__)
        if not isinstance(value, types.FunctionType):
            if (id(value), path[0] == "argument") in self.followed:
                return
            self.followed.add((id(value), path[0] == "argument"))
            self.doubts(value, label)
        within = lambda name, part: self.inside((*path, name, id(part)), self.bound(part), part, f"{bare(label)}.{name}")
        if isinstance(value, types.FunctionType):
            if not self.is_f(path):
                self.definition(path, text, value, label)
            self.function(path, text, value, label)
        elif isinstance(value, types.MethodType):
            within("function", value.__func__)
            self.inside((*path, "self", id(value.__self__)), self.bound(value.__self__), value.__self__, "self")
        elif isinstance(value, C_METHODS):
            self.method_in_c(path, value, label)
        elif isinstance(value, functools.partial):
            within("func", value.func)
            if not self.is_f(path):
                self.objects.append((path, text, value, label))
            for part in (value.args, value.keywords):
                self.visit((*path, id(part)), self.bound(part), part, f"an argument of the partial {label}")
        elif isinstance(value, ContextVar):
            self.visit((*path, "get"), f"{text}.get(MISSING)", value.get(MISSING), label)
        elif isinstance(value, weakref.ref):
            self.visit((*path, "()"), f"{text}()", value(), f"{label}()")
        elif isinstance(value, (operator.attrgetter, operator.methodcaller)):
            self.names.update(dict.fromkeys(part for name in value.__reduce__()[1] for part in str(name).split(".")))
        elif holds(type(value)):
            self.holder(path, text, value, label)
        elif (type(value).__module__, type(value).__name__) in NAMESPACES:
            self.objects.append((path, text, value, label))
        elif isinstance(value, type) or not self.fixed(type(value).__module__):
            self.thing(path, text, value, label)
        else:
            if isinstance(value, PurePath):
                self.chains.append((bare(label), type(value), (), False))
            self.of_library(path, text, value, label)

    def of_library(self, path, text, value, label):
        """An object of a library, which may hold functions of the user's, and arrays that change in place."""
        parts = own(value)
        if (type(value).__module__ or "").partition(".")[0] == LIBRARY:
            names = getattr(type(value), "read_through", parts)
        else:
            names = parts
            if parts:
                self.objects.append((path, text, value, label))
            for name, part in list(parts.items()):
                if isa(part, np.ndarray) and isinstance(name, str):
                    self.space["own"] = own
                    self.visit((*path, "own", name), f"own({text}).get({name!r}, MISSING)", part, f"{bare(label)}.{name}")
        for name in list(names):
            if isinstance(parts.get(name), (types.FunctionType, types.MethodType)):
                self.inside((*path, name, id(parts[name])), self.bound(parts[name]), parts[name], label)

    def method_in_c(self, path, value, label):
        """A method of a container, say, that is kept under a name of its own."""
        owner = value.__self__
        if holds(type(owner)) and value.__name__ in EDITS:
            self.place((*path, "itself"), f"Same({self.bound(owner)})", label)
        elif owner is not None and not isinstance(owner, types.ModuleType):
            self.inside((*path, "self", id(owner)), self.bound(owner), owner, label)

    def holder(self, path, text, value, label):
        """A container: what it holds, and the attributes of one whose class is the user's."""
        if path not in self.places and path[-2:-1] != ("leaf",):
            self.place((*path, "contents"), text, label)
        for part in parts(value):
            for leaf in tree.leaves(part) if isinstance(part, (list, tuple, dict)) else (part,):
                if leaf is not value:
                    self.inside((*path, "leaf", id(leaf)), self.bound(leaf), leaf, f"what is in {label}")
        if not self.fixed(type(value).__module__):
            self.thing(path, text, value, label)

    def thing(self, path, text, value, label):
        """An object or class of the user's."""
        cls = value if isinstance(value, type) else type(value)
        if not self.fixed(cls.__module__):
            self.objects.append((path, text, value, label))
            self.methods(path, cls, cls is value)
            self.methods_of_arrays(path, cls)
            if cls is value and not self.fixed(type(value).__module__):  # a class whose class is the user's
                self.methods((*path, "class"), type(value), False)

    def methods_of_arrays(self, path, cls):
        """The methods for arrays of a class of the user's that read data outside."""
        for f in reading(cls) if issubclass(cls, Container) else ():
            self.inside((*path, "method", id(f)), self.bound(f), f, f.__qualname__)

    def doubts(self, value, label):
        """Raise Doubt for what gives something else each time."""
        found = changing(value)
        if found is None and hasattr(type(value), "__next__") and not isa(value, (Layer, np.ndarray)):
            found = "is an iterator, which goes on with each call", ARGUMENT
        if found is not None and not isinstance(value, (types.BuiltinFunctionType, types.FunctionType, type)):
            raise Doubt(f"reads {label}, which {found[0]}", found[1])
        if found is not None:
            raise Doubt(f"calls {label}, which {found[0]}", found[1])

    def methods(self, path, cls, creation):
        """The methods that are called without being named: operators, calls, creation."""
        for base in cls.__mro__:
            for name, part in vars(base).items():
                if not name.startswith("__") or not creation and name in CREATION:
                    continue
                if isinstance(part, types.FunctionType) and not self.fixed(base.__module__):
                    if getattr(cls, name, None) is part and (id(cls), name) not in self.places:
                        self.place((id(cls), name), f"getattr({self.bound(cls)}, {name!r}, MISSING)", part.__qualname__)
                    self.function((*path, name, id(part)), self.bound(part), part, part.__qualname__)

    # ------------------------------------------------------------------ functions
    def is_f(self, path):
        """Return whether a path leads to f itself, or to what it wraps: not through a place."""
        return path[0] == "f" and not any([path[:k] in self.places for k in range(2, len(path) + 1)])

    def definition(self, path, text, f, label):
        """Note what may be replaced of a function: its attributes, and, of the user's, its code and default values."""
        key = id(f), path[0] == "argument", "definition"
        if key in self.followed or self.fixed(f.__module__):
            return
        self.followed.add(key)
        path = (*path, "of the function")
        self.objects.append((path, text, f, label))
        if is_ours(f.__code__):
            return
        self.place((*path, "__code__"), f"getattr({text}, '__code__', MISSING)", f"{bare(label)}.__code__")
        if f.__defaults__:
            read = f"Same(getattr({text}, '__defaults__', MISSING))"
            self.place((*path, "__defaults__"), read, f"{bare(label)}.__defaults__")
        for name in f.__kwdefaults__ or ():
            read = f"(getattr({text}, '__kwdefaults__', 0) or {{}}).get({name!r}, MISSING)"
            self.visit((*path, "__kwdefaults__", name), read, f.__kwdefaults__[name], f"a default value of {bare(label)}")

    def function(self, path, text, f, label):
        if (f.__code__, id(f.__closure__)) in self.followed:
            return
        self.followed.add((f.__code__, id(f.__closure__)))
        if hasattr(f, "__wrapped__"):
            self.inside((*path, id(f.__wrapped__)), self.bound(f.__wrapped__), f.__wrapped__, label)
        cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
        self.doubts(f, label)
        if is_ours(f.__code__) or f.__code__.co_filename == functools.__file__:  # a closure around a function of the user's
            for name, cell in cells.items():
                self.inside((*path, name, id(content(cell))), self.bound(content(cell)), content(cell), label)
            return
        if self.fixed(f.__module__ or ""):
            return
        if hasattr(f, "generic"):  # an operation of the user's: its methods, whose tables are ours
            for method in f.generic.methods:
                run = method.implementation
                self.inside((*path, id(run)), self.bound(run), run, label)
            return
        for values in (f.__defaults__, f.__kwdefaults__):
            if values and not all(map(never_changes, values.values() if isinstance(values, dict) else values)):
                self.visit((*path, id(values)), self.bound(values), values, f"a default value of {bare(label)}")
        known = facts(f.__code__)
        if known.unknown:
            raise Doubt(*refusal(known.unknown))
        self.codes[f.__code__] = f
        self.names.update(known.names)
        self.stored |= known.stored
        self.whole, self.guarded = self.whole or known.whole, self.guarded or known.guarded
        for (where, name), edits in known.reads.items():
            if where == "cell" and name in cells:
                self.readers.setdefault((*path, name), set()).add(f)
                place = f"{text}.__closure__[{f.__code__.co_freevars.index(name)}]"
                writer = f"{place}.cell_contents = new"
                self.variable((*path, name), f"content({place})", content(cells[name]), edits, name, writer)
            elif where == "global" and (name in f.__globals__ or name not in builtins_of(f)):
                self.readers.setdefault((id(f.__globals__), name), set()).add(f)
                space = self.bound(f.__globals__)
                read = f"{space}.get({name!r}, MISSING)"
                value = f.__globals__.get(name, MISSING)
                self.variable((id(f.__globals__), name), read, value, edits, f"the global {name}", f"{space}[{name!r}] = new")
        for where, name, attributes, called in known.chains:
            start = content(cells[name]) if where == "cell" and name in cells else MISSING
            if where == "global":
                start = f.__globals__.get(name, builtins_of(f).get(name, MISSING))
            if start is not MISSING:
                self.chains.append((name, start, attributes, called))
        for name, level in known.imports:
            package = f.__globals__.get("__package__") or ""
            outer = package.rsplit(".", level - 1)[0] + "." * bool(name) if level else ""
            self.imported(outer + name)

    def imported(self, name):
        """A module that is imported inside a function, and those around it."""
        while name:
            module = sys.modules.get(name, MISSING)
            self.visit(("module", name), f"modules.get({name!r}, MISSING)", module, f"the module {name}")
            if module is not MISSING:
                self.modules.append(module)
            name = name.rpartition(".")[0]

    def variable(self, path, text, value, edits, label, writer):
        """A global or a variable of an enclosing function. edits: it is written to only, so that its contents do not matter."""
        if not edits or not isinstance(value, (list, dict, set, deque)):
            self.visit(path, text, value, label, writer)
        elif (*path, "itself") not in self.places:
            self.place((*path, "itself"), f"Same({text})", label)

    def check_chains(self):
        """Raise Doubt if a chain of attributes leads to what changes each time."""
        for name, start, attributes, called in self.chains:
            found = along(start, attributes, called, self.names)
            if found is not None:
                raise Doubt(f"uses {'.'.join([name, *found[0]])}, which {found[1]}", found[2])
        for module in self.modules:
            found = of_module(module, self.names)
            if found is not None:
                raise Doubt(f"uses {'.'.join([module.__name__, *found[0]])}, which {found[1]}", found[2])

    # ------------------------------------------------------------------ attributes
    def follow_attributes(self):
        """Of each object reached the attributes whose names occur in code reached, which may lead to more of both; all of
        them, and those that come later, where names are computed."""
        done, created = set(), False
        while True:
            above = "super" in self.names
            new = [(o, name) for o in self.objects for name in self.names_for(o) if (o[0], name, above) not in done]
            for (path, text, value, label), name in new:
                done.add((path, name, above))
                if above:
                    self.hidden(value, name, label)
                self.attribute((*path, name), text, value, name, f"{bare(label)}.{name}")
            if not new and (created or "__class__" not in self.names and "type" not in self.names):
                break
            if not new:  # objects may be made from objects, by `type(self)(…)`
                created = True
                for path, _, value, _ in list(self.objects):
                    if not isinstance(value, (type, types.ModuleType)):
                        self.methods(path, type(value), True)

    def names_for(self, o):
        path, text, value, label = o
        if self.guarded and isinstance(value, PYTHON_FUNCTIONS) and (*path, "count") not in self.places:
            self.place((*path, "count"), f"len(getattr({text}, '__dict__', ()))", f"the attributes of {bare(label)}")
        if not self.whole or isinstance(value, types.ModuleType):
            return list(self.names)
        if (*path, "vars") not in self.places:
            self.place((*path, "vars"), f"tuple(own({text}))", f"the attributes of {bare(label)}")
            self.space["own"] = own
        slots = [name for base in type(value).__mro__ for name in slots_of(base)]
        mine = [] if isinstance(value, type) else list(own(value))
        return [*dict.fromkeys([*self.names, *[n for n in mine if isinstance(n, str)], *slots])]

    def attribute(self, path, text, value, name, label):
        read, writer = f"getattr({text}, {name!r}, MISSING)", f"setattr({text}, {name!r}, new)"
        if isinstance(value, types.ModuleType) and self.fixed(value.__name__) and not given(value, name, self.fixed):
            return
        if name in own(value) and not isinstance(value, type):
            self.visit(path, read, found(value, name), label, writer)
            return
        if isinstance(value, PYTHON_FUNCTIONS):
            if name in self.stored and not name.startswith("__"):
                self.visit(path, read, MISSING, label, writer)
            return
        cls = value if isinstance(value, type) else type(value)
        mro: Any = cls.__mro__
        above: Any = type(value).__mro__
        bases = (*mro, *above) if cls is value and type(value) is not type else mro
        known = [vars(base)[name] for base in bases if name in vars(base)]
        if not known and (self.guarded or name in self.stored) and not (name.startswith("__") and name.endswith("__")):
            self.visit(path, f"found({text}, {name!r})", found(value, name), label, writer)
        for i, part in enumerate(known):  # those of base classes, for super()
            if i == 0:
                self.replaceable(path, text, part, name, label, cls, value)
            part = behind(part)
            if isinstance(part, types.FunctionType):
                self.resolved[name] = False
                self.definition((*path, id(part)), self.bound(part), part, part.__qualname__)
                self.function((*path, id(part)), self.bound(part), part, part.__qualname__)
            elif isinstance(part, types.MemberDescriptorType) or not hasattr(type(part), "__get__"):
                if i == 0:
                    self.visit(path, read, getattr(value, name, MISSING), label, writer)
            else:  # a descriptor
                self.inside((*path, id(part)), self.bound(part), part, label)

    def hidden(self, value, name, label):
        """Plain values of base classes that the object's own, or its class's, hide: for super()."""
        for base in (value if isinstance(value, type) else type(value)).__mro__[1:]:
            part = vars(base).get(name, MISSING)
            if not (self.fixed(base.__module__) or part is MISSING or hasattr(type(part), "__get__")):
                read = f"vars({self.bound(base)}).get({name!r}, MISSING)"
                self.visit((id(base), name), read, part, f"{base.__name__}.{name}, of {bare(label)}")

    def replaceable(self, path, text, part, name, label, cls, value):
        """Note what a class says of an attribute: it may be replaced there, and on the object itself."""
        if isinstance(part, (types.FunctionType, staticmethod, classmethod)) and not self.fixed(cls.__module__):
            self.place(path, f"getattr({text}, {name!r}, MISSING)", label)
        elif isinstance(part, (property, functools.cached_property)) and (id(cls), name) not in self.places:
            self.place((id(cls), name), f"getattr({self.bound(cls)}, {name!r}, MISSING)", label)
        if isinstance(part, functools.cached_property) and cls is not value:  # what it has found, which f may find
            self.space["own"] = own
            self.caches.add((*path, "found"))
            self.place((*path, "found"), f"own({text}).get({name!r}, MISSING)", label)


def bare(label):
    """A label before a dot."""
    for prefix in ("the global ", "the module ", "an argument of type "):
        label = label.removeprefix(prefix)
    return label


def builtins_of(f):
    space = f.__globals__.get("__builtins__", {})
    return vars(space) if isinstance(space, types.ModuleType) else space
