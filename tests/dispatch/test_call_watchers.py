"""Watching calls: what is called inside what, seen while somebody watches and not otherwise."""

import numpy as np
import pytest

import polyad as pa
from polyad.dispatch import call_watchers as watching

pytestmark = pytest.mark.quick
X = np.array([0.2, 0.7])


@pytest.fixture
def seen():
    """The chain of names of each outermost call, with its result."""
    found, watcher = [], object()
    watching.watch(watcher, lambda step, args, params, y: found.append((" in ".join(s.name for s in step.chain()), y)))
    yield found
    watching.unwatch(watcher)


def test_outermost_calls_are_seen_in_order(seen):
    np.testing.assert_array_equal(pa.sum(pa.exp(X)), np.exp(X).sum())
    assert [name for name, _ in seen] == ["exp", "sum"]
    np.testing.assert_array_equal(seen[0][1], np.exp(X))


def test_what_the_library_calls_inside_of_an_operation_is_not(seen):
    pa.softmax(X)
    assert [name for name, _ in seen] == ["softmax"]


def test_steps_form_a_chain():
    assert watching.step() is None
    with watching.stepping("rule", "sin", place=("f.py", 3)), watching.stepping("call", "cos"):
        assert [(s.kind, s.name, s.place) for s in watching.step().chain()] == [
            ("call", "cos", None), ("rule", "sin", ("f.py", 3))]  # fmt: skip
        with watching.users_code():
            assert watching.step() is None
        assert watching.step().name == "cos"
    assert watching.step() is None


def test_nobody_watches_any_more():
    found, first, second = [], object(), object()
    note = lambda step, args, params, y: found.append(step.name)
    watching.watch(first, note)
    watching.watch(second, note)  # the same function is told once
    pa.sin(X)
    watching.unwatch(first)
    pa.cos(X)
    watching.unwatch(second)
    watching.unwatch(second)  # again does nothing
    pa.tan(X)
    assert found == ["sin", "cos"]


def test_a_call_that_fails_leaves_no_step(seen):
    with pytest.raises(pa.ShapeError):
        pa.matmul(X, np.ones(3))
    assert watching.step() is None and not seen
