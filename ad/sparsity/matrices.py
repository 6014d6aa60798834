"""Sparse Jacobians and Hessians: a pattern, colours, a few derivative passes, and the matrix read off from them.

The matrix is compressed: columns (or rows) that share no row (column) are evaluated together, along the sum of their unit
vectors. Sources are named in coloring.py.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...dispatch import ConcreteValueError, DTypeError, Layer, ShapeError, SparsityError, describe, tree
from ...dispatch.annotations import P
from ...dsl import concatenate, getitem, ravel, vmap
from ...dsl.array_libraries import asarray_like
from ...dsl.avals import dtype_of, shape_of
from ...dsl.layers.splitting import concrete
from ...dsl.ops.create import zeros_like
from ..inputs import inexact, title
from ..sweeps import push, record, tangent_of
from .coloring import column_coloring, star_coloring
from .detection import find, flat_function, gradient_of, symmetric

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class SparseMatrix(Protocol[P]):
    """A function that returns a sparse matrix of derivatives, and its `plan`."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any: ...
    def plan(self, *args: P.args, **kwargs: P.kwargs) -> SparsePlan: ...


MAX_DIRECTION_ELEMENTS = 2**24  # elements of directions that go through the function at once


def sparse_jacobian(
    f: Callable[P, Any], argnums: int | Sequence[int] = 0, pattern: Any = None, mode: str = "auto", check: bool = True
) -> SparseMatrix[P]:
    """A function that returns the Jacobian of f as a `scipy.sparse.csr_array`, in a few passes instead of one per column.

    f: function of arrays or trees. argnums: position(s) of the arguments to differentiate. The matrix has a row for each
    floating element of f's result and a column for each of the argument's: leaf after leaf in the order of `tree.leaves`,
    row-major within one; integers have neither. pattern: where it may be not zero, a scipy.sparse array or matrix whose
    stored entries count, or an array; unless given it is found at each call (`jacobian_sparsity`). mode: "forward",
    "reverse", or "auto" for the one with fewer passes. check: compare a product with a random vector, one more pass, if the
    pattern was not found at this very input; a pattern that lacks entries raises SparsityError.

    `sparse_jacobian(f).plan(x)` is a `SparsePlan`, with pattern and colours found once: plan(x) gives the matrix at another x
    of the same shape, plan.values(x) its stored entries, which can be differentiated and mapped further. The pattern holds
    for the way that f takes at the first x through Python's `if` and `while`. f runs once for a pattern and again for each
    matrix, with what it prints and calls. Complex results are taken, complex arguments
    not. Raises DTypeError, ShapeError, SparsityError, ImportError without SciPy.

    >>> import numpy as np, polyad as pa
    >>> pa.sparse_jacobian(lambda x: x[1:] * x[:-1])(np.array([1.0, 2.0, 3.0])).toarray()
    array([[2., 1., 0.],
           [0., 3., 2.]])
    """
    if not isinstance(mode, str) or mode not in ("auto", "forward", "reverse"):
        raise ValueError(f'{title("sparse_jacobian", f)}: mode is "forward", "reverse" or "auto", not {mode!r}')
    name = title("sparse_jacobian", f)
    return _planned(
        name, f, argnums, pattern, check, find, lambda p: _compressed(p, mode), lambda function: function
    )  # fmt: skip


def sparse_hessian(
    f: Callable[P, Any], argnums: int | Sequence[int] = 0, pattern: Any = None, check: bool = True
) -> SparseMatrix[P]:
    """A function that returns the Hessian of f as a symmetric `scipy.sparse.csr_array`, forward over reverse.

    f: function with one real number as result; else as for `sparse_jacobian`, with rows as columns. A Hessian takes as many
    products (`hvp`) as a star colouring of its pattern has colours.

    >>> import numpy as np, polyad as pa
    >>> pa.sparse_hessian(lambda x: pa.sum(x[1:] * x[:-1] ** 2))(np.array([1.0, 2.0, 3.0])).toarray()
    array([[4., 2., 0.],
           [2., 6., 4.],
           [0., 4., 0.]])
    """
    name = title("sparse_hessian", f)
    return _planned(name, f, argnums, pattern, check, symmetric, _symmetrically, lambda function: gradient_of(name, function))


def _planned(name, f, argnums, pattern, check, search, compress, derived) -> Any:
    """The function that evaluates, with its `plan`. search: finds a pattern; compress: function(pattern) -> Compression;
    derived: function(f) -> the function whose Jacobian it is."""
    given = None if pattern is None else compress(_as_pattern(name, pattern))

    def prepare(args, kwargs):
        function, leaves, structure = flat_function(name, f, args, kwargs, argnums)
        _refuse(name, leaves)
        return given or compress(search(name, function, leaves, structure))

    @functools.wraps(f)
    def matrix(*args, **kwargs) -> Any:
        checked = check and given is not None
        return SparsePlan(name, f, argnums, prepare(args, kwargs), checked, derived)(*args, **kwargs)

    def plan(*args, **kwargs):
        return SparsePlan(name, f, argnums, prepare(args, kwargs), check, derived)

    matrix.plan = plan  # type: ignore[attr-defined]
    return matrix


class SparsePlan:
    """A pattern and its colours, to evaluate a sparse matrix of derivatives at many inputs of the same shapes.

    pattern: boolean csr_array, its stored entries in the order of `values`. mode: "forward", "reverse" or "symmetric".
    colors: int array, one per column (per row in reverse mode). passes: how many derivative passes a matrix takes.
    """

    def __init__(self, name, f, argnums, compression, check, derived):
        self.name, self.check = name, check
        self._f, self._argnums, self._compression, self._derived = f, argnums, compression, derived
        self.pattern, self.mode, self.colors = compression.pattern, compression.mode, compression.colors
        self.passes = compression.passes

    def __repr__(self):
        rows, columns = self.pattern.shape
        return f"SparsePlan({self.name}, {rows}×{columns}, {self.pattern.nnz} entries, {self.passes} passes, {self.mode})"

    def __call__(self, *args, **kwargs):
        """The matrix at these arguments: a csr_array with all entries of the pattern stored, zeros among them too."""
        from scipy.sparse import csr_array

        values = self.values(*args, **kwargs)
        _refuse(self.name, [values])
        pattern = self.pattern
        return csr_array((concrete(values), pattern.indices.copy(), pattern.indptr.copy()), shape=pattern.shape)

    def values(self, *args, **kwargs):
        """The entries of the matrix in the pattern's order, one array, which transformations follow."""
        function, leaves, structure = flat_function(self.name, self._f, args, kwargs, self._argnums)
        function, compression = self._derived(function), self._compression
        columns = sum([math.prod(shape_of(x)) for x in leaves if inexact(x)])
        if columns != self.pattern.shape[1]:
            raise ShapeError(
                f"{self.name}: the pattern is for {self.pattern.shape[1]} columns, but the argument has {columns} floating "
                "elements; find the pattern at arguments of these shapes"
            )
        if any([dtype_of(x) == np.float16 for x in leaves]):
            raise DTypeError(f"{self.name}: an argument of dtype float16, which scipy.sparse does not have; give float32")
        if any([dtype_of(x).kind == "c" for x in leaves]):
            raise DTypeError(
                f"{self.name}: a complex argument; take its real and imaginary parts as two arguments, or use jacfwd"
            )
        seeds, direction = compression.seeds(), None
        if self.check:
            length = compression.colors.size
            direction = np.random.default_rng(length).uniform(0.5, 1.5, length)
            seeds = np.concatenate([seeds, direction[None]])
        passes = _vjp_columns if self.mode == "reverse" else _pushed
        compressed = passes(self.name, function, leaves, structure, seeds, self.pattern.shape[0])
        group, place = compression.places
        values = getitem(compressed, (asarray_like(group, compressed), asarray_like(place, compressed)))
        if direction is not None and not isinstance(compressed, Layer):
            self._compare(concrete(values), concrete(compressed)[-1], direction)
        return values

    def _compare(self, values, found, direction):
        """The product with the direction of the matrix read off, and of the true one."""
        from scipy.sparse import csr_array

        matrix = csr_array((values, self.pattern.indices, self.pattern.indptr), shape=self.pattern.shape)
        matrix = matrix.T.tocsr() if self.mode == "reverse" else matrix
        expected, size = matrix @ direction, abs(matrix) @ direction
        eps = np.finfo(found.dtype).eps
        # a derivative pass rounds within the rows alone, but cancels what is larger inside of the function
        allowed = np.sqrt(eps) * size + 1e3 * eps * size[np.isfinite(size)].max(initial=0.0)
        with np.errstate(invalid="ignore"):
            wrong = np.flatnonzero((np.abs(found - expected) > allowed) & np.isfinite(found) & np.isfinite(expected))
        if wrong.size:
            what = "columns" if self.mode == "reverse" else "rows"
            shown = ", ".join(map(str, wrong[:5])) + (", …" if wrong.size > 5 else "")
            raise SparsityError(
                f"{self.name}: the pattern lacks entries that are not zero here: a product with a random vector differs in "
                f"{wrong.size} of {found.size} {what} ({shown}); find the pattern at this input (leave `pattern` out, or make "
                "a new plan), or add the entries"
            )


# ---------------------------------------------------------------------- colours and how to read the matrix off
class Compression:
    """A pattern, colours, and for each of its entries where it stands among the compressed ones: (pass, place) arrays."""

    def __init__(self, pattern, mode, colors, places):
        self.pattern, self.mode, self.colors, self.places = pattern, mode, colors, places
        self.passes = int(colors.max(initial=0)) + 1

    def seeds(self):
        """The directions of the passes (passes × elements): 1 for the elements of their colour."""
        seeds = np.zeros((self.passes, self.colors.size))
        seeds[self.colors, np.arange(self.colors.size)] = 1.0
        return seeds


def _coordinates(pattern):
    return np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr)), pattern.indices


def _compressed(pattern, mode):
    """The compression of a Jacobian by columns (forward) or rows (reverse), whichever takes fewer passes if mode is auto."""
    least = {
        "forward": np.diff(pattern.indptr).max(initial=0), "reverse": np.bincount(pattern.indices).max(initial=0),
    }  # fmt: skip
    modes = sorted(least, key=least.__getitem__) if mode == "auto" else [mode]
    best = None
    for each in modes:
        if best is not None and best.passes <= least[each]:
            break
        colors = column_coloring(pattern if each == "forward" else pattern.T.tocsr())
        rows, columns = _coordinates(pattern)
        places = (colors[columns], rows) if each == "forward" else (colors[rows], columns)
        made = Compression(pattern, each, colors, places)
        if best is None or made.passes < best.passes:
            best = made
    return best


def _symmetrically(pattern):
    """The compression of a Hessian: entry (i, j) is read in row i where no other neighbour of i has j's colour, else in row
    j, where then none but i has its colour."""
    if (pattern != pattern.T).nnz:
        raise SparsityError("sparse_hessian: the pattern is not symmetric, as Hessians are; give pattern + pattern.T")
    colors = star_coloring(pattern)
    rows, columns = _coordinates(pattern)
    key = rows * (colors.max(initial=0) + 1) + colors[columns]
    _, group, count = np.unique(key, return_inverse=True, return_counts=True)
    alone = count[group] == 1
    places = np.where(alone, colors[columns], colors[rows]), np.where(alone, rows, columns)
    return Compression(pattern, "symmetric", colors, places)


def _as_pattern(name, pattern):
    from scipy.sparse import csr_array, issparse

    if not issparse(pattern):
        pattern = np.asarray(pattern)
        if pattern.ndim != 2:
            raise ShapeError(f"{name}: pattern is {describe(pattern)}; it has two axes, for the result and the argument")
    made = csr_array(pattern)
    made = csr_array((np.ones(made.nnz, bool), made.indices.copy(), made.indptr.copy()), shape=made.shape)
    made.sum_duplicates()
    return made


def _refuse(name, values):
    for x in values:
        if isinstance(x, Layer):
            raise ConcreteValueError(
                f"{name}: a scipy.sparse matrix holds plain numbers, but this one would depend on {describe(x)}, which a "
                "transformation follows; make a plan outside of it and use plan.values, the stored entries as an array"
            )


# ---------------------------------------------------------------------- passes
def _pieces(seeds, values):
    """Directions (passes × elements) cut into one array for each value, of its shape and dtype and where it lies."""
    sizes = [math.prod(shape_of(x)) for x in values]
    cut = np.split(seeds, np.cumsum(sizes)[:-1], axis=1) if sizes else []
    return [asarray_like(part.reshape(len(seeds), *shape_of(x)).astype(dtype_of(x)), x) for part, x in zip(cut, values)]


def _in_parts(mapped, seeds, values):
    """A mapped function of directions for these values, so many at once as fit into memory."""
    step = max(1, MAX_DIRECTION_ELEMENTS // max(1, seeds.shape[1]))
    found = [mapped(*_pieces(seeds[k : k + step], values)) for k in range(0, len(seeds), step)]
    return found[0] if len(found) == 1 else concatenate(found)


def _joined(parts, example):
    """Arrays as one line."""
    return concatenate([ravel(part) for part in parts]) if parts else zeros_like(example, shape=(0,))


def _check_rows(name, values, count):
    found = sum([math.prod(shape_of(v)) for v in values])
    if found != count:
        raise ShapeError(
            f"{name}: the pattern has {count} rows, but the result has {found} floating elements; find the pattern at "
            "arguments of these shapes"
        )


def _pushed(name, function, leaves, structure, seeds, count):
    """Products of the Jacobian with directions, (passes × rows)."""
    followed = [i for i, x in enumerate(leaves) if inexact(x)]

    def along(*directions):
        dxs = [None] * len(leaves)
        for i, direction in zip(followed, directions, strict=True):
            dxs[i] = direction
        values, slopes, _, _ = push(name, function, [(leaves, structure)], [dxs])
        pairs = [(v, t) for v, t in zip(values, slopes, strict=True) if inexact(v)]
        _check_rows(name, [v for v, _ in pairs], count)
        return _joined([tangent_of(v, t) for v, t in pairs], leaves[followed[0]])

    return _in_parts(vmap(along), seeds, [leaves[i] for i in followed])


def _vjp_columns(name, function, leaves, structure, seeds, count):
    """Products of the transposed Jacobian with directions of the result, (passes × columns)."""
    pullback, _ = record(name, function, [0], [tree.unflatten(structure, leaves)])
    outputs = [(value, index) for value, index in pullback.outputs if inexact(value)]
    values = [value for value, _ in outputs]
    _check_rows(name, values, count)

    def back(*cts):
        pairs = [(index, ct) for (_, index), ct in zip(outputs, cts, strict=True) if index is not None]
        found = [ct for ct in pullback.cotangents(pairs) if ct is not None]
        return _joined(found, leaves[0])

    found = _in_parts(vmap(back), seeds, values)
    if any([dtype_of(v).kind == "c" for v in values]):  # Re(-i dy) = Im(dy)
        turned = lambda ct: -1j * ct if dtype_of(ct).kind == "c" else zeros_like(ct)
        found = found + 1j * _in_parts(vmap(lambda *cts: back(*map(turned, cts))), seeds, values)
    return found
