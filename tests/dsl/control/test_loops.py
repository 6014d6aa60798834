"""Loops: in lanes of different numbers of steps, and of trees."""

import numpy as np
import pytest
from ways import eagerly, traced

import polyad as pa

close = np.testing.assert_allclose


@pytest.mark.parametrize("size", [2, 3])
def test_two_maps_over_a_loop(size):  # jax-ml/jax#2960, #3164
    count = lambda x, n: pa.fori_loop(0, n, lambda i, x: x + 1, x)
    xs, ns = np.arange(3.0), np.arange(size)
    table = pa.vmap(lambda x: pa.vmap(lambda n: count(x, n))(ns))
    close(table(xs), xs[:, None] + ns)
    close(traced(table)(xs), xs[:, None] + ns)


def test_jacobians_of_integers_and_trees():
    f = lambda x, n: pa.fori_loop(0, n["n"], lambda i, c: {"y": c["y"] * x, "k": c["k"] + i}, {"y": x * 0 + 1.0, "k": n["n"]})
    for form in (eagerly, traced):
        y, pull = pa.vjp(lambda x: form(f)(x, {"n": 3})["y"], 2.0)
        assert y == 8 and pull(1.0) == (12.0,)
        assert form(f)(2.0, {"n": 3})["k"] == 6
