"""Watching calls: which operation is being called, inside which other, for tools that explain what happens.

Off, it costs nothing: the tables hold the bare targets. While somebody watches, each target is wrapped; switching clears the
tables. `step()` is then the innermost thing under way, a chain through `outer`.
"""

from contextlib import contextmanager
from contextvars import ContextVar

from .effects import through_surroundings
from .generic import Generic, clear_all
from .resolve import resolve

_step: ContextVar["Step | None"] = ContextVar("polyad_step", default=None)
watchers = {}  # watcher -> function(step, args, params, y) called after each outermost call of an operation, or None
LIBRARY = __name__.partition(".")[0]


class Step:
    """Something under way. kind: "call" of an operation, derivative "rule" of one, "walk" back over a tape, "program".

    place: (file, line) of the user's call that it belongs to, where it is not the one under way. open: what is called inside
    is looked at by itself, since it is the user's own or belongs to no operation.
    """

    __slots__ = ("kind", "name", "open", "outer", "place")

    def __init__(self, kind, name, outer, place=None, open=False):
        self.kind, self.name, self.outer, self.place, self.open = kind, name, outer, place, open

    def chain(self):
        """This step and those around it, innermost first."""
        step = self
        while step is not None:
            yield step
            step = step.outer


def step():
    """The innermost step under way, or None; known only while calls are watched."""
    return _step.get()


@contextmanager
def stepping(kind, name, place=None, open=False):
    """Say that what runs in this block is part of such a step."""
    token = _step.set(Step(kind, name, _step.get(), place, open))
    try:
        yield
    finally:
        _step.reset(token)


@contextmanager
def users_code():
    """Say that what runs in this block is the user's function again, called from inside an operation or a rule."""
    token = _step.set(None)
    try:
        yield
    finally:
        _step.reset(token)


def watch(watcher, after=None):
    """Watch all calls on behalf of an object, until `unwatch`."""
    watchers[watcher] = after
    if len(watchers) == 1:
        clear_all()


def unwatch(watcher):
    """End a `watch`."""
    if watchers.pop(watcher, watchers) is not watchers and not watchers:
        clear_all()


def _watched_target(generic, target):
    ours = generic.function.__module__.partition(".")[0] == LIBRARY

    def run(*args, **params):
        outer = _step.get()
        users = params.get("call")  # the operation stands for a function of the user's with rules of its own
        step = Step("call", getattr(users, "name", generic.name), outer, open=not ours or users is not None)
        token = _step.set(step)
        try:
            y = target(*args, **params)
        finally:
            _step.reset(token)
        if outer is None or outer.open:
            for after in dict.fromkeys(watchers.values()):
                if after is not None:
                    after(step, args, params, y)
        return y

    return run


def resolve_call(generic, types, args):
    """The target for arguments of these types, as seen by the transformations around and by those who watch."""
    target = resolve(generic, types, args)
    card = generic.card
    if card is None:
        return target
    if card.effect or "lift" in card.rules or card.collective:
        target = through_surroundings(generic, target)
    return _watched_target(generic, target) if watchers else target


Generic.resolve = staticmethod(resolve_call)
