"""Effects in lanes that split happen once, and their results stay with their lanes."""

import numpy as np
import pytest

import polyad as pa

pytestmark = pytest.mark.quick


FLOAT = pa.Aval((), float)


class Log:
    """Collects what it is called with."""

    def __init__(self):
        self.seen = []

    def __call__(self, *xs):
        self.seen.append([np.asarray(x).tolist() for x in xs])


def test_lanes_that_split_repeat_nothing(capsys):
    def f(x):
        pa.debug_print("all {}", x)
        if x > 1:
            pa.debug_print("large {}", x)
            return x * x
        pa.debug_print("small {}", x)
        return -x

    expected = ["all 0.5", "all 2.0", "all 3.0", "small 0.5", "large 2.0", "large 3.0"]
    xs = np.array([0.5, 2.0, 3.0])
    assert np.array_equal(pa.vmap(f)(xs), [-0.5, 4.0, 9.0])
    assert capsys.readouterr().out.splitlines() == expected
    assert np.array_equal(pa.vmap(pa.grad(f))(xs), [-1.0, 4.0, 6.0])
    assert capsys.readouterr().out.splitlines() == expected
    assert np.array_equal(pa.grad(lambda xs: pa.sum(pa.vmap(f)(xs)))(xs), [-1.0, 4.0, 6.0])
    assert capsys.readouterr().out.splitlines() == expected


def test_results_of_effects_stay_with_their_lanes():
    """Split lanes get what the effect gave them in the first pass, not what another call would give."""
    numbers = iter(range(100))

    def f(x):
        n = pa.io_callback(lambda x: next(numbers), pa.Aval((), int), x)
        if x > 1:
            if x > 2:
                return n * 100
            return n * 10
        return n

    assert pa.vmap(f)(np.array([0.5, 2.0, 3.0, 0.1])).tolist() == [0, 10, 200, 3]
    assert next(numbers) == 4


def test_unmapped_effects_before_a_split_happen_once():
    log = Log()

    def f(x):
        pa.io_callback(log, None)
        y = pa.io_callback(lambda: log("made") or 5.0, FLOAT)
        return y + x if x > 0 else y - x

    assert pa.vmap(f)(np.array([1.0, -1.0])).tolist() == [6.0, 6.0]
    assert log.seen == [[], ["made"]]


def test_nested_maps_that_split():
    log = Log()

    def column(x, y):
        pa.io_callback(log, None, x, y)
        return x * y if y > 1 else x

    def row(x, ys):
        return pa.sum(pa.vmap(lambda y: column(x, y))(ys)) if x > 0 else x

    got = pa.vmap(row, (0, None))(np.array([1.0, -1.0, 2.0]), np.array([0.0, 2.0]))
    assert got.tolist() == [3.0, -1.0, 6.0]
    assert sorted(log.seen) == [[1.0, 0.0], [1.0, 2.0], [2.0, 0.0], [2.0, 2.0]]
