"""Outcomes of items on their way between processes: results, errors with their types, and what cannot be sent."""

import numpy as np
import pytest

from polyad.parallel import FarmError
from polyad.parallel.farm_outcomes import DONE, FAILED, NOT_RUN, attempt, dumps, dumps_item, loads, loads_item, pack, unpack

pytestmark = pytest.mark.quick


class TwoArguments(Exception):
    """Pickles, but cannot be made again from what is pickled."""

    def __init__(self, a, b):
        super().__init__(f"{a}{b}")


class NoPickle(Exception):
    def __reduce__(self):
        raise TypeError("never")


class NoText(Exception):
    def __str__(self):
        raise ValueError("no text")


class Unreadable:
    def __reduce__(self):
        return int, ("no number",)


def sent(f, *arguments):
    """What comes out on the other side of a call."""
    return unpack(*pack(*attempt(f, arguments)))


def test_results_come_as_they_are():
    state, (x, text) = sent(lambda n: (np.arange(n), "a"), 4)
    assert state is DONE and x.tolist() == [0, 1, 2, 3] and text == "a"


def test_large_arrays_are_not_copied_into_the_pickle():
    x = np.zeros(10**5)
    text, raw = dumps([x])
    assert len(text) < 1000 and np.shares_memory(np.frombuffer(raw), x)
    (y,) = loads([text, bytearray(raw)])
    assert y.flags.writeable and y.shape == x.shape


def test_an_error_keeps_its_type_its_notes_and_its_traceback():
    def f(x):
        error = KeyError(x)
        error.add_note("mine")
        raise error

    state, error = sent(f, "a")
    assert state is FAILED and type(error) is KeyError and error.args == ("a",) and error.__notes__ == ["mine"]
    assert "raise error" in str(error.__cause__) and "test_farm_outcomes.py" in str(error.__cause__)


@pytest.mark.parametrize(
    ("error", "text", "reason"),
    [
        (TwoArguments("why", 3), "TwoArguments: why3", "missing 1 required positional argument"),
        (NoPickle("why"), "NoPickle: why", "TypeError: never"),
        (NoText(), "NoText: (its text cannot be made)", None),
    ],
)
def test_an_error_that_cannot_be_sent_is_told(error, text, reason):
    def f():
        raise error

    state, found = sent(f)
    assert state is FAILED
    if reason is None:
        assert type(found) is type(error)
    else:
        assert type(found) is FarmError and str(found) == text and reason in found.__notes__[0]


def test_interrupts_go_on_and_exits_are_errors():
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attempt(interrupt, ())
    state, error = sent(lambda: exit(3))
    assert state is FAILED and type(error) is SystemExit and error.code == 3


def test_results_that_cannot_be_sent():
    state, error = sent(lambda: (i for i in range(3)))
    assert state is FAILED and "the result, of type generator, cannot be pickled (TypeError" in str(error)
    state, error = sent(Unreadable)
    assert state is FAILED and "the result was pickled, but cannot be unpickled (ValueError" in str(error)
    assert unpack(NOT_RUN, []) == (NOT_RUN, None)


def test_items_that_cannot_be_sent():
    with pytest.raises(FarmError, match="the item, of type generator, cannot be pickled"):
        dumps_item(((i for i in range(3)),))
    with pytest.raises(FarmError, match="the item was pickled, but cannot be unpickled"):
        loads_item(dumps_item((Unreadable(),)))
