"""Powers, exponentials and products of several matrices, against NumPy and SciPy."""

import numpy as np
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

import polyad as pa
from polyad import linalg
from polyad.dsl.ops.powers import cheapest_splits


def same(x, y, rtol=1e-10, atol=1e-12):
    np.testing.assert_allclose(x, y, rtol=rtol, atol=atol)


def random(seed, *shape, kind="real"):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if kind == "complex" else x


def regular(seed, n, *lead, kind="real"):
    """Well-conditioned square matrices."""
    return random(seed, *lead, n, n, kind=kind) * 0.3 + 2.0 * np.eye(n)


kinds = st.sampled_from(["real", "complex"])
seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 4)
few = settings(max_examples=15)


@few
@given(st.lists(st.integers(1, 6), min_size=3, max_size=6), seeds)
def test_multi_dot(lengths, seed):
    xs = [random(seed, n, m) for n, m in zip(lengths, lengths[1:], strict=False)]
    same(linalg.multi_dot(xs), np.linalg.multi_dot(xs), atol=1e-9)
    vectors = [xs[0][0], *xs[1:-1], xs[-1][:, 0]]
    same(linalg.multi_dot(vectors), np.linalg.multi_dot(vectors), atol=1e-9)


def test_multi_dot_takes_the_cheapest_order():
    assert cheapest_splits([10, 100, 5, 50])[0, 2] == 1  # (a b) c
    assert cheapest_splits([50, 5, 100, 10])[0, 2] == 0  # a (b c)


@few
@given(seeds, sizes, st.integers(-3, 6), kinds)
def test_matrix_power(seed, n, power, kind):
    x = regular(seed, n, 2, kind=kind)
    same(linalg.matrix_power(x, power), np.linalg.matrix_power(x, power), rtol=1e-8)


def test_matrix_power_of_integers():
    x = np.array([[1, 1], [1, 0]])
    y = linalg.matrix_power(x, 10)
    assert y.dtype == x.dtype and y[0, 1] == 55


@few
@given(seeds, sizes, kinds)
def test_expm(seed, n, kind):
    x, dx = random(seed, n, n, kind=kind), random(seed + 1, n, n, kind=kind)
    y, dy = pa.jvp(linalg.expm, (x,), (dx,))
    same(y, scipy.linalg.expm(x), atol=1e-9)
    same(dy, scipy.linalg.expm_frechet(x, dx, compute_expm=False), rtol=1e-8, atol=1e-8)
