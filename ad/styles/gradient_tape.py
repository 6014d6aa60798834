"""`Tape`: derivatives of what a block of code computes, in TensorFlow's style.

A thin form of the reverse layer, for code that has no function to differentiate. A tape follows only what it was told to
watch; `polyad.grad` of a function is the first choice: it cannot be used too late, keeps nothing, and nests by itself.
"""

import functools
import operator
from typing import Any, Literal, Self, TypeVar

from ...dispatch import Layer, LeakedLayerError, MutationError, StructureError, describe, settled, tree
from ...dispatch.callers import caller
from ..inputs import as_inputs, check_inexact, inexact
from ..jacobians import jacobian_rows
from ..locks import owner_of, walk_alone
from ..reverse.persistent import Lasting
from ..reverse.tape import Reverse, ReverseRun
from ..subgraphs import Between, flattened

T = TypeVar("T")


class Taped(Lasting):
    """A value that a tape follows; when the tape's block ends, it is the plain value."""

    __slots__ = ()


def _in_place(name):
    plain = getattr(operator, f"__{name}__")
    followed = getattr(Reverse, f"__i{name}__")
    return lambda self, other: followed(self, other) if self.followed else plain(settled(self), other)


for symbol in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift"):
    setattr(Taped, f"__i{symbol}__", _in_place(symbol))


class TapeRun(ReverseRun):
    """The recording of a tape."""

    __slots__ = ()
    kind = Taped

    def constant(self, value):
        return value if self.closed else super().constant(value)

    def written(self, x, new, others):
        if self.closed:
            raise MutationError(
                f"a write to a value of {self.name} (entered at {self.where}), which has ended; write to a copy, np.array(x)"
            )
        return False


class Tape:
    """Record a block of code for derivatives by what it watches.

    persistent: whether `gradient` and `jacobian` may be called more than once; what was recorded is kept until the tape
    itself is gone, and after one call otherwise.
    `x = tape.watch(x)` returns the value to compute with. Where the block ends, or at the only call of `gradient` within
    it, recording ends, and values followed so far are plain arrays from there on. What is computed later cannot be
    differentiated, and asking for it is an error, never None. Tapes nest: the outer one records what `gradient` of the
    inner one computes, for second derivatives. Raises LeakedLayerError where tapes end in another order than begun.

    >>> import numpy as np, polyad as pa
    >>> with pa.Tape() as tape:
    ...     x = tape.watch(np.array([1.0, 2.0]))
    ...     y = pa.sum(x**3)
    >>> tape.gradient(y, x)
    array([ 3., 12.])
    >>> float(y), x + 1
    (9.0, array([2., 3.]))
    """

    def __init__(self, persistent: bool = False) -> None:
        self.persistent = persistent
        self._run: Any = None
        self._spent: Any = None

    def __enter__(self) -> Self:
        if self._run is not None:
            raise LeakedLayerError("Tape: a tape records one block; make another for another block")
        self._run = TapeRun("Tape").__enter__()
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        self._owner = owner_of(self._run)
        return self._run.__exit__(kind, error, traceback)

    def watch(self, x: T) -> T:
        """x as values that the tape follows, to compute with from here on: `x = tape.watch(x)`.

        x: floating or complex array, or tree; several come back as a tuple from `tape.watch((w, b))`. Raises DTypeError for
        integers, LeakedLayerError outside of the tape's block.
        """
        run = self._recording("watch")
        check_inexact("Tape.watch", 0, x)
        leaves, structure = tree.flatten(x)
        values = as_inputs("Tape.watch", 0, leaves, x)
        return tree.unflatten(structure, run.inputs(values))

    def gradient(self, target: Any, sources: Any, ct: Any = None, unconnected: Literal["zero", "none"] = "zero") -> Any:
        """The gradient of a number by what was watched, or by what was computed from it.

        target: one real number computed on the tape; or any array or tree of them with ct, its cotangent of the same
        structure and shapes. sources: value of the tape, or tree of them; the result has its structure. unconnected: "zero"
        or "none", what to return for a source on which the target does not depend.
        Raises StructureError if the target or a source is not on the tape, ShapeError, DTypeError; LeakedLayerError if the
        tape is not persistent and was asked before.
        """
        back = self._pullback("Tape.gradient", target, sources)
        self._spend()
        return back.gradient(ct, unconnected)

    def jacobian(self, target: Any, sources: Any) -> Any:
        """The Jacobian of an array or tree by sources, each leaf of shape (target's shape, source's shape); see `jacrev`.

        Zero where the target does not depend on a source; errors as for `gradient`.
        """
        back = self._pullback("Tape.jacobian", target, sources)
        self._spend()
        return jacobian_rows(back)

    def _recording(self, method):
        run = self._run
        if run is None or run.closed:
            when = "has not begun" if run is None else "has ended"
            raise LeakedLayerError(f"Tape.{method}: the recording {when}; call it inside the block, `with Tape() as tape:`")
        return run

    def _pullback(self, name, target, sources):
        run = self._run
        if self._spent is not None:
            raise LeakedLayerError(
                f"{name}: this tape was used before (at {self._spent}) and has given its memory back; ask for all sources "
                "in one call, gradient(y, (a, b)), or make it Tape(persistent=True)"
            )
        if run is None:
            run = self._recording(name.partition(".")[2])
        results = flattened(target, self._target)
        if not any([key is not None for key in results[2]]):
            raise StructureError(
                f"{name}: the target, {_described_target(target)}, was not computed from values of this tape while it "
                "was recording; compute it inside the block, from what `x = tape.watch(x)` returned"
            )
        sources = flattened(sources, functools.partial(self._source, name))
        with walk_alone(run):
            return Between(name, run.tape.__getitem__, lambda place: place, sources, results, run.required)

    def _own(self, x):
        """x as a value of this tape, found under those of inner tapes that have ended, or None."""
        while isinstance(x, Lasting):
            if x.run is self._run:
                return x
            if x.followed:
                return None
            x = x.below
        return None

    def _target(self, leaf, path):
        own = self._own(leaf)
        return (settled(leaf), None) if own is None else (own.value, own.index)

    def _source(self, name, leaf, path):
        own = self._own(leaf)
        if own is not None:
            return own.value, own.index
        if not isinstance(leaf, Layer) and not inexact(leaf):
            return leaf, None
        raise StructureError(
            f"{name}: source{path}, {describe(leaf)}, is not on this tape; use and pass what `x = tape.watch(x)` returned"
        )

    def _spend(self):
        """Give the record back after the only use of a tape that is not persistent."""
        if not self.persistent:
            self._spent = "{}:{}".format(*caller() or ("an unknown place", 0))
            self._run.close()
            self._run.tape, self._run.required = [], []


def _described_target(target):
    leaves, structure = tree.flatten(target)
    return describe(leaves[0]) if structure is tree.LEAF else f"a tree of {len(leaves)} leaves"
