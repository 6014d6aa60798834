"""A tree as one function: known paths are followed without a look-up, unknown ones from where they part, with equal results."""

import numpy as np
import pytest

import polyad as pa
from polyad.dsl.jit.tree_code import MAX_PATH_SEGMENTS

x3 = np.array([1.0, -2.0, 3.0])


def agree(f, g, *args):
    found, right = g(*args), f(*args)
    assert pa.tree.structure(found) == pa.tree.structure(right)
    for a, b in zip(pa.tree.leaves(found), pa.tree.leaves(right), strict=True):
        assert type(a) is type(b) and np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(a, b, rtol=1e-13)


def tree_of(g):
    (tree,) = g.jitted.trees
    return tree


def test_paths_are_written_out_as_they_are_found():
    def f(x):
        y = pa.sum(x)
        if y > 0:
            return x * 2 if y > 10 else x + y
        return -x

    g = pa.jit(f)
    for value in (1.0, 1.0, 1.0, -1.0, 20.0, -1.0, 20.0, 1.0, -1.0, 20.0):
        agree(f, g, np.full(3, value))
    assert tree_of(g).go is not None and tree_of(g).traces == 3  # one for each path


@pytest.mark.parametrize("steps", [1, MAX_PATH_SEGMENTS - 1, MAX_PATH_SEGMENTS, MAX_PATH_SEGMENTS + 1])
def test_long_paths_go_on_behind_what_is_written_out(steps):
    def f(x):
        n = 0
        while x[0] > 0.5:
            x, n = x - 1.0, n + 1
        return x * n

    g = pa.jit(f)
    for _ in range(4):
        agree(f, g, np.full(2, float(steps)))
    agree(f, g, np.full(2, 2.0))
    agree(f, g, np.full(2, steps + 1.0))
    assert tree_of(g).go is not None


def test_answers_that_are_whole_numbers():
    def f(x, n):
        return sum([x[i] for i in range(int(n[0]))], 0.0) * x[n[1]]

    g = pa.jit(f)
    for n in ([2, 0], [2, 1], [3, 1], [2, 0], [0, 2], [3, 1], [1, 2]) * 2:
        agree(f, g, x3, np.array(n))


RESULTS = {
    "a tree": lambda x: {"a": (x * 2, [pa.sum(x)]), "b": None},
    "a number": lambda x: pa.sum(x),
    "python's": lambda x: (len(x), 2.5),
    "what was given": lambda x: (x, x * 2),
    "what was given twice": lambda x: (x, x, x * 2),
    "one array twice": lambda x: (lambda y: (y, y))(x * 2),
    "nothing": lambda x: (),
    "a fixed array": lambda x: (np.arange(3.0), x + 1),
    "an element": lambda x: x[0],
    "a number of a branch": lambda x: x * 2 if x[0] > 0 else 3,
    "of one element": lambda x: pa.sum(x, keepdims=True),
    "a boolean": lambda x: x[0] > 1,
}


@pytest.mark.parametrize("name", RESULTS)
def test_results(name):
    """Of their own: what a caller writes into one is not seen by the next call, nor in the arguments."""
    f = RESULTS[name]
    g = pa.jit(f)
    for _ in range(4):
        x = x3.copy()
        agree(f, g, x)
        found, right = pa.tree.leaves(g(x)), pa.tree.leaves(f(x))
        assert [[a is b for a in found if isinstance(a, np.ndarray)] for b in found] == [
            [a is b for a in right if isinstance(a, np.ndarray)] for b in right
        ]  # one array stays one
        for y in found:
            if isinstance(y, np.ndarray):
                y[...] = 9.0
        np.testing.assert_array_equal(x, x3)


def test_views_of_arrays_from_outside_and_what_is_given_away():
    w = np.arange(9.0).reshape(3, 3)
    f = lambda x: x @ w.T + w[1, ::2].sum() * w[:, 0]
    g = pa.jit(f)
    for k in range(4):
        w[0, 0] = k
        agree(f, g, x3)
    give = pa.jit(lambda x: (x * 2, x + 1), donate_argnums=0)
    for _ in range(4):
        for a, b in zip(give(x3.copy()), (x3 * 2, x3 + 1), strict=True):
            np.testing.assert_array_equal(a, b)


def test_steps_that_may_fail_and_effects_are_not_written_over():
    seen = []

    def f(a):
        pa.io_callback(seen.append, None, a[0, 0])
        try:
            return pa.linalg.inv(a)
        except pa.LinAlgError:
            return -a

    g = pa.jit(f)
    for a in (np.eye(2), np.zeros((2, 2)), np.eye(2) * 2, np.zeros((2, 2)), np.eye(2)):
        agree(f, g, a)
    assert [float(v) for v in seen] == [v for pair in zip([1, 0, 2, 0, 1], [1, 0, 2, 0, 1], strict=True) for v in pair]
