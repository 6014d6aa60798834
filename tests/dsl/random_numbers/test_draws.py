"""Numbers made of random bits: known answers, the ends of each range."""

import numpy as np
from scipy import stats

from polyad import random

N = 20000


KEY = random.key(12345)


PINNED = {
    "bits": [15129985323320379406, 3490965594592278910],
    "split": [[2441417102155951742, 15965382264027906161], [7204409068884566625, 10097173069124897316]],
    "fold_in": [18002119627159167984, 1204449895891787567],
    "randint": [6, 10, 75, 29, 67, 92],
    "permutation": [1, 4, 3, 5, 0, 2],
}


UNIFORM = [0.8201981478608876, 0.18924562408645496, 0.8676608148821462]


NORMAL = [0.5000105892023632, 0.04324585028227921, 0.35701858835050804]


GAMMA = [2.702362472723065, 1.0515342587875804, 5.042028764026954]


def counts_fit(sample, probabilities):
    """Pearson's test of counts of 0, 1, … against probabilities."""
    p = np.asarray(probabilities, float)
    found = np.bincount(sample, minlength=len(p))
    assert len(found) == len(p) and not found[p == 0].any()
    assert stats.chisquare(found[p > 0], p[p > 0] / p.sum() * len(sample)).pvalue > 1e-3


def test_reproducible_for_ever():
    """These numbers never change: experiments depend on them."""
    k = random.key(42)
    constants = {
        "bits": random.bits(k, 2).tolist(),
        "split": random.split(k).tolist(),
        "fold_in": random.fold_in(k, 3).tolist(),
        "randint": random.randint(k, 6, 0, 100).tolist(),
        "permutation": random.permutation(k, 6).tolist(),
    }
    assert constants == PINNED
    np.testing.assert_allclose(random.uniform(k, 3), UNIFORM, rtol=1e-15)
    np.testing.assert_allclose(random.normal(k, 3), NORMAL, rtol=1e-13)
    np.testing.assert_allclose(random.gamma(k, 2.5, 3), GAMMA, rtol=1e-11)


def test_uniform_numbers_are_exact():
    bits = random.bits(KEY, N)
    np.testing.assert_array_equal(random.uniform(KEY, N), (bits >> np.uint64(11)) * 2.0**-53)
    u = random.uniform(KEY, N, dtype=np.float32)
    assert u.dtype == np.float32 and u.max() < 1
    np.testing.assert_array_equal(u * 2.0**24, bits >> np.uint64(40))
    assert random.uniform(KEY, N, dtype=np.float16).max() < 1
    counts_fit(random.bits(KEY, N, np.uint8), np.ones(256))
    assert random.bits(KEY, 4, np.uint32).dtype == np.uint32


def test_extreme_words_stay_inside(monkeypatch):
    from polyad.dsl.random_numbers import choices, draws

    for word in (0, 2**64 - 1):
        for module in (choices, draws):
            monkeypatch.setattr(module, "words", lambda key, shape, part=0, w=word: np.full(shape, w, np.uint64))
        assert 0 <= random.uniform(KEY, 1)[0] < 1
        for draw in (random.normal, random.gumbel, random.laplace, random.logistic, random.cauchy, random.exponential):
            assert np.isfinite(draw(KEY, 1)).all()
        assert np.isfinite(random.gamma(KEY, 0.5, 1)).all() and random.poisson(KEY, 3.0, 1)[0] >= 0
        assert random.randint(KEY, 1, -3, 4)[0] in (-3, -2, -1, 0, 1, 2, 3)
        assert random.choice(KEY, 3, (1,), p=np.array([0.0, 1.0, 0.0]))[0] == 1
