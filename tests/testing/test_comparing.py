"""What the checkers compare by: values, shapes and dtypes, whole trees, NaN; random arguments; named errors."""

import numpy as np
import pytest

from polyad.testing.comparing import agree, inexact, naming, raises, random_like

X = np.array([1.0, np.nan, 3.0])


@pytest.mark.parametrize(
    ("found", "expected", "options"),
    [
        (X, X.copy(), {}),
        (X, X * (1 + 1e-13), {}),
        (X, X * 1.01, {"rtol": 0.1}),
        (np.zeros(2), np.full(2, 1e-15), {}),
        ({"a": X, "b": (1.0,)}, {"a": X, "b": (1.0,)}, {}),
        (X.astype(np.float32), X, {}),
    ],
)
def test_what_agrees(found, expected, options):
    agree(found, expected, **options)


@pytest.mark.parametrize(
    ("found", "expected", "options"),
    [
        (X, X * (1 + 1e-11), {}),
        (np.zeros(2), np.full(2, 1e-13), {}),
        (X, np.nan_to_num(X), {}),
        ({"a": X, "b": 1.0}, {"a": X, "b": 2.0}, {}),
        (X.astype(np.float32), X, {"exact": True}),
        (np.ones((1, 3)), np.ones(3), {}),
        (np.ones(3), 1.0, {"exact": True}),
    ],
)
def test_what_does_not(found, expected, options):
    with pytest.raises(AssertionError):
        agree(found, expected, **options)


def test_as_many_leaves():
    with pytest.raises(ValueError, match="shorter|longer"):
        agree([X, X], [X])


def test_errors_begin_with_what_they_are_about():
    with pytest.raises(AssertionError, match="^sin, jvp: 1 is not 2$"), naming("sin, jvp"):
        raise AssertionError("  1 is not 2 \n")
    with pytest.raises(AssertionError, match="^sin, jvp: KeyError: 'x'$") as caught, naming("sin, jvp"):
        raise KeyError("x")
    assert isinstance(caught.value.__cause__, KeyError)
    with naming("nothing"):
        pass


def test_raises_is_of_one_kind():
    assert raises(ZeroDivisionError, lambda x: 1 / x, 0) and not raises(ZeroDivisionError, lambda x: 1 / x, 1)
    with pytest.raises(ZeroDivisionError):
        raises(KeyError, lambda x: 1 / x, 0)


@pytest.mark.parametrize("x", [np.ones((2, 3)), np.float32(2.0), np.ones(4, np.complex64), np.ones(3, ">f8")])
def test_random_arguments_are_of_the_shape_and_dtype(x, rng):
    drawn = random_like(rng, x)
    assert inexact(x) and drawn.dtype == x.dtype and drawn.shape == x.shape and np.all(drawn != x)
    assert x.dtype.kind != "c" or np.all(drawn.imag != 0)


def test_what_has_no_tangents_stays(rng):
    for x in (np.arange(3), 2.0, "text", None):
        assert not inexact(x) and random_like(rng, x) is x
