"""What the transformations ask of arguments, tangents, cotangents and results, and the errors when it is not so."""

import operator
from typing import Any

import numpy as np

from ..dispatch import Array, DTypeError, Layer, MethodError, ShapeError, StructureError, describe, is_container, isa, tree
from ..dsl.array_libraries import bottom
from ..dsl.avals import dtype_of, is_number, shape_of
from ..dsl.layers.tracing import Traced, as_array
from ..dsl.ops.create import beside, ones_like, zeros_like
from .rules.projection import NoTangent, match_dtype

DOUBLE, UNIT = np.dtype(np.float64), np.float64(1.0)


def inexact(x):
    """Return whether a leaf has a tangent space: floating or complex."""
    return (x.dtype if type(x) is np.ndarray else dtype_of(x)).kind in "fc"


def title(transform, f):
    """Return the name of a transformation of f for messages. Raises MethodError if f is no function."""
    if not callable(f):
        check_callable(f"{transform}: its argument", f, "of arrays or trees")
    return f"{transform}({getattr(f, '__name__', type(f).__name__)})"


def check_callable(what, f, of):
    """Raise MethodError, which says what it must be a function of, if f is none."""
    if not callable(f):
        raise MethodError(f"{what} is {describe(f)}, no function; give a function {of}")


def is_count(n, least):
    """Return whether n is a whole number from `least` on."""
    try:
        return not isa(n, bool) and operator.index(n) >= least
    except TypeError:
        return False


def scalar(x):
    """An array without axes as the number that NumPy's own operations would have returned."""
    return x[()] if type(x) is np.ndarray and x.ndim == 0 else x


def zero(x):
    """The zero tangent of a leaf."""
    return scalar(zeros_like(x))


def unit_tangent(x):
    """The unit tangent of a number."""
    if type(x) is np.float64 or type(bottom(x)) is np.float64 and dtype_of(x) == DOUBLE:  # the most usual
        return UNIT
    return x.dtype.type(1) if isa(x, np.generic) else scalar(ones_like(x))


def as_inputs(name, n, leaves, whole):
    """The leaves of argument n as layers take them. Floats become NumPy scalars; integers, never followed, stay."""
    taken = []
    for i, x in enumerate(leaves):
        if type(x) is not np.ndarray or x.dtype.kind not in "fc":
            if dtype_of(x).kind not in "biufc":
                inside = "give polyad.closure(f) for the arrays that it captures" if callable(x) else "convert it"
                raise DTypeError(
                    f"{name}: argument {n}{tree.paths(whole)[i]} is {describe(x)}, not an array of numbers; {inside}, or "
                    "bind it with a lambda or functools.partial so that it is no argument"
                )
            if isa(x, (float, complex)) and is_number(x):
                x = np.asarray(x)[()]
            elif isinstance(x, Traced):
                x = as_array(x)
        taken.append(x)
    return taken


def inputs_of(name, positions, primals, allow_int=True):
    """The arguments at these positions as pairs (leaves, structure), the leaves as layers take them. allow_int: whether some
    may be without tangent space."""
    inputs = []
    for n, x in zip(positions, primals, strict=True):
        if type(x) is np.ndarray and x.dtype.kind in "fc":  # hot
            inputs.append(([x], tree.LEAF))
            continue
        if not allow_int:
            check_inexact(name, n, x)
        leaves, structure = ([x], tree.LEAF) if Layer in type(x).__mro__ else tree.flatten(x)
        inputs.append((as_inputs(name, n, leaves, x), structure))
    return inputs


def fitted(dx, x, where):
    """A tangent or cotangent of the leaf x in x's dtype; None for NoTangent. where: () -> its place, for errors."""
    if type(dx) is type(x) is np.ndarray and dx.dtype is x.dtype and dx.shape == x.shape and x.dtype.kind in "fc":
        return dx  # the most usual
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
    """Return whether a result is a function, to be transformed in turn; a callable tree of arrays is not."""
    return callable(out) and Array not in type(out).__mro__ and not isinstance(out, Array) and tree.structure(out) is tree.LEAF


def of_function(f, transform) -> Any:
    """A transformation whose result is a function: transform the function's result instead."""
    return lambda *args, **kwargs: transform(lambda *xs: f(*xs)(*args, **kwargs))


def split_aux(name, out, has_aux):
    """(value, aux) of a function's result."""
    if not has_aux:
        return out, None
    if not (isinstance(out, tuple) and len(out) == 2):
        kind = f"a tuple of {len(out)}" if isinstance(out, tuple) else describe(out)
        if isinstance(out, Layer):  # as the user sees it
            kind = f"an array of {dtype_of(out)}{list(out.shape)}" if out.shape else f"one number of {dtype_of(out)}"
        raise StructureError(
            f"{name}: with has_aux=True the function must return a pair (value, aux), not {kind}; leave has_aux out where "
            "there is nothing beside the value"
        )
    return out


def chosen(name, f, args, kwargs, argnums, allow_int=False):
    """f as a function of the arguments at `argnums` alone, their positions, and whether several were asked for.

    allow_int: whether arguments without tangent space may be among them.
    """
    function, positions, several = selected(name, f, args, kwargs, argnums)
    for n in () if allow_int else positions:
        check_inexact(name, n, args[n])
    return function, positions, several


def selected(name, f, args, kwargs, argnums):
    """The same without looking at the arguments."""
    if len(args) == 1 and type(argnums) is int and not argnums and not kwargs:  # the most usual
        return f, (0,), False
    several = isinstance(argnums, (tuple, list))
    positions = _positions(name, argnums, len(args)) if several or type(argnums) is not int or argnums or not args else [0]
    if not kwargs and positions == list(range(len(args))):
        return f, positions, several

    def function(*xs):
        full = list(args)
        for n, x in zip(positions, xs, strict=True):
            full[n] = x
        return f(*full, **kwargs)

    return function, positions, several


def _positions(name, argnums, count):
    """The numbers of the arguments that `argnums` names, counted from the front."""
    positions = []
    for n in argnums if isinstance(argnums, (tuple, list)) else (argnums,):
        if isa(n, bool) or not isa(n, (int, np.integer)):
            raise StructureError(f"{name}: argnums is an integer or a tuple of integers, not {argnums!r}")
        if not -count <= n < count:
            raise ShapeError(
                f"{name}: argnums {argnums!r} is out of range: the function was called with {count} positional "
                "argument(s); arguments given by keyword are not differentiated"
            )
        positions.append(n % count)
    if len(set(positions)) != len(positions):
        raise ShapeError(f"{name}: argnums {argnums!r} names an argument twice")
    return positions


def check_inexact(name, n, value):
    """Each array or container of a differentiated argument has a tangent space."""
    if made_of_arrays(value, "fc"):
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
                f"{name}: argument {n}{path} is {describe(unit)} {what}, which has no derivative; {advice}, leave the "
                "argument out of argnums, or have NoTangent there with allow_int=True"
            )


def made_of_arrays(value, kinds=None):
    """Return whether a tree is of lists, tuples, dicts and NumPy arrays, followed ones too (of these kinds of dtype), alone:
    nothing to look at closer."""
    kind = type(value)
    if kind is np.ndarray:
        return kinds is None or value.dtype.kind in kinds
    if Layer in kind.__mro__:
        return kinds is None or dtype_of(value).kind in kinds
    if kind is dict:
        value = value.values()
    elif kind is not list and kind is not tuple:
        return False
    for part in value:
        if type(part) is np.ndarray:  # hot
            if kinds is not None and part.dtype.kind not in kinds:
                return False
        elif not made_of_arrays(part, kinds):
            return False
    return True


def check_no_container(name, outputs, structure, advice):
    """Raises DTypeError, or ShapeError if it has axes, if the one output is that of an array type, whose meaning (a unit) its
    number alone would lose."""
    if structure is tree.LEAF:
        return
    whole = tree.unflatten(structure, [value for value, _ in outputs])
    if not is_container(whole):
        return
    remedy = "x.dense()" if whole.densifies else " or ".join([f"x.{leaf}" for leaf in whole.leaves])
    raise (ShapeError if shape_of(whole) else DTypeError)(
        f"{name}: the function returns {describe(whole)} of shape {list(shape_of(whole))}; {advice}, not an array type: return "
        f"the number that is meant ({remedy})"
    )


def scalar_seed(name, outputs, structure):
    """The value of a function that has a gradient, and where the walk back begins: pairs (place on the tape, cotangent)."""
    if len(outputs) == 1 and type(outputs[0][0]) is np.float64 and structure is tree.LEAF:  # the most usual
        y, index = outputs[0]
        return y, [] if index is None else [(index, UNIT)]
    y, index = _check_scalar(name, outputs, structure)
    return y, [] if index is None else [(index, unit_tangent(y))]


def _check_scalar(name, outputs, structure):
    advice = "grad needs one real number"
    check_no_container(name, outputs, structure, advice)
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
