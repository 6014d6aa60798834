"""What a function writes outside while it is traced: it runs eagerly from then on, once per call, and leaves numbers there."""

import collections
import contextlib
import re
import warnings

import numpy as np
import pytest

import polyad as pa

x3 = np.array([1.0, 2.0, 3.0])


class Owner:
    def __init__(self):
        self.n, self.value, self.table = 0, None, {"k": [0.0]}
        self.array, self.queue = np.zeros(3), collections.deque([1.0])


o, log = Owner(), []


def counts(x):
    o.n += 1
    return x * 2


def keeps(x):
    o.value = x * 2
    return x


def appends_values(x):
    log.append(x.sum())
    return x * 2


def appends_pairs(x):
    log.append(("a", x * 2))
    return x * 2


def keeps_in_table(x):
    o.table["k"][0] = x * 2
    return x + 1


def keeps_in_a_tree(x):
    o.value = [x * 2, {"b": x.sum()}]
    return x + 1


def extends_a_queue(x):
    o.queue.append(x * 3)
    return x + 1


def writes_array(x):
    o.array[0] += 1.0
    return x + 1


def takes_away(x):
    o.queue.pop()
    o.queue.append(5.0)
    o.queue.append(6.0)
    return x + 1


def draws(x):
    return x + np.random.random()


EAGER = {
    counts: r"writes to .*o\.n, outside of it; return the new value", keeps: r"writes to .*o\.value, outside",
    appends_values: r"adds what it computes to .*log, outside of it; return what is to be kept, or use polyad.io_callback",
    appends_pairs: r"adds what it computes to .*log", keeps_in_table: "writes to .*table", keeps_in_a_tree: r"o\.value",
    extends_a_queue: "adds what it computes|writes to", writes_array: r"writes to .*o\.array|an array outside of it",
    draws: r"draws random numbers",
}  # fmt: skip


def left(value):
    """A copy of what is outside: numbers and containers of them, no values of a trace."""
    return pa.tree.map(lambda v: np.asarray(v).tolist() if not isinstance(v, str) else v, value)


@pytest.mark.parametrize("f", EAGER, ids=lambda f: f.__name__)
def test_writes_happen_once_per_call_and_leave_numbers(f):
    global o, log
    stories = []
    for make in (lambda f: f, pa.jit):
        o, log, g = Owner(), [], make(f)
        np.random.seed(3)
        story = []
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for k in range(4):
                story.append(left([g(x3 + k), o.n, o.value, list(log), o.table, o.array, list(o.queue)]))
        stories.append(story)
    assert stories[0] == stories[1]
    assert len(said) == 1 and "runs eagerly from now on" in str(said[0].message)
    assert re.search(EAGER[f], str(said[0].message)), str(said[0].message)


@pytest.mark.filterwarnings("default")
def test_what_is_added_of_constants_is_said_to_happen_when_it_is_traced():
    log.clear()

    @pa.jit
    def f(x):
        log.append("called")
        return x * 2

    with pytest.warns(pa.PerformanceWarning, match=r"is compiled: it adds to .*log, outside of it, when it is traced,"):
        f(x3)
    for _ in range(3):
        np.testing.assert_array_equal(f(x3), x3 * 2)
    assert log == ["called"]


def test_a_function_that_wrote_before_it_failed_is_not_run_again():
    """C code takes no values of a trace; without a write the function would be run once more as it is."""
    global o

    def f(x):
        if writes:
            o.n += 1
        return x * len(memoryview(x))

    for writes in (False, True):
        o = Owner()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pa.PerformanceWarning)
            with contextlib.suppress(TypeError, pa.PolyadError):
                np.testing.assert_array_equal(pa.jit(f)(x3), 3 * x3)
                assert not writes or o.n == 1
        assert o.n == int(writes)


def test_a_write_of_what_was_there_is_none():
    global o
    o = Owner()

    @pa.jit
    def f(x):
        o.n, o.table["k"] = 0, o.table["k"]
        return x + o.n

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            np.testing.assert_array_equal(f(x3), x3)
    assert not any(reads.eager for reads in f.jitted.known.values())
