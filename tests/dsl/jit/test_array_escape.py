"""Whether arrays from outside can only have met values of the trace: where they cannot, their contents are compared."""

import numpy as np
import pytest

import polyad as pa

x3 = np.array([1.0, -2.0, 3.0])
SETUP = "w = np.array([2.0, 1.0, 4.0]); deep = True; table = {2.0: 1.0, 5.0: 7.0, 0.5: 8.0}; k = np.array([0, 2, 1])\n"
ONLY_MET = {
    "a product": "return x * w",
    "methods": "return (x * w).sum() + w.T @ x",
    "a setting": "return x * w if deep else x",
    "a comparison of settings": "return x * w if deep is True else x + w",
    "a loop": "for i in range(3): x = x * w\n    return x",
    "operations": "return pa.sin(x) * w + pa.exp(x)",
    "an inner function": "return (lambda y: y * w)(x)",
    "a derivative": "return pa.grad(lambda v: pa.sum(v * w))(x)",
    "a part": "return x * w[1:].sum() if False else x * w",
}
SHOWS = {
    "a number": "return x * float(w[0])",
    "a branch": "return x * w if w[0] > 1 else x",
    "a truth": "return x * w if w.any() else x",
    "a maximum": "return x * w.max() + x * w",
    "text": "return x * len(f'{w[0]}')",
    "a range": "return x * w * sum(range(int(w[0])))",
    "a result": "return x, w * 1.0",
    "a key": "return x * {2.0: 1.0, 5.0: 7.0, 0.5: 8.0}[w[0]]",
    "the key": "return x * (1.0 if w[1] in {w[0]: 1} else 2.0)",
    "a key of a dict outside": "return x * table[w[0]]",
    "how many keys": "return x * len({w[0]: 1, w[1]: 2})",
    "how many": "return x * len({w[0], w[1]})",
    "how many of a list": "return x * len({v for v in w})",
    "a match": "match w[0]:\n        case 2.0: return x\n    return -x",
    "whole numbers": "return x[k]",
    "membership": "return x * w * (2.0 in w)",
    "a sign": "return x * w * np.sign(w[0])",
    "a caught error": "try: return x * [1.0, 2.0][int(w[0])]\n    except IndexError: return -x",
    "sorted": "return x * sorted(w)[0]",
    "order": "return x[np.argsort(w)]",
    "a generator": "return x * sum(v for v in w)",
    "while": "n = 0\n    while n < w[0]: n += 1\n    return x * n",
}


def made(body):
    space = {"np": np, "pa": pa, "__name__": "users_program"}
    exec(f"{SETUP}def f(x):\n    {body}\n", space)
    return space, pa.jit(space["f"])


def changes(space, g):
    """The contents change in place, once each way; the function gives what Python's does."""
    for edit in (None, "w[0] = 5.0", "w[:] = 0.5", "k[:] = k[::-1]", "w[:] = 5.0"):
        if edit:
            exec(edit, space)
        for _ in range(2):
            for a, b in zip(pa.tree.leaves(g(x3)), pa.tree.leaves(space["f"](x3)), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-13)


@pytest.mark.parametrize("name", ONLY_MET)
def test_arrays_that_only_met_values_are_not_compared(name):
    space, g = made(ONLY_MET[name])
    changes(space, g)
    (tree,) = g.jitted.trees
    assert list(tree.watch.needed) == []


@pytest.mark.filterwarnings("ignore::polyad.PerformanceWarning")
@pytest.mark.parametrize("name", SHOWS)
def test_what_shows_in_any_other_way_is_seen_when_it_changes(name):
    space, g = made(SHOWS[name])
    changes(space, g)
