"""Marks of what a map is called with: equal for equal arguments, and where they differ it is named. Without MPI."""

import functools

import numpy as np
import pytest

from polyad.parallel.fingerprints import differing, marks

X = np.arange(6.0)


def called(*args, **kwargs):
    return marks(lambda *args, **kwargs: None, (args, kwargs))


def closing_over(value):
    return lambda x: (x, value)


@pytest.mark.parametrize(
    ("ours", "theirs", "told"),
    [
        (called(X, k=2), called(X.copy(), k=2), None),
        (called(X, X), called(X, X + 1), "argument 1"),
        (called({"w": [X, X]}), called({"w": [X, -X]}), "argument 0['w'][1]"),
        (called(k=X, j=X), called(j=X, k=X * 2), "argument k"),  # in one order on all ranks
        (called(X), called(X.astype(np.float32)), "argument 0"),
        (called(X), called(X.reshape(2, 3)), "argument 0"),
    ],
)
def test_arguments(ours, theirs, told):
    if told is None:
        assert differing([ours, ours]) is None
        if len(ours) == len(theirs):
            assert differing([ours, theirs]) is None
        return
    for first, other in ((ours, theirs), (theirs, ours)):
        assert differing([first, first, other]).startswith(told)


def test_structures_are_shown():
    assert differing([called({"a": X}), called({"b": X})]).startswith("argument 0 (")


def test_arrays_of_closures():
    arrays = [marks(closing_over({"w": X}), ((X,), {})), marks(closing_over({"w": X + 1}), ((X,), {}))]
    assert differing(arrays) == "the closure variable 'value'['w']"
    numbers = [marks(closing_over(k), ((X,), {})) for k in (0, 1)]  # such as the rank
    assert differing(numbers) is None
    partials = [marks(functools.partial(closing_over(X), X * k), ((), {})) for k in (1, 2)]
    assert differing(partials) == "the closure variable '0 of partial'"
    keywords = [marks(functools.partial(closing_over(X * k), x=X), ((), {})) for k in (1, 2)]
    assert differing(keywords) == "the closure variable 'value'"


def test_methods_and_what_is_no_function():
    class Model:
        def __call__(self, x): ...

    assert differing([marks(Model(), ((X,), {})), marks(Model().__call__, ((X,), {}))]) is None
    assert len(marks(len, ((X,), {}))) == len(called(X))


def test_a_variable_that_is_not_assigned_yet():
    def outer(assign):
        f = lambda: later
        if assign:
            later = X
        return f

    assert marks(outer(False), ((), {})) == [] and len(marks(outer(True), ((), {}))) == 1
