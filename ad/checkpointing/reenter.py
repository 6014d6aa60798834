"""Going on in a transformation that has ended: to run a function once more exactly where it ran before.

The transformations that were under way when the function ran (passes over lanes, derivatives) are open again for the time of
the second run, with what they had recorded set aside, so that all values the function reads, its arguments and those from
outside, mean what they meant.
"""

from contextlib import ExitStack, contextmanager

from ...dispatch import current_depth, innermost_run, open_runs
from ...dispatch.layers import current_run
from ...dsl.axes import _axes, enclosing_axes
from ...dsl.layers.batching import LanesRun
from ..forward.duals import ForwardRun
from ..locks import alone
from ..reverse.depths import at_work
from ..reverse.tape import ReverseRun
from ..styles.variable_nodes import VariableRun
from ..taylor.series import SeriesRun


class Moment:
    """The transformations under way at a point of the program, and how far each has come."""

    def __init__(self, others=()):
        self.runs = open_runs()
        self.others = [run for run in others if run not in self.runs]  # of values that outlast their surroundings
        self.axes = enclosing_axes()
        self.keepings = [(run, run.state()) for run in at_work.get()]
        self.lengths = {run: len(run.tape) for run in (*self.runs, *self.others) if _on_tape(run)}
        self.lanes = {run: (run.position, len(run.log), run.example) for run in self.runs if isinstance(run, LanesRun)}
        self.growing = {run: run.growing for run in self.runs if isinstance(run, SeriesRun)}

    @contextmanager
    def again(self, run):
        """Let what ended since go on, and `run`, a reverse pass, record on a tape of its own. Gives the place where that
        begins."""
        with alone((*self.runs, *self.others)):
            resumed = [r for r in (*self.runs, *self.others) if r is run or r.closed or r in self.growing]
            kept = [_set_aside(r) for r in resumed]
            outer, axes = current_run.set(self.runs[0] if self.runs else None), _axes.set(self.axes)
            working = at_work.set(tuple([keeping for keeping, _ in self.keepings]))
            try:
                for r in resumed:
                    self._open(r)
                with ExitStack() as stack:
                    for keeping, state in self.keepings:
                        stack.enter_context(keeping.resumed(state))
                    yield len(run.tape)
            finally:
                at_work.reset(working)
                _axes.reset(axes)
                current_run.reset(outer)
                for r, state in zip(resumed, kept, strict=True):
                    _restore(r, state)

    def _open(self, run):
        run.closed = False
        if _on_tape(run):  # a new tape, on which no place is one of the tape before
            run.tape = [None] * max(len(run.tape), self.lengths[run])
            run.required = []
            run.append = run.tape.append
        elif isinstance(run, LanesRun):
            position, logged, run.example = self.lanes[run]
            run.position, run.log = position, run.log[:logged]
            run.axis.run = run
        elif run in self.growing:
            run.growing = self.growing[run]


@contextmanager
def surrounded(keeping):
    """Count a keeping run, whose values are met here, among the surroundings; None: none."""
    if keeping is None:
        yield
        return
    keeping.outer = innermost_run()
    token = None if current_depth() >= keeping.depth else current_run.set(keeping)
    try:
        with keeping.working():
            yield
    finally:
        if token is not None:
            current_run.reset(token)


@contextmanager
def separate_store():
    """Keep apart, for this block alone, what forward derivatives store for later (forward/shared_derivatives.py)."""
    before = [(run, run.kept) for run in open_runs() if isinstance(run, ForwardRun)]
    for run, kept in before:
        run.kept = dict(kept)
    try:
        yield
    finally:
        for run, kept in before:
            run.kept = kept


def _on_tape(run):
    return isinstance(run, ReverseRun) and not isinstance(run, VariableRun)


def _set_aside(run):
    state = {"closed": run.closed}
    if _on_tape(run):
        state.update(tape=run.tape, append=run.append, required=run.required)
    elif isinstance(run, LanesRun):
        state.update(position=run.position, log=run.log, example=run.example)
        state["axis"] = (run.axis.run, run.axis.answers)
    elif isinstance(run, SeriesRun):
        state["growing"] = run.growing
    return state


def _restore(run, state):
    axis = state.pop("axis", None)
    for name, value in state.items():
        setattr(run, name, value)
    if axis is not None:
        run.axis.run, run.axis.answers = axis
