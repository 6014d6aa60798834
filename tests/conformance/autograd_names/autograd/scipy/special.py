"""Special functions, under SciPy's names."""

import numpy as np

import polyad as pa
from polyad import (
    beta,
    betainc,
    betaln,
    digamma,
    erf,
    erfc,
    erfcinv,
    erfinv,
    expit,
    gamma,
    gammainc,
    gammaincc,
    gammaln,
    gammasgn,
    i0,
    i1,
    iv,
    ive,
    j0,
    j1,
    logit,
    multigammaln,
    polygamma,
    rgamma,
    y0,
    y1,
)  # fmt: skip
from polyad import digamma as psi
from polyad import jv as jn
from polyad import yv as yn


def logsumexp(x, axis=None, b=1.0, keepdims=False):
    """The logarithm of Σ b exp(x)."""
    return pa.logsumexp(x + np.log(b), axis=axis, keepdims=keepdims)
