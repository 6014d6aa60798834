"""What has happened once is not repeated when code is run again, and what has not is carried out."""

import numpy as np
import pytest

import polyad as pa
from polyad.dispatch import Remembered, Replayed, effect_name, effects_are_kept

pytestmark = pytest.mark.quick

FLOAT = pa.Aval((), float)


@pytest.fixture
def log():
    """A function with an effect: it counts its calls, and gives their number."""

    class Log(list):
        def __call__(self, x):
            self.append(float(x))
            return np.float64(len(self))

        __name__ = "counted"
        __hash__ = object.__hash__
        __eq__ = object.__eq__

    return Log()


def count(log, x):
    return float(pa.io_callback(log, FLOAT, x))


@pytest.fixture
def name(log):
    """How effects of `count` are named, by the step of a program."""
    (e,) = pa.make_ir(lambda x: pa.io_callback(log, FLOAT, x))(1.0).equations
    return effect_name(e.op.generic, e.params)


def test_names():
    assert effect_name(pa.sin.generic, {}) == "sin" and effect_name(pa.sin.generic, {"f": print}) == "sin of print"
    assert effect_name(pa.sin.generic, {"f": np.float64(1)}) == "sin of float64"  # what has no name, by its type


# ---------------------------------------------------------------------- code that is run again
def test_a_second_run_repeats_nothing(log):
    memory = Remembered()
    for run in (lambda: memory, memory.again, memory.again):
        with run():
            assert [count(log, 5.0), count(log, 7.0)] == [1.0, 2.0]
    assert log == [5.0, 7.0]
    assert count(log, 9.0) == 3.0  # outside of it as ever


def test_a_second_run_may_end_early_but_not_go_another_way(log):
    memory = Remembered()
    with memory:
        count(log, 5.0)
        count(log, 6.0)
    with memory.again():
        assert count(log, 5.0) == 1.0
    with memory.again():  # from its beginning
        assert [count(log, 5.0), count(log, 6.0)] == [1.0, 2.0]
        with pytest.raises(
            pa.LeakedLayerError, match=r"counted: code that is run again for a derivative called it where it did"
        ):
            count(log, 7.0)
    with memory.again(), pytest.raises(pa.LeakedLayerError, match="^effect_call of .*called it where it did not before"):
        pa.io_callback(lambda x: x, FLOAT, 1.0)
    assert log == [5.0, 6.0]


def test_runs_within_runs(log):
    """What happens within an inner one has happened for the outer one, too."""
    outer, inner = Remembered(), Remembered()

    def both():
        with inner:
            x = count(log, 1.0)
        with inner.again():
            return x, count(log, 1.0)

    with outer:
        assert both() == (1.0, 1.0)
    with outer.again():
        assert both() == (1.0, 1.0)
    assert log == [1.0]


def test_an_error_leaves_nothing_remembered(log):
    memory = Remembered()
    with memory, pytest.raises(ZeroDivisionError):
        pa.io_callback(lambda x: 1 / 0, FLOAT, 1.0)
    assert memory.results == [] and not effects_are_kept()
    with pytest.raises(KeyError), memory.again():
        raise KeyError
    assert not effects_are_kept() and memory.position is None


# ---------------------------------------------------------------------- code that goes on
def test_what_has_happened_before_is_given_and_the_rest_is_done(log, name):
    with Replayed([(name, (7.0,)), ("another", (8.0,)), (name, (9.0,))]):
        assert [count(log, 5.0) for _ in range(4)] == [7.0, 9.0, 1.0, 2.0]
        assert float(pa.sin(0.0)) == 0.0
    assert log == [5.0, 5.0]


def test_what_a_trace_records_for_later_is_not_taken(log, name):
    with Replayed([(name, (7.0,))]):
        program = pa.make_ir(lambda x: pa.io_callback(log, FLOAT, x))(1.0)
        assert len(program.equations) == 1
        assert count(log, 1.0) == 7.0
    assert log == []
    with Remembered() as memory, Replayed([(name, (7.0,))]):
        assert [count(log, 1.0), count(log, 2.0)] == [7.0, 1.0]
    assert [float(y[0]) for _, y in memory.results] == [1.0]  # what was done now is remembered by what is around


# ---------------------------------------------------------------------- who sees them
def test_who_keeps_effects():
    seen = {}
    look = lambda key, x: seen.setdefault(key, effects_are_kept()) and None or x
    look("nothing", 1.0)
    pa.grad(lambda x: look("grad", x))(1.0)
    pa.make_ir(lambda x: look("trace", x))(1.0)
    with Remembered():
        look("memory", 1.0)
    pa.vmap(lambda x: look("lanes", x))(np.ones(2))
    assert seen == {"nothing": False, "grad": False, "trace": True, "memory": True, "lanes": True}


def test_effects_on_numbers_are_steps_of_the_traces_around(log):
    """Though nothing that is followed goes into them."""
    once = lambda x: (pa.io_callback(log, FLOAT, 2.0), x)[1]
    for f in (once, lambda x: pa.vmap(once)(pa.stack([x, x]))[0], lambda x: pa.grad(lambda y: once(x) * y)(3.0)):
        program = pa.make_ir(f)(1.0)
        assert log == []
        assert program(5.0) == 5.0 and log == [2.0]
        log.clear()
