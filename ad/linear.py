"""Functions as their linear parts: the derivative at a point as a program (`linearize`), the transpose of a linear function.

Forward mode with tangents that a trace follows and values that it does not: the values are computed at once, branches of
Python included, and the trace records what is done to the tangents, which is linear.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from ..dispatch import ConcreteValueError, DTypeError, Remembered, Run, StructureError, describe, isa, tree
from ..dsl import any as any_of
from ..dsl import multiply, not_equal
from ..dsl.array_libraries import Scalar
from ..dsl.avals import Aval, aval_of
from ..dsl.ir.programs import Equation, Program, Var, evaluate, without_dead_code
from ..dsl.layers.batching import lanes_of
from ..dsl.layers.splitting import concrete
from ..dsl.layers.tracing import Traced, TraceRun
from ..dsl.mutation_checks import check_sealed
from ..dsl.ops.arithmetic import masked_product
from ..dsl.ops.create import zeros_like
from .inputs import as_inputs, fitted, inexact, inputs_of, of_function, title
from .linearity import check_linear
from .sweeps import apart, in_structure, push, record, tangent_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..dispatch.annotations import A, P, T


class LinearRun(TraceRun):
    """A trace of tangents. Arrays that the function creates are no part of it: it goes on around the values, whose loops,
    choices and effects are Python's."""

    __slots__ = ()
    of_values = sees_effects = False

    def constant(self, value):
        return value if inexact(value) else Run.constant(self, value)

    def variable(self, x):
        """A value of x's shape and dtype to be followed by the trace, and its Var."""
        var = Var(aval_of(x), lanes_of(x))
        return Traced[self.depth](var, self), var


@overload
def linearize(f: Callable[P, T], *primals: Any, has_aux: Literal[False] = False) -> tuple[T, _LinearMap]: ...
@overload
def linearize(f: Callable[P, tuple[T, A]], *primals: Any, has_aux: Literal[True]) -> tuple[T, _LinearMap, A]: ...
def linearize(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Value of f and its derivative there as a linear function, the work on values done once.

    f: function of arrays or trees. primals: its arguments. has_aux: f returns (value, aux). Returns (value, f_jvp), and aux
    if asked for: f_jvp(*tangents) takes a tangent for each argument, of its structure and shapes (NoTangent or 0 for an
    integer), and returns the tangent of the value, as `jvp` would; it runs only what depends on the tangents, with f's
    branches as they were taken, and `f_jvp.program` shows it. Call it as often as you like: after the first few times it is
    cheaper than `jvp`; for all directions at once, `vmap(f_jvp)`. It keeps the arrays that it needs of f's evaluation.
    Raises StructureError, ShapeError, DTypeError.

    >>> import polyad as pa
    >>> y, f_jvp = pa.linearize(lambda x: x * x if x > 0 else -x, 3.0)
    >>> float(y), float(f_jvp(1.0)), float(f_jvp(10.0))
    (9.0, 6.0, 60.0)
    """
    return linearized(title("linearize", f), f, primals, has_aux)


def linearized(name, f, primals, has_aux=False) -> Any:
    """`linearize` on behalf of the transformation `name`, for messages."""
    inputs = inputs_of(name, range(len(primals)), primals)
    every = [x for leaves, _ in inputs for x in leaves]
    with LinearRun(name, next((x for x in every if not isinstance(x, Scalar)), None)) as run:
        variables, dxs = [], []
        for leaves, _ in inputs:
            followed = [run.variable(x) if inexact(x) else (None, None) for x in leaves]
            dxs.append([dx for dx, _ in followed])
            variables += [var for _, var in followed if var is not None]
        result = push(name, f, inputs, dxs, has_aux)
        if result is None:
            return of_function(f, lambda g: linearized(name, g, primals, has_aux))
        values, slopes, shape, aux = result
        outputs = [None if t is None else run.atom(t) for t in slopes]
        check_sealed(run.seals, name, "its linear part")
    program = _program(name, run, variables, [v for v in outputs if v is not None])
    f_jvp = _LinearMap(name, program, inputs, outputs, values, shape)
    y = tree.unflatten(shape, values)
    return (y, f_jvp, aux) if has_aux else (y, f_jvp)


def _program(name, run, variables, outputs):
    """Make a program of what a run recorded, from a list of arrays to a list of arrays."""
    equations, needed = without_dead_code(run.equations, outputs)
    constants = [pair for pair in run.constants.values() if pair[0] in needed]
    equations = _without_masks(equations, dict(constants))
    structures = [tree.structure([0] * len(vs)) for vs in (variables, outputs)]
    return Program(name, variables, constants, equations, outputs, tree.structure(([0] * len(variables),)), structures[1])


def _without_masks(equations, constants):
    """The equations with plain products where masked ones have nothing to mask: what zeros meet there is known to be finite."""
    known = {v: x for v, x in constants.items() if isa(x, (np.ndarray, np.generic))}
    calm = {v for v, x in known.items() if np.all(np.isfinite(x))}
    nowhere_zero = {v for v, x in known.items() if np.all(x != 0)}

    def plain(e):
        x, y = e.inputs
        unmasked = y in calm or x in nowhere_zero or not isinstance(y, Var) and np.isfinite(y)
        return Equation(multiply, [x, y], {}, e.outputs) if unmasked else e

    return [plain(e) if e.op is masked_product else e for e in equations]


class _LinearMap:
    """The derivative of a function at a point; `program` is what it runs on the floating leaves."""

    def __init__(self, name, program, inputs, outputs, values, shape):
        self.name, self.program, self.inputs = name, program, inputs
        self.outputs, self.values, self.shape = outputs, values, shape

    def __call__(self, *tangents: Any) -> Any:
        if len(tangents) != len(self.inputs):
            raise StructureError(
                f"{self.name}: its linear part takes a tangent for each of {len(self.inputs)} argument(s), not {len(tangents)}"
            )
        given = []
        for n, ((leaves, structure), dx) in enumerate(zip(self.inputs, tangents, strict=True)):
            where = lambda i, n=n, dx=dx: f"{self.name}: the tangent of argument {n}{tree.paths(dx)[i]}"
            parts = tree.match(structure, dx, f"{self.name}: tangent of argument {n}")
            for i, (x, t) in enumerate(zip(leaves, parts, strict=True)):
                t = fitted(t, x, functools.partial(where, i))
                if inexact(x):
                    given.append(zeros_like(x) if t is None else t)
        found = iter(apart(evaluate(self.program, given), given))
        slopes = [None if out is None else next(found) for out in self.outputs]
        return in_structure(self.shape, [tangent_of(v, t) for v, t in zip(self.values, slopes, strict=True)], self.values)

    def __repr__(self):
        return f"linear part of {self.name}: {self.program}"


# ---------------------------------------------------------------------- the transpose
def linear_transpose(f: Callable[P, Any], *examples: Any) -> Callable[[Any], tuple[Any, ...]]:
    """The transpose of a linear function: a function of a cotangent of f's result that returns a tuple of cotangents, one
    for each argument.

    f: function of arrays or trees, linear in all arguments together. examples: for each an array, or `Aval`s (shape and
    dtype, as from `eval_shape`), or a tree of them; only shapes and dtypes count. Cotangents pair by Re(sum(ct * x)) without
    conjugation, so a real-linear f (real, conj) has a transpose too.
    Raises DTypeError for integers, StructureError if f is not linear: if its derivative depends on its arguments, or if it
    is not zero at zero.

    >>> import numpy as np, polyad as pa
    >>> back = pa.linear_transpose(lambda x: x[1:] - x[:-1], pa.Aval((3,), np.dtype(float)))
    >>> back(np.array([1.0, 10.0]))[0]
    array([-1., -9., 10.])
    """
    name = title("linear_transpose", f)
    zeros = [_zeros(name, n, x) for n, x in enumerate(examples)]
    effects = Remembered()  # which happen in the first run alone
    with effects:
        gives_function = check_linear(name, f, zeros)
    with effects.again():
        result = None if gives_function else record(name, f, range(len(zeros)), zeros)
    if result is None:
        return of_function(f, lambda g: linear_transpose(g, *examples))
    pullback, _ = result
    for value, _ in pullback.outputs:
        if not inexact(value):
            raise DTypeError(f"{name}: the function returns {describe(value)}; a linear function returns floating numbers")
    _check_zero(name, pullback)

    @functools.wraps(f)
    def transposed(ct):
        return pullback(ct)

    return transposed


def _zeros(name, n, example):
    """The argument of an example's structure that is zero."""
    whole = tree.map(lambda x: np.zeros(x.shape, x.dtype)[()] if isinstance(x, Aval) else x, example)
    leaves = tree.leaves(whole)
    for i, x in enumerate(as_inputs(name, n, leaves, whole)):
        if not inexact(x):
            raise DTypeError(
                f"{name}: argument {n}{tree.paths(whole)[i]} is {describe(x)} of dtype {aval_of(x).dtype}, which has no "
                "cotangents; bind it with a lambda or functools.partial, so that it is no argument"
            )
    return tree.map(zeros_like, whole)


def _check_zero(name, pullback):
    """The function is zero at zero, as far as that can be asked here: not under a trace."""
    for value, _ in pullback.outputs:
        try:
            offset = bool(concrete(any_of(not_equal(value, 0))))
        except ConcreteValueError:
            continue
        if offset:
            raise StructureError(
                f"{name}: the function is not linear: it is not zero where its arguments are; leave out what it adds"
            )
