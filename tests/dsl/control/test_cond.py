"""Choices: branches that differ are named, the branch not taken is safe, numbers follow the dtypes of the branches."""

import numpy as np
import pytest
from ways import eagerly, forms, shown, traced

import polyad as pa

close = np.testing.assert_allclose

x64, x32 = np.arange(3.0), np.arange(3, dtype=np.float32)


@pytest.mark.parametrize("form", [eagerly, traced])
def test_numbers_of_branches(form):
    assert shown(form(lambda x: x * pa.cond(x[0] > 0, lambda: 1, lambda: 2.5))(x32)) == (np.float32, [0, 2.5, 5])


@forms
def test_branch_not_taken_is_safe(form):  # jax-ml/jax#5658, #9159
    def normalized(x):
        zero = pa.all(pa.abs(x) < 1e-8)
        return pa.cond(zero, lambda x: pa.zeros_like(x), lambda x: x / pa.sqrt(pa.sum(x * x)), x)

    slope = pa.grad(lambda x: pa.sum(normalized(x)))
    close(form(slope)(np.zeros(3)), np.zeros(3))
    mixed = np.array([[0.0, 0, 0], [3.0, 0, 4]])
    right = np.stack([slope(row) for row in mixed])
    close(pa.vmap(slope)(mixed), right)
    close(traced(pa.vmap(slope))(mixed), right)
    close(traced(pa.grad(lambda x: pa.sum(pa.vmap(normalized)(x))))(mixed), right)


def test_branch_that_would_not_end_for_other_lanes():  # jax-ml/jax#2947
    shrink = lambda going: lambda x: pa.while_loop(going, lambda x: x * 0.1, x)
    f = lambda x: pa.cond(x >= 0, shrink(lambda y: (y <= 0) | (y > 1e-6)), shrink(lambda y: y < -1e-6), x)
    xs = np.array([0.5, -0.3, 2.0, -4.0])
    right = np.array([f(x) for x in xs])
    close(pa.vmap(f)(xs), right)
    close(traced(pa.vmap(f))(xs), right)
    close(traced(pa.vmap(pa.grad(f)))(xs), right / xs)


@forms
def test_counting_loop_within_a_choice(form):  # google/flax#4709
    f = lambda flag, x: pa.cond(flag < 2, lambda x: pa.fori_loop(0, 3, lambda i, v: v * 0.5 + i, x), lambda x: 0.0 * x, x)
    flags, xs = np.arange(4), np.arange(4.0)
    right = [f(a, b) for a, b in zip(flags, xs, strict=True)]
    close(pa.vmap(f)(flags, xs), right)
    close(traced(pa.vmap(f))(flags, xs), right)
    close([form(f)(a, b) for a, b in zip(flags, xs, strict=True)], right)
