"""`checkpoint`: derivatives that compute the inside of a function again instead of keeping it.

The function runs as always. Then each tape that recorded it forgets what it recorded and keeps one node in its place, whose
parents are all values that the function read, arguments or not. The walk back runs the function once more, on the same tape at
the same place (reenter.py), and walks back over what that records. That walk is a checkpoint itself for the derivatives around
it. A trace keeps one equation in the same way; `jit` does not, which decides by itself what its gradient keeps.
"""

from __future__ import annotations

import functools
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, overload

from ...dispatch import (
    Layer,
    MethodError,
    MutationError,
    Remembered,
    describe,
    innermost_run,
    snapshot,
    tree,
)
from ...dispatch.call_watchers import users_code
from ...dsl import composite
from ...dsl.ir.programs import Equation, Program, Var, evaluate
from ...dsl.ir.source import expression, tuple_of
from ...dsl.layers.tracing import Traced, TraceRun
from ...dsl.mutation_checks import check_sealed, sealed, watching
from ..inputs import title
from ..reverse.depths import at_work
from ..reverse.tape import ReverseRun
from ..rules.nan_safe import product
from ..styles.variable_nodes import Leaf, recording
from ..styles.variables import variables_run
from ..taylor.series import SeriesRun
from .policies import everything
from .recompute import Fold, TapeFold, VariableFold, layers_in, without
from .reenter import Moment, separate_store
from .saved import MUST_REPEAT, KeepingRun

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...dispatch.annotations import P, T


@overload
def checkpoint(f: Callable[P, T], policy: Callable[..., Any] | None = None) -> Callable[P, T]: ...
@overload
def checkpoint(f: None = None, policy: Callable[..., Any] | None = None) -> Callable[[Callable[P, T]], Callable[P, T]]: ...
def checkpoint(f: Callable[..., Any] | None = None, policy: Callable[..., Any] | None = None) -> Any:
    """f, whose derivatives run it again instead of keeping what it computes: memory for time.

    f: function of arrays or trees; without it, a decorator with these options. policy: what is kept beside the arguments and
    not computed again (see `polyad.policies`); None: nothing. Of a chain of n such functions, reverse mode keeps n arguments
    and the inside of one; f runs twice for a gradient, once for its value, once more in the walk back. f may read followed
    values from outside; it must do the same each time and change none of its arguments. Works at every order, under every
    transformation, in programs; forward mode keeps nothing anyway. Raises MutationError where the second run differs.

    >>> import numpy as np, polyad as pa
    >>> block = pa.checkpoint(lambda x: pa.sin(pa.cos(x)))
    >>> pa.grad(lambda x: pa.sum(block(block(x))))(np.zeros(2))
    array([0., 0.])
    """
    if f is None:
        return functools.partial(checkpoint, policy=policy)
    for what, given in (("f", f), ("policy", policy)):
        if given is not None and not callable(given):
            raise MethodError(f"checkpoint: {what} is a function, not {describe(given)}; write checkpoint(f, policy=…)")
    if policy is everything:
        return f
    name = title("checkpoint", f)

    @functools.wraps(f)
    def checkpointed(*args, **kwargs):
        if innermost_run() is None and not Leaf.made:  # nothing records
            return f(*args, **kwargs)
        return Recomputed(name, f, policy, args, kwargs).first()

    return checkpointed


class Recomputed:
    """One call of a function that may run again. given: the arguments as they were."""

    def __init__(self, name, f, policy, args, kwargs):
        self.name, self.f, self.policy = name, f, policy
        self.args = args, kwargs
        self.given = tree.map(snapshot, self.args)
        self.masks = product.masks  # derivatives inside multiply in the same way in each run
        self.effects = Remembered()  # which happen in the first run alone

    @property
    def short_name(self):
        return self.name.removeprefix("checkpoint(").removesuffix(")")

    def derived(self, f, *args):
        """A call that is part of this one's derivative."""
        return Recomputed(self.name, f, None, args, {})

    def first(self):
        """The value; what tapes and traces recorded is folded."""
        inside = {x.run for leaf in tree.leaves(self.given) for x in layers_in(leaf)}
        moment = Moment([run for run in inside if not run.closed])
        runs = [*moment.runs, *moment.others]
        tapes = [run for run in runs if isinstance(run, ReverseRun) and not run.closed and run is not variables_run]
        shallow = max([run.depth for run in runs if _reads_on(run)], default=0)  # whose values keep what they were made of
        tapes = [run for run in tapes if run.depth > shallow]
        traces = [(run, len(run.equations)) for run in runs if type(run) is TraceRun and run.depth > shallow]
        folds: list[Fold] = [TapeFold(self, moment, run) for run in tapes]
        if recording.get() and not shallow:
            folds.append(VariableFold(self, moment, variables_run))
            tapes += [variables_run] if variables_run in inside else []
        if not folds and not traces:
            args, kwargs = self.args
            return self.f(*args, **kwargs)
        self.seals = sealed(tree.leaves(self.given)) if watching.get() else ()
        self.deepest = max(tapes, key=lambda run: run.depth, default=None)
        if self.deepest and any(isinstance(run, TraceRun) and run.depth > self.deepest.depth for run in runs):
            self.deepest = None  # nothing happens on that tape until the program of the trace is run
        self.keeping = self._keeping()
        self.around = [(keeping, keeping.count) for keeping in at_work.get() if not keeping.again and not keeping.passive]
        with self.effects, separate_store():
            results = self._run(self.args, self.keeping)
            for fold in folds:
                results = fold.folded(results)
        y, kept, others = results
        if self.keeping:
            self.keeping.kept = kept
        for (keeping, _), part in zip(self.around, others, strict=True):
            keeping.kept.update(part)
        for run, mark in traces:
            _fold_trace(self, run, results, mark)
        return y

    def _keeping(self, first=None):
        if self.policy is None or self.deepest is None:
            return None
        return KeepingRun(self.name, self.policy, self.deepest, first)

    def _run(self, given, keeping):
        """(value, what is kept beside it, and what checkpoints around keep of it)."""
        args, kwargs = given if keeping is None else tree.map(keeping.below, given)
        with nullcontext() if keeping is None else keeping.working():
            y = self.f(*args, **kwargs)
        if given is self.args and not all(map(_unchanged, tree.leaves(given), tree.leaves(self.given))):
            raise MutationError(f"{self.name}: the function changed one of its arguments; {MUST_REPEAT}")
        others = [around.since(count) for around, count in self.around]
        if keeping is None:
            return y, {}, others
        keeping.passive = True
        return tree.map(lambda leaf: without(leaf, keeping), y), keeping.kept, others

    def again(self, run):
        """(value and what is kept, the keeping run) once more, for the derivative by one record."""
        check_sealed(self.seals, self.name, "its derivative")
        keeping = self._keeping(self.keeping if run is self.deepest else None)
        with self.effects.again(), product.masking(self.masks), users_code():
            return self._run(tree.map(snapshot, self.given), keeping), keeping


def _reads_on(run):
    """Return whether a transformation goes on with what was computed inside: linear parts, series in rules, and `jit`, which
    runs its steps whenever Python asks for a value."""
    return not run.of_values or isinstance(run, SeriesRun) and run.growing or isinstance(run, TraceRun) and run.answers


def _unchanged(x, given):
    """Return whether a value is what it was."""
    return not isinstance(x, Layer) or all(getattr(x, name) is getattr(given, name, None) for name in x.state)


# ---------------------------------------------------------------------- programs
@composite(kernel=None, numpy=(), spelled="checkpoint", no_rule={
    "samples": "it takes programs; tests/ad/checkpointing/test_checkpoint.py has examples",
})  # fmt: skip
def checkpointed_call(*arrays, program, policy=None):
    """The results of a program of flat arrays as a tuple, computed again for derivatives.

    arrays: of the shapes and dtypes of the program's inputs. policy: as for `checkpoint`. Raises ShapeError.
    """
    run = lambda *xs: tuple(evaluate(program, xs))
    return Recomputed(f"checkpoint({program.name})", run, policy, arrays, {}).first()


@checkpointed_call.rule("shape")
def checkpointed_call_shape(*arrays, program, policy=None):
    return tuple([v.aval for v in program.outputs])


@checkpointed_call.rule("code")
def checkpointed_call_code(writer, inputs, outputs, program, policy=None):
    said = "" if policy is None else f", policy={expression(policy)}"
    called = f"pa.checkpoint({writer.function(program, (), None, None)}{said})({', '.join(inputs)})"
    return f"{tuple_of(outputs)} = {called}"


@checkpointed_call.rule("inline")
def checkpointed_call_inline(*arrays, program, policy=None):
    return program


def _fold_trace(recomputed, run, y, mark):
    """One equation in place of all from `mark` on."""
    inside = run.equations[mark:]
    defined = {v for e in inside for v in e.outputs}
    found = [x.variable for leaf in tree.leaves(y) for x in layers_in(leaf) if isinstance(x, Traced) and x.run is run]
    outputs = [v for v in dict.fromkeys(found) if v in defined]
    read = list(dict.fromkeys([v for e in inside for v in e.inputs if isinstance(v, Var) and v not in defined]))
    if not outputs or not read or all(e.op is checkpointed_call for e in inside):
        return
    program = Program(recomputed.short_name, read, [], inside, outputs, None, None)
    run.equations[mark:] = [Equation(checkpointed_call, read, {"program": program, "policy": recomputed.policy}, outputs)]
