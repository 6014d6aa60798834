"""Linear algebra of small matrices within compiled programs: values, and what fails there."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import polyad as pa

_spec = importlib.util.spec_from_file_location("agreeing", Path(__file__).with_name("agreeing.py"))
agreeing = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(agreeing)
same = agreeing.same

L = pa.linalg
SIZES = (1, 2, 5, 32, 33)  # 33: beyond what is written in C
LEADS = ((), (3,), (2, 1))


def matrices(n, lead, dtype):
    rng = np.random.default_rng(n)
    a = rng.normal(size=(*lead, n, n)) + np.sqrt(n) * np.eye(n)
    spd = a @ np.swapaxes(a, -1, -2) + np.eye(n)
    return [x.astype(dtype) for x in (a, spd, rng.normal(size=n), rng.normal(size=(*lead[:1], n, 4)))]


@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize("n", SIZES)
def test_systems(n, lead):
    a, spd, vector, columns = matrices(n, lead, float)

    def all_of_them(a, heavy, spd, *sides):
        found = [L.solve_triangular(a * 0.01, columns, lower=True, unit_diagonal=True)]
        found += [L.inv(a), L.det(a), *L.slogdet(a), *L.slogdet(-a), L.cholesky(spd), L.cholesky(spd, upper=True)]
        for b in sides:
            found += [L.solve(a, b), L.solve(pa.matrix_transpose(a), b)]
            found += [L.solve_triangular(heavy, b, trans=t, lower=lower) for t in (0, 1, 2) for lower in (False, True)]
        return found

    same(all_of_them, a, a + 2 * np.eye(n), spd, vector, columns)


def test_single_precision():
    a, spd, vector, _ = matrices(5, (2,), np.float32)
    same(lambda a, b, s: (L.solve(a, b), L.inv(a), L.det(a), *L.slogdet(a), L.cholesky(s)), a, vector, spd, rtol=1e-4)


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
