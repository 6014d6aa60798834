"""What users call: jvp, vjp, grad and everything made of them."""

import functools
import math

import numpy as np

from ..dispatch import DTypeError, ShapeError, StructureError, as_tangent, describe, is_container, tree
from ..dsl import eye, ones_like, reshape, vmap, zeros_like
from ..dsl.avals import dtype_of, shape_of
from .forward import ForwardRun
from .reverse import ReverseRun
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


def _name(transform, f):
    return f"{transform}({getattr(f, '__name__', type(f).__name__)})"


def _as_input(x, where, i):
    """A leaf as the layers take it: an array, a layer value, or a NumPy scalar."""
    if type(x) is np.ndarray and x.dtype.kind in "fc":
        return x
    if isinstance(x, (bool, int, float, complex)) and not isinstance(x, np.generic):
        return np.asarray(x)[()]
    kind = dtype_of(x).kind
    if kind not in "biufc":
        raise DTypeError(f"{where}: argument {i} is {describe(x)}: derivatives need numbers, not dtype {dtype_of(x)}")
    return x


def jvp(f, primals, tangents, has_aux=False):
    """Value and directional derivative (Jacobian-vector product) by forward mode.

    f: function of arrays or trees. primals, tangents: tuples, one entry per argument of f, of equal structure, shape and
    dtype. has_aux: f returns (value, aux). Returns (value, tangent) and aux if asked for.
    Raises StructureError, ShapeError, DTypeError.

    >>> import polyad as pa
    >>> y, dy = pa.jvp(pa.sin, (0.0,), (2.0,))
    >>> float(dy)
    2.0
    """
    name = _name("jvp", f)
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise StructureError(f"{name}: primals and tangents are tuples with one entry per argument, such as (x,) and (dx,)")
    leaves, structure = tree.flatten(tuple(primals))
    dleaves = tree.match(structure, tuple(tangents), f"{name}: tangents")
    with ForwardRun(name) as run:
        seen = []
        for i, (x, dx) in enumerate(zip(leaves, dleaves, strict=True)):
            x = _as_input(x, f"{name}: primals", i)
            seen.append(run.wrap(x, _as_tangent(name, i, x, dx)) if inexact(x) else x)
        out = f(*tree.unflatten(structure, seen))
        if callable(out) and not has_aux:
            return _of_function(f, lambda g: jvp(g, primals, tangents))
        out, aux = _split_aux(name, out, has_aux)
        values, shape = tree.flatten(out)
        pairs = [run.unwrap(v) for v in values]
        aux = tree.map(lambda v: run.unwrap(v)[0], aux)
    y = tree.unflatten(shape, [v for v, _ in pairs])
    dy = as_tangent(tree.unflatten(shape, [_tangent_or_zero(v, t) for v, t in pairs]))
    return (y, dy, aux) if has_aux else (y, dy)


def _as_tangent(name, i, x, dx):
    dx = _as_input(dx, f"{name}: tangents", i)
    if shape_of(dx) != shape_of(x):
        raise ShapeError(f"{name}: leaf {i}: the tangent {describe(dx)} does not have the shape of {describe(x)}")
    if not np.can_cast(dtype_of(dx), dtype_of(x), "same_kind"):
        raise DTypeError(f"{name}: leaf {i}: a tangent of dtype {dtype_of(dx)} does not fit a primal of {dtype_of(x)}")
    return match_dtype(dx, x)


def _tangent_or_zero(value, tangent):
    if tangent is not None:
        return tangent
    return zeros_like(value) if inexact(value) else NoTangent


def _of_function(f, transform):
    """A transformation whose result is a function: transform the function's result instead."""
    return lambda *args: transform(lambda *xs: f(*xs)(*args))


def _split_aux(name, out, has_aux):
    if not has_aux:
        return out, None
    if not (isinstance(out, tuple) and len(out) == 2):
        raise StructureError(f"{name}: with has_aux the function returns (value, aux), not {describe(out)}")
    return out


def vjp(f, *primals, has_aux=False):
    """Value and the function that pulls cotangents back (vector-Jacobian product) by reverse mode.

    f: function of arrays or trees. primals: its arguments. Returns (value, pullback) and aux if asked for;
    pullback(ct) takes a cotangent of the value's structure, shapes and dtypes and returns a tuple of cotangents, one per
    argument, NoTangent for integers; it may be called any number of times. Cotangents pair without conjugation.
    Raises StructureError, ShapeError, DTypeError.

    >>> import numpy as np, polyad as pa
    >>> y, pullback = pa.vjp(lambda x: x * x, np.array([1.0, 2.0]))
    >>> pullback(np.ones(2))[0]
    array([2., 4.])
    """
    name = _name("vjp", f)
    result = _record(name, f, primals, has_aux)
    if result is None:
        return _of_function(f, lambda g: vjp(g, *primals))
    pullback, aux = result
    y = pullback.value()
    return (y, pullback, aux) if has_aux else (y, pullback)


def _record(name, f, primals, has_aux):
    """(pullback, aux) of one evaluation of f, or None if its result is a function."""
    parts = [tree.flatten(x) for x in primals]
    leaves = [[_as_input(x, name, i) for x in xs] for i, (xs, _) in enumerate(parts)]
    with ReverseRun(name) as run:
        seen = [[run.input(x) if inexact(x) else x for x in xs] for xs in leaves]
        out = f(*[tree.unflatten(structure, xs) for xs, (_, structure) in zip(seen, parts, strict=True)])
        if not has_aux and callable(out):
            return None
        out, aux = _split_aux(name, out, has_aux)
        values, shape = tree.flatten(out)
        pairs = [run.unwrap(v) for v in values]
        if has_aux:
            aux = tree.map(lambda v: run.unwrap(v)[0], aux)
    return Pullback(name, run, leaves, [structure for _, structure in parts], pairs, shape), aux


class Pullback:
    """The reverse function of one evaluation; call it with a cotangent of the value."""

    def __init__(self, name, run, leaves, structures, outputs, shape):
        self.name, self.run, self.leaves, self.structures = name, run, leaves, structures
        self.outputs, self.shape = outputs, shape

    def value(self):
        """The function's value."""
        return tree.unflatten(self.shape, [v for v, _ in self.outputs])

    def __call__(self, ct):
        cts = tree.match(self.shape, ct, f"{self.name}: cotangent")
        seeds = []
        for i, ((value, index), c) in enumerate(zip(self.outputs, cts, strict=True)):
            if index is not None and c is not NoTangent:
                seeds.append((index, self._checked(i, value, c)))
        return self.pull(seeds)

    def pull(self, seeds):
        """Cotangents of the arguments from pairs (place on the tape, cotangent)."""
        count = sum([inexact(x) for xs in self.leaves for x in xs])
        found = iter(self.run.walk_back(seeds, count))
        return tuple([self._argument(xs, structure, found) for xs, structure in zip(self.leaves, self.structures, strict=True)])

    def _argument(self, leaves, structure, found):
        """One argument's cotangent; containers keep their type if linear, with the primal's integer leaves."""
        cts = [_or_zero(next(found), x) if inexact(x) else NoTangent for x in leaves]
        whole = tree.unflatten(structure, cts)
        if structure is tree.LEAF or not any(map(is_container, tree.leaves(whole, is_container))):
            return whole
        primal = tree.unflatten(structure, leaves)
        keep = lambda c, p: tree.map(lambda a, b: b if a is NoTangent else a, c, p) if is_container(c) and c.linear else c
        return as_tangent(tree.map(keep, whole, primal, is_leaf=is_container))

    def _checked(self, i, value, c):
        c = _as_input(c, f"{self.name}: cotangent", i)
        if shape_of(c) != shape_of(value):
            raise ShapeError(
                f"{self.name}: leaf {i}: the cotangent {describe(c)} does not have the shape of the value {describe(value)}"
            )
        return match_dtype(c, value)


def _or_zero(ct, x):
    return zeros_like(x) if ct is None else ct


def _chosen(name, args, argnums):
    """The arguments to differentiate, as (positions, whether several were asked for)."""
    several = isinstance(argnums, (tuple, list))
    positions = tuple(argnums) if several else (argnums,)
    for n in positions:
        if not isinstance(n, int) or not -len(args) <= n < len(args):
            raise ShapeError(f"{name}: argnums {argnums!r} does not fit {len(args)} positional arguments")
    return tuple(n % len(args) for n in positions), several


def _check_inexact(name, position, value):
    """Each array or container of a differentiated argument has a tangent space."""
    if type(value) is np.ndarray and value.dtype.kind in "fc":
        return
    for unit in tree.leaves(value, is_container):
        if not any(inexact(_as_input(x, name, position)) for x in tree.leaves(unit)):
            raise DTypeError(
                f"{name}: argument {position} is {describe(unit)}, which has no derivative; give a floating array "
                "(3.0 instead of 3, or x.astype(float)), or leave the argument out of argnums"
            )


def value_and_grad(f, argnums=0, has_aux=False):
    """A function that returns f's value and its gradient, by reverse mode.

    f: function whose result is one real number. argnums: position(s) of the arguments to differentiate. has_aux: f returns
    (value, aux). The returned function gives (value, gradient), or ((value, aux), gradient); the gradient has the structure
    of the argument (a tuple of them for several).
    Raises DTypeError for integer arguments or complex results, ShapeError for results that are no single number.

    >>> import polyad as pa
    >>> value, slope = pa.value_and_grad(lambda x: x**3)(2.0)
    >>> float(value), float(slope)
    (8.0, 12.0)
    """

    @functools.wraps(f)
    def gradient(*args, **kwargs):
        name = _name("grad", f)
        positions, several = _chosen(name, args, argnums)
        for n in positions:
            _check_inexact(name, n, args[n])
        result = _record(name, _partially(f, args, kwargs, positions), [args[n] for n in positions], has_aux)
        if result is None:
            return lambda *more: value_and_grad(lambda *xs: f(*xs, **kwargs)(*more), argnums, has_aux)(*args)
        pullback, aux = result
        y = pullback.value()
        cts = pullback.pull(_unit_seed(name, y, pullback))
        return ((y, aux) if has_aux else y), (cts if several else cts[0])

    return gradient


def _partially(f, args, kwargs, positions):
    """f as a function of the arguments at these positions."""
    if not kwargs and positions == tuple(range(len(args))):
        return f

    def chosen(*xs):
        full = list(args)
        for n, x in zip(positions, xs, strict=True):
            full[n] = x
        return f(*full, **kwargs)

    return chosen


def _unit_seed(name, y, pullback):
    if len(pullback.outputs) != 1:
        raise ShapeError(
            f"{name}: the function returns {len(pullback.outputs)} arrays; grad needs one real number (use has_aux=True "
            "for further results, or jacrev)"
        )
    ((value, index),) = pullback.outputs
    if shape_of(value) != ():
        raise ShapeError(
            f"{name}: the function returns {describe(value)} of shape {list(shape_of(value))}; grad needs one real number "
            "(reduce it with sum or mean, or use jacrev)"
        )
    if dtype_of(value).kind != "f":
        raise DTypeError(
            f"{name}: the function returns {describe(value)}; grad needs a real floating number (take .real or abs of a "
            "complex one)"
        )
    return [] if index is None else [(index, ones_like(value))]


def grad(f, argnums=0, has_aux=False):
    """A function that returns the gradient of f, by reverse mode; see `value_and_grad`.

    With has_aux it returns (gradient, aux).

    >>> import numpy as np, polyad as pa
    >>> pa.grad(lambda x: pa.sum(x**2))(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    both = value_and_grad(f, argnums, has_aux)

    @functools.wraps(f)
    def gradient(*args, **kwargs):
        result = both(*args, **kwargs)
        if callable(result):
            return lambda *more: grad(lambda *xs: f(*xs, **kwargs)(*more), argnums, has_aux)(*args)
        y, g = result
        return (g, y[1]) if has_aux else g

    return gradient


def derivative(f):
    """A function that returns the derivative of f by its one scalar argument, by forward mode.

    f's result may be any array or tree, or a function, whose result is then differentiated.

    >>> import polyad as pa
    >>> float(pa.derivative(pa.derivative(lambda x: x**3))(2.0))
    12.0
    """

    @functools.wraps(f)
    def slope(x):
        name = _name("derivative", f)
        x = _as_input(x, name, 0)
        if shape_of(x) != () or not inexact(x):
            raise ShapeError(f"{name}: the argument is {describe(x)}; derivative needs one floating number (see jacfwd)")
        result = jvp(f, (x,), (ones_like(x),))
        if callable(result):
            return lambda *args: derivative(lambda v: f(v)(*args))(x)
        return result[1]

    return slope


def jacfwd(f, argnums=0):
    """A function that returns the Jacobian of f by one argument, by forward mode: one pass over all directions.

    For trees the result is a tree of f's value whose leaves are trees of the argument; each leaf has the shape
    (value's shape, argument's shape). Cheapest for few inputs.
    """

    @functools.wraps(f)
    def jacobian(*args):
        name = _name("jacfwd", f)
        ((n,), _) = _chosen(name, args, argnums)
        _check_inexact(name, n, args[n])
        leaves, structure = tree.flatten(args[n])
        call = lambda x: f(*args[:n], x, *args[n + 1 :])

        def column(i):
            leaf = _as_input(leaves[i], name, n)
            zeros = [zeros_like(x) for x in leaves]

            def push(direction):
                tangents = [*zeros[:i], direction, *zeros[i + 1 :]]
                return jvp(call, (args[n],), (tree.unflatten(structure, tangents),))[1]

            return vmap(push, out_axes=-1)(_basis(leaf)), shape_of(leaf)

        columns = [column(i) for i in range(len(leaves))]
        first = columns[0][0]
        outs, out_structure = tree.flatten(first)
        rows = []
        for k in range(len(outs)):
            parts = [_unfold(tree.leaves(c)[k], shape) for c, shape in columns]
            rows.append(tree.unflatten(structure, parts))
        return tree.unflatten(out_structure, rows)

    return jacobian


def _basis(x):
    """The unit arrays of x's shape, along a new leading axis."""
    size = math.prod(shape_of(x))
    return reshape(eye(size, dtype=dtype_of(x)), shape=(size, *shape_of(x)))


def _unfold(x, shape):
    return reshape(x, shape=(*shape_of(x)[:-1], *shape))


def jacrev(f, argnums=0):
    """A function that returns the Jacobian of f by one argument, by reverse mode; shapes as for `jacfwd`.

    Cheapest for few outputs.
    """

    @functools.wraps(f)
    def jacobian(*args):
        name = _name("jacrev", f)
        ((n,), _) = _chosen(name, args, argnums)
        _check_inexact(name, n, args[n])
        _, pullback = vjp(lambda x: f(*args[:n], x, *args[n + 1 :]), args[n])
        rows = []
        for value, index in pullback.outputs:
            pull = lambda ct, index=index: pullback.pull([] if index is None else [(index, ct)])[0]
            value = _as_input(value, name, n)
            g = vmap(pull)(_basis(value))
            rows.append(tree.map(lambda x, value=value: reshape(x, shape=(*shape_of(value), *shape_of(x)[1:])), g))
        return tree.unflatten(pullback.shape, rows)

    return jacobian


def jacobian(f, argnums=0):
    """A function that returns the Jacobian of f, by the mode that needs fewer passes for the shapes at hand."""

    @functools.wraps(f)
    def chosen(*args):
        ((n,), _) = _chosen(_name("jacobian", f), args, argnums)
        y = f(*args)
        count = lambda t: sum(math.prod(shape_of(x)) for x in tree.leaves(t))
        return (jacrev if count(y) < count(args[n]) else jacfwd)(f, argnums)(*args)

    return chosen


def hessian(f, argnums=0):
    """A function that returns the matrix of second derivatives, forward over reverse; shapes as for `jacfwd` of `grad`."""
    return jacfwd(grad(f, argnums), argnums)


def hvp(f, x, v):
    """The Hessian of f at x times v, without the Hessian: forward over reverse.

    f: function of one array or tree, with one real number as result. x, v: of equal structure and shapes.

    >>> import numpy as np, polyad as pa
    >>> pa.hvp(lambda x: pa.sum(x**3), np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    array([6., 0.])
    """
    return jvp(grad(f), (x,), (v,))[1]
