"""`check_transformation`: a transformation of your own leaves functions what they are, alone and among the others."""

import numpy as np

from .. import dsl
from ..ad import checkpoint, grad, hessian, jvp
from ..dispatch import Layer, LeakedLayerError, current_depth, densify, isa, tree
from ..dsl import cond, fori_loop, jit, linalg, scan, vmap, while_loop, zeros_like
from ..dsl.arrays import Diagonal
from ..dsl.avals import dtype_of
from .comparing import agree, naming, raises


def _writes(x):
    y = zeros_like(x)
    y[0] = x[1] * 2.0
    y[1:] += x[:-1]
    return y


def _branches(x):
    return dsl.sin(x) if dsl.sum(x) > 0.0 else x * x


def _by_numpy(x):
    return np.concatenate([np.sin(x) * 2.0, np.ones(1)])[::-1]


# functions of one array of four numbers
SAMPLES = {
    "operations": lambda x: dsl.sum(dsl.exp(x) * x, axis=0, keepdims=True),
    "NumPy code": _by_numpy,
    "x[i] = v": _writes,
    "if": _branches,
    "the argument itself": lambda x: x,
    "a constant": lambda x: 3.0,
    "a tree": lambda x: {"a": (x, [dsl.cos(x)]), "b": x[0]},
    "several results": lambda x: tuple(linalg.qr(dsl.reshape(x, (2, 2)) + 3.0 * np.eye(2))),
    "complex numbers": lambda x: dsl.abs(dsl.exp(1j * x)) + x,
    "whole numbers": lambda x: dsl.astype(x * 10.0, np.dtype(np.int64)) + dsl.argmax(x),
    "an array type": lambda x: Diagonal(x) @ (Diagonal(x) @ np.ones(4)),
    "an array type returned": lambda x: Diagonal(x * 2.0),
    "softmax": dsl.softmax,
    "cond": lambda x: cond(dsl.sum(x) > 0.0, lambda x: dsl.sin(x), lambda x: dsl.cos(x) * 2.0, x),
    "scan": lambda x: scan(lambda c, v: (c + dsl.sin(v), c * v), 0.0, x),
    "while_loop": lambda x: while_loop(lambda y: dsl.sum(dsl.abs(y)) < 20.0, lambda y: y * 2.0, x),
    "fori_loop": lambda x: fori_loop(0, 3, lambda i, y: dsl.cos(y) + i, x),
    "a compiled function": jit(lambda x: dsl.tanh(x) * x),
    "a derivative": grad(lambda x: dsl.sum(dsl.sin(x) * x)),
    "lanes": vmap(lambda v: dsl.sin(v) if v > 0.4 else v * v),
}  # fmt: skip


def check_transformation(transform, *, functions=(), kinds=None, seed=0):
    """Check that a transformation of your own changes no result, nests with all others, and leaves nothing behind.

    transform: function f -> function that returns what f returns; what it finds out beside that is to be left away, as in
    `lambda f: lambda *args: count(f)(*args)[0]`. functions: further functions of an array of shape (4,), float64, with
    elements in (0.2, 0.9), each an array or a tree. kinds: names of the functions to try beside these ("operations", "if",
    "scan", …), for a transformation that refuses some; None for all. Checked for each (NumPy code, writes, `if`,
    array types, programs): values, dtypes and structure; the transformation twice, inside and around `grad`, `jvp`, `hessian`,
    `vmap`, `jit` and `checkpoint`; that its depth ends with it, after errors as well, and that values taken out of
    it raise LeakedLayerError. Raises AssertionError.

    >>> from polyad.testing import check_transformation
    >>> check_transformation(lambda f: lambda x: f(x))
    """
    x = np.random.default_rng(seed).uniform(0.2, 0.9, 4)
    unknown = set(kinds or ()) - set(SAMPLES)
    if unknown:
        raise ValueError(f"check_transformation: no kinds {sorted(unknown)}; there are {', '.join(map(repr, SAMPLES))}")
    named = {
        **{name: f for name, f in SAMPLES.items() if kinds is None or name in kinds},
        **{f"functions[{i}]": f for i, f in enumerate(functions)},
    }
    with densify("allow"), np.errstate(all="ignore"):
        for name, f in named.items():
            with naming(name):
                _check_same(transform(f), f, x)
                _among_others(transform, f, x)
        _ends(transform, x)


def _check_same(found, f, x, **tolerance):
    """Two functions give the same at x: structure, dtypes, values, and no value of a transformation."""
    before = x.copy()
    y, expected = found(x), f(before.copy())
    assert tree.structure(y) == tree.structure(expected), f"{tree.structure(y)} instead of {tree.structure(expected)}"
    left = [type(part).__name__ for part in tree.leaves(y) if isa(part, Layer)]
    assert not left, f"the result holds a {left[0]}: take the values of the run out of what the function returns"
    np.testing.assert_array_equal(x, before, err_msg="the argument was written to")
    agree(y, expected, exact=True, **tolerance)


def _among_others(transform, f, x):
    around = {
        "twice": lambda f: transform(transform(f)),
        "inside jit": lambda f: jit(transform(f)),
        "around jit": lambda f: transform(jit(f)),
        "inside checkpoint": lambda f: checkpoint(transform(f)),
    }
    for how, nested in around.items():
        with naming(how):
            g = nested(f)
            for _ in range(2):  # a compiled function may be another one at its second call
                _check_same(g, f, x, rtol=1e-9)
    near = np.stack([x, 0.5 * x, x[::-1]])
    with naming("inside vmap"):
        _check_same(vmap(transform(f)), vmap(f), near, rtol=1e-9)
    with naming("around vmap"):
        _check_same(transform(vmap(f)), vmap(f), near, rtol=1e-9)
    number = lambda f: lambda x: _sum_of_squares(f(x))
    if not isa(number(f)(x), float):
        return
    for how, derivative in {
        "grad": grad, "jvp": lambda f: lambda x: jvp(f, (x,), (np.ones(4),)), "hessian": hessian,
    }.items():  # fmt: skip
        right = derivative(number(f))(x)
        with naming(f"inside {how}"):
            _check_same(derivative(number(transform(f))), lambda x, y=right: y, x, rtol=1e-9, atol=1e-12)
        with naming(f"around {how}"):
            _check_same(transform(derivative(number(f))), lambda x, y=right: y, x, rtol=1e-9, atol=1e-12)


def _sum_of_squares(result):
    """One number made of all floating parts of a result."""
    parts = [leaf for leaf in tree.leaves(result) if dtype_of(leaf).kind == "f"]
    total = 0.0
    for k, part in enumerate(parts):
        total = total + dsl.sum(part * part) * (k + 1.0)
    return total


def _ends(transform, x):
    """Nothing of it is left after its end, and what was taken out says so."""
    taken, depth = [], current_depth()

    def keeps(x):
        taken.append(x)
        return x * 2.0

    def fails(x):
        taken.append(x + 1.0)
        raise ZeroDivisionError

    with naming("values that were taken out"):
        transform(keeps)(x)
        assert raises(ZeroDivisionError, transform(fails), x), "an error inside does not come out"
        assert current_depth() == depth, "its run does not end: enter it in a with statement"
        for value in taken:
            if isinstance(value, Layer):
                assert raises(LeakedLayerError, lambda v: v + 1.0, value), "they can be used: call check_runs in the target"
                assert raises(LeakedLayerError, grad(lambda y, v=value: dsl.sum(y * v)), x), "mixed, they can be used"
            else:
                assert isa(value, np.ndarray), f"the function was called with {type(value).__name__}"
