"""The shortest way from a call to compiled code: for arguments of the structure, shapes and dtypes of an earlier call.

It is Python code made for one tree: tests of the arguments and of what the function reads, then the tree's own function.
"""

import types
import weakref

import numpy as np

from ...dispatch import isa, watchers
from ...dispatch import tree as pytree
from ..avals import is_number
from ..axes import enclosing_axes
from .arguments import INT64_BOUND, by_identity, is_array, objects_among
from .contents import holds
from .disable import switches
from .globals_key import Same, exact

MISS = object()
MAX_TESTED_LEAVES = 64  # leaves that are tested one by one
SOURCE = """\
def quick(args, kwargs):
    if {tests}:
        return go({given})
    return MISS
"""


def quick_entry(tree, static, args, kwargs, leaves, reads, values, arrays):
    """A function(args, kwargs) that returns the result, or MISS where they differ from those of `tree`; None if there is no
    such short way.

    tree: one that has a function of its own, `go`. static: places and names of static arguments. args, kwargs, leaves: of a
    call; reads, values, arrays: how f reads from outside, what it read, and the arrays among that.
    """
    go = tree.go
    if go is None or len(leaves) > MAX_TESTED_LEAVES or enclosing_axes():
        return None
    code = _Code()
    if not code.arguments(args, kwargs, static) or code.leaves != len(leaves):
        return None
    if values and not code.outside(reads, values, arrays, tree):
        return None
    code.space.update(go=go, switches=switches, watchers=watchers, enclosing_axes=enclosing_axes)
    given = [f"x{k}" for k in range(code.leaves)] + [f"r{k}" for k in range(len(arrays))]
    exec(SOURCE.format(tests=" and ".join(code.tests), given=", ".join(given)), code.space)
    return code.space["quick"]


class _Code:
    """Tests, as text. leaves: how many have been named x0, x1, … ; objects: names of those through which f reads; space:
    what the text names. Each method returns whether its test is possible."""

    def __init__(self):
        self.tests, self.leaves, self.parts, self.objects = ["not switches and not watchers"], 0, 0, []
        self.space = {"MISS": MISS, "ndarray": np.ndarray}

    def test(self, text):
        self.tests.append(text)
        return True

    def bound(self, value):
        name = f"k{len(self.space)}"
        self.space[name] = value
        return name

    def leaf(self):
        self.leaves += 1
        return f"x{self.leaves - 1}"

    def arguments(self, args, kwargs, static):
        """Test all arguments."""
        self.test(f"len(args) == {len(args)} and " + (f"len(kwargs) == {len(kwargs)}" if kwargs else "not kwargs"))
        for i, x in enumerate(args):
            if not (self.static if i in static else self.structure)(f"args[{i}]", x):
                return False
        for k in kwargs:
            self.test(f"{k!r} in kwargs")
        return all([(self.static if k in static else self.structure)(f"kwargs[{k!r}]", kwargs[k]) for k in sorted(kwargs)])

    def static(self, text, value):
        """Test a static argument, one leaf."""
        if by_identity(value) and not holds(type(value)):
            return self.object(text, value)
        self.space["exact"], name = exact, self.leaf()
        if objects_among((value,)):  # f may read through an equal one, too
            self.objects.append(name)
        return self.test(f"exact({name} := {text}) == {self.bound(exact(value))}")

    def object(self, text, value):
        """Test that an object is the same one, through which f may read."""
        try:
            reference = self.bound(weakref.ref(value))
        except TypeError:
            return False
        name = self.leaf()
        self.objects.append(name)
        return self.test(f"({name} := {text}) is {reference}()")

    def structure(self, text, value):
        """Test a value, and name its leaves in order."""
        kind = type(value)
        if kind is np.ndarray:
            name = self.leaf()
            return self.test(f"type({name} := {text}) is ndarray") and self.array(name, value)
        if isa(value, np.generic):
            return self.test(f"type({self.leaf()} := {text}) is {self.bound(kind)}")
        if kind in (float, complex, bool, int):
            name = self.leaf()
            self.test(f"type({name} := {text}) is {kind.__name__}")
            return kind is not int or self.test(f"-{INT64_BOUND} <= {name} < {INT64_BOUND}")
        if value is None:
            return self.test(f"{text} is None")
        if kind is str:
            return self.test(f"type({self.leaf()} := {text}) is str and x{self.leaves - 1} == {value!r}")
        if kind in (tuple, list, dict):
            return self.container(text, kind, value)
        if is_number(value) or not by_identity(value) or pytree.structure(value) is not pytree.LEAF or is_array(value):
            return False
        return self.object(text, value)

    def container(self, text, kind, value):
        name, self.parts = f"p{self.parts}", self.parts + 1
        self.test(f"type({name} := {text}) is {kind.__name__} and len({name}) == {len(value)}")
        if kind is not dict:
            return all([self.structure(f"{name}[{i}]", x) for i, x in enumerate(value)])
        if not all([isinstance(k, str) for k in value]):
            return False
        for k in value:
            self.test(f"{k!r} in {name}")
        return all([self.structure(f"{name}[{k!r}]", value[k]) for k in sorted(value)])

    def array(self, name, x):
        """Test the shape and dtype of an array."""
        return self.test(f"{name}.dtype is {self.bound(x.dtype)} and {name}.shape == {x.shape!r}")

    def method(self, text, value):
        """Test that a bound method is this one."""
        try:
            owner = self.bound(weakref.ref(value.__self__))
        except TypeError:
            return False
        return self.test(f"getattr({text}, '__func__', None) is {self.bound(value.__func__)} and {text}.__self__ is {owner}()")

    def outside(self, reads, values, arrays, tree):
        """Test what f reads from outside, and name the arrays."""
        taken, names = 0, []
        self.test(f"(r := {self.bound(reads.read)}({', '.join(self.objects)}))")
        for i, value in enumerate(values):
            if type(value) is np.ndarray and value.dtype.kind != "O":
                name = f"r{taken}"
                self.test(f"type({name} := r[{i}]) is ndarray")
                self.array(name, value)
                self.test(f"{name}.strides == {value.strides!r}")
                same = next((j for j in range(taken) if arrays[j] is value), None)
                for j in range(taken):
                    self.test(f"{name} is r{j}" if j == same else f"{name} is not r{j}")
                taken += 1
                names.append(name)
            elif type(value) is Same:
                self.test(f"r[{i}].value is {self.bound(value.value)}")
            elif type(value) is types.MethodType:
                if not self.method(f"r[{i}]", value):
                    return False
            elif holds(type(value)) or pytree.structure(value) is not pytree.LEAF:
                return False  # their contents may change
            else:
                self.test(f"r[{i}] is {self.bound(value)}")
        if tree.watch is not None and tree.watch.needed:
            self.test(f"{self.bound(tree.watch)}.unchanged(({' '.join(f'{name},' for name in names)}))")
        return len(arrays) == taken
