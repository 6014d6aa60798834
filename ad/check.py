"""Checking derivatives against finite differences: the reference knows nothing of the rules."""

import numpy as np

from ..dispatch import tree
from .derived import inexact, jvp, vjp


def check_grads(f, args, order=2, modes=("forward", "reverse"), eps=1e-5, rtol=1e-4, atol=1e-6, seed=0):
    """Check the derivatives of f at args, up to an order, in both modes and their mixtures.

    f: function of arrays or trees, smooth near args. args: tuple, floating or complex. order: how many derivatives.
    eps: step of the central differences. Raises AssertionError that says mode, order and how far apart the numbers are.

    >>> import polyad as pa
    >>> pa.check_grads(lambda x: pa.sin(x) * x, (0.5,))
    """
    rng = np.random.default_rng(seed)
    args = tuple(tree.map(np.asarray, a) for a in args)
    _check(f, args, order, modes, eps, rtol, atol, rng, "")


def _check(f, args, order, modes, eps, rtol, atol, rng, path):
    if order == 0:
        return
    tangents = tree.map(lambda x: _normal(rng, x), args)
    expected = numerical_jvp(f, args, tangents, eps)
    for mode in modes:
        where = f"{path}{mode}"
        if mode == "forward":
            _, found = jvp(f, args, tangents)
            _close(found, expected, rtol, atol, where)
            step = lambda *xs: jvp(f, xs, tangents)[1]
        else:
            y, pullback = vjp(f, *args)
            ct = tree.map(lambda v: _normal(rng, v), y)
            left, right = inner(ct, expected), inner(pullback(ct), tangents)
            _close(right, left, rtol, atol, where)
            step = lambda *xs, ct=ct: vjp(f, *xs)[1](ct)
        _check(step, args, order - 1, modes, eps, rtol, atol, rng, f"{where}, then ")


def _normal(rng, x):
    shape, dtype = np.shape(x), np.asarray(x).dtype
    drawn = rng.standard_normal(shape)
    if dtype.kind == "c":
        drawn = drawn + 1j * rng.standard_normal(shape)
    return np.asarray(drawn).astype(dtype)[()]


def numerical_jvp(f, args, tangents, eps=1e-5):
    """Directional derivative of f at args by central differences, without any rule."""
    moved = lambda sign: tree.map(lambda x, dx: x + sign * eps * dx if inexact(x) else x, args, tangents)
    plus, minus = f(*moved(1.0)), f(*moved(-1.0))
    return tree.map(lambda a, b: (np.asarray(a) - np.asarray(b)) / (2 * eps) if inexact(a) else a, plus, minus)


def inner(a, b):
    """The pairing of cotangents and tangents: the real part of sum(a * b) over all leaves."""
    parts = [np.sum(np.asarray(x) * np.asarray(y)).real for x, y in zip(tree.leaves(a), tree.leaves(b), strict=True)]
    return float(sum(parts))


def _close(found, expected, rtol, atol, where):
    for x, y in zip(tree.leaves(found), tree.leaves(expected), strict=True):
        if not inexact(y):
            continue
        np.testing.assert_allclose(x, y, rtol=rtol, atol=atol, err_msg=f"check_grads: {where} mode disagrees")
