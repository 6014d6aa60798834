"""The normal distribution of vectors."""

import numpy as np


def logpdf(x, mean, cov, allow_singular=False):
    d = x - mean
    if allow_singular:
        w = np.linalg.eigvalsh(cov)
        w = np.where(w > 1e-10, w, 1.0)
        return -0.5 * np.sum(d @ np.linalg.pinv(cov) * d, -1) - 0.5 * np.sum(np.log(2 * np.pi * w) * (w != 1.0))
    return -0.5 * (np.sum(d * np.linalg.solve(cov, d[..., None])[..., 0], -1) + np.linalg.slogdet(2 * np.pi * cov)[1])


def pdf(x, mean, cov, allow_singular=False):
    return np.exp(logpdf(x, mean, cov, allow_singular))


def entropy(mean, cov):
    return 0.5 * np.linalg.slogdet(2 * np.pi * np.e * cov)[1] + 0.0 * np.sum(mean)
