"""The collectives of lanes as tests ask for them: of each, what a lane calls, and by NumPy what all lanes then have."""

from itertools import product
from typing import NamedTuple

import numpy as np

import polyad as pa

UFUNCS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
IDENTITIES = {"sum": 0.0, "prod": 1.0, "max": -np.inf, "min": np.inf}


class LaneCase(NamedTuple):
    """body(x): what one lane does; reference(X): what all lanes have then, of their values X, stacked; shape: of a lane's x;
    smooth: whether there are derivatives to ask for."""

    body: object
    reference: object
    shape: tuple
    smooth: bool = True


def scanned(operation, exclusive, reverse):
    def reference(X):
        rows = X[::-1] if reverse else X
        found = UFUNCS[operation].accumulate(rows, axis=0)
        if exclusive:
            found = np.concatenate([np.full_like(rows[:1], IDENTITIES[operation]), found[:-1]])
        return found[::-1] if reverse else found

    options = {"exclusive": exclusive, "reverse": reverse}
    smooth = not (exclusive and operation in ("max", "min"))  # infinite in the first lane
    return LaneCase(lambda x: pa.scan_over_axis(x, "i", operation, **options), reference, (2,), smooth)


def lane_cases(n):
    """name -> LaneCase, for n lanes of an axis "i", n at least 1."""
    pairs, order = [(k, k - 1) for k in range(1, n, 2)] + [(0, n - 1)], [(k + 1) % n for k in range(n)]
    root, same = n // 2, lambda y: np.stack([y] * n)
    sent = lambda X: np.stack([sum([X[a] for a, b in pairs if b == k], 0 * X[k]) for k in range(n)]).astype(X.dtype)
    split = lambda x, axis: np.split(x, n, axis=axis)
    cases = {
        "psum": (lambda x: pa.psum(x, "i"), lambda X: same(X.sum(axis=0)), (2,)),
        "pmean": (lambda x: pa.pmean(x, "i"), lambda X: same(X.mean(axis=0)), (2,)),
        "pmax": (lambda x: pa.pmax(x, "i"), lambda X: same(X.max(axis=0)), (2,)),
        "pmin": (lambda x: pa.pmin(x, "i"), lambda X: same(X.min(axis=0)), (2,)),
        "pprod": (lambda x: pa.pprod(x, "i"), lambda X: same(X.prod(axis=0)), (2,)),
        "all_gather": (lambda x: pa.all_gather(x, "i"), same, (2,)),
        "all_gather axis": (lambda x: pa.all_gather(x, "i", axis=-1), lambda X: same(np.moveaxis(X, 0, -1)), (2,)),
        "all_gather tiled": (
            lambda x: pa.all_gather(x, "i", axis=1, tiled=True), lambda X: same(np.concatenate(list(X), axis=1)), (1, 2),
        ),
        "psum_scatter": (lambda x: pa.psum_scatter(x, "i"), lambda X: X.sum(axis=0), (n, 2)),
        "psum_scatter axis": (
            lambda x: pa.psum_scatter(x, "i", scatter_dimension=1), lambda X: np.moveaxis(X.sum(axis=0), 1, 0), (2, n),
        ),
        "psum_scatter tiled": (
            lambda x: pa.psum_scatter(x, "i", scatter_dimension=-1, tiled=True), lambda X: np.stack(split(X.sum(axis=0), 1)),
            (1, 2 * n),
        ),
        "all_to_all": (lambda x: pa.all_to_all(x, "i"), lambda X: np.swapaxes(X, 0, 1), (n, 2)),
        "all_to_all axes": (
            lambda x: pa.all_to_all(x, "i", split_axis=1, concat_axis=2),
            lambda X: np.stack([np.stack([x[:, k] for x in X], axis=2) for k in range(n)]), (2, n, 1),
        ),
        "all_to_all tiled": (
            lambda x: pa.all_to_all(x, "i", split_axis=0, concat_axis=1, tiled=True),
            lambda X: np.stack([np.concatenate([x[2 * k : 2 * k + 2] for x in X], axis=1) for k in range(n)]), (2 * n, 2),
        ),
        "ppermute": (lambda x: pa.ppermute(x, "i", pairs), sent, (2,)),
        "pshuffle": (lambda x: pa.pshuffle(x, "i", order), lambda X: X[order], (2,)),
        "broadcast": (lambda x: pa.broadcast(x, "i", root), lambda X: same(X[root]), (2,)),
        "pvary": (lambda x: pa.pvary(pa.psum(x, "i"), "i") * x, lambda X: X.sum(axis=0) * X, (2,)),
    }  # fmt: skip
    cases = {name: LaneCase(*case) for name, case in cases.items()}
    for way in product(UFUNCS, (False, True), (False, True)):
        cases["scan {} exclusive={} reverse={}".format(*way)] = scanned(*way)
    return cases
