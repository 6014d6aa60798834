"""Distributions by tests with fixed seeds, counts, vectors, and shapes that follow parameters."""

import numpy as np
import pytest
from scipy import stats

import polyad as pa
from polyad import random

N = 20000


KEY = random.key(12345)


def fits(sample, distribution):
    """Kolmogorov and Smirnov's test; the seeds are fixed, so this passes always or never."""
    assert stats.kstest(np.asarray(sample, np.float64), distribution.cdf).pvalue > 1e-3


CONTINUOUS = {
    "uniform": (lambda k: random.uniform(k, N, -1.0, 3.0), stats.uniform(-1, 4)),
    "normal": (lambda k: random.normal(k, N, 1.0, 2.0), stats.norm(1, 2)),
    "normal float32": (lambda k: random.normal(k, N, dtype=np.float32), stats.norm),
    "truncated normal": (lambda k: random.truncated_normal(k, -0.5, 2.0, N), stats.truncnorm(-0.5, 2)),
    "truncated in the tail": (lambda k: random.truncated_normal(k, 9.0, np.inf, N), stats.truncnorm(9, np.inf)),
    "truncated in the other": (lambda k: random.truncated_normal(k, -np.inf, -9.0, N), stats.truncnorm(-np.inf, -9)),
    "exponential": (lambda k: random.exponential(k, N, 2.0), stats.expon(scale=2)),
    "gumbel": (lambda k: random.gumbel(k, N, 1.0, 2.0), stats.gumbel_r(1, 2)),
    "laplace": (lambda k: random.laplace(k, N, 1.0, 2.0), stats.laplace(1, 2)),
    "logistic": (lambda k: random.logistic(k, N), stats.logistic),
    "cauchy": (lambda k: random.cauchy(k, N), stats.cauchy),
    "gamma": (lambda k: random.gamma(k, 2.5, N, 3.0), stats.gamma(2.5, scale=3)),
    "gamma of small shape": (lambda k: random.gamma(k, 0.1, N), stats.gamma(0.1)),
    "gamma of large shape": (lambda k: random.gamma(k, 1e4, N), stats.gamma(1e4)),
    "beta": (lambda k: random.beta(k, 2.0, 0.5, N), stats.beta(2, 0.5)),
    "student t": (lambda k: random.student_t(k, 3.0, N), stats.t(3)),
    "dirichlet": (lambda k: random.dirichlet(k, np.array([0.5, 1.0, 2.0]), N)[:, 0], stats.beta(0.5, 3)),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_distribution(name):
    draw, distribution = CONTINUOUS[name]
    sample = draw(random.fold_in(KEY, 8))
    assert sample.shape == (N,)
    fits(sample, distribution)


def test_poisson_is_the_quantile_everywhere(monkeypatch):
    from polyad.dsl.random_numbers import distributions

    u = np.array([1e-16, 1e-9, 1e-3, 0.2, 0.5, 0.9, 1 - 1e-6, 1 - 2.0**-53])
    monkeypatch.setattr(distributions, "inside", lambda key, shape, part=0: np.broadcast_to(u[:, None], shape))
    lam = np.array([0.0, 1e-9, 1e-3, 0.3, 1.0, 4.0, 17.0, 300.0, 1e5])
    found = random.poisson(KEY, lam, (len(u), len(lam)))
    for i, row in enumerate(u):
        above = stats.poisson.cdf(found[i], lam) >= row * (1 - 1e-9)
        below = (stats.poisson.cdf(found[i] - 1, lam) < row * (1 + 1e-9)) | (found[i] == 0)
        assert above.all() and below.all(), (row, lam[~(above & below)])
    many = random.poisson(KEY, np.array([1e9]), (len(u), 1))[:, 0]
    np.testing.assert_allclose((many - 1e9) / np.sqrt(1e9), stats.norm.ppf(u), atol=4e-4)


def test_vectors():
    cov = np.array([[2.0, 0.6], [0.6, 0.5]])
    x = random.multivariate_normal(KEY, np.array([1.0, -1.0]), cov, N)
    np.testing.assert_allclose(np.cov(x.T), cov, atol=0.06)
    np.testing.assert_allclose(x.mean(0), [1, -1], atol=0.04)
    fits((x[:, 0] - 1) / np.sqrt(2), stats.norm)
    d = random.dirichlet(KEY, np.array([1e-3, 1e-3, 1e-3]), 100)
    np.testing.assert_allclose(d.sum(-1), 1)
    assert random.multivariate_normal(KEY, np.zeros((4, 1, 2)), np.stack([cov] * 3)).shape == (4, 3, 2)
    assert random.dirichlet(KEY, np.ones((4, 3))).shape == (4, 3)


def test_shapes_follow_parameters():
    assert random.normal(KEY).shape == () and random.normal(KEY, (), 1.0).dtype == np.float64
    assert random.uniform(KEY, None, np.zeros((2, 1)), np.ones(3)).shape == (2, 3)
    assert random.normal(KEY, (5, 3), np.zeros(3)).shape == (5, 3) and random.gamma(KEY, np.ones(4)).shape == (4,)
    assert random.normal(KEY, 0).shape == (0,) and random.randint(KEY, (2, 0)).shape == (2, 0)
    assert random.choice(KEY, np.ones((4, 5)), (2, 3), axis=1).shape == (4, 2, 3)
    assert random.categorical(KEY, np.zeros((4, 5)), axis=0).shape == (5,)
    assert random.randint(KEY, 3, np.int64(0), np.array([1, 2, 3])).shape == (3,)
    assert random.randint(KEY, 3, -(2**62), 2**62).dtype == np.int64


def test_no_derivative_through_counts():
    for f in (lambda x: random.poisson(KEY, x), lambda x: random.bernoulli(KEY, x / 9) * 1.0):
        assert pa.grad(lambda x, f=f: f(x) * x)(3.0) == f(3.0)
