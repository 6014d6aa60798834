"""Distributions: their formulas, in polyad's operations."""

import numpy as np
import scipy.stats

import polyad as pa

from . import multivariate_normal


class chi2:
    def logpdf(x, df):
        return gamma.logpdf(x / 2, df / 2) - np.log(2.0)

    def pdf(x, df):
        return np.exp(chi2.logpdf(x, df))

    def cdf(x, df):
        return gamma.cdf(x / 2, df / 2)


class gamma:
    def logpdf(x, a):
        return pa.xlogy(a - 1.0, x) - x - pa.gammaln(a)

    def pdf(x, a):
        return np.exp(gamma.logpdf(x, a))

    def cdf(x, a):
        return pa.gammainc(a, x)


class beta:
    def logpdf(x, a, b):
        return pa.xlogy(a - 1.0, x) + pa.xlog1py(b - 1.0, -x) - pa.betaln(a, b)

    def pdf(x, a, b):
        return np.exp(beta.logpdf(x, a, b))

    def cdf(x, a, b):
        return pa.betainc(a, b, x)


class norm:
    def logpdf(x, loc=0.0, scale=1.0):
        return -0.5 * ((x - loc) / scale) ** 2 - np.log(scale) - 0.5 * np.log(2 * np.pi)

    def pdf(x, loc=0.0, scale=1.0):
        return np.exp(norm.logpdf(x, loc, scale))

    def cdf(x, loc=0.0, scale=1.0):
        return pa.ndtr((x - loc) / scale)

    def logcdf(x, loc=0.0, scale=1.0):
        return pa.log_ndtr((x - loc) / scale)

    def sf(x, loc=0.0, scale=1.0):
        return pa.ndtr((loc - x) / scale)

    def logsf(x, loc=0.0, scale=1.0):
        return pa.log_ndtr((loc - x) / scale)


class poisson:
    def logpmf(k, mu):
        return pa.xlogy(k, mu) - mu - pa.gammaln(k + 1.0)

    def pmf(k, mu):
        return np.exp(poisson.logpmf(k, mu))

    def cdf(k, mu):
        return pa.gammaincc(k + 1.0, mu)


class t:
    def logpdf(x, df, loc=0.0, scale=1.0):
        tail = 0.5 * (df + 1) * np.log1p(((x - loc) / scale) ** 2 / df)
        return -tail - pa.betaln(0.5 * df, 0.5) - 0.5 * np.log(df) - np.log(scale)

    def pdf(x, df, loc=0.0, scale=1.0):
        return np.exp(t.logpdf(x, df, loc, scale))

    def cdf(x, df, loc=0.0, scale=1.0):
        z = (x - loc) / scale
        return 0.5 + np.sign(z) * 0.5 * pa.betainc(0.5, 0.5 * df, z**2 / (df + z**2))

    def logcdf(x, df, loc=0.0, scale=1.0):
        return np.log(t.cdf(x, df, loc, scale))


class dirichlet:
    rvs = scipy.stats.dirichlet.rvs

    def logpdf(x, alpha):
        return np.sum(pa.xlogy(alpha - 1.0, x)) + pa.gammaln(np.sum(alpha)) - np.sum(pa.gammaln(alpha))

    def pdf(x, alpha):
        return np.exp(dirichlet.logpdf(x, alpha))
