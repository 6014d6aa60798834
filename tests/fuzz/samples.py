"""The samples of the cards at other sizes and of other dtypes, with what makes them samples (order, symmetry) kept."""

import functools

import numpy as np

import polyad as pa

DRAWS = 8  # of a sample, whose elements are drawn from for larger ones
NARROW = {"e": "F", "f": "F", "d": "D"}  # complex dtype for a complex sample where a real one is asked for


class Template:
    """One sample of an operation. make: function(rng) -> args, or (args, params)."""

    def __init__(self, make):
        drawn = [make(np.random.default_rng(seed)) for seed in range(7, 7 + DRAWS)]
        args, self.params = drawn[0]
        self.leaves, self.structure = pa.tree.flatten(list(args))
        self.places = [i for i, x in enumerate(self.leaves) if isinstance(x, (np.ndarray, np.generic))]
        rows = [pa.tree.flatten(list(args))[0] for args, _ in drawn]
        self.arrays = [[np.asarray(row[i]) for row in rows] for i in self.places]
        self.shapes = [draws[0].shape for draws in self.arrays]
        self.lengths = sorted({n for shape in self.shapes for n in shape if n > 1})
        self.square = any(shape[-1] == shape[-2] > 1 for shape in self.shapes if len(shape) > 1)

    def changed(self, lengths, numbers, rng):
        """(leaves, params) with axes of other lengths. lengths: old length -> new one; numbers: whether whole numbers among
        the parameters change like lengths."""
        leaves = [renumbered(x, lengths) if numbers else x for x in self.leaves]
        for i, draws in zip(self.places, self.arrays, strict=True):
            shape = tuple([lengths.get(n, n) for n in draws[0].shape])
            leaves[i] = draws[0][()] if shape == draws[0].shape else enlarged(draws, shape, lengths, rng)
        return leaves, renumbered(self.params, lengths) if numbers else self.params


@functools.cache
def template(make):
    return Template(make)


def renumbered(value, lengths):
    """A parameter with the whole numbers that are lengths changed."""
    if isinstance(value, (tuple, list)):
        return type(value)([renumbered(v, lengths) for v in value])
    if isinstance(value, dict):
        return {k: renumbered(v, lengths) for k, v in value.items()}
    return lengths.get(value, value) if type(value) is int else value


def enlarged(draws, shape, lengths, rng):
    """An array like those drawn, of another shape."""
    x = draws[0]
    pool = np.concatenate([draw.reshape(-1) for draw in draws])
    if not pool.size or not np.prod(shape):
        return np.zeros(shape, x.dtype)
    y = pool[rng.integers(len(pool), size=shape)]
    if x.dtype.kind in "fc":
        whole = np.all(pool[np.isfinite(pool)] == np.rint(pool[np.isfinite(pool)].real))
        y = y if whole else y * (1 + 0.01 * rng.uniform(-1, 1, size=shape))  # else there are ties
    if x.dtype.kind in "iu" and pool.min() >= 0 and pool.max() > 1:  # places in something that has grown
        grown = max([n for n in lengths.values() if n > 1], default=1)
        y = np.where(rng.random(shape) < 0.5, y, np.minimum(y * grown // max(int(pool.max()), 1), grown - 1))
    return kept(draws, y.astype(x.dtype))[()]


def kept(draws, y):
    """y with what all draws have in common: order, symmetry, zeros beside the diagonal, a heavy diagonal."""
    x = draws[0]
    if x.ndim == 1 and x.size > 1 and x.dtype.kind in "iuf":
        for sign in (1, -1):
            if all(np.all(sign * np.diff(d) >= 0) for d in draws):
                return np.sort(y)[::sign]
    if x.ndim < 2 or x.shape[-1] != x.shape[-2] or x.shape[-1] < 2 or y.shape[-1] != y.shape[-2] or x.dtype.kind not in "fc":
        return y
    turned = lambda a: np.conj(np.swapaxes(a, -1, -2))
    if all(np.allclose(d, turned(d), equal_nan=True) for d in draws):
        y = (y + turned(y)) / 2
    for part in (np.tril, np.triu):
        if all(np.array_equal(part(d), d, equal_nan=True) for d in draws):
            y = part(y)
    n = x.shape[-1]
    size = lambda a: float(np.mean(np.abs(np.diagonal(a, axis1=-2, axis2=-1))))
    heavy, rest = np.mean([size(d) for d in draws]), np.mean([np.mean(np.abs(d * (1 - np.eye(n)))) for d in draws])
    if heavy > 2 * rest:  # regular, and so it stays
        y = y + (np.eye(y.shape[-1]) * np.sqrt(y.shape[-1] / n) * heavy).astype(y.dtype)
    return y


def converted(x, dtype):
    """A sample's array in a dtype, or the one next to it that it can have."""
    x, dtype = np.asarray(x), np.dtype(dtype)
    foreign = "" if dtype.isnative else ">"
    if x.dtype.kind == "b" or (x.dtype.kind in "iu" and dtype.kind in "fcb"):
        return x.astype(foreign + "i8")[()] if foreign and x.dtype.kind == "i" else x[()]
    if x.dtype.kind in "fc" and dtype.kind == "b":
        return (x.real > np.mean(x.real)).astype(bool)[()] if x.size else x.astype(bool)
    if dtype.kind in "iu":
        if x.dtype.kind in "fc":
            x = np.rint(3 * np.clip(np.nan_to_num(x.real), -30, 30))
        return (np.abs(x) if dtype.kind == "u" else x).astype(dtype)[()]
    if x.dtype.kind == "c" and dtype.kind == "f":
        dtype = np.dtype(foreign + np.dtype(NARROW[dtype.char]).str[1:])
    if x.dtype.kind == "f" and dtype.kind == "c":
        x = x + 0.5j * np.roll(x, 1)
    return x.astype(dtype)[()]
