"""Sets of inputs, one per element of an array: what the sparsity layer carries, as boolean CSR arrays (elements × inputs).

How an operation combines them is its dependence: which elements of its result read which elements of an argument.
"""

import math
from typing import Any

import numpy as np

TOO_MANY = 2**28  # entries; a pattern of more would take gigabytes

ELEMENT = np.int64


def csr(indices, indptr, shape) -> Any:
    """A boolean CSR array from its columns and row starts."""
    from scipy.sparse import csr_array

    if len(indices) > TOO_MANY:
        raise too_dense(len(indices))
    return csr_array((np.ones(len(indices), bool), indices, indptr), shape=shape)


def too_dense(entries):
    """The error for a pattern that is none."""
    return MemoryError(
        f"the sparsity pattern would have {entries:.1e} entries: some step makes (nearly) every element depend on every "
        "input; use products with the Jacobian or Hessian instead (jvp, vjp, hvp), or give `pattern`"
    )


def no_dependence(size, columns) -> Any:
    """No dependence at all."""
    return csr(np.empty(0, ELEMENT), np.zeros(size + 1, ELEMENT), (size, columns))


def units(size, first, columns) -> Any:
    """Element i depends on input first + i."""
    return csr(np.arange(first, first + size), np.arange(size + 1), (size, columns))


def rows(sets, numbers) -> Any:
    """The sets of the elements with these numbers, in this order; of number -1 the empty one."""
    counts = np.diff(sets.indptr)
    counts = np.where(numbers < 0, 0, counts[numbers]) if len(counts) else np.zeros(len(numbers), ELEMENT)
    ends = np.cumsum(counts, dtype=ELEMENT)
    total = int(ends[-1]) if len(ends) else 0
    if total > TOO_MANY:
        raise too_dense(total)
    starts = sets.indptr[:-1][numbers].astype(ELEMENT) if len(sets.indptr) > 1 else np.zeros(len(numbers), ELEMENT)
    places = np.arange(total) + np.repeat(starts - ends + counts, counts)
    return csr(sets.indices[places], np.concatenate([[0], ends]), (len(numbers), sets.shape[1]))


def grouped(sets, groups, count) -> Any:
    """For each of `count` groups the union of the sets of its elements; groups[i] is element i's group, -1 for none."""
    if count == 1 and groups.size and not groups.any():
        found = np.unique(sets.indices)
        return csr(found, np.array([0, len(found)]), (1, sets.shape[1]))
    members = np.flatnonzero(groups >= 0)
    return related(sets, groups[members], members, count)


def related(sets, results, elements, count) -> Any:
    """For each of `count` results the union of the sets of the elements related to it, given as pairs of numbers."""
    from scipy.sparse import coo_array

    if len(results) > TOO_MANY:
        raise too_dense(len(results))
    relation = coo_array((np.ones(len(results), bool), (results, elements)), shape=(count, sets.shape[0]))
    found = relation.tocsr() @ sets
    if found.nnz > TOO_MANY:
        raise too_dense(found.nnz)
    return found


def stacked(parts, columns) -> Any:
    """The sets of several arrays, one after the other. parts: pairs (sets or None, number of elements)."""
    if len(parts) == 1 and parts[0][0] is not None:
        return parts[0][0]
    counts = [np.zeros(size, ELEMENT) if sets is None else np.diff(sets.indptr) for sets, size in parts]
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(counts), dtype=ELEMENT)])
    indices = np.concatenate([np.empty(0, ELEMENT), *[sets.indices for sets, _ in parts if sets is not None]])
    return csr(indices.astype(ELEMENT), indptr, (len(indptr) - 1, columns))


def union(found, more) -> Any:
    """The union, element by element; None is empty."""
    if found is None or found is more:
        return more
    return found if more is None else found + more


def numbered(shape) -> Any:
    """The numbers of the elements of an array of this shape, as such an array."""
    return np.arange(math.prod(shape)).reshape(shape)


def broadcast(sets, shape, result, live=None) -> Any:
    """The sets of an array of this shape broadcast to that of the result; only where `live`, a mask, if it is given."""
    if shape == result and live is None:
        return sets
    numbers = np.broadcast_to(numbered(shape), result)
    return rows(sets, (numbers if live is None else np.where(live, numbers, -1)).ravel())


def along_letters(sets, letters, shape, result_letters, result) -> Any:
    """The sets of a result whose element [i, k] reads what the letters say: of "ij" with result "ik" all [i, j].

    letters: one per last axis of the argument, of this shape; result_letters: the same for the result. Axes before them
    broadcast. A capital letter stands for all positions up to that of its small one: "I" with result "i" as in a cumulative
    sum.
    """
    lead = len(shape) - len(letters)
    for at, letter in enumerate(letters):
        if letter.isupper() and letter.lower() in result_letters:
            sets = _up_to(sets, shape, lead + at)
    letters = letters.lower()
    repeated = [i for i, c in enumerate(letters) if c in letters[:i]]
    if repeated:
        raise ValueError(f"depends: the letter {letters[repeated[0]]!r} stands twice in {letters!r}")
    kept = [lead + i for i, c in enumerate(letters) if c in result_letters]
    here = (*range(lead), *kept)
    small = tuple(shape[a] if a in here else 1 for a in range(len(shape)))
    if small != shape:
        groups = np.broadcast_to(numbered(small), shape).ravel()
        sets = grouped(sets, groups, math.prod(small))
    numbers = numbered(tuple(shape[a] for a in here))
    order = sorted(range(len(kept)), key=lambda j: result_letters.index(letters[kept[j] - lead]))
    numbers = numbers.transpose((*range(lead), *[lead + j for j in order]))
    lengths = [shape[lead + letters.index(c)] if c in letters else 1 for c in result_letters]
    numbers = np.broadcast_to(numbers.reshape((*shape[:lead], *lengths)), result).ravel()
    return sets if len(numbers) == sets.shape[0] and np.array_equal(numbers, np.arange(len(numbers))) else rows(sets, numbers)


def _up_to(sets, shape, axis) -> Any:
    """Each element's set joined with those before it along an axis."""
    after, before = np.tril_indices(shape[axis])
    numbers = np.moveaxis(numbered(shape), axis, 0)
    return related(sets, numbers[after].ravel(), numbers[before].ravel(), sets.shape[0])


def through_constant(sets, letters, shape, result_letters, result, constant, constant_letters) -> Any:
    """As `along_letters`, of a product with a constant array that has zeros: what they multiply is not read."""
    lead = _leading(len(result) - len(result_letters))
    name = lambda shape, own: lead[len(lead) - (len(shape) - len(own)) :] + own
    own, other, out = name(shape, letters), name(constant.shape, constant_letters), name(result, result_letters)
    length = dict(zip(out, result, strict=True)) | {c: n for c, n in zip(own, shape, strict=True) if c not in out}
    bound = [c for c, n in zip(other, constant.shape, strict=True) if n == length.get(c, n)]
    free = [c for c in dict.fromkeys(own + out) if c not in bound]
    nonzero = [p for c, p in zip(other, np.nonzero(constant), strict=True) if c in bound]
    count = np.count_nonzero(constant)
    several = math.prod(length[c] for c in free)
    if count * several > TOO_MANY:
        raise too_dense(count * several)
    at = {c: np.repeat(p, several) for c, p in zip(bound, nonzero, strict=True)}
    lengths = tuple(length[c] for c in free)
    for c, p in zip(free, np.unravel_index(np.arange(several), lengths) if free else (), strict=True):
        at[c] = np.tile(p, count)

    def places(names, shape):
        if not shape:
            return np.zeros(count * several, ELEMENT)
        return np.ravel_multi_index([at[c] if n > 1 else 0 * at[c] for c, n in zip(names, shape, strict=True)], shape)

    return related(sets, places(out, result), places(own, shape), math.prod(result))


def _leading(count):
    """Names of the axes before those that have letters."""
    return "".join(chr(0x2460 + i) for i in range(count))
