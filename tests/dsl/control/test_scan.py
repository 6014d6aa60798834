"""Scans: slopes by their inputs, results that nobody uses, a carry of nothing."""

import numpy as np
from ways import forms

import polyad as pa

close = np.testing.assert_allclose

x64, x32 = np.arange(3.0), np.arange(3, dtype=np.float32)


@forms
def test_slope_by_the_inputs(form):  # jax-ml/jax#753
    f = lambda x0, a, ns: pa.scan(lambda x, n: (x + a * n, x + a * n), x0, ns)[1]
    ns = np.arange(5.0)
    close(form(lambda ns: pa.jacrev(lambda ns: f(0.0, 1.0, ns))(ns))(ns), np.tril(np.ones((5, 5))))
    close(form(lambda ns: pa.jacfwd(lambda ns: f(0.0, 1.0, ns))(ns))(ns), np.tril(np.ones((5, 5))))


@forms
def test_results_that_nobody_uses(form):  # jax-ml/jax#1082
    def loss(p):
        step = lambda c, _: ({k: v + c["a"] for k, v in c.items()}, np.zeros(()))
        carry, _ = pa.scan(step, {"a": p, "b": np.zeros(())}, np.array([1, 2]))
        return carry["a"] * p

    close(form(pa.grad(loss))(np.float64(3.0)), 24.0)
    close(pa.grad(form(loss))(np.float64(3.0)), 24.0)


@forms
def test_carry_of_nothing(form):  # jax-ml/jax#1533
    carry, ys = form(lambda xs: pa.scan(lambda c, x: (None, x * 2), None, xs))(x64)
    assert carry is None
    close(ys, 2 * x64)
    assert form(lambda xs: pa.scan(lambda c, x: ((), None), (), xs))(x64) == ((), None)


@forms
def test_closure_over_followed_values(form):  # jax-ml/jax#9567
    f = lambda x: pa.scan(lambda y, _: (y * x, None), 1.0, length=3)[0]
    close(form(pa.grad(f))(2.0), 12.0)
    close(form(lambda x: pa.jvp(f, (x,), (1.0,))[1])(2.0), 12.0)


def test_sparse_jacobian_of_a_scan(rng):
    x = rng.standard_normal(6)
    f = lambda x: pa.scan(lambda c, r: (r[0], pa.sin(r[0]) * r[1]), x[0], (x, 2 * x))[1]
    found = pa.sparse_jacobian(f)(x)
    close(found.toarray(), pa.jacobian(f)(x))
    assert found.nnz == 6
