"""What the transformations ask of arguments, tangents, cotangents and results, and the errors when it is not so."""

import numpy as np

from ..dispatch import Array, DTypeError, ShapeError, StructureError, describe, is_container, tree
from ..dsl.avals import dtype_of, is_number, shape_of
from ..dsl.ops.create import beside, ones_like, zeros_like
from .rules import match_dtype


class _NoTangent:
    """The tangent of a value that has no tangent space: an integer, a boolean, a static leaf."""

    def __repr__(self):
        return "NoTangent"

    def __reduce__(self):
        return "NoTangent"

    def __add__(self, other):
        return other

    __radd__ = __add__


NoTangent = _NoTangent()


def inexact(x):
    """Whether a leaf has a tangent space: floating or complex."""
    return dtype_of(x).kind in "fc"


def title(transform, f):
    """How a transformation of f is called in messages."""
    return f"{transform}({getattr(f, '__name__', type(f).__name__)})"


def scalar(x):
    """An array without axes as the number that NumPy's own operations would have returned."""
    return x[()] if type(x) is np.ndarray and x.ndim == 0 else x


def zero(x):
    """The zero tangent of a leaf."""
    return scalar(zeros_like(x))


def one(x):
    """The unit tangent of a number."""
    return x.dtype.type(1) if isinstance(x, np.generic) else scalar(ones_like(x))


def as_inputs(name, n, leaves, whole):
    """The leaves of argument n as layers take them. Floats become NumPy scalars; integers, never followed, stay."""
    taken = []
    for i, x in enumerate(leaves):
        if type(x) is not np.ndarray or x.dtype.kind not in "fc":
            if dtype_of(x).kind not in "biufc":
                raise DTypeError(
                    f"{name}: argument {n}{tree.paths(whole)[i]} is {describe(x)}, not an array of numbers; convert "
                    "it, or bind it with a lambda or functools.partial so that it is no argument"
                )
            if isinstance(x, (float, complex)) and is_number(x):
                x = np.asarray(x)[()]
        taken.append(x)
    return taken


def fitted(dx, x, where):
    """A tangent or cotangent of the leaf x in x's dtype; None for NoTangent. where: () -> its place, for errors."""
    if dx is NoTangent:
        return None
    if not inexact(x):
        if dx is x or (is_number(dx) and dx == 0):  # the gradient of a linear container holds the primal's integer leaves
            return None
        raise DTypeError(f"{where()}: {describe(x)} has no tangent space; give polyad.NoTangent, not {describe(dx)}")
    dtype = dtype_of(dx)
    if dtype.kind not in "biufc":
        raise DTypeError(f"{where()} is {describe(dx)}; give an array of numbers of shape {list(shape_of(x))}")
    if shape_of(dx) != shape_of(x):
        raise ShapeError(
            f"{where()} is {describe(dx)} of shape {list(shape_of(dx))}; it needs the shape {list(shape_of(x))} of "
            f"{describe(x)}"
        )
    if not np.can_cast(dtype, dtype_of(x), "same_kind"):
        raise DTypeError(f"{where()} has dtype {dtype}, which does not fit {describe(x)}; take its real part")
    return match_dtype(beside(np.asarray(dx)[()] if is_number(dx) else dx, x), x)


def is_function(out):
    """Whether a result is a function, to be transformed in turn; a callable tree of arrays is not."""
    return callable(out) and not isinstance(out, Array) and tree.structure(out) is tree.LEAF


def of_function(f, transform):
    """A transformation whose result is a function: transform the function's result instead."""
    return lambda *args, **kwargs: transform(lambda *xs: f(*xs)(*args, **kwargs))


def split_aux(name, out, has_aux):
    """(value, aux) of a function's result."""
    if not has_aux:
        return out, None
    if not (isinstance(out, tuple) and len(out) == 2):
        kind = f"a tuple of {len(out)}" if isinstance(out, tuple) else describe(out)
        raise StructureError(f"{name}: with has_aux=True the function must return a pair (value, aux), not {kind}")
    return out


def chosen(name, f, args, kwargs, argnums):
    """f as a function of the arguments at `argnums` alone, their positions, and whether several were asked for."""
    several = isinstance(argnums, (tuple, list))
    positions = []
    for n in argnums if several else (argnums,):
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
            raise StructureError(f"{name}: argnums is an integer or a tuple of integers, not {argnums!r}")
        if not -len(args) <= n < len(args):
            raise ShapeError(
                f"{name}: argnums {argnums!r} is out of range: the function was called with {len(args)} positional "
                "argument(s); arguments given by keyword are not differentiated"
            )
        positions.append(n % len(args))
    if len(set(positions)) != len(positions):
        raise ShapeError(f"{name}: argnums {argnums!r} names an argument twice")
    for n in positions:
        _check_inexact(name, n, args[n])
    if not kwargs and positions == list(range(len(args))):
        return f, positions, several

    def function(*xs):
        full = list(args)
        for n, x in zip(positions, xs, strict=True):
            full[n] = x
        return f(*full, **kwargs)

    return function, positions, several


def _check_inexact(name, n, value):
    """Each array or container of a differentiated argument has a tangent space."""
    if type(value) is np.ndarray and value.dtype.kind in "fc":
        return
    if all([type(x) is np.ndarray and x.dtype.kind in "fc" for x in tree.leaves(value)]) and not is_container(value):
        return
    units, shape = tree.flatten(value, is_container)
    for i, unit in enumerate(units):
        if not any([inexact(x) for x in as_inputs(name, n, tree.leaves(unit), unit)]):
            path = tree.paths(tree.unflatten(shape, [0] * len(units)))[i]
            if is_container(unit) and dtype_of(unit).kind in "fc":
                what, advice = "without floating leaves", "give it dense (x.dense())"
            else:
                what = f"of dtype {dtype_of(unit)}"
                advice = "give floating point (3.0 instead of 3, or x.astype(float))"
            raise DTypeError(
                f"{name}: argument {n}{path} is {describe(unit)} {what}, which has no derivative; {advice}, or leave "
                "the argument out of argnums"
            )


def check_scalar(name, outputs):
    """The one output of a function that has a gradient, as (value, place on the tape)."""
    advice = "grad needs one real number"
    if not outputs:
        raise ShapeError(f"{name}: the function returns nothing; {advice} (is a return missing?)")
    if len(outputs) > 1:
        raise ShapeError(
            f"{name}: the function returns {len(outputs)} arrays; {advice} (return further results as aux, with "
            "has_aux=True, or use jacrev)"
        )
    value = outputs[0][0]
    if dtype_of(value).kind not in "biufc":
        raise DTypeError(f"{name}: the function returns {describe(value)}; {advice}")
    if shape_of(value) != ():
        raise ShapeError(
            f"{name}: the function returns {describe(value)} of shape {list(shape_of(value))}; {advice} (reduce it "
            "with sum or mean, or use jacrev)"
        )
    if dtype_of(value).kind != "f":
        remedy = "take .real or abs of it, or use jacrev" if dtype_of(value).kind == "c" else "return floating point"
        dtype = dtype_of(value)
        raise DTypeError(f"{name}: the function returns {describe(value)} of dtype {dtype}; {advice} ({remedy})")
    return outputs[0]
