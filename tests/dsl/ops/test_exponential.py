"""Exponentials, logarithms and powers at hard points."""

import numpy as np
import pytest

import polyad as pa


@pytest.mark.filterwarnings("ignore:invalid value")
def test_complex_expm1_where_it_is_not_finite():
    at = lambda re, im: pa.expm1(np.array([complex(re, im)]))[0]
    assert at(np.inf, 0.0) == np.inf and at(-np.inf, np.inf) == at(-np.inf, np.nan) == -1.0
    assert np.isinf(at(np.inf, np.inf).real) and np.isnan(at(np.inf, np.inf).imag) and np.isnan(at(np.nan, 0.0).real)
    assert not np.signbit(at(-0.0, 0.0).real) and pa.expm1(1e-20 + 0j) == 1e-20
