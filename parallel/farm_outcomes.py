"""How what became of an item travels between processes: the result, or the error with its type and traceback.

Each is pickled on its own, so that one that cannot be pickled, or not read again, is one item's error and not the farm's end.
"""

import pickle
import traceback
from typing import Any

DONE, FAILED, NOT_RUN = "done", "failed", "not run"


class FarmError(RuntimeError):
    """An item of a farm, its result or its error cannot be sent from one process to another."""


class WorkerDied(FarmError):
    """The process that worked on an item of a farm has ended: it was killed, or it called `os._exit`, or crashed."""


class WorkerTraceback(Exception):
    """The traceback of an error in another process, as text: the cause of the error that is raised here."""

    def __str__(self):
        return f'\n"""\n{self.args[0]}"""'


def attempt(f, arguments):
    """(DONE, f(*arguments)), or (FAILED, error). Interrupts and the signals of transformations go on."""
    try:
        return DONE, f(*arguments)
    except (Exception, SystemExit) as error:
        return FAILED, error


def dumps(x):
    """[pickle, *large arrays, not copied] of x; by cloudpickle where pickle cannot and that is installed."""
    buffers = []
    try:
        text = pickle.dumps(x, 5, buffer_callback=buffers.append)
    except Exception as error:
        try:
            import cloudpickle
        except ImportError:
            raise error from None
        buffers.clear()
        text = cloudpickle.dumps(x, 5, buffer_callback=buffers.append)
    return [text, *(buffer.raw() for buffer in buffers)]


def dumps_item(arguments):
    """The frames of an item; FarmError if it cannot be pickled."""
    try:
        return dumps(arguments)
    except Exception as error:
        raise FarmError(f"the item, of type {type(arguments[0]).__name__}, cannot be pickled ({_said(error)})") from None


def loads_item(frames):
    """The arguments of an item; FarmError if it cannot be read here."""
    try:
        return loads(frames)
    except Exception as error:
        raise FarmError(f"the item was pickled, but cannot be unpickled ({_said(error)})") from None


def loads(frames):
    return pickle.loads(frames[0], buffers=frames[1:])


def pack(state, value):
    """(state, frames) of an outcome; a result that cannot be pickled is a failure."""
    if state is DONE:
        try:
            return DONE, dumps(value)
        except Exception as error:
            what = f"the result, of type {type(value).__name__}, cannot be pickled ({_said(error)})"
            state, value = FAILED, FarmError(f"{what}; return arrays, numbers or other plain objects")
    return state, [pickle.dumps(_told(value))] if state is FAILED else []


def error_of(frames):
    """The error of a packed failure."""
    return unpack(FAILED, frames)[1]


def unpack(state, frames) -> Any:
    """(state, value) of what `pack` made; what cannot be read here is a failure."""
    if state == NOT_RUN:
        return state, None
    if state == DONE:
        try:
            return DONE, loads(frames)
        except Exception as error:
            return FAILED, FarmError(f"the result was pickled, but cannot be unpickled ({_said(error)})")
    pickled, name, text, trace, reason = pickle.loads(frames[0])
    error = None
    if pickled is not None:
        try:
            error = pickle.loads(pickled)
        except Exception as problem:
            reason = _said(problem)
    if error is None:
        error = FarmError(f"{name}: {text}")
        error.add_note(f"its own type, {name}, could not be sent here ({reason})")
    error.__cause__ = WorkerTraceback(trace)
    return FAILED, error


def _told(error):
    """(pickle or None, type, text, traceback, why there is no pickle) of an error, all of which can be read anywhere."""
    trace = "".join(traceback.format_exception(error))
    name, pickled, reason = type(error).__qualname__, None, ""
    try:
        pickled = pickle.dumps(error, 5)
        if type(pickle.loads(pickled)) is not type(error):  # one that pickles may still not be made again from its arguments
            raise TypeError("it is another type when it is read again")
    except Exception as problem:
        pickled, reason = None, _said(problem)
    return pickled, name, _words_of(error), trace, reason


def _said(error):
    return f"{type(error).__name__}: {_words_of(error)}"


def _words_of(error):
    try:
        return str(error)
    except Exception:  # a class with a faulty __str__
        return "(its text cannot be made)"
