"""Convolution over chosen axes, with products summed over others."""

import string

import numpy as np


def convolve(a, b, axes=None, dot_axes=((), ()), mode="full"):
    """Convolution over the axes[0] of a and axes[1] of b; sums over the pairs of dot_axes; outer products of the rest.

    The axes of the result: the rest of a, the rest of b, those convolved.
    """
    along = [list(x) for x in axes] if axes else [list(range(np.ndim(a))), list(range(np.ndim(b)))]
    lengths = [(a.shape[i], b.shape[j]) for i, j in zip(*along)]
    if mode == "valid" and any(m < n for m, n in lengths):
        a, b, along, dot_axes = b, a, along[::-1], dot_axes[::-1]
        lengths = [(n, m) for m, n in lengths]
    if mode != "valid":
        width = [(0, 0)] * np.ndim(a)
        for i, (_, n) in zip(along[0], lengths):
            width[i] = (n - 1, n - 1)
        a = np.pad(a, width)
    windows = np.lib.stride_tricks.sliding_window_view(a, [n for _, n in lengths], axis=tuple(along[0]))
    names = iter(string.ascii_letters)
    of_a, of_b = [next(names) for _ in range(np.ndim(a))], [next(names) for _ in range(np.ndim(b))]
    for i, j in zip(*dot_axes):
        of_b[j] = of_a[i]
    rest = [x for i, x in enumerate(of_a) if i not in (*along[0], *dot_axes[0])]
    rest += [x for j, x in enumerate(of_b) if j not in (*along[1], *dot_axes[1])]
    places = [of_a[i] for i in along[0]]
    spec = f"{''.join(of_a)}{''.join(of_b[j] for j in along[1])},{''.join(of_b)}->{''.join(rest + places)}"
    y = np.einsum(spec, windows, np.flip(b, tuple(along[1])))
    if mode == "same":
        for k, (m, n) in enumerate(lengths):
            y = np.take(y, np.arange(m) + (n - 1) // 2, axis=len(rest) + k)
    return y
