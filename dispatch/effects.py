"""Operations with an effect beside their result (printing, a callback that keeps state): once per executed step.

Whatever such an operation is applied to, each transformation around it that repeats or records the user's function must see
it: a trace makes it a step of its program, a map whose lanes split keeps what has happened so that a second run of the
function does not repeat it. So the first argument becomes a value of these transformations.
"""

from contextlib import contextmanager
from contextvars import ContextVar

from .errors import LeakedLayerError
from .layers import Layer, current_depth, layers_of, open_runs, snapshot

_memory: ContextVar["Remembered | Replayed | None"] = ContextVar("polyad_effects", default=None)  # of the code that is run


def through_surroundings(generic, target):
    """The target of an operation that may have an effect, called such that the transformations around see it."""
    spread, card = generic.spread, generic.card
    in_steps = card.rules.get("steps")  # each effect by itself, as in the user's own loop

    def run(*args, **params):
        memory, acts = _memory.get(), card.acts(params)
        while type(memory) is Replayed:
            if (acts or card.collective) and memory.holds_here():
                return memory.recall(effect_name(generic, params), lambda: run(*args, **params))
            memory = memory.outer
        if not acts:
            return target(*args, **params)
        if in_steps is not None:
            here = effects_are_kept() and not any([x.below is None for y in args for x in layers_of(y)])
            if here or any([witness.takes_steps(generic.name, params) for witness in _witnesses()]):
                return in_steps(*args, **params)
        if memory is not None:
            return memory.recall(effect_name(generic, params), lambda: run(*args, **params))
        runs = _witnesses()
        if not all(any(part.run is run for x in args for part in layers_of(x)) for run in runs):
            return spread(within(args[0], runs), *args[1:], **params)
        deepest = max([x for x in args if isinstance(x, Layer)], key=lambda x: x.depth, default=None)
        if deepest is not None and not deepest.run.counts and "elsewhere" in card.rules:
            params = card.rules["elsewhere"](params)
        perform = lambda: target(*args, **params)
        return perform() if deepest is None else deepest.run.once(generic.name, perform)

    return run


def effect_name(generic, params):
    """Name what is called: an operation, and the user's function where it stands for one."""
    f = params.get("f")
    return generic.name if f is None else f"{generic.name} of {getattr(f, '__name__', type(f).__name__)}"


def effects_are_kept():
    """Return whether code around this point keeps what operations with an effect give, one by one, because it may run the
    user's function again: then a program with such operations is run step by step, as the function was when it was traced."""
    return _memory.get() is not None or any([run.sees_effects for run in open_runs()])


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
    """The results of operations with an effect in a first run of some code, so that a second run repeats none of them.

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


class Replayed:
    """The results of operations with an effect, and of collectives, from before the code that calls them has come to them:
    within it the code does not repeat these, but carries out what has not happened.

    results: pairs (the `effect_name`, its result), in order.
    """

    def __init__(self, results):
        self.results = list(results)

    def __enter__(self):
        self.outer, self.depth = _memory.get(), current_depth()
        _memory.set(self)
        return self

    def __exit__(self, *error):
        _memory.set(self.outer)

    def holds_here(self):
        """Return whether what is called here is carried out now: no trace inside records it for later."""
        return not any([run.depth > self.depth and run.records and run.of_values for run in open_runs()])

    def recall(self, what, perform):
        """The result of an operation, if it has happened, or of carrying it out."""
        for i, (name, y) in enumerate(self.results):
            if name == what:
                del self.results[i]
                return y
        token = _memory.set(self.outer)
        try:
            return perform()
        finally:
            _memory.reset(token)
