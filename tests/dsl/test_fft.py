"""`polyad.fft` has the names of `numpy.fft`, and each is the function of that name."""

import numpy as np
import pytest

import polyad as pa

X = np.random.default_rng(2).standard_normal((4, 6))


def test_the_names_are_numpys():
    theirs = {name for name in np.fft.__all__ if callable(getattr(np.fft, name))}
    assert set(pa.fft.__all__) == theirs


@pytest.mark.parametrize("name", sorted(pa.fft.__all__))
def test_each_is_numpys_function_of_that_name(name):
    args = (7, 0.5) if name.endswith("freq") else (X,)
    found, expected = getattr(pa.fft, name)(*args), getattr(np.fft, name)(*args)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
