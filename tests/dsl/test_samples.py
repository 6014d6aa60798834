"""Samples of cards: shapes, dtypes and ranges as their names say, the same for the same seed."""

import numpy as np
import pytest

from polyad.dsl import samples

pytestmark = pytest.mark.quick

BOUNDS = {"positives": (0.5, 1.5), "unit": (-0.9, 0.9), "above_one": (1.1, 2.0)}


def drawn(make, seed=7):
    return make(np.random.default_rng(seed))


@pytest.mark.parametrize("name", BOUNDS)
def test_ranges_are_filled_and_kept(name):
    low, high = BOUNDS[name]
    x = drawn(getattr(samples, name)(100, 100))
    assert x.shape == (100, 100) and x.dtype == float
    assert low <= x.min() < low + 0.01 and high - 0.01 < x.max() < high


def test_whole_numbers_and_booleans():
    x = drawn(samples.integers(10_000))
    assert x.dtype.kind == "i" and set(x) == set(range(10))
    assert set(drawn(samples.integers(1000, low=-3, high=3))) == {-3, -2, -1, 0, 1, 2}  # the upper bound is not among them
    b = drawn(samples.booleans(1000))
    assert b.dtype == bool and 400 < b.sum() < 600


def test_complex_numbers_stay_away_from_the_branch_cut():
    z = drawn(samples.complex_normal(100, 100))
    assert z.dtype == complex and abs(z.real.mean() - 1.2) < 0.05 and abs(z.imag.std() - 0.7) < 0.05
    assert np.mean(np.angle(z) > 3.0) < 0.01


def test_distinct_elements_lie_apart_and_in_no_order():
    x = drawn(samples.distinct(5, 8))
    assert x.shape == (5, 8) and np.all(np.diff(np.sort(x.ravel())) > 0.6)
    assert not np.array_equal(x.ravel(), np.sort(x.ravel()))


def test_a_case_holds_arguments_and_parameters():
    make = samples.case(samples.normal(2, 3), 2.0, samples.normal(), axis=1)
    (x, number, y), params = drawn(make)
    assert x.shape == (2, 3) and number == 2.0 and np.shape(y) == () and params == {"axis": 1}
    np.testing.assert_array_equal(drawn(make)[0][0], x)
    assert not np.array_equal(drawn(make, 8)[0][0], x)
    ((a, b),), params = drawn(samples.sequence_case(samples.normal(2), samples.normal(3), axis=0))
    assert (len(a), len(b)) == (2, 3) and params == {"axis": 0} and a[0] != b[0]
