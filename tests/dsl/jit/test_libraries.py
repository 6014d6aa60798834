"""What jit takes to stay as it is: constants, values of classes that never change, and modules of libraries."""

import dataclasses
import enum
import fractions
import types

import numpy as np
import pytest

from polyad.dsl.jit.libraries import given, installed, is_constant, is_ours, never_changes, plain

pytestmark = pytest.mark.quick


class Color(enum.Enum):
    RED = 1


@dataclasses.dataclass(frozen=True)
class Frozen:
    n: object


@dataclasses.dataclass
class Loose:
    n: object


class Marked(tuple):
    """A tuple with attributes of its own, which may change."""


CONSTANT = [None, True, 3, 2.5, 1j, "text", b"bytes", np.float64(2.0)]
STAYS = [*CONSTANT, range(3), np.dtype(float), np.int8(1), np.sin, int, Color.RED, len, types, ..., slice(1, None, 2)]
CHANGES = [[], {}, set(), np.ones(2), lambda: 0, object(), fractions.Fraction(1, 2)]


def test_constants_count_by_what_they_are():
    assert all(map(is_constant, CONSTANT)) and not any(map(is_constant, [(), range(3), np.ones(1), *CHANGES]))
    assert never_changes((1, ("a", (None, 2.0)))) and never_changes(())
    assert not never_changes((1, [2])) and not never_changes(Marked((1,)))


@pytest.mark.parametrize("x", STAYS, ids=repr)
def test_what_never_changes(x):
    for value in (x, (x,), Frozen(x), (1, (x, "a"))):
        assert plain(value)
    assert not plain(Loose(x)) and not plain([x])


@pytest.mark.parametrize("x", CHANGES, ids=lambda x: type(x).__name__)
def test_what_may_change(x):
    for value in (x, (1, x), Frozen(x)):
        assert not plain(value)


def test_tuples_and_slices_by_what_they_hold():
    assert plain(frozenset({1, "a"})) and not plain(frozenset({fractions.Fraction(1, 2)}))
    assert not plain(slice(fractions.Fraction(1), None))
    mine = Marked((1, 2))
    assert plain(mine)
    mine.scale = 3
    assert not plain(mine)


def test_packages():
    assert installed("json") and installed("numpy") and installed("sys")
    assert not installed("no_such_package") and not installed(__name__.partition(".")[0])


def test_code_of_the_library():
    import polyad as pa

    assert is_ours(pa.grad.__code__) and not is_ours(test_packages.__code__)
    assert not is_ours(compile("1", "<string>", "eval"))


def test_what_a_user_may_have_set_in_a_librarys_module():
    def theirs(x): ...

    def users(x): ...

    theirs.__module__, users.__module__ = "lib.core", "script"
    module = types.ModuleType("lib.core")
    module.__all__ = ["listed"]
    module.__dict__.update(
        listed=3.0, pi=3.0, count=3, table={}, array=np.ones(2), theirs=theirs, users=users, own=types.ModuleType("lib.more"),
        other=types.ModuleType("json"), nothing=None, color=Color.RED, __version__="1",
    )  # fmt: skip
    fixed = lambda name: name.startswith(("lib", "builtins"))
    found = {name for name in vars(module) if given(module, name, fixed)}
    assert found == {"count", "table", "array", "users", "own", "color"}
