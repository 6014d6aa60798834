"""What is at a place: cells before they are assigned, attributes in objects, classes and slots; nothing of the user's runs."""

import functools
import types

from polyad.dsl.jit.places import MISSING, behind, content, found, own, slots_of


class Base:
    shared = 1
    __slots__ = ("a", "__weakref__")


class Derived(Base):
    __slots__ = "b"


class Asks:
    here = 5

    def __getattr__(self, name):
        raise AssertionError("asked")


def test_cells():
    assert content(types.CellType(3)) == 3 and content(types.CellType()) is MISSING


def test_attributes_of_objects_classes_and_slots():
    x = Derived()
    x.b = 7
    assert (found(x, "b"), found(x, "shared"), found(Derived, "shared")) == (7, 1, 1)
    assert found(x, "a") is MISSING and found(x, "nothing") is MISSING  # a slot without a value
    y = Asks()
    y.here = 6
    assert found(y, "here") == 6 and found(y, "elsewhere") is MISSING
    assert own(y) == {"here": 6} and own(x) == {} and own(3) == {}


def test_slots_that_a_class_adds():
    assert slots_of(Base) == ["a"] and slots_of(Derived) == ["b"] and slots_of(Asks) == []


def test_functions_behind_descriptors():
    def f(self):
        return 1

    for part in (property(f), functools.cached_property(f), staticmethod(f), classmethod(f), f):
        assert behind(part) is f
    assert behind(3) == 3
