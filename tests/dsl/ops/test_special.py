"""Special functions at hard points, in every dtype, under SciPy's names, and without SciPy."""

import warnings

import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st

import polyad as pa
from polyad.dsl import operations

SCIPY = [name for name, op in operations.items() if (op.card.kernel or "").startswith("special.")]
finite = st.floats(-30, 30)


def slope(f, x):
    return float(pa.grad(f)(float(x)))


@pytest.mark.parametrize("name", SCIPY)
def test_float32_empty_scalars_and_strides(name):
    op = operations[name]
    args = op.card.samples[0](np.random.default_rng(0))[0]
    single = [a.astype(np.float32) if isinstance(a, np.ndarray) and a.dtype.kind == "f" else a for a in args]
    assert op(*single).dtype == np.float32
    np.testing.assert_allclose(op(*single), op(*args), rtol=1e-3)
    for cut in (slice(0), slice(None, None, 2)):
        some = [a[cut] if isinstance(a, np.ndarray) else a for a in args]
        np.testing.assert_array_equal(op(*some), np.asarray(op(*args))[cut])
    first = [a[0] if isinstance(a, np.ndarray) else a for a in args]
    assert isinstance(op(*first), np.floating)
    grads = pa.grad(lambda *xs: pa.sum(op(*xs)), argnums=len(args) - 1)(*single)
    assert grads.dtype == np.float32


@given(finite, finite)
def test_xlogy_and_logaddexp_as_scipy_and_numpy(x, y):
    assert pa.xlogy(x, abs(y)) == scipy.special.xlogy(x, abs(y))
    assert pa.logaddexp(x, y) == np.logaddexp(x, y)
    gx, gy = pa.grad(pa.logaddexp, argnums=(0, 1))(x, y)
    np.testing.assert_allclose([gx, gy], scipy.special.softmax([x, y]), rtol=1e-12, atol=1e-300)


# ---------------------------------------------------------------------- hard points
def test_entropy_terms_at_zero():
    assert pa.xlogy(0.0, 0.0) == 0 and pa.xlog1py(0.0, -1.0) == 0 and pa.entr(0.0) == 0
    for f, at in ((pa.xlogy, (0.0, 0.0)), (pa.xlog1py, (0.0, -1.0))):
        assert pa.grad(f, argnums=(0, 1))(*at) == (0.0, 0.0)
    assert slope(pa.entr, 0) == 0
    assert pa.grad(pa.xlogy, argnums=(0, 1))(0.0, 2.0) == (np.log(2.0), 0.0)
    assert slope(lambda x: pa.xlogy(x, x), 0) == 0
    mixed = pa.grad(lambda y: pa.grad(pa.xlogy)(0.0, y))
    assert float(mixed(4.0)) == 0.25  # of log y by y, where x is 0
    p = np.array([0.0, 0.5, 0.5])
    assert np.all(np.isfinite(pa.grad(lambda p: pa.sum(pa.entr(p)))(p)))


def test_branch_not_taken_leaves_no_nan():
    for f in (pa.gammaln, pa.digamma, pa.logit, pa.ndtri, pa.erfinv, pa.expi):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert slope(lambda x, f=f: pa.where(x > 5, f(x), 2 * x), 0 if f is not pa.erfinv else 1) == 2


# ---------------------------------------------------------------------- SciPy
def test_scipys_own_functions_on_followed_values():
    x = np.array([0.5, 1.5])
    f = lambda x: np.sum(scipy.special.erf(x) * scipy.special.psi(x) + scipy.special.gammainc(x, 2 * x))
    pa.check_grads(f, (x,), order=2)
    np.testing.assert_array_equal(pa.vmap(scipy.special.expit)(x), pa.expit(x))
    pa.check_grads(lambda x: scipy.special.kv(1.0, x) * scipy.special.ive(2.0, x), (x,), order=2)
    with pytest.raises(pa.MissingRuleError, match="struve"):
        pa.grad(lambda x: scipy.special.struve(1.0, x))(2.0)
