"""`variable`, `backward`, `grad`: derivatives of whatever was computed from variables, in PyTorch's style.

A thin form of the reverse layer, outside of all functions. A value holds what it was computed from, so a record lives as long
as its results; there is no list that grows. Limits: gradients are plain numbers (for derivatives of higher order use
`polyad.grad` of a function, which may read variables: `grad` and `vmap` take them as values around them, and what they
return can be sent backward), and neither variables are made nor `backward` is called inside a transformation.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from typing import Any, cast

import numpy as np

from ...dispatch import (
    ConcreteValueError,
    DTypeError,
    Layer,
    MutationError,
    ShapeError,
    StructureError,
    describe,
    innermost_run,
    isa,
    settled,
    tree,
)
from ...dsl import add, asarray
from ...dsl.avals import dtype_of, shape_of
from ...dsl.numpy_calls.operators import BUFFERS
from ...dsl.numpy_calls.scipy_names import instead
from ..inputs import as_inputs, check_inexact, inexact
from ..reverse.persistent import Lasting, question
from ..subgraphs import Between, ancestors
from .stores import stores
from .variable_nodes import Freed, Leaf, Node, VariableRun, entry_of, number_of, recording, shown

_lock = threading.Lock()  # gradients are added to from several threads


class Variable(Lasting):
    """A variable, or a result computed from variables. `polyad.variable(x)` makes variables."""

    __slots__ = ()
    index: Any
    answers = ("__bool__", "__format__", "__index__", "item", "tolist")

    def __init__(self, value, run, index):
        self.value, self.run = value, run
        if not isinstance(index, Node):
            index, run.local.last = run.local.last, None  # which would hold all that it came from
        self.index = index

    def standing(self):
        """Of a variable without axes a number, as it was most probably given: it is kept as an array."""
        kind = super().standing()
        return self.dtype.type if kind is np.ndarray and not self.shape and self.is_leaf else kind

    followed = property(lambda self: recording.get(), doc="Whether operations are recorded, as everywhere but in `no_grad`.")
    is_leaf = property(lambda self: type(self.index) is Leaf, doc="Whether this is a variable, not a result.")

    @property
    def grad(self):
        """A variable's gradient, the sum over all calls of `backward` so far, or None. It may be set."""
        return self._leaf("grad").grad

    @grad.setter
    def grad(self, value):
        leaf = self._leaf("grad")
        leaf.grad = None if value is None else _as_like("grad", value, leaf.value)

    def zero_grad(self):
        """Set a variable's gradient to None."""
        self._leaf("zero_grad").grad = None

    def detach(self):
        """The value as a plain array, read-only for a variable."""
        return self.value

    def assign(self, value):
        """Give a variable another value of its shape; derivatives do not follow that. Returns the variable.

        Results computed before keep the value they were computed with. Raises ShapeError, DTypeError, MutationError.
        """
        self._leaf("assign")
        self._store(value.value if isinstance(value, Variable) else value)
        return self

    def backward(self, ct=None, retain=False):
        """Add to the `.grad` of each variable behind this result its derivative.

        ct: the result's cotangent, of its shape; may be left out for one real number. retain: whether the record is kept for
        another `backward` through it; its memory is given back otherwise.
        Raises ShapeError and DTypeError for ct, StructureError where the record was given back or there is no variable behind,
        MutationError inside a transformation.
        """
        _outside("backward", "it adds to `.grad`; return the result and call backward there, or use polyad.grad of a function")
        nodes = ancestors(entry_of, [self.index])
        leaves = sorted([node for node in nodes if type(node) is Leaf], key=number_of)
        if not leaves:
            raise StructureError("backward: no variable is behind this result; nothing would get a gradient")
        values = [leaf.value for leaf in leaves]
        sources = values, tree.structure(values), leaves
        required = sorted([node for node in nodes if node.required], key=number_of)
        back = Between("backward", entry_of, number_of, sources, ([self.value], tree.LEAF, [self.index]), required)
        (grads,) = back.pull(back.seeds(ct))
        with _lock:
            for leaf, grad in zip(leaves, cast("Any", grads), strict=True):
                leaf.grad = grad if leaf.grad is None else add(leaf.grad, grad)
        if not retain:
            freed = Freed()
            for node in nodes:
                if type(node) is not Leaf:
                    node.entry = freed

    def _leaf(self, what):
        if type(self.index) is not Leaf:
            raise AttributeError(
                f"{what} of {shown(self)}: variables alone have gradients and are assigned to; for the gradient by an "
                "intermediate value use polyad.grad of a function of it, or polyad.Tape"
            )
        return self.index

    def _store(self, value):
        _outside("a write to a variable", "the write would outlast it; return the new value and assign it there")
        self.value = self.index.value = _kept(_as_like("a variable's new value", value, self.value))

    def __repr__(self):
        return f"variable({self.value!r})" if self.is_leaf else f"{type(self).__name__}({self.value!r})"

    def __str__(self):
        return str(self.value)

    def __hash__(self):
        """Of a variable which one it is, as a key of an optimiser's state; of results as of all followed values."""
        return object.__hash__(self) if self.is_leaf else super().__hash__()

    def __deepcopy__(self, memo):
        return variable(self.value) if self.is_leaf else self.copy()

    def __reduce_ex__(self, protocol):
        if self.is_leaf:
            return variable, (np.array(self.value) if isa(self.value, np.ndarray) else self.value,)
        raise StructureError(f"{shown(self)}: a result of variables cannot be pickled with its record; pickle x.detach()")


def _refused(what):
    def refuse(self, *args, **kwargs):
        ours = instead()
        first = f"use {ours}, or write" if ours else "write"
        raise ConcreteValueError(
            f"{what} of {shown(self)}: the derivative would be lost; {first} x.item() for the number, x.detach() for the "
            "array, or ask within `with polyad.no_grad():`"
        )

    return refuse


def _number_question(kind):
    """Python's question for the number: answered, unless it is to be stored where the derivative is lost."""

    def method(self):
        stored = stores(sys._getframe(1)) if recording.get() else None
        if stored is None:
            return kind(self.value)
        raise ConcreteValueError(
            f"{stored} of {shown(self)}, into a plain array: the derivative would be lost; {BUFFERS}, or write x.item() for "
            "the number alone"
        )

    return method


for kind in (complex, float, int):
    setattr(Variable, f"__{kind.__name__}__", _number_question(kind))
for asked in ("__array__", "__dlpack__"):
    setattr(Variable, asked, question(asked, _refused(asked.strip("_"))))
VariableRun.kind = Variable
variables_run = VariableRun()


def variable(x: Any) -> Any:
    """A variable, or a tree of them: results computed from it can be sent backward, to its gradient `x.grad`.

    x: floating or complex array or number, or tree of them; it is copied. In place of an optimiser: change a variable within
    `with polyad.no_grad(): x -= 0.1 * x.grad`, and set `x.grad = None` (`x.zero_grad()`) before the next step, since
    `backward` adds. `x.item()` and `x.detach()` give plain numbers and arrays.
    Raises DTypeError for integers, StructureError inside a transformation.

    >>> import numpy as np, polyad as pa
    >>> x = pa.variable(np.array([1.0, 2.0]))
    >>> pa.sum(x**2).backward()
    >>> x.grad
    array([2., 4.])
    >>> with pa.no_grad():
    ...     x -= 0.5 * x.grad
    >>> x
    variable(array([0., 0.]))
    """
    _outside("variable", "variables belong to no function; make it outside, or watch a value with polyad.Tape", StructureError)
    x = tree.map(lambda leaf: leaf.value if isinstance(leaf, Variable) else leaf, x)
    check_inexact("variable", 0, x)
    leaves, structure = tree.flatten(x)
    values = as_inputs("variable", 0, leaves, x)
    return tree.unflatten(structure, [_make_variable(v) if inexact(v) else v for v in values])


def zero_grad(variables: Any) -> None:
    """Set the gradients of all variables in a tree to None."""
    for x in tree.leaves(variables):
        if isinstance(x, Variable):
            x.zero_grad()


class no_grad(contextlib.ContextDecorator):
    """A block, or a decorated function, in which variables are the plain arrays they hold: nothing is recorded.

    Writes to variables are allowed in it. Transformations (`polyad.grad` of a function) work in it as everywhere.

    >>> import polyad as pa
    >>> x = pa.variable(2.0)
    >>> with pa.no_grad():
    ...     x * x
    np.float64(4.0)
    """

    def __enter__(self):
        self._token = recording.set(False)
        return self

    def __exit__(self, *error):
        recording.reset(self._token)

    def _recreate_cm(self):
        return no_grad()


def _make_variable(value):
    value = _kept(value)
    return Variable[0](value, variables_run, Leaf(value))


def _kept(value):
    """An array of a variable's own, which nobody can write to (a number as an array without axes)."""
    if isa(value, (np.ndarray, np.generic)):
        value = np.array(value)
        value.flags.writeable = False
        return value
    return value.copy()


def _as_like(name, value, like):
    """value as an array of the shape and dtype of `like`."""
    value = settled(value)
    if dtype_of(value).kind not in "biufc":
        raise DTypeError(f"{name}: {describe(value)}; give an array of numbers of shape {list(shape_of(like))}")
    value = asarray(value)
    if isinstance(value, Layer):
        raise MutationError(f"{name}: {describe(value)} is followed, not a plain array; give x.detach()")
    if shape_of(value) != shape_of(like):
        raise ShapeError(f"{name}: {describe(value)}; it needs the shape {list(shape_of(like))}")
    if not np.can_cast(dtype_of(value), dtype_of(like), "same_kind"):
        raise DTypeError(f"{name}: {describe(value)} does not fit the dtype {dtype_of(like)}; convert it")
    return value if dtype_of(value) == dtype_of(like) else value.astype(dtype_of(like))


def _outside(what, advice, kind: type[Exception] = MutationError):
    run = innermost_run()
    if run is not None:
        raise kind(f"{what} inside a transformation, {run.name} (entered at {run.where}): {advice}")
