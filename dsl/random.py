"""Random numbers as functions of a key: `polyad.random`.

A key (`key(seed)`, a uint64 array of shape (2,)) decides every number, on any device and on any number of processes. Use each
key once, and make new ones by `split` and `fold_in`; `debug_key_reuse(True)` finds those used twice. Under `vmap` over keys
each lane has the numbers of its key alone; under a trace the key is an input of the program.

>>> import polyad as pa
>>> first, second = pa.random.split(pa.random.key(2024))
>>> pa.random.randint(first, 3, 0, 10), pa.random.permutation(second, 4)
(array([9, 0, 1]), array([0, 2, 1, 3]))
"""

from .ops.random_bits import random_bits
from .random_numbers.choices import categorical, choice, permutation
from .random_numbers.distributions import beta, dirichlet, gamma, multivariate_normal, poisson, student_t
from .random_numbers.draws import (
    bernoulli,
    bits,
    cauchy,
    exponential,
    gumbel,
    laplace,
    logistic,
    normal,
    rademacher,
    randint,
    truncated_normal,
    uniform,
)
from .random_numbers.keys import KeyReuseWarning, debug_key_reuse, fold_in, key, split

shuffle = permutation

__all__ = [
    "KeyReuseWarning", "bernoulli", "beta", "bits", "categorical", "cauchy", "choice", "debug_key_reuse", "dirichlet",
    "exponential", "fold_in", "gamma", "gumbel", "key", "laplace", "logistic", "multivariate_normal", "normal",
    "permutation", "poisson", "rademacher", "randint", "random_bits", "shuffle", "split", "student_t", "truncated_normal",
    "uniform",
]  # fmt: skip
