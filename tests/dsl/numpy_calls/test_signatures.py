"""Signatures of NumPy's functions: as NumPy tells them, else ours, which are the same names, kinds and defaults."""

import inspect

import numpy as np
import pytest

from polyad.dsl.numpy_calls import signatures
from polyad.dsl.numpy_calls.signatures import WRITTEN_IN_C, signature

CALLS = {
    "bincount": ([np.array([1, 1, 3])], {"minlength": 6}),
    "can_cast": (["i4", "f8"], {"casting": "no"}),
    "concatenate": ([[np.ones(2), np.ones(1)]], {"axis": 0}),
    "dot": ([np.ones(2), np.ones(2)], {}),
    "where": ([np.array([True, False]), 1.0, 2.0], {}),
    "unravel_index": ([[3, 4], (2, 3)], {"order": "F"}),
}


@pytest.fixture
def ours(monkeypatch):
    """A function that gives the signature as on a NumPy that does not tell those of functions written in C."""
    real = inspect.signature

    def untold(function):
        if getattr(function, "__module__", None) == "numpy":
            raise ValueError("no signature found for builtin")
        return real(function)

    monkeypatch.setattr(signatures.inspect, "signature", untold)
    yield signature.__wrapped__


def test_functions_of_python_tell_their_own():
    assert signature(np.mean) == inspect.signature(np.mean)
    assert signature(np.mean) is signature(np.mean)  # kept


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.4.0", reason="NumPy does not tell them")
@pytest.mark.parametrize("name", WRITTEN_IN_C)
def test_ours_are_numpys(name, ours):
    assert ours(getattr(np, name)) == inspect.Signature.from_callable(getattr(np, name))


@pytest.mark.parametrize("name", CALLS)
def test_bound_arguments_call_the_function_likewise(name, ours):
    function, (args, kwargs) = getattr(np, name), CALLS[name]
    bound = ours(function).bind(*args, **kwargs)
    np.testing.assert_array_equal(function(*bound.args, **bound.kwargs), function(*args, **kwargs))


def test_what_is_not_known_takes_anything(ours):
    found = ours(np.array)
    assert [p.kind for p in found.parameters.values()] == [inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD]
