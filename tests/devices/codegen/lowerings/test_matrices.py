"""Linear algebra of small matrices, random words and searches within compiled programs: values, and what fails there."""

import numpy as np
import pytest

import polyad as pa

L = pa.linalg
SIZES = (1, 2, 5, 32, 33)  # 33: beyond what is written in C
LEADS = ((), (3,), (2, 1))


def same(f, *args, rtol=1e-9):
    """The compiled function, called twice, gives what the operations give; returns it."""
    g, wanted = pa.jit(f), f(*args)
    g(*args)
    for a, b in zip(pa.tree.leaves(g(*args)), pa.tree.leaves(wanted), strict=True):
        assert (a.dtype, np.shape(a)) == (b.dtype, np.shape(b))
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * max(1.0, np.max(np.abs(b), initial=0.0)))
    return g


def matrices(n, lead, dtype):
    rng = np.random.default_rng(n)
    a = rng.normal(size=(*lead, n, n)) + np.sqrt(n) * np.eye(n)
    spd = a @ np.swapaxes(a, -1, -2) + np.eye(n)
    return [x.astype(dtype) for x in (a, spd, rng.normal(size=n), rng.normal(size=(*lead[:1], n, 4)))]


@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize("n", SIZES)
def test_systems(n, lead):
    a, spd, vector, columns = matrices(n, lead, float)
    for b in (vector, columns):
        same(lambda a, b: (L.solve(a, b), L.solve(pa.matrix_transpose(a), b)), a, b)
        for lower in (False, True):
            forms = [lambda a, b, t=t, lower=lower: L.solve_triangular(a, b, trans=t, lower=lower) for t in (0, 1, 2)]
            same(lambda a, b, forms=forms: [f(a, b) for f in forms], a + 2 * np.eye(n), b)
    same(lambda a, b: L.solve_triangular(a * 0.01, b, lower=True, unit_diagonal=True), a, columns)
    same(lambda a: (L.inv(a), L.det(a), *L.slogdet(a), *L.slogdet(-a)), a)
    same(lambda a: (L.cholesky(a), L.cholesky(a, upper=True)), spd)


def test_single_precision():
    a, spd, vector, _ = matrices(5, (2,), np.float32)
    same(lambda a, b, s: (L.solve(a, b), L.inv(a), L.det(a), *L.slogdet(a), L.cholesky(s)), a, vector, spd, rtol=1e-4)


def test_order_of_rows():
    swapped = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 2.0], [3.0, 0.0, 0.0]])
    same(lambda a: (L.solve(a, a[0]), L.inv(a), L.det(a), *L.slogdet(a)), swapped)
    scaled = np.diag([1.0, 1e-20, 1e20])
    same(lambda a: (L.solve(a, a[0] + 1), L.inv(a), L.det(a)), scaled)


def test_determinants_of_singular_matrices():
    singular = np.array([[1.0, 2.0], [2.0, 4.0]])
    g = same(lambda a: (L.det(a), *L.slogdet(a)), singular)
    assert g(singular)[2] == -np.inf
    assert np.isnan(g(np.full((2, 2), np.nan))[0])


FAILS = {
    "solve": (lambda a: L.solve(a, a[0]), np.ones((3, 3))),
    "inv": (L.inv, np.zeros((2, 2))),
    "cholesky": (L.cholesky, -np.eye(3)),
    "solve_triangular": (lambda a: L.solve_triangular(a, a[0]), np.zeros((2, 2))),
}


@pytest.mark.parametrize("name", FAILS)
def test_failures(name):
    f, bad = FAILS[name]
    good = np.eye(bad.shape[0])
    g = same(lambda a: f(a) + 1, good)
    with pytest.raises(np.linalg.LinAlgError, match=name):
        g(bad)
    np.testing.assert_allclose(g(good), f(good) + 1)

    def caught(a):
        try:
            return f(a) + 1
        except np.linalg.LinAlgError:
            return a * 7.0

    g = same(caught, good)
    np.testing.assert_array_equal(g(bad), bad * 7.0)
    np.testing.assert_allclose(g(good), f(good) + 1)
    with pytest.raises(np.linalg.LinAlgError, match=name):
        pa.jit(lambda a: pa.scan(lambda c, t: (c, f(a * t)), 0.0, np.array([1.0, 2.0]))[1])(bad)


def test_without_a_try_a_step_that_may_fail_ends_no_segment():
    def f(a, b):
        return pa.sum(L.solve(L.cholesky(a), b)) + L.det(a)

    _, spd, vector, _ = matrices(5, (), float)
    assert len(pa.jit.source(same(f, spd, vector))) == 1


def test_filter():
    """A filter by scan, and its gradient."""
    rng = np.random.default_rng(0)
    transition, seen = rng.normal(size=(4, 4)) * 0.3, rng.normal(size=(2, 4))

    def likelihood(a, h, ys):
        def step(carry, y):
            m, s = carry
            m, s = a @ m, a @ s @ a.T + 0.1 * np.eye(4)
            t = h @ s @ h.T + 0.1 * np.eye(2)
            gain, r = L.solve(t, h @ s).T, y - h @ m
            return (m + gain @ r, s - gain @ h @ s), r @ L.solve(t, r) + L.slogdet(t)[1]

        return pa.sum(pa.scan(step, (np.zeros(4), np.eye(4)), ys)[1])

    ys = rng.normal(size=(20, 2))
    same(likelihood, transition, seen, ys)
    assert len(pa.jit.source(same(pa.grad(likelihood, (0, 1)), transition, seen, ys))) == 1


def test_random_words():
    keys = pa.random.split(pa.random.key(3), 6)

    def f(key, more):
        a, b = pa.random.split(key, 2)
        return pa.random.normal(a, (3, 5)), pa.random.uniform(b), pa.vmap(lambda k: pa.random.bits(k, (2,)))(more)

    same(f, keys[0], keys, rtol=1e-14)
    wanted = f(keys[0], keys)[2]
    np.testing.assert_array_equal(pa.jit(lambda more: pa.vmap(lambda k: pa.random.bits(k, (2,)))(more))(keys), wanted)


def test_a_chain_of_draws():
    def f(key):
        def step(x, k):
            a, b = pa.random.split(k, 2)
            y = x + pa.random.normal(a)
            return pa.where(pa.log(pa.random.uniform(b)) < 0.5 * (x * x - y * y), y, x), x

        return pa.scan(step, 0.0, pa.random.split(key, 50))

    assert len(pa.jit.source(same(f, pa.random.key(1)))) == 1


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("n", [1, 2, 3, 8, 100])
@pytest.mark.parametrize("dtype", ["d", "f", "l"])
def test_searches(dtype, n, side):
    rng = np.random.default_rng(n)
    a, v = np.sort(rng.integers(0, 20, n)).astype(dtype), rng.integers(0, 22, (5, 6)).astype(dtype)
    if dtype != "l":
        a[n - n // 4 :] = np.nan
        v[0], v[1, :2] = np.nan, (np.inf, -np.inf)
    same(lambda a, v: pa.searchsorted(a, v, side=side), a, v)
    same(lambda a, v: pa.searchsorted(a[::-1], v, side=side), a[::-1].copy(), v)
    same(lambda a: pa.searchsorted(a, 2.5, side=side), a)
