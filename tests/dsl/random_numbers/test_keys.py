"""Keys of random numbers: from seeds, split, and used twice."""

import warnings

import numpy as np
import pytest
from scipy import stats

import polyad as pa
from polyad import random

N = 20000


KEY = random.key(12345)


def fits(sample, distribution):
    """Kolmogorov and Smirnov's test; the seeds are fixed, so this passes always or never."""
    assert stats.kstest(np.asarray(sample, np.float64), distribution.cdf).pvalue > 1e-3


def test_split_keys_are_different_and_independent():
    keys = random.split(KEY, 1000)
    assert keys.shape == (1000, 2) and keys.dtype == np.uint64
    everything = np.concatenate([keys, [KEY], pa.vmap(lambda i: random.fold_in(KEY, i))(np.arange(1000))])
    assert len({row.tobytes() for row in everything}) == 2001
    np.testing.assert_array_equal(random.split(KEY, 3), keys[:3])  # key i depends on i alone
    np.testing.assert_array_equal(random.split(KEY, (2, 3)).reshape(6, 2), keys[:6])
    draws = np.asarray(pa.vmap(lambda k: random.normal(k, 50))(keys))
    fits(draws.ravel(), stats.norm)
    correlation = np.corrcoef(draws[:, :20].T) - np.eye(20)
    assert abs(correlation).max() < 5 / np.sqrt(1000)
    neighbours = np.corrcoef(draws[:-1].ravel(), draws[1:].ravel())[0, 1]
    assert abs(neighbours) < 4 / np.sqrt(draws.size)
    parent_and_child = np.corrcoef(random.normal(KEY, N), random.normal(keys[0], N))[0, 1]
    assert abs(parent_and_child) < 4 / np.sqrt(N)


def test_seeds():
    for seed in (0, 1, -1, -5, 2**63 - 1):
        np.testing.assert_array_equal(random.key(seed), random.key(np.int64(seed)))
    np.testing.assert_array_equal(random.key(np.array([3, -4])), [random.key(3), random.key(-4)])
    np.testing.assert_array_equal(pa.vmap(random.key)(np.arange(3)), random.key(np.arange(3)))
    np.testing.assert_array_equal(random.fold_in(KEY, -1), random.fold_in(KEY, np.int64(-1)))
    for bad in (1.0, "7", True, [1, 2]):
        with pytest.raises(pa.DTypeError, match="key: seed is .* integer"):
            random.key(bad)


def test_key_reuse_is_warned_of_on_request():
    k = random.key(1)
    random.normal(k), random.normal(k)  # not watched
    with random.debug_key_reuse(True):
        first, second = random.split(k)
        random.normal(first), random.uniform(second, 3), random.normal(k)
        for again in (random.normal, random.gamma):
            with pytest.warns(random.KeyReuseWarning, match="second draw.*split") as found:
                again(first, 2.0) if again is random.gamma else again(first)
            assert found[0].filename == __file__
        keys = random.split(second, 3)
        pa.vmap(random.normal)(keys)
        with pytest.warns(random.KeyReuseWarning):
            pa.grad(lambda x: x * random.normal(keys[1]))(1.0)
        pa.make_ir(lambda k: random.normal(k) + random.normal(k))(second)  # not seen under a trace
    random.normal(first)


def test_passes_of_one_map_are_no_reuse():
    with random.debug_key_reuse():
        pa.vmap(lambda x: random.normal(KEY) * (1.0 if x > 0 else 2.0))(np.array([-1.0, 1.0, 2.0]))
        with pytest.warns(random.KeyReuseWarning):
            pa.vmap(lambda x: random.normal(KEY) * x)(np.ones(2))


def test_the_watch_is_a_switch():
    random.debug_key_reuse(True)
    random.bits(KEY)
    random.debug_key_reuse(False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        random.bits(KEY)
