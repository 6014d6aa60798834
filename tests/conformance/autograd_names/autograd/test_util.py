"""Checks against finite differences: polyad's, which compare each element, at autograd's tolerances."""

import itertools
import re

import numpy as np

import polyad as pa
from polyad import tree

from .core import vspace
from .wrap_util import name_of, unary_to_nary

TOLERANCE = 1e-6
STEPS = 5e-7, 1e-5  # autograd's, which rounding spoils where numbers are large, and ours, which a kink nearby spoils
MODES = {"fwd": "forward", "rev": "reverse"}


def scalar_close(a, b):
    return abs(a - b) < TOLERANCE or abs(a - b) < TOLERANCE * abs(a + b)


def check_equivalent(x, y):
    """Two trees of equal structure, shapes, dtypes and numbers."""
    assert vspace(x) == vspace(y)
    for a, b in zip(tree.leaves(x), tree.leaves(y), strict=True):
        np.testing.assert_allclose(a, b, rtol=2 * TOLERANCE, atol=TOLERANCE)


@unary_to_nary
def check_grads(f, x, modes=("fwd", "rev"), order=2):
    """The derivatives of f at x in these modes, and of these, up to an order, against finite differences."""
    modes = tuple([MODES[m] for m in modes or MODES])
    errors = []
    for step in STEPS:
        try:
            return pa.check_grads(f, (x,), order, modes, eps=step, rtol=2 * TOLERANCE, atol=TOLERANCE)
        except AssertionError as error:
            errors.append(str(error))
    found = re.search(": (.*) mode disagrees", errors[0]) or [None, modes[-1]]
    *outer, last = ["VJP" if mode == "reverse" else "JVP" for mode in found[1].split(", then ")]
    name = "".join([f"{kind.lower()}_" for kind in outer]) + name_of(f)
    raise AssertionError(f"Derivative ({last}) check of {name} failed: {errors[0]}")


def combo_check(fun, *check_args, **check_options):
    """Checks fun at each combination of the arguments given as lists."""
    check = check_grads(fun, *check_args, **check_options)

    def run(*args, **kwargs):
        for values in itertools.product(*args, *kwargs.values()):
            check(*values[: len(args)], **dict(zip(kwargs, values[len(args) :], strict=True)))

    return run
