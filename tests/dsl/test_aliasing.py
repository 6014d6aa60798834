"""A write is seen by all names of a value, and by nothing that was recorded before it."""

import numpy as np
import pytest

import polyad as pa

pytestmark = pytest.mark.quick


rng = np.random.default_rng(5)


x0 = rng.uniform(0.5, 1.5, 6)


def test_recorded_values_stay():
    """A value used before a write keeps its derivative there."""

    def f(x):
        y = np.sin(x)
        z = y * y
        y[...] = 0.0
        return np.sum(z) + np.sum(y)

    np.testing.assert_allclose(pa.grad(f)(x0), 2 * np.sin(x0) * np.cos(x0))


def test_values_of_an_outer_transformation_are_kept_as_they_were():
    def outer(w):
        w = w * 1.0

        def inner(p):
            z = p * w
            w[0] = 50.0
            return np.sum(z)

        return np.sum(pa.grad(inner)(np.ones(6)) * np.arange(6))

    _, dy = pa.jvp(outer, (x0,), (np.ones(6),))
    np.testing.assert_allclose(dy, 15.0)
    np.testing.assert_allclose(pa.grad(outer)(x0), np.arange(6))
    np.testing.assert_allclose(pa.vmap(outer)(x0[None]), [np.sum(x0 * np.arange(6))])


def test_writing_results_and_arguments_between_a_value_and_its_pullback():
    def outer(w):
        w = w * 1.0
        y, pull = pa.vjp(np.exp, w)
        kept = y.copy()
        y[...] = 0.0
        w[...] = 0.0
        return np.sum(pull(np.ones(6))[0]) + 0 * np.sum(kept)

    for value in (pa.vmap(outer)(x0[None])[0], pa.jvp(outer, (x0,), (x0,))[0], pa.value_and_grad(outer)(x0)[0]):
        np.testing.assert_allclose(value, np.sum(np.exp(x0)))
    np.testing.assert_allclose(pa.grad(outer)(x0), np.exp(x0))


def test_an_argument_is_written_to_as_a_copy():
    """The caller's array stays; the derivative is that by the value it had."""
    x = x0.copy()

    def f(x):
        x[0] = 2 * x[1]
        x *= 3
        return np.sum(x)

    np.testing.assert_array_equal(pa.grad(f)(x), [0, 9, 3, 3, 3, 3])
    np.testing.assert_array_equal(x, x0)
    xs = np.stack([x0, x0])
    pa.vmap(f)(xs)
    np.testing.assert_array_equal(xs, [x0, x0])


def test_stop_gradient_gives_an_array_of_its_own():
    x = x0.copy()

    def f(x):
        y = x * x
        m = pa.stop_gradient(y)
        m[0] = 7.0
        n = pa.stop_gradient(x)
        n[0] = 7.0
        return np.sum(y) + np.sum(m)

    np.testing.assert_allclose(pa.grad(f)(x), 2 * x0)
    np.testing.assert_array_equal(x, x0)
    np.testing.assert_allclose(pa.hessian(f)(x), 2 * np.eye(6))
