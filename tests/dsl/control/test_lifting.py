"""How a layer takes part in operations on programs: what is followed is found round by round, and no more than that."""

import itertools

import numpy as np
import pytest

import polyad as pa
from polyad.dispatch import Layer
from polyad.dsl.control.lifting import Lift, fixpoint

pytestmark = pytest.mark.quick


def closure(edges, flags):
    """The flags that are reached along edges (from, to), by brute force."""
    flags = list(flags)
    for a, b in edges * len(flags):
        flags[b] = flags[b] or flags[a]
    return flags


@pytest.mark.parametrize("start", list(itertools.product([False, True], repeat=4)))
def test_the_least_flags_that_a_step_keeps(start):
    for edges in ([(0, 1), (1, 2), (2, 3)], [(3, 2), (2, 1), (1, 0)], [(0, 3), (3, 0)], []):
        rounds = []

        def step(flags, edges=edges, rounds=rounds):
            rounds.append(list(flags))
            return "made", [any(flags[a] for a, b in edges if b == i) for i in range(4)]

        made, flags = fixpoint(step, list(start))
        assert made == "made" and flags == closure(edges, start)
        assert rounds[-1] == flags and len(rounds) <= 5  # what was made was made with the flags that are returned


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_what_a_loop_carries_is_followed_as_soon_as_it_may_be(steps):
    """x comes into the last place, and moves on by one place a step: the first has it after four steps."""

    def f(x):
        return pa.fori_loop(0, steps, lambda i, c: (c[1], c[2], c[3], c[3] * x), (1.0, 1.0, 1.0, 1.0))

    dy = pa.jvp(f, (2.0,), (1.0,))[1]
    exponents = [max(0, steps - 3 + k) for k in range(4)]  # powers of x in each place
    np.testing.assert_allclose(dy, [e * 2.0 ** (e - 1) if e else 0.0 for e in exponents])
    np.testing.assert_allclose(pa.vmap(lambda x: pa.stack(f(x)))(np.array([2.0, 3.0]))[1], [3.0**e for e in exponents])


def test_what_is_not_followed_stays_plain():
    """In lanes and under derivatives: a counter and what is made of it alone belong to no layer."""

    def f(x):
        y, n, made = pa.fori_loop(0, 3, lambda i, c: (c[0] * 1.5, c[1] + 1, c[2] * 2.0), (x, 0, np.float64(1.0)))
        assert isinstance(y, Layer) and not isinstance(n, Layer) and not isinstance(made, Layer)
        assert (n, made) == (3, 8.0)
        return y

    assert pa.jvp(f, (2.0,), (1.0,))[1] == 1.5**3 == pa.grad(f)(2.0)
    np.testing.assert_array_equal(pa.vmap(f)(np.array([2.0, 3.0])), np.array([2.0, 3.0]) * 1.5**3)


def test_a_layer_has_to_say_what_it_does():
    lift = Lift(None)
    for name, given in {"mine": (1.0,), "below": (1.0, True), "above": (iter([]), True), "program": (None, [])}.items():
        with pytest.raises(NotImplementedError):
            getattr(lift, name)(*given)


def test_several_values_are_those_of_each_in_order():
    class Pairs(Lift):
        """Each followed value stands for two."""

        def below(self, x, mine):
            return [x, -x] if mine else [x]

        def above(self, parts, mine):
            return (next(parts), next(parts)) if mine else next(parts)

    lift, mine = Pairs(None), [True, False, True]
    assert lift.all_below([1, 2, 3], mine) == [1, -1, 2, 3, -3]
    assert lift.all_above(lift.all_below([1, 2, 3], mine), mine) == [(1, -1), 2, (3, -3)]
    assert lift.rows_below(4, True) == [4, -4] and lift.rows_above(iter([4, -4]), True) == (4, -4)
