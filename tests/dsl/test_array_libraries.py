"""What an array library provides: creation and copies go by the innermost array, and a library without is named."""

import numpy as np
import pytest

import polyad as pa
from polyad.dsl.array_libraries import asarray_like, bottom, creator, host_copy, namespace

X = np.array([0.3, 0.8])


class Foreign:
    """An array of a library that nobody registered."""

    shape, dtype = (2,), np.dtype(float)


class Library:
    """The creation functions of a library: each array is the name of a function."""

    @staticmethod
    def asarray(values, dtype=None):
        return ("asarray", values, dtype)


def test_the_innermost_array_counts():
    found = []

    def f(x):
        found.append(bottom(x))
        assert creator(x) is np
        return pa.sum(x * x)

    pa.grad(f)(X)
    pa.vmap(pa.grad(f))(np.stack([X, 2 * X]))
    pa.jvp(pa.grad(f), (X,), (X,))
    plain, lanes, both = found
    np.testing.assert_array_equal(plain, X)
    np.testing.assert_array_equal(lanes, np.stack([X, 2 * X]))
    np.testing.assert_array_equal(both, X)
    assert bottom(2.0) == 2.0


def test_copies_on_the_host_are_the_plain_values():
    assert host_copy(X) is X and type(host_copy(2.0)) is np.ndarray
    np.testing.assert_array_equal(host_copy(pa.Diagonal(X)), np.diag(X))
    copies = []
    pa.grad(lambda x: (copies.append(host_copy(x)), pa.sum(x))[1])(X)
    np.testing.assert_array_equal(copies[0], X)


def test_a_library_of_its_own(monkeypatch):
    class Mine(Foreign): ...

    @creator.method
    def creator_mine(x: Mine, /):
        return Library

    assert asarray_like([1, 2], Mine(), np.float32) == ("asarray", [1, 2], np.float32)
    found = asarray_like([1, 2], X, np.float32)
    assert found.dtype == np.float32 and found.tolist() == [1, 2]


def test_without_an_array_the_current_device_counts():
    assert creator(None) is np
    token = namespace.set(Library)
    try:
        assert creator(None) is Library and creator(X) is np
    finally:
        namespace.reset(token)


def test_a_library_that_nobody_registered_is_named():
    for function in (creator, host_copy):
        told = rf"{function.__name__}: nothing is known about .*Foreign\(float64\[2\]\).*@polyad.dsl.array_libraries"
        with pytest.raises(pa.DeviceMismatchError, match=told):
            function(Foreign())
