"""Large arrays travel in pieces: MPI libraries count in 32 bits, elements or bytes, and some fail or wrap beyond."""

import numpy as np

PIECE = 1 << 30  # bytes of one message, of all ranks together


def exceeds(a):
    """Return whether an array must travel in pieces."""
    return a.nbytes > PIECE


def pieces(*arrays):
    """Yield the arrays, contiguous and of one size and dtype, as one tuple, or tuples of views of at most PIECE bytes each."""
    first = arrays[0]
    if not exceeds(first):
        yield arrays
        return
    step = max(1, PIECE // first.itemsize)
    flat = [a.reshape(-1) for a in arrays]
    for start in range(0, first.size, step):
        yield tuple([a[start : start + step] for a in flat])


def columns(rows, width, itemsize):
    """Yield slices of the columns of a table with so many rows, one for each rank, of at most PIECE bytes in all."""
    step = max(1, PIECE // (rows * itemsize))
    for start in range(0, width, step):
        yield slice(start, min(start + step, width))


def as_table(a):
    """The array, whose axis 0 has a row for each rank, as a table with two axes."""
    return a.reshape(len(a), -1)


def parts_of_blocks(block, lengths):
    """For blocks that are joined: yield (part of the own block, lengths of the parts of all ranks, function that puts the
    joined parts in their places in a flat array), all flat and of at most PIECE bytes in all. lengths: of the blocks in
    elements."""
    ends = np.cumsum(lengths)
    for columns_here in columns(len(lengths), int(lengths.max()), block.itemsize):
        here = np.clip(lengths - columns_here.start, 0, columns_here.stop - columns_here.start)

        def put(joined, parts, start=columns_here.start, here=here):
            for first, length, part in zip(ends - lengths + start, here, np.split(parts, np.cumsum(here)[:-1]), strict=True):
                joined[first : first + length] = part

        yield block.reshape(-1)[columns_here], here, put
