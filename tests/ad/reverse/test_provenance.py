"""Where nodes of a tape come from: the operation whose rule made a NaN, what it is a step of, the line of the user's call."""

import numpy as np
import pytest
from nan_reports import caught

import polyad as pa
from polyad.dispatch import watchers

pytestmark = [pytest.mark.quick, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True)
def nobody_watches():
    yield
    assert not watchers


def place_of(f, line):
    """file:line of a line of a function, counted from its first."""
    return f"{__file__}:{f.__code__.co_firstlineno + line}"


def steep(t):
    """Finite at 0, with a slope that is ∞ · 0 as computed."""
    return 1.0 / (1e-200 * pa.cos(t))


def test_nan_of_a_rule_of_ours():
    text = caught(pa.grad(steep), np.float64(0.0))
    assert text.startswith("the reverse rule of cos made a NaN of numbers that were none, in the derivative")
    assert f"forward call at {place_of(steep, 2)}" in text
    assert "debug_nans(inf=True)" in text  # infinities are among the inputs
    text = caught(pa.grad(steep), np.float64(0.0), inf=True)
    assert text.startswith("the reverse rule of divide made an infinity of finite numbers")


@pa.elementwise(partials=[lambda y, x: pa.divide(x, x)])
def undefined_slope(x, /):
    """x, with the slope x/x. Takes arrays of any shape."""


@undefined_slope.method
def undefined_slope_kernel(x: pa.HostArray, /):
    return np.asarray(x)[()]


def test_nan_of_a_rule_of_the_users():
    text = caught(pa.grad(lambda x: pa.sum(undefined_slope(x) * 2.0)), np.zeros(2))
    assert text.startswith("the reverse rule of undefined_slope made a NaN of numbers that were none, in the derivative")


def test_second_derivative():
    """A rule of a rule: the message leads to the forward call."""

    def f(t):
        return 1.0 / (1e-120 * (t + pa.cos(t)))

    text = caught(pa.grad(pa.grad(f)), np.float64(0.0), inf=True)
    assert "(a step of the reverse rule of divide) made an infinity" in text and f"forward call at {place_of(f, 1)}" in text
    assert "the reverse rule of cos made a NaN" in caught(pa.grad(pa.grad(f)), np.float64(0.0))


def test_pullback_made_before_it_was_on():
    _, pull = pa.vjp(steep, np.float64(0.0))
    assert "the reverse rule of cos" in caught(pull, np.float64(1.0))


def test_lanes_of_a_reverse_rule():
    text = caught(pa.vmap(pa.grad(steep)), np.array([1.0, 0.0]))
    assert "reverse rule of cos" in text and "in 1 of 2 lanes of vmap(steep)" in text


@pytest.mark.parametrize(
    "f",
    [
        lambda x: pa.linalg.eigh(pa.Diagonal(undefined_slope(x)).dense())[0],
        lambda x: pa.concatenate([undefined_slope(x), x[:1]]),
        lambda x: undefined_slope(x)[0] + x[0],
    ],
    ids=["several results", "all arrays at once", "picked elements"],
)
def test_before_nodes_that_hand_on_by_themselves(f):
    text = caught(pa.grad(lambda x: pa.sum(f(x))), np.array([0.0, 1.0]))
    assert text.startswith("the reverse rule of undefined_slope made a NaN")
