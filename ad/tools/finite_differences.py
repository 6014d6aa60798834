"""Directional derivatives by central differences, without any rule."""

import numpy as np

from ...dispatch import tree
from ..inputs import NoTangent, inexact

STEP = 1e-5  # near the cube root of double precision's rounding


def numerical_jvp(f, args, tangents, eps=STEP):
    """Directional derivative of f at args by central differences of step eps, the arguments in double precision.

    f: function of arrays or trees. args, tangents: tuples of equal structure; leaves without tangent space stay.
    """

    def moved(sign):
        return tree.map(lambda x, dx: _wide(x) + sign * eps * _wide(dx) if inexact(x) else x, args, tangents)

    difference = lambda a, b: (_wide(a) - _wide(b)) / (2 * eps) if inexact(a) else NoTangent
    return tree.map(difference, f(*moved(1.0)), f(*moved(-1.0)))


def difference_step(f, args):
    """The step for f: the cube root of the rounding of what it returns for arguments in double precision."""
    results = tree.leaves(f(*tree.map(lambda x: _wide(x) if inexact(x) else x, args)))
    rounding = max([float(np.finfo(np.asarray(y).dtype).eps) for y in results if inexact(y)], default=0.0)
    return max(STEP, rounding ** (1 / 3))


def _wide(x):
    return np.asarray(x, np.result_type(x, np.float64))[()]
