"""On which inputs a value depends that comes from another rank: what the sparsity layer asks of the operations between ranks.

Each rank knows the sets of its own lanes, so a pattern is found by all ranks together, in the order of the values themselves;
it is the same on all ranks, those without lanes included.
"""

import numpy as np

from ..ad.sparsity import patterns


def joined(x, blocks):
    """A value with the sets of the blocks of all ranks, one after the other."""
    counts, columns = _encoded_sets(x)
    counts = blocks.comm.allgatherv(counts, label=blocks.name)
    columns = blocks.comm.allgatherv(columns, label=blocks.name)
    starts = np.concatenate([[0], np.cumsum(counts, dtype=patterns.ELEMENT)])
    return _depending(x, patterns.csr(columns, starts, (len(counts), x.run.columns)))


def united(x, blocks):
    """A value whose elements depend on what they depend on on any rank."""
    counts, columns = _encoded_sets(x)
    pairs = np.repeat(np.arange(len(counts)), counts) * x.run.columns + columns
    pairs = np.unique(blocks.comm.allgatherv(pairs, label=blocks.name))
    elements, columns = np.divmod(pairs, max(x.run.columns, 1))
    starts = np.searchsorted(elements, np.arange(len(counts) + 1))
    return _depending(x, patterns.csr(columns, starts, (len(counts), x.run.columns)))


def _encoded_sets(x):
    """The number of inputs of each element, and the inputs, element after element."""
    if x.sets is None:
        return np.zeros(x.size, patterns.ELEMENT), np.zeros(0, patterns.ELEMENT)
    return np.diff(x.sets.indptr).astype(patterns.ELEMENT), x.sets.indices.astype(patterns.ELEMENT)


def _depending(x, sets):
    """A value of one element that carries the sets to where they are read."""
    return x.run.depending(np.zeros(()), sets)
