"""What a mapped function reads from around it: each followed value is found and replaced once, all else stays as it is."""

import functools

import numpy as np
import pytest

import polyad as pa
from polyad.dispatch import Layer
from polyad.parallel import closures
from polyad.parallel.closures import substituted

pytestmark = pytest.mark.quick


def followed(test):
    """Run a test with a value that is followed."""
    pa.jvp(lambda x: (test(x), x)[1], (2.0,), (1.0,))


def plain(changed):
    """A change that notes what it is given, and returns the number 5."""
    return lambda x: (changed.append(x), 5.0)[1]


class Model:
    def __init__(self, w):
        self.w, self.kept = w, [1.0]

    def __call__(self, x):
        return self.w * x

    def scaled(self, x):
        return self.w + x


def ways(v):
    """Functions of one number that read v; with 5 in its place each gives 10 at 2, or 7."""

    def recursive(x, n=1):
        return recursive(x, n - 1) if n else v * x

    tree = {"a": [v, 1.0]}
    return {
        "cell": lambda x: v * x, "default": lambda x, w=v: w * x, "tree": lambda x: tree["a"][0] * x,
        "inner": lambda x: (lambda y: v * y)(x), "partial": functools.partial(lambda w, x: w * x, v),
        "keyword": functools.partial(lambda x, w: w * x, w=v), "object": Model(v), "method": Model(v).scaled,
        "recursive": recursive, "function": (lambda f: lambda x: f(x))(lambda x: v * x), "jit": pa.jit(lambda x: v * x),
        "keyword default": (lambda x, *, w=v: w * x),
    }  # fmt: skip


@pytest.mark.parametrize("name", ways(0.0))
def test_each_way_to_a_value_is_found(name):
    def test(v):
        f, changed = ways(v)[name], []
        g = substituted(f, plain(changed))
        assert changed == [v] and changed[0] is v
        assert g(2.0) == (7.0 if name == "method" else 10.0)
        assert isinstance(f(2.0), Layer)  # the function that was given reads what it read

    followed(test)


@pytest.mark.parametrize("name", ways(0.0))
def test_a_function_without_such_a_value_is_itself(name):
    f = ways(3.0)[name]
    assert substituted(f, plain([])) is f


def test_a_value_in_two_places_is_changed_once_and_the_rest_is_shared():
    def test(v):
        other, model = np.ones(3), Model(v)
        model.first = v
        f = lambda x: (v, model, other)
        changed = []
        w, m, o = substituted(f, plain(changed))(1.0)
        assert len(changed) == 1 and (w, m.w, m.first) == (5.0, 5.0, 5.0)
        assert o is other and m is not model and m.kept is model.kept and model.w is v

    followed(test)


def test_what_a_function_assigns_is_seen_outside():
    def test(v):
        count = 0

        def f(x):
            nonlocal count
            count += 1
            return v * x

        substituted(f, plain([]))(1.0)
        assert count == 1

    followed(test)


def test_names_and_attributes_of_a_function_stay():
    def test(v):
        def f(x):
            """Its text."""
            return v * x

        f.mark = 3
        g = substituted(f, plain([]))
        assert (g.__name__, g.__qualname__, g.__doc__, g.mark) == (f.__name__, f.__qualname__, f.__doc__, 3)

    followed(test)


def test_how_far_is_searched():
    """A value behind so many steps is found, one behind one more is not: modules and classes are never entered."""

    def test(v):
        for steps, found in ((closures.MAX_STEPS, 1), (closures.MAX_STEPS + 1, 0)):
            f, changed = v, []
            for _ in range(steps):
                f = (lambda f: lambda: f)(f)
            substituted(f, plain(changed))
            assert len(changed) == found, steps
        holder = type("Holder", (), {"w": v})
        assert substituted(f := lambda: holder, plain([])) is f

    followed(test)


def test_an_empty_cell_and_a_cycle_end():
    def test(v):
        cycle = [v]
        cycle.append(lambda: cycle)

        def f():
            return cycle, later

        changed = []
        substituted(f, plain(changed))
        assert len(changed) == 1
        later = None  # noqa: F841  assigned after the search

    followed(test)
