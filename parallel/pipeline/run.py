"""`pipeline`: value and gradients of a loss of functions in a row, each on the rank that has its parameters."""

from __future__ import annotations

import functools
import math
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ad import vjp
from ...dispatch import ShapeError, StructureError, describe, tree
from ...dsl.avals import dtype_of, shape_of
from ..communicator import world
from ..mesh import mesh_here
from .schedule import pipeline_schedule

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def pipeline(
    stages: Sequence[Callable[..., Any]],
    loss: Callable[..., Any],
    microbatches: int,
    schedule: str = "1f1b",
    axis: Any = None,
    mesh: Any = None,
) -> Callable[..., Any]:
    """A function that gives the loss of a model in stages, and its gradients, with the stages on different ranks.

    stages: functions f(params, x) -> y of arrays or trees of arrays of floating point. loss: function (y, target) -> number, a
    mean over the examples, which lie along axis 0. microbatches: the number of parts into which a batch is cut along axis 0;
    their lengths differ by at most one. schedule: see `pipeline_schedule`. axis, mesh: the axis of a mesh along whose ranks the
    stages lie; by default all ranks. Stages may be more or fewer than ranks.

    Returns step(params, x, target) -> (value, gradients). params: a sequence with the parameters of each stage, of which a rank
    looks at those of its own stages only: the others may be None. x: the whole batch, looked at by the rank of the first stage;
    target: by that of the last. value: the mean loss of the batch, on every rank. gradients: a list, None for the stages of
    other ranks. They are those of the model in one piece (sums are added up in another order): `step.schedule.owner` says which
    rank has which stage. A rank keeps what the ways back of a few microbatches need (`Schedule.in_flight`). What the stages
    share, such as the same weights twice, has a gradient in each; add them up.

    All ranks take the same ticks of the schedule together, and none sends what another does not expect. An error in a stage
    ends the job, with its reason. Raises StructureError for another number of parameters or activations that are no floating
    numbers, ShapeError for a batch of fewer examples than microbatches.

    >>> import numpy as np, polyad as pa
    >>> step = pa.pipeline([lambda w, x: x @ w, lambda b, x: x + b], lambda y, t: pa.mean((y - t) ** 2), microbatches=2)
    >>> value, (dw, db) = step([np.eye(2), np.zeros(2)], np.ones((4, 2)), np.zeros((4, 2)))
    >>> float(value)
    1.0
    """
    stages = list(stages)
    comm = world() if axis is None else (mesh or mesh_here()).along(axis)
    plan = pipeline_schedule(len(stages), microbatches, comm.size, schedule)
    forms: dict[Any, Any] = {}  # of what goes from stage to stage, by that of the batch

    def step(params, x, target):
        if len(params) != len(stages):
            raise StructureError(f"pipeline: {len(params)} parameters for {len(stages)} stages; None for those of other ranks")
        return _Step(stages, loss, plan, comm, forms).run(list(params), x, target)

    step.schedule = plan  # type: ignore[attr-defined]
    return step


class _Step:
    """One batch on its way through the stages and back."""

    def __init__(self, stages, loss, plan, comm, forms):
        self.stages, self.loss, self.plan, self.comm, self.forms = stages, loss, plan, comm, forms
        self.last = len(stages) - 1
        self.mine = [s for s, owner in enumerate(plan.owner) if owner == comm.rank]
        self.activations: dict[Any, Any] = {}  # (stage, microbatch) -> what comes into it
        self.cotangents: dict[Any, Any] = {}  # (stage, microbatch) -> of what goes out of it
        self.pulls: dict[Any, Any] = {}
        self.gradients: list[Any] = [None] * len(stages)
        self.value: Any = 0.0

    def run(self, params, x, target):
        self.params = params
        self._cut(x, target)
        for tick in self.plan.ticks:
            action = tick[self.comm.rank]
            sent = None if action is None else self._act(action)
            self._exchange(tick, sent)
        value = self.comm.bcast(np.float64(self.value), self.plan.owner[self.last], label="the loss of a pipeline")[()]
        return value, self.gradients

    def _cut(self, x, target):
        """Cut the batch; every rank knows of how many examples each part is."""
        first, final = self.plan.owner[0] == self.comm.rank, self.plan.owner[self.last] == self.comm.rank
        here = tree.leaves(x) if first else tree.leaves(target) if final else []
        lengths = {shape_of(leaf)[0] if shape_of(leaf) else 0 for leaf in here} or {0}
        known = zlib.crc32(repr(form_of(x, "a batch", "biufc")).encode()) if first else 0
        told = np.array([max(lengths) if first else 0, max(lengths) if final else 0, known])
        n, targets, known = (int(k) for k in self.comm.allreduce(told, "max", label="the batch of a pipeline"))
        if self.comm.size == 1 or first and final:
            targets = max([shape_of(leaf)[0] for leaf in tree.leaves(target)], default=n)
        count = self.plan.microbatches
        if len(lengths) > 1 or targets not in (0, n) or n < count:
            raise ShapeError(
                f"pipeline: {n} examples, {targets or n} targets and {count} microbatches; give as many examples as targets "
                "along axis 0, and at least one to each microbatch"
            )
        each, longer = divmod(n, count)
        ends = np.cumsum([0] + [each + (m < longer) for m in range(count)])
        self.parts = [slice(int(a), int(b)) for a, b in zip(ends, ends[1:], strict=False)]
        self.weights = [(part.stop - part.start) / n for part in self.parts]
        self.x, self.target, self.batch = x, target, (known, n)

    def _part(self, values, m):
        return tree.map(lambda leaf: leaf[self.parts[m]], values)

    def _act(self, action):
        """Do it; what has to be sent, if anything."""
        kind, stage, m = action
        return (self._forwards if kind == "F" else self._backwards)(stage, m)

    def _forwards(self, stage, m):
        f, x = self.stages[stage], self._part(self.x, m) if stage == 0 else self.activations.pop((stage, m))
        if stage == self.last:
            target = self._part(self.target, m)
            whole = lambda params, x: self.loss(f(params, x), target)
        else:
            whole = f
        if stage == 0:
            y, pull = vjp(functools.partial(_with_batch, whole, x), self.params[stage])
        else:
            y, pull = vjp(whole, self.params[stage], x)
        self.pulls[stage, m] = pull
        if stage == self.last:
            self.value = self.value + self.weights[m] * y
            self.cotangents[stage, m] = np.asarray(self.weights[m], dtype_of(y))[()]
            return None
        return y

    def _backwards(self, stage, m):
        cotangents = self.pulls.pop((stage, m))(self.cotangents.pop((stage, m)))
        here = self.gradients[stage]
        self.gradients[stage] = cotangents[0] if here is None else tree.map(lambda a, b: a + b, here, cotangents[0])
        return cotangents[1] if stage else None

    def _exchange(self, tick, sent):
        """Hand on what this tick has made: to a stage here at once, to others in one message each."""
        comm, parts, shapes, awaited, travels = self.comm, {}, {}, {}, False
        for rank, action in enumerate(tick):
            goal = None if action is None else self._goal(action)
            if action is None or goal is None:
                continue
            to = self.plan.owner[goal[0]]
            if to == rank:
                if rank == comm.rank:
                    self._take(action.kind, goal, sent)
                continue
            travels = True
            form = self._form_of_message(action, rank, sent)
            if rank == comm.rank:
                parts[to] = packed(sent)
            elif to == comm.rank:
                shapes[rank], awaited[rank] = (size_of_message(form),), (action.kind, goal, form)
        if travels:
            got = comm.swap(parts, shapes, np.uint8, label=f"a tick of a {self.plan.kind} pipeline")
            for rank, (kind, goal, form) in awaited.items():
                self._take(kind, goal, unpacked(got[rank], form))

    def _form_of_message(self, action, rank, sent):
        """The form of what goes from one stage to the next, or back: told to all the first time."""
        part = self.parts[action.microbatch]
        place = (action.stage if action.kind == "F" else action.stage - 1, part.stop - part.start, self.batch)
        here = form_of(sent, f"what stage {place[0]} gives") if rank == self.comm.rank else None
        if place not in self.forms:
            self.forms[place] = self.comm.gather_objects(here, label="the form of what a stage gives")[rank]
        if here is not None and here != self.forms[place]:
            raise StructureError(
                f"pipeline: stage {place[0]} gave {self.forms[place]} for such a batch before, and now {here}; make another "
                "pipeline for it"
            )
        return self.forms[place]

    def _goal(self, action):
        """The stage and microbatch to which the result of an action goes."""
        kind, stage, m = action
        if kind == "F":
            return None if stage == self.last else (stage + 1, m)
        return None if stage == 0 else (stage - 1, m)

    def _take(self, kind, goal, value):
        (self.activations if kind == "F" else self.cotangents)[goal] = value


def _with_batch(whole, x, params):
    return whole(params, x)


# ---------------------------------------------------------------------- what travels
def form_of(value, what, kinds="fc"):
    """The structure of a tree with shape and dtype of each leaf. Raises StructureError for leaves of other kinds."""
    leaves, structure = tree.flatten(value)
    for leaf in leaves:
        if dtype_of(leaf).kind not in kinds:
            raise StructureError(f"pipeline: {what} has {describe(leaf)}; only floating numbers go on, for their derivatives")
    return tree.unflatten(structure, [LeafForm(tuple(shape_of(leaf)), dtype_of(leaf).str) for leaf in leaves])


class LeafForm:
    """Shape and dtype of an array that travels."""

    def __init__(self, shape, dtype):
        self.shape, self.dtype = shape, dtype

    def __eq__(self, other):
        return type(other) is LeafForm and (self.shape, self.dtype) == (other.shape, other.dtype)

    def __repr__(self):
        return f"{np.dtype(self.dtype)}{list(self.shape)}"

    @property
    def nbytes(self):
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize


def size_of_message(form):
    """The number of bytes of all leaves."""
    return sum([leaf.nbytes for leaf in tree.leaves(form)])


def packed(value):
    """The bytes of all leaves in a row."""
    flat = [np.ascontiguousarray(leaf).reshape(-1).view(np.uint8) for leaf in tree.leaves(value) if np.size(leaf)]
    return np.concatenate(flat) if flat else np.zeros(0, np.uint8)


def unpacked(data, form):
    """A tree from the bytes of its leaves."""
    leaves, structure = tree.flatten(form)
    ends = np.cumsum([leaf.nbytes for leaf in leaves])
    parts = np.split(data, ends[:-1])
    arrays = [part.copy().view(leaf.dtype).reshape(leaf.shape) for part, leaf in zip(parts, leaves, strict=True)]
    return tree.unflatten(structure, arrays)
