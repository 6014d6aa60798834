"""What targets of layers are given and return is checked: runs that fit, an end, values of what is around."""

from collections import namedtuple

import numpy as np
import pytest
from held import Held

import polyad as pa
from polyad.ad import Dual
from polyad.dispatch import check_level, several
from polyad.dsl import Batched

pytestmark = pytest.mark.quick

X = np.ones(3)


class Forgetful(Held):
    """Its target calls the operation on what it was given."""

    __slots__ = ()

    @classmethod
    def target(cls, generic, types):
        return lambda *args, **params: generic.spread(*args, **params)


@pytest.mark.parametrize("operation", [np.sin, lambda x: x + 1.0, lambda x: pa.grad(pa.sin)(x)])
def test_target_that_forgets_to_unwrap(operation):
    with pa.Run("forgetful") as run, pytest.raises(RecursionError, match=r"the target of Forgetful\[1\].*those below"):
        operation(Forgetful[run.depth](np.float64(1.0), run))


def test_recursion_of_the_user_s_stays_what_it_is():
    def endless(x):
        return endless(pa.sin(x))

    with pa.Run("held") as run, pytest.raises(RecursionError, match="maximum recursion"):
        endless(Held[run.depth](np.float64(1.0), run))


# ---------------------------------------------------------------------- whose values
def test_values_of_one_open_run():
    with pa.Run("outer") as run:
        kind = Held[run.depth]
        x, other = kind(X, run), Batched[run.depth](X, pa.Run("batched"))
        pa.check_runs(run, [x, X, 1.0, other], kind)  # of others' classes it knows nothing
        np.testing.assert_array_equal((x * 2.0).value, 2 * X)


def test_values_of_another_run_and_of_a_closed_one():
    with pa.Run("first") as first:
        x = Held[first.depth](X, first)
    with pytest.raises(pa.LeakedLayerError, match=r"first .*entered at .*test_targets\.py:\d+"):
        pa.check_runs(first, [x], type(x))
    with pa.Run("second") as second:
        y = Held[second.depth](X, second)
        for args in ([y, x], [X, x]):
            with pytest.raises(pa.LeakedLayerError, match="first"):
                pa.check_runs(second, args, type(x))
        pa.check_runs(second, [y, x], Dual[1])
        with pytest.raises(pa.LeakedLayerError, match="first"):
            _ = y + x


def test_what_a_rule_returns_belongs_to_what_is_around():
    """Values further out, and those of no layer, may come back; values of the same depth or from inside may not."""
    with pa.Run("outer") as outer, pa.Run("middle") as middle, pa.Run("inner") as inner:
        kinds = [(run, Batched[run.depth](X, run)) for run in (outer, middle, inner)]
        (_, out), (_, same), (_, deep) = kinds
        for y in (X, 1.0, (same,), out):
            check_level(pa.sin.generic, y, Dual[middle.depth])
        for y in (same, deep):
            with pytest.raises(
                pa.MutationError,
                match=rf"^sin: its rule returned a Batched\[{y.depth}\] while .*inside a Dual\[2\]; .*zeros_like",
            ):
                check_level(pa.sin.generic, y, Dual[middle.depth])


def test_a_rule_that_returns_a_value_of_the_transformation():
    """One that keeps a value of the lanes, and gives it where the value around them is asked for."""
    kept = []

    @pa.opaque(kernel=None)
    def last(x, /):
        """The value that was kept."""

    last.rule("shape")(lambda x: x)
    last.rule("batch")(lambda size, xs, batched: kept[-1])
    with pytest.raises(pa.MutationError, match=r"last: its rule returned a Batched\[1\] while it computed"):
        pa.vmap(lambda x: kept.append(x) or last(x))(X)


# ---------------------------------------------------------------------- several results, traces inside
def test_several_results_are_of_the_kernels_kind():
    Pair = namedtuple("Pair", "low high")
    made = several(Pair(1, 2), iter([3, 4]))
    assert type(made) is Pair and made.high == 4
    assert several((1, 2), [3, 4]) == (3, 4) and type(several((1, 2), [3, 4])) is tuple
    with pytest.raises(TypeError):
        several(Pair(1, 2), [3])
    assert type(pa.jvp(pa.linalg.slogdet, (np.eye(2),), (np.eye(2),))[0]) is type(pa.linalg.slogdet(np.eye(2)))


def test_a_trace_inside_takes_calls_over():
    """While a run has an `inner`, that is asked in place of the target, with the call as it was made."""
    seen = []

    class Inner:
        def capture(self, generic, args, params):
            seen.append((generic.name, args, params))
            return "captured"

    with pa.Run("held") as run:
        x = Held[run.depth](X, run)
        run.inner = Inner()
        assert pa.sum(x, axis=0) == "captured" and pa.add(2.0, x) == "captured"
        run.inner = None
        assert type(pa.sin(x)) is type(x)
    (first, args, params), (second, others, _) = seen
    assert (first, second) == ("sum", "add") and args[0] is others[1] is x and params["axis"] == 0
