"""Whether a choice leads to itself again while its functions are being traced: a trace of that would never end."""

import functools
from contextlib import contextmanager
from contextvars import ContextVar
from types import FunctionType, MethodType

import numpy as np

from ...dispatch import Layer, isa, tree
from ..avals import aval_of

MAX_NESTED_CHOICES = 64  # choices by the same code inside one another, beyond which it is taken to have no end
# (code, state) of the functions that are being traced for choices
_under_way: ContextVar[tuple] = ContextVar("polyad_choices", default=())


class CallsItself(BaseException):
    """A choice leads to itself again. Not an Exception, so that user code does not catch it."""

    def __init__(self, key):
        self.key = key


class Unfinished(BaseException):
    """A function that is being made a program calls itself, and nothing is known of its results yet. Not an Exception, so that
    user code does not catch it. name: of the function."""

    def __init__(self, name):
        self.name = name


def finished(makers):
    """Call the makers of a choice's programs; in the place of a function whose results are not known yet, take another one: its
    program is made again once they are. Raises Unfinished if nothing is known of any."""
    made, signal = [], None
    for make in makers:
        try:
            made.append(make())
        except Unfinished as unfinished:
            made.append(None)
            signal = unfinished
    known = next((m for m in made if m is not None), None)
    if known is None:
        raise signal  # type: ignore[misc]  there is one, since none is known
    return [known if m is None else m for m in made]


@contextmanager
def afresh():
    """A trace of its own, in which no choice is under way."""
    token = _under_way.set(())
    try:
        yield
    finally:
        _under_way.reset(token)


@contextmanager
def choosing(functions, operands):
    """Around the trace of functions for a choice; yields the key that a `CallsItself` from this choice carries.

    The same code inside itself is recursion without end only if it also meets the same there: closures over other functions, a
    number that counts down and arrays that get shorter are calls with an end.
    """
    key = tuple([_code(f) for f in functions])
    state = (tuple([_trace_key(f, ()) for f in functions]), _trace_key(operands, ()))
    outer = [s for k, s in _under_way.get() if k == key]
    if state in outer or len(outer) >= MAX_NESTED_CHOICES:
        raise CallsItself(key)
    token = _under_way.set((*_under_way.get(), (key, state)))
    try:
        yield key
    finally:
        _under_way.reset(token)


def under_way(key):
    """Return whether this point is within such a choice."""
    return any([k == key for k, _ in _under_way.get()])


def _code(f):
    while isinstance(f, (functools.partial, MethodType)):
        f = f.func if isinstance(f, functools.partial) else f.__func__
    return getattr(f, "__code__", id(f))


def _trace_key(x, seen):
    """A key of what a value means to a trace: followed values count by shape and dtype, functions by their code and closure."""
    if isinstance(x, Layer):
        return "followed", aval_of(x)
    if isa(x, (bool, int, float, complex, str, bytes, type(None))):
        return type(x), x
    if isa(x, np.generic):
        return type(x), x.tobytes()
    if id(x) in seen:
        return "around", seen.index(id(x))
    seen = (*seen, id(x))
    if isinstance(x, functools.partial):
        return "partial", _trace_key(x.func, seen), _trace_key(x.args, seen), _trace_key(x.keywords, seen)
    if isinstance(x, MethodType):
        return "method", _trace_key(x.__func__, seen), _trace_key(x.__self__, seen)
    if isinstance(x, FunctionType):
        return x.__code__, *[_trace_key(_content(cell), seen) for cell in x.__closure__ or ()], _trace_key(x.__defaults__, seen)
    leaves, structure = tree.flatten(x)
    if structure is tree.LEAF or len(leaves) == 1 and leaves[0] is x:
        return "object", id(x)
    return structure, *[_trace_key(leaf, seen) for leaf in leaves]


def _content(cell):
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return None
