"""Operations with an effect beside their result (printing, a callback that keeps state): once per executed step.

Whatever such an operation is applied to, each transformation around it that repeats or records the user's function must see
it: a trace makes it a step of its program, a map whose lanes split keeps what has happened so that a second run of the
function does not repeat it. So the first argument becomes a value of these transformations.
"""

from contextlib import contextmanager
from contextvars import ContextVar

from .errors import LeakedLayerError
from .layers import Layer, layers_of, open_runs, snapshot

_memory = ContextVar("polyad_effects", default=None)  # the `Remembered` of the code that is run, or None


def through_surroundings(generic, target):
    """The target of an operation that may have an effect, called such that the transformations around see it."""
    spread, card = generic.spread, generic.card

    def run(*args, **params):
        if not card.acts(params):
            return target(*args, **params)
        memory = _memory.get()
        if memory is not None:
            return memory.recall(generic.name, lambda: run(*args, **params))
        runs = _witnesses()
        if not all(any(part.run is run for x in args for part in layers_of(x)) for run in runs):
            return spread(within(args[0], runs), *args[1:], **params)
        deepest = max([x for x in args if isinstance(x, Layer)], key=lambda x: x.depth, default=None)
        perform = lambda: target(*args, **params)
        return perform() if deepest is None else deepest.run.once(generic.name, perform)

    return run


def _witnesses():
    """The runs that must see an effect at this point, innermost first; what lies outside of a trace sees its program run."""
    runs = []
    for run in open_runs():
        if run.sees_effects:
            runs.append(run)
        if run.records and run.of_values:
            break
    return runs


def within(x, runs):
    """x as a value of all these runs, deepest first, the same as it is in each."""
    if not runs:
        return x
    run, *outer = runs
    if not isinstance(x, Layer) or x.depth < run.depth:
        return run.same(within(x, outer))
    if x.below is None:
        return x
    y = snapshot(x)
    setattr(y, "value" if "value" in x.state else "primal", within(x.below, outer if x.run is run else runs))
    return y


class Remembered:
    """What operations with an effect gave in a first run of some code, so that a second run repeats none of them.

    with memory: … around the first run, with memory.again(): … around each later one, which must do the same.
    """

    def __init__(self):
        self.results, self.position = [], None

    def __enter__(self):
        self.outer = _memory.get()
        _memory.set(self)
        return self

    def __exit__(self, *error):
        _memory.set(self.outer)

    @contextmanager
    def again(self):
        outer, before = _memory.get(), self.position
        self.position = 0
        _memory.set(self)
        try:
            yield
        finally:
            _memory.set(outer)
            self.position = before

    def recall(self, name, perform):
        """The result of an operation with an effect: that of the first run, in a later one."""
        if self.position is None:
            token = _memory.set(self.outer)
            try:
                y = perform()
            finally:
                _memory.reset(token)
            self.results.append((name, y))
            return y
        if self.position == len(self.results) or self.results[self.position][0] != name:
            raise LeakedLayerError(f"{name}: code that is run again for a derivative called it where it did not before")
        self.position += 1
        return self.results[self.position - 1][1]
