"""Failures inside `try` are caught where they happen, with the effects before them and none after."""

import numpy as np
import pytest

import polyad as pa

same = np.testing.assert_array_equal
x3 = np.array([1.0, -2.0, 3.0])


def agree(f, *calls):
    """Assert that jit gives what f gives, to the type of each leaf, in a first, second and third call of each kind."""
    g = pa.jit(f)
    for args in calls * 3:
        outcomes = []
        for h in (f, g):
            try:
                outcomes.append(h(*args))
            except Exception as error:
                outcomes.append((type(error), str(error)))
        leaves, others = [pa.tree.leaves(y) for y in outcomes]
        assert [(type(a), getattr(a, "dtype", None)) for a in leaves] == [(type(b), getattr(b, "dtype", None)) for b in others]
        for a, b in zip(leaves, others, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-14) if isinstance(a, (float, np.ndarray)) else same(a, b)


def by_index(x, i):
    try:
        y = x[i] * 2
    except IndexError:
        y = x.sum()
    return y


def through_a_call(x, i):
    try:
        return by_taking(x, i) + 1
    except LookupError as error:
        return type(error).__name__


def by_taking(x, i):
    return pa.take(pa.sin(x), pa.stack([i, i]))


def in_a_choice(x, i):
    try:
        return pa.cond(x[0] > 0, lambda: x[i], lambda: x[0])
    except IndexError:
        return "choice"


def by_a_callback(x, i):
    def third(v):
        if v > 2:
            raise KeyError("third")
        return v * 0.5

    try:
        return pa.callback(third, pa.Aval((), np.dtype(float)), i)
    except KeyError:
        return -1.0


def by_writing(x, i):
    y = x.copy()
    try:
        y[i] = 3.0
    except IndexError:
        y[0] = 100.0
    return y


@pytest.mark.parametrize("f", [by_index, through_a_call, in_a_choice, by_a_callback, by_writing], ids=lambda f: f.__name__)
def test_failures_inside_try(f):
    agree(f, (x3, 1), (x3, 7), (x3, -9))


def test_steps_outside_try_stay_together():
    f = pa.jit(lambda x, i: x[i] * 2 + x[i + 1])
    for _ in range(2):
        assert f(x3, 1) == -1.0
        with pytest.raises(IndexError):
            f(x3, 2)
    assert [t.size for t in f.jitted.trees] == [1]


def test_effects_before_a_failure_happen_and_those_after_it_do_not():
    seen = []

    @pa.jit
    def f(x, i):
        pa.io_callback(lambda v: seen.append("before"), None, x)
        y = x[i]
        pa.io_callback(lambda v: seen.append("after"), None, x)
        return y

    for i in (0, 7, 1, 7):
        seen.clear()
        try:
            f(x3, i)
            assert seen == ["before", "after"]
        except IndexError:
            assert i == 7 and seen == ["before"]
