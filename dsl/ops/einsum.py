"""Einstein summation: products of arrays summed over axes named by letters, pair by pair as matrix products.

`einsum` takes all of NumPy's forms, `contract` is the operation behind it. Labels of axes are letters, and negative
integers for the axes under an ellipsis, counted from the last.
"""

from __future__ import annotations

import functools
import math
import string
from collections import Counter
from typing import TYPE_CHECKING, Any, cast

from ...dispatch import ShapeError, describe, isa
from ..avals import dtype_of, ndim_of, shape_of
from ..card import composite
from ..samples import case, complex_normal, normal
from .arithmetic import multiply
from .create import arange_like
from .indexing import getitem
from .linalg import counted, matmul
from .products import rearranged
from .reduce import sum

if TYPE_CHECKING:
    from ...dispatch.annotations import AnyArray
LETTERS = string.ascii_uppercase + string.ascii_lowercase  # in the order of their numbers in a list of subscripts


def einsum(subscripts: Any, /, *operands: Any, optimize: str = "auto") -> AnyArray:
    """Sum of products of arrays over the axes that `subscripts` names and its output leaves out.

    subscripts: "ij,jk->ik": a letter per axis of each operand, "..." for the axes not named, and the axes of the result;
    without "->" those are the letters that occur once, in alphabetical order. A letter that occurs twice in one operand
    takes its diagonal. Lengths of a letter are equal, or 1. operands: arrays. Or NumPy's other form, each operand followed
    by the list of its axes' numbers: `einsum(x, [0, 1], y, [1, 2], [0, 2])`, with `...` allowed in a list.
    optimize: the order of the contractions: "auto", "greedy", "optimal", … as in opt_einsum, which is asked for three
    operands or more; False: from left to right; or a path as NumPy's `einsum_path` gives it.
    Returns the promoted dtype. Raises ShapeError.

    >>> import numpy as np, polyad as pa
    >>> pa.einsum("ij,ij->i", np.ones((2, 3)), np.ones((2, 3)))
    array([3., 3.])
    """
    if not isinstance(subscripts, str):
        subscripts, operands = from_lists((subscripts, *operands))
    if not operands:
        raise ShapeError(f"einsum: no operands for the subscripts {subscripts!r}")
    return contract(*operands, subscripts=subscripts, optimize=optimize)


def from_lists(args):
    """(subscripts, operands) of a call in which each operand is followed by the list of its axes' numbers."""
    pairs, rest = len(args) // 2, args[len(args) // 2 * 2 :]
    terms = [_term(args[2 * i + 1]) for i in range(pairs)]
    output = f"->{_term(rest[0])}" if rest else ""
    return ",".join(terms) + output, tuple(args[2 * i] for i in range(pairs))


def _term(numbers):
    try:
        return "".join("..." if n is Ellipsis else LETTERS[range(len(LETTERS))[n]] for n in numbers)
    except (TypeError, IndexError):
        raise ShapeError(
            "einsum: give the subscripts as a string first, or after each operand a list of integers below "
            f"{len(LETTERS)}; got {describe(numbers)}"
        ) from None


# ---------------------------------------------------------------------- subscripts
@functools.lru_cache(1024)
def parse(subscripts, ndims):
    """(labels of each operand, labels of the result), for operands of these numbers of axes. Raises ShapeError."""
    terms, arrow, result = subscripts.replace(" ", "").partition("->")
    terms = terms.split(",")
    if len(terms) != len(ndims):
        raise ShapeError(f"einsum: {subscripts!r} names {len(terms)} operands, but there are {len(ndims)}")
    inputs = tuple(_labels(subscripts, term, ndim) for term, ndim in zip(terms, ndims))
    hidden = max(len([a for a in labels if isa(a, int)]) for labels in inputs)
    counts = Counter(a for labels in inputs for a in labels)
    if not arrow:
        letters = sorted(a for a, n in counts.items() if n == 1 and isinstance(a, str))
        return inputs, (*range(-hidden, 0), *letters)
    output = _labels(subscripts, result, len(result.replace("...", "")) + hidden * ("..." in result))
    if len(set(output)) != len(output):
        raise ShapeError(f"einsum: {subscripts!r} names an axis of the result twice")
    unknown = [a for a in output if a not in counts and isinstance(a, str)]
    if unknown:
        raise ShapeError(f"einsum: {subscripts!r}: the result's axis {unknown[0]!r} is in no operand")
    if hidden and "..." not in result:
        raise ShapeError(f"einsum: {subscripts!r}: the operands have axes under '...', so the result needs '...' too")
    return inputs, output


def _labels(subscripts, term, ndim):
    before, dots, after = term.partition("...")
    if not all(a in LETTERS for a in before + after):
        raise ShapeError(f"einsum: {subscripts!r}: subscripts are letters, with at most one '...' per operand")
    hidden = ndim - len(before + after)
    if hidden < 0 or (hidden and not dots):
        raise ShapeError(
            f"einsum: {subscripts!r}: {term!r} names {len(before + after)} axes of an operand that has {ndim}; "
            "write '...' for those not named"
        )
    return (*before, *range(-hidden, 0), *after)


def label_lengths(subscripts, xs, inputs):
    """Length of each label; 1 gives way to any other."""
    lengths = {}
    for x, labels in zip(xs, inputs):
        shape = shape_of(x)
        if len(set(labels)) != len(labels) and len(set(zip(labels, shape))) != len(set(labels)):
            raise ShapeError(f"einsum: {subscripts!r}: {describe(x)} has axes of one letter with different lengths")
        for a, n in zip(labels, shape):
            known = lengths.get(a, 1)
            if known == 1:
                lengths[a] = n
            elif n not in (1, known):
                raise ShapeError(f"einsum: {subscripts!r}: the axis {a!r} has length {known} and, in {describe(x)}, {n}")
    return lengths


# ---------------------------------------------------------------------- order
def _path(terms, output, lengths, optimize):
    """Places of the operands that each step takes from the list; its result is appended."""
    count = len(terms)
    if isinstance(optimize, (list, tuple)) and all(isinstance(step, (tuple, list)) for step in optimize[1:]):
        return [tuple(step) for step in optimize[isinstance(optimize[0], str) :]]
    if count < 3:
        return [tuple(range(count))]
    if optimize is False:
        return [(0, 1), *[(0, count - k - 1) for k in range(1, count - 1)]]
    return _asked_path(terms, output, tuple(lengths.items()), "auto" if optimize is True else cast("Any", optimize))


@functools.lru_cache(1024)
def _asked_path(terms, output, lengths, optimize):
    import opt_einsum

    lengths = dict(lengths)
    symbol = {a: opt_einsum.get_symbol(i) for i, a in enumerate(lengths)}
    text = lambda labels: "".join(symbol[a] for a in labels)
    equation = f"{','.join(map(text, terms))}->{text(output)}"
    shapes = [tuple(lengths[a] for a in labels) for labels in terms]
    limit = {}
    if isinstance(optimize, tuple):  # NumPy's (strategy, memory limit)
        optimize, limit = optimize[0], {"memory_limit": optimize[1]}
    path, _ = opt_einsum.contract_path(equation, *shapes, shapes=True, optimize=optimize, **limit)
    return [tuple(step) for step in path]


# ---------------------------------------------------------------------- the operation
@composite(
    kernel=None,
    numpy=(),
    samples=[
        case(normal(2, 3), normal(3, 4), subscripts="ij,jk"), case(normal(3, 3), subscripts="ii->i"),
        case(normal(2, 3), subscripts="ij->j"), case(normal(2, 2, 3), subscripts="iij->ji"),
        case(normal(3, 3), subscripts="ii"),
        case(normal(2, 3), normal(2, 3), subscripts="bi,bi->b"), case(normal(2), normal(3), subscripts="i,j->ji"),
        case(normal(2, 3, 4), normal(2, 4, 2), subscripts="...ij,...jk->...ik"), case(normal(2), normal(1), subscripts="i,i"),
        case(normal(2, 3), normal(3, 4), normal(4), subscripts="ij,jk,k->i"), case(normal(2, 3), 2.0, subscripts="ij,->ji"),
        case(complex_normal(2, 3), complex_normal(3, 2), subscripts="ij,ji->"),
        case(normal(2, 2), normal(2, 3), normal(3, 2), subscripts="ab,bc,ca->b", optimize=False),
    ],
)  # fmt: skip
def contract(*arrays, subscripts, optimize: Any = "auto"):
    """Sum of products of arrays over named axes: `einsum` with the subscripts as a parameter, in one form.

    arrays: one per term of `subscripts`, a string as for `einsum`. optimize: as for `einsum`. Raises ShapeError.
    """
    inputs, output = parse(subscripts, tuple(ndim_of(x) for x in arrays))
    lengths = label_lengths(subscripts, arrays, inputs)
    spread = [tuple(a for a, n in zip(labels, shape_of(x)) if n == lengths[a]) for x, labels in zip(arrays, inputs)]
    holders = Counter(a for labels in spread for a in set(labels))
    xs = []
    for i, (x, labels, kept) in enumerate(zip(arrays, inputs, spread)):
        x = counted(x, arrays[i - 1])
        x = x if kept == labels else rearranged(x, tuple(range(len(labels))), tuple(lengths[a] for a in kept))
        x, kept = _diagonals(x, kept)
        xs.append(_summed(x, kept, {a for a in kept if holders[a] == 1 and a not in output}))
    for step in _path(tuple(labels for _, labels in xs), output, lengths, optimize):
        taken = [xs.pop(i) for i in sorted(step, reverse=True)][::-1]
        for i in range(1, len(taken)):
            later = {a for _, labels in (*taken[i + 1 :], *xs) for a in labels}
            (x, kept), (y, others) = taken[i - 1 : i + 1]
            taken[i] = _product(x, kept, y, others, later.union(output), lengths)
        xs.append(taken[-1])
    ((y, labels),) = xs
    return rearranged(y, tuple(labels.index(a) for a in output), tuple(lengths[a] for a in output))


def _diagonals(x, labels):
    """x with one axis per label: where a label occurs several times, the elements with equal positions on them."""
    for a in [a for a, n in Counter(labels).items() if n > 1]:
        places = [i for i, b in enumerate(labels) if b == a]
        rest = [i for i, b in enumerate(labels) if b != a]
        positions = arange_like(x, shape_of(x)[places[0]])
        x = rearranged(x, (*places, *rest), tuple(shape_of(x)[i] for i in (*places, *rest)))
        x = getitem(x, (positions,) * len(places))
        labels = (a, *[labels[i] for i in rest])
    return x, labels


def _summed(x, labels, over):
    """x summed over labels, in its own dtype as NumPy's einsum does it."""
    if not over:
        return x, labels
    axes = tuple(i for i, a in enumerate(labels) if a in over)
    return sum(x, axis=axes, dtype=dtype_of(x).newbyteorder("=")), tuple(a for a in labels if a not in over)


def _product(x, of_x, y, of_y, keep, lengths):
    """The product of two arrays, summed over the labels they share that nobody needs: (array, its labels)."""
    if not of_x or not of_y:  # a number goes as it is with the arrays of any device
        return multiply(x, y), of_x or of_y
    both = [a for a in of_x if a in of_y]
    inner, lanes = [a for a in both if a not in keep], [a for a in both if a in keep]
    rows, columns = [a for a in of_x if a not in both], [a for a in of_y if a not in both]
    size = lambda labels: math.prod(lengths[a] for a in labels)
    lane = tuple(lengths[a] for a in lanes)
    order = lambda labels, wanted: tuple(labels.index(a) for a in wanted)
    labels = (*lanes, *rows, *columns)
    shape = tuple(lengths[a] for a in labels)
    if inner:
        left = rearranged(x, order(of_x, (*lanes, *rows, *inner)), (*lane, size(rows), size(inner)))
        right = rearranged(y, order(of_y, (*lanes, *inner, *columns)), (*lane, size(inner), size(columns)))
        z = matmul(left, right)
    else:
        left = rearranged(x, order(of_x, (*lanes, *rows)), (*lane, *[lengths[a] for a in rows], *[1] * len(columns)))
        right = rearranged(y, order(of_y, (*lanes, *columns)), (*lane, *[1] * len(rows), *[lengths[a] for a in columns]))
        z = multiply(left, right)
    return rearranged(z, tuple(range(ndim_of(z))), shape), labels
