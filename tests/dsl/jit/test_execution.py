"""One call along the tree: nothing runs twice, and what fails is the error of its step."""

import numpy as np
import pytest

import polyad as pa

same = np.testing.assert_array_equal
x3 = np.array([1.0, -2.0, 3.0])


def test_nothing_runs_twice():
    seen = []

    @pa.jit
    def f(x):
        pa.io_callback(seen.append, None, x)
        y = pa.sum(x)
        if y > 0:
            pa.io_callback(seen.append, None, y)
            if y > 10:
                return pa.sin(x)
        pa.io_callback(seen.append, None, 2 * y)
        return x * y

    for value in (1.0, -1.0, 20.0, 1.0, -1.0, 20.0):
        seen.clear()
        f(np.full(2, value))
        assert len(seen) == {1.0: 3, -1.0: 2, 20.0: 2}[value]


def test_failing_steps():
    @pa.jit
    def f(a, b):
        try:
            return pa.linalg.solve(a, b)
        except pa.LinAlgError:
            return b * 0

    a, b = np.eye(2) * 2, np.ones(2)
    for _ in range(3):
        same(f(a, b), b / 2)
        same(f(a * 0, b), b * 0)
    same(pa.vmap(f, (0, None))(np.stack([a, a]), b), [b / 2, b / 2])
    unguarded = pa.jit(pa.linalg.inv)
    with pytest.raises(np.linalg.LinAlgError):
        unguarded(a * 0)
    same(unguarded(a), np.eye(2) / 2)


def test_errors_of_the_function():
    @pa.jit
    def f(x):
        if x.sum() < 0:
            raise KeyError("negative")
        return x @ np.ones(4)

    for _ in range(2):
        with pytest.raises(KeyError, match="negative"):
            f(-x3 * 10)
        with pytest.raises(pa.ShapeError):
            f(x3)
