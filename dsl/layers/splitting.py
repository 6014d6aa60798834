"""Where `vmap` splits: Python asks for one answer of all lanes, and they disagree.

The answer of lanes that agree is theirs. Else `Split` leaves the user's function with the lanes grouped by their answers, and
vmap.py runs it again for each group. A part that reaches a collective stops likewise, with `Need`.
"""

import zlib
from typing import Any

import numpy as np

from ...dispatch import LaneSplitError, Layer, layers_of, refuse
from ..array_libraries import host_copy
from ..avals import ndim_of
from ..ops.indexing import index
from ..ops.shape import concatenate
from ..ops.sorting import argsort

SAME_ANSWERS, TURNS = 100, 500  # a map without lanes answers no so many times, then yes, so many turns in all


class Split(BaseException):
    """Lanes disagree on an answer that Python needs. Not an Exception, so that user code does not catch it."""

    def __init__(self, run, groups):
        self.run, self.groups = run, groups


class Need(BaseException):
    """A part of the lanes reached a collective; `value` is its contribution, a `Stacked`, `log` where its result belongs."""

    def __init__(self, run, signature, value, perform, log):
        self.run, self.signature, self.value, self.perform, self.log = run, signature, value, perform, log


def collective_text(signature):
    """A collective's signature as text."""
    name, shape, dtype = signature
    return f"{name} of {dtype or 'number'}{list(shape)}"


def fits(signature, other):
    """Return whether two parts of the lanes mean the same collective; a Python number takes any dtype."""
    return signature[:2] == other[:2] and (signature[2] == other[2] or None in (signature[2], other[2]))


def lane_numbers(lanes):
    """The numbers of some lanes as a list; under jit it is told, and what it records holds for these lanes alone."""
    return concrete(lanes).tolist() if isinstance(lanes, Layer) else lanes


def concrete(x: Any) -> Any:
    """x as a plain NumPy array, through all layers: what Python's `if` and indices ask for.

    x: an array, a number or a value that transformations follow. For `concrete` of a `polyad.Layer`, which returns that of the
    value below. Raises ConcreteValueError where there is no single number, as in a program.

    >>> import numpy as np, polyad as pa
    >>> pa.concrete(2.0)
    array(2.)
    """
    return x.concrete() if isinstance(x, Layer) else host_copy(x)


# ---------------------------------------------------------------------- the decision
def answer_of_lanes(x):
    """The one answer of all lanes, or a Split into the groups that agree."""
    if ndim_of(x.value) == 1 and x.run.size > 1 and not x.run.axis.spans_processes and _asked_by_jit(x.value):
        return _in_order(x)
    if x.run.axis.spans_processes:
        _leave_jit(x.value)
    answers = concrete(x.value)
    if len(answers) == 0:
        return _undetermined(x.run, answers)
    if answers.dtype.kind in "fc":
        refuse(x, "the value", "lanes can be split by booleans and integers only, such as x.astype(int)")
    rows = answers.reshape(len(answers), -1)
    groups = {}
    for lane, row in enumerate(map(bytes, np.ascontiguousarray(rows))):
        groups.setdefault(row, []).append(lane)
    if len(groups) == 1:
        axis = x.run.axis
        if axis.spans_processes:
            axis.answers = zlib.crc32(next(iter(groups)) + b";", axis.answers)
        return answers[0]
    raise Split(x.run, list(groups.values()))


def _in_order(x):
    """As `answer_of_lanes` under jit, which asks for the answers in their order, and for that of the first lane: so what is
    recorded holds wherever as many lanes give each answer."""
    if x.dtype.kind in "fc":
        refuse(x, "the value", "lanes can be split by booleans and integers only, such as x.astype(int)")
    order = argsort(x.value)
    first, *answers = concrete(concatenate([x.value[:1], index(x.value, order, spec=("array",))]))
    answers = np.asarray(answers)
    ends = [0, *np.flatnonzero(answers[1:] != answers[:-1]) + 1, len(answers)]
    groups = [(answers[a] != first, order[a:b]) for a, b in zip(ends, ends[1:], strict=False)]
    if len(groups) == 1:
        return first
    raise Split(x.run, [lanes for _, lanes in sorted(groups, key=lambda group: group[0])])


def _undetermined(run, answers):
    """An answer where there are no lanes: no for a while, so that `while c` ends, then yes, for `while not c`."""
    turn, run.asked = run.asked // SAME_ANSWERS, run.asked + 1
    if turn >= TURNS:
        raise LaneSplitError(
            f"{run.name}: no lanes: the path is undetermined, and neither answer ends the loop; use where, or map "
            "at least one lane"
        )
    return np.full(answers.shape[1:], turn % 2 and answers.dtype.kind == "b", answers.dtype)


def _asked_by_jit(x):
    """Return whether an answer of x is one that jit records."""
    while isinstance(x, Layer) and x.below is not None:
        x = x.below
    return isinstance(x, Layer) and getattr(x.run, "answers", False) and not x.run.performs


def _leave_jit(x):
    """Have a trace of jit that holds x go on eagerly: what it records of one process' lanes may not hold for another's."""
    leave_jit(
        x,
        "Python asks for values of lanes that lie on several processes, each of which may go another way; use "
        "polyad.where or polyad.cond",
    )


def leave_jit(x, reason):
    """Have a trace of jit that holds x go on eagerly, and say why."""
    for part in layers_of(x):
        if _asked_by_jit(part) and part.below is None:
            part.run.be_eager(reason)
