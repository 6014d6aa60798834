"""Checking derivatives against finite differences: the reference knows nothing of the rules."""

import numpy as np

from ..dispatch import StructureError, tree
from .derived import jvp, vjp
from .inputs import NoTangent, inexact


def check_grads(f, args, order=2, modes=("forward", "reverse"), eps=1e-5, rtol=1e-4, atol=1e-6, seed=0):
    """Check the derivatives of f at args, up to an order, in both modes and their mixtures.

    f: function of arrays or trees, smooth near args. args: tuple; floating and complex leaves are varied, others stay.
    order: how many derivatives. modes: "forward", "reverse" or both. eps: step of the central differences, which are
    taken in double precision. rtol, atol: tolerances; for single precision at least 1e-3. seed: of the directions.
    Raises AssertionError that says mode, order and how far apart the numbers are.

    >>> import polyad as pa
    >>> pa.check_grads(lambda x: pa.sin(x) * x, (0.5,))
    """
    if not isinstance(args, (tuple, list)):
        raise StructureError("check_grads: args is a tuple with one entry per argument, such as (x,)")
    if not modes or set(modes) - {"forward", "reverse"}:
        raise ValueError(f'check_grads: modes are "forward" and "reverse", not {modes!r}')
    rng = np.random.default_rng(seed)
    args = tuple([tree.map(lambda x: np.asarray(x)[()] if inexact(x) else x, a) for a in args])
    if any([np.finfo(np.asarray(x).dtype).eps > 1e-10 for x in tree.leaves(args) if inexact(x)]):
        rtol, atol = max(rtol, 1e-3), max(atol, 1e-3)
    _check(f, args, order, tuple(modes), (eps, rtol, atol), rng, "")


def _check(f, args, order, modes, tolerances, rng, path):
    if order == 0:
        return
    eps, rtol, atol = tolerances
    tangents = tree.map(lambda x: _normal(rng, x), args)
    expected = numerical_jvp(f, args, tangents, eps)
    for mode in modes:
        where = f"{path}{mode}"
        if mode == "forward":
            _, found = jvp(f, args, tangents)
            step = lambda *xs: jvp(f, xs, tangents)[1]
            _close(found, expected, rtol, atol, where)
        else:
            y, pullback = vjp(f, *args)
            ct = tree.map(lambda v: _normal(rng, v), y)
            step = lambda *xs, ct=ct: vjp(f, *xs)[1](ct)
            _close(inner(pullback(ct), tangents), inner(ct, expected), rtol, atol, where)
        _check(step, args, order - 1, modes, tolerances, rng, f"{where}, then ")


def _normal(rng, x):
    """A random tangent of a leaf, with zero in none of its parts."""
    if not inexact(x):
        return NoTangent
    x = np.asarray(x)
    draw = lambda: rng.uniform(0.5, 1.5, x.shape) * rng.choice([-1.0, 1.0], x.shape)
    drawn = draw() + 1j * draw() if x.dtype.kind == "c" else draw()
    return np.asarray(drawn).astype(x.dtype)[()]


def numerical_jvp(f, args, tangents, eps=1e-5):
    """Directional derivative of f at args by central differences in double precision, without any rule."""
    wide = lambda x: np.asarray(x, np.result_type(x, np.float64))[()]

    def moved(sign):
        return tree.map(lambda x, dx: wide(x) + sign * eps * wide(dx) if inexact(x) else x, args, tangents)

    difference = lambda a, b: (wide(a) - wide(b)) / (2 * eps) if inexact(a) else NoTangent
    return tree.map(difference, f(*moved(1.0)), f(*moved(-1.0)))


def inner(a, b):
    """The pairing of cotangents and tangents: the real part of sum(a * b) over all leaves that have them."""
    pairs = zip(tree.leaves(a), tree.leaves(b), strict=True)
    pairs = [(x, y) for x, y in pairs if x is not NoTangent and y is not NoTangent]
    return float(sum([np.sum(np.asarray(x) * np.asarray(y)).real for x, y in pairs]))


def _close(found, expected, rtol, atol, where):
    for x, y in zip(tree.leaves(found), tree.leaves(expected), strict=True):
        if y is not NoTangent:
            np.testing.assert_allclose(x, y, rtol=rtol, atol=atol, err_msg=f"check_grads: {where} mode disagrees")
