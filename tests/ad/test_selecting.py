"""What was not chosen has the derivative 0 whatever comes before or after it: infinite slopes, NaN, in every mode."""

import numpy as np
import pytest

import polyad as pa
from polyad.dsl import operations

inf = np.inf
MODES = {
    "reverse": pa.grad, "forward": pa.derivative, "reverse twice": lambda f: pa.grad(pa.grad(f)),
    "forward over reverse": lambda f: pa.derivative(pa.grad(f)), "reverse over forward": lambda f: pa.grad(pa.derivative(f)),
    "forward twice": lambda f: pa.derivative(pa.derivative(f)), "jit": lambda f: pa.jit(pa.grad(f)),
    "jit forward": lambda f: pa.jit(pa.derivative(f)), "lanes": lambda f: lambda x: pa.vmap(pa.grad(f))(np.array([x, x]))[0],
    "lanes forward": lambda f: lambda x: pa.vmap(pa.derivative(f))(np.array([x, x]))[1],
}  # fmt: skip
# functions whose result is `bound` for an argument below it, and of the argument nothing is left
CHOICES = {
    "maximum": lambda x, bound: pa.maximum(x, bound), "maximum, turned": lambda x, bound: pa.maximum(bound, x),
    "minimum": lambda x, bound: -pa.minimum(-x, -bound), "clip": lambda x, bound: pa.clip(x, bound, None),
    "fmax": lambda x, bound: pa.fmax(bound, x), "fmin": lambda x, bound: -pa.fmin(-x, -bound),
    "max": lambda x, bound: pa.max(pa.stack([x, pa.asarray(bound)])),
    "min": lambda x, bound: -pa.min(pa.stack([-x, pa.asarray(-bound), pa.asarray(-bound)])),
    "where": lambda x, bound: pa.where(x < bound, bound, x), "relu": lambda x, bound: pa.relu(x - bound) + bound,
    "select": lambda x, bound: pa.select([x < bound], [bound], x), "numpy": lambda x, bound: np.clip(x, bound, None),
    "sort": lambda x, bound: pa.sort(pa.stack([pa.asarray(bound), x]))[1],
    "max_pool": lambda x, bound: pa.max_pool(pa.stack([x, pa.asarray(bound)])[None, None], 2)[0, 0, 0],
}  # fmt: skip
PAIRS = [(c, m) for c in CHOICES for m in MODES if "jit" not in m or c in ("maximum", "clip", "max", "relu")]
ENDLESS = {  # functions with an infinite slope at a bound
    "log": (pa.log, 0.0), "1/x": (lambda x: 1 / x, 0.0), "reciprocal": (pa.reciprocal, 0.0), "x**-1": (lambda x: x**-1, 0.0),
    "arccosh": (pa.arccosh, 1.0), "log1p": (pa.log1p, -1.0), "arctanh": (pa.arctanh, -1.0), "arcsin": (pa.arcsin, -1.0),
    "2/x": (lambda x: pa.divide(np.float64(2), x), 0.0), "x/0": (lambda x: x / 0.0, 1.0), "logit": (pa.logit, 0.0),
}  # fmt: skip


@pytest.fixture(autouse=True)
def unwarned():
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize(("choice", "mode"), PAIRS)
def test_infinite_slope_after_the_choice(choice, mode):
    names = ENDLESS if mode in ("reverse", "forward") or choice in ("maximum", "relu") else ("log", "1/x")
    for name in names if "jit" not in mode else ("log", "1/x"):
        f, bound = ENDLESS[name]
        assert MODES[mode](lambda x, f=f, bound=bound: f(CHOICES[choice](x, bound)))(bound - 1.5) == 0, name


@pytest.mark.parametrize(("choice", "mode"), PAIRS)
def test_infinite_slope_before_the_choice(choice, mode):
    """log(x) is -inf at 0, with an infinite slope."""
    assert MODES[mode](lambda x: CHOICES[choice](pa.log(x), -1.0))(0.0) == 0
    assert MODES[mode](lambda x: CHOICES[choice](-pa.sqrt(x) / x, 0.0))(1e-300) == 0


def test_the_cases_of_both_modes():
    for f, x in ((lambda x: pa.arccos(pa.clip(x, -1, 1)), 1.5), (lambda x: pa.log(pa.maximum(x, 0)), -1.0),
                 (lambda x: 1 / pa.relu(x), -1.0)):  # fmt: skip
        for mode in MODES.values():
            assert mode(f)(x) == 0
    x = np.array([-1.0, 0.5, 2.0, 0.0], np.float32)
    for mode in (pa.jacrev, pa.jacfwd):
        found = mode(lambda x: pa.log(pa.maximum(x, 0)))(x)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, np.diag([0, 2, 0.5, inf]))  # half of an infinite slope, at the bound
        found = mode(lambda x: pa.log(pa.max(x[:2], axis=0) - 0.5))(np.array([-1.0, 0.5]))
        np.testing.assert_array_equal(found, [0, inf])


@pytest.mark.parametrize("op", [op for op in operations.values() if op.card.kind == "elementwise" and op.generic.arity == 1],
                         ids=lambda op: op.card.name)  # fmt: skip
def test_every_function_after_a_choice(op):
    """At points where functions have poles, branch points and limits; forward mode leaves out infinite values, which it
    multiplies."""
    if not op.card.differentiable or any(op.generic.signature.parameters[p].default is op.generic.signature.empty
                                         for p in op.generic.params):  # fmt: skip
        return
    for bound in (0.0, 1.0, -1.0, -2.0, 1e300, inf):
        f = lambda x, bound=bound: op(pa.maximum(x, bound))
        y = f(min(bound, 5.0) - 1)
        if np.asarray(y).dtype.kind != "f" or np.isnan(y):
            continue
        for name in ("reverse", "reverse twice") if bound == inf else ("reverse", "forward", "reverse twice", "forward twice"):
            assert MODES[name](f)(min(bound, 5.0) - 1) == 0, (bound, name)


def test_values_and_ties_as_before():
    x, y = np.array([1.0, 2.0, 3.0, np.nan, 1.0]), np.array([2.0, 2.0, 1.0, 1.0, np.nan])
    for f, first in ((pa.maximum, [0, 0.5, 1, 0, 0]), (pa.minimum, [1, 0.5, 0, 0, 0]), (pa.fmax, [0, 0.5, 1, 0, 1]),
                     (pa.fmin, [1, 0.5, 0, 0, 1])):  # fmt: skip
        second = 1 - np.array(first) if f in (pa.fmax, pa.fmin) else np.where(np.isnan(x + y), 0, 1 - np.array(first))
        for mode in (pa.jacrev, pa.jacfwd):
            for found, expected in zip(mode(f, (0, 1))(x, y), (first, second), strict=True):
                np.testing.assert_array_equal(np.diag(found), expected)
    assert pa.jvp(pa.maximum, (1.0, 1.0), (2.0, 4.0))[1] == 3


def test_a_zero_by_underflow_is_a_product():
    """exp(-800) is 0, and so is its slope; it was not chosen, and the true product is not known."""
    for mode in (pa.grad, lambda f: pa.jit(pa.grad(f))):
        assert np.isnan(mode(lambda x: pa.log(pa.exp(x)))(np.float64(-800)))
