"""Reductions of half precision: computed in single precision, eagerly, compiled, and their derivatives."""

import numpy as np
import pytest
from scipy import special

import polyad as pa

H = np.float16
N = 70_000  # more than half precision counts
CASES = {
    "tiny": np.full(100_000, 1e-5, H), "ones": np.ones(N, H), "large": np.full(100, 60_000, H), "few": np.full(9, 100, H),
    "drawn": np.random.default_rng(0).normal(3, 1, N).astype(H),
    "matrix": np.random.default_rng(1).normal(3, 1, (N, 2)).astype(H),
}  # fmt: skip
REDUCTIONS = {  # name: (ours, NumPy's of double precision)
    "mean": (pa.mean, np.mean), "average": (pa.average, np.average), "nanmean": (pa.nanmean, np.nanmean),
    "var": (pa.var, np.var),
    "std": (pa.std, np.std), "nanvar": (pa.nanvar, np.nanvar), "nanstd": (pa.nanstd, np.nanstd),
    "logsumexp": (pa.logsumexp, special.logsumexp), "norm": (pa.linalg.norm, np.linalg.norm),
    "vector_norm": (pa.linalg.vector_norm, np.linalg.vector_norm),
    "weighted": (lambda x: pa.average(x, weights=x), lambda x: np.average(x, weights=x)),
    "first axis": (lambda x: pa.mean(x, axis=0), lambda x: np.mean(x, axis=0)),
    "softmax": (lambda x: pa.max(pa.softmax(x, axis=0)), lambda x: np.max(special.softmax(x, axis=0))),
    "log_softmax": (lambda x: pa.log_softmax(x, axis=0)[0], lambda x: special.log_softmax(x, axis=0)[0]),
    "standardize": (lambda x: pa.standardize(x, axis=0)[0], lambda x: (x[0] - x.mean(0)) / np.sqrt(x.var(0) + 1e-5)),
}  # fmt: skip


def agree(found, right, note):
    """To the last bit but one of half precision; what it does not hold is infinite."""
    with np.errstate(over="ignore"):
        right = np.asarray(right).astype(H)
    assert np.asarray(found).dtype == H, note
    np.testing.assert_allclose(np.asarray(found, float), right.astype(float), rtol=2e-3, atol=1.2e-7, err_msg=note)


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("name", CASES)
def test_values(name):
    x = CASES[name]
    ours = lambda x: [f(x) for f, _ in REDUCTIONS.values()]
    for found in (ours(x), pa.jit(ours)(x)):
        for note, y, (_, right) in zip(REDUCTIONS, found, REDUCTIONS.values(), strict=True):
            agree(y, right(x.astype(float)), f"{note} of {name}")


SLOPES = {
    "mean": (pa.mean, lambda x: np.full(x.shape, 1 / x.size)),
    "average": (pa.average, lambda x: np.full(x.shape, 1 / x.size)),
    "nanmean": (pa.nanmean, lambda x: np.full(x.shape, 1 / x.size)),
    "max": (pa.max, lambda x: (x == x.max()) / np.sum(x == x.max())),
    "min": (pa.min, lambda x: (x == x.min()) / np.sum(x == x.min())),
    "logsumexp": (pa.logsumexp, lambda x: special.softmax(x)),
    "norm": (pa.linalg.norm, lambda x: x / np.linalg.norm(x)),
    "var": (pa.var, lambda x: 2 * (x - x.mean()) / x.size),
    "log_softmax": (lambda x: pa.log_softmax(x, axis=0)[0], lambda x: (np.arange(len(x)) == 0) - special.softmax(x)),
}


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("name", ["ones", "few", "drawn"])
def test_slopes(name):
    x = CASES[name]
    for note, (f, right) in SLOPES.items():
        for run in (pa.grad(f), pa.jit(pa.grad(f))):
            agree(run(x), right(x.astype(float)), f"{note} of {name}")
        along = float(np.sum(right(x.astype(float)) * np.ones(x.shape)))
        np.testing.assert_allclose(float(pa.jvp(f, (x,), (np.ones_like(x),))[1]), along, rtol=4e-3, atol=4e-2, err_msg=note)


def test_other_dtypes_stay():
    x = np.arange(6, dtype=H)
    assert pa.mean(x, dtype=np.float64).dtype == np.float64 and pa.var(x, dtype=np.float32).dtype == np.float32
    assert pa.mean(x.astype(np.float32)).dtype == np.float32
    assert pa.vmap(pa.mean)(np.stack([x, x])).dtype == H
