"""Random order and choices, beside counts: as often as their weights say."""

import numpy as np
from scipy import stats

import polyad as pa
from polyad import random

N = 20000


KEY = random.key(12345)


def counts_fit(sample, probabilities):
    """Pearson's test of counts of 0, 1, … against probabilities."""
    p = np.asarray(probabilities, float)
    found = np.bincount(sample, minlength=len(p))
    assert len(found) == len(p) and not found[p == 0].any()
    assert stats.chisquare(found[p > 0], p[p > 0] / p.sum() * len(sample)).pvalue > 1e-3


def test_counts_and_choices():
    k = random.split(KEY, 12)
    counts_fit(random.randint(k[0], N, -3, 4) + 3, np.ones(7))
    counts_fit(random.bernoulli(k[1], 0.3, N).astype(int), [0.7, 0.3])
    counts_fit((random.rademacher(k[2], N) + 1) // 2, [1, 1])
    p = np.array([0.0, 2.0, 1.0, 0.0, 5.0, 0.0])
    counts_fit(random.choice(k[3], 6, N), np.ones(6))
    counts_fit(random.choice(k[4], 6, N, p=p), p)
    with np.errstate(divide="ignore"):
        counts_fit(random.categorical(k[5], np.log(p), shape=(N,)), p)
    counts_fit(random.poisson(k[6], 0.7, N).clip(0, 5), [*stats.poisson(0.7).pmf(range(5)), stats.poisson(0.7).sf(4)])
    orders = pa.vmap(lambda key: random.permutation(key, 3))(random.split(k[7], N))
    counts_fit(orders @ [9, 3, 1] - 5, np.isin(np.arange(17), [0, 2, 6, 10, 14, 16]))
    pairs = pa.vmap(lambda key: random.choice(key, 3, 2, replace=False, p=np.array([1.0, 2.0, 3.0])))(random.split(k[8], N))
    expected = np.zeros((3, 3))
    for i in range(3):
        for j in {0, 1, 2} - {i}:
            expected[i, j] = (i + 1) / 6 * (j + 1) / (6 - i - 1)
    counts_fit(pairs @ [3, 1], expected.ravel())
