"""check_grads finds planted faults and lets right derivatives pass."""

import re

import numpy as np
import pytest

import polyad as pa
from polyad.dsl import operations

pytestmark = pytest.mark.quick


@pytest.fixture
def sine():
    """Declare the sine as a user would, with the derivative rules given."""
    declared = []

    def declare(jvp=None, vjp=None, kernel=np.sin):
        @pa.opaque(kernel=None)
        def planted(x, /):
            """A function with rules of its own."""

        @planted.method
        def planted_dense(x: pa.HostArray, /):
            return kernel(x)

        if jvp is not None:
            planted.rule("jvp")(lambda dxs, y, x: jvp(dxs[0], y, x))
        if vjp is not None:
            planted.rule("vjp")([vjp])
        declared.append(planted.card.name)
        return planted

    yield declare
    for name in declared:
        operations.pop(name, None)


right = lambda d, y, x: d * pa.cos(x)
X = np.array([0.3, -1.2, 2.0])


def test_right_rules_pass(sine):
    for rules in ({"jvp": right}, {"vjp": right}, {"jvp": right, "vjp": right}):
        pa.check_grads(sine(**rules), (X,), order=3, rtol=1e-3, atol=1e-4)


WRONG = {
    "factor": lambda d, y, x: d * pa.cos(x) * 1.01,
    "sign": lambda d, y, x: -d * pa.cos(x),
    "constant": lambda d, y, x: d * (pa.cos(x) + 1e-3),
    "zero": lambda d, y, x: d * 0.0,
    "one element": lambda d, y, x: d * pa.cos(x) * np.array([1.0, 1.0, 0.9]),
    "order of elements": lambda d, y, x: d[::-1] * pa.cos(x),
}


@pytest.mark.parametrize("fault", WRONG)
def test_wrong_jvp(sine, fault):
    with pytest.raises(AssertionError, match="check_grads: forward mode disagrees"):
        pa.check_grads(sine(jvp=WRONG[fault], vjp=right), (X,))


@pytest.mark.parametrize("fault", WRONG)
def test_wrong_vjp(sine, fault):
    f = sine(jvp=right, vjp=WRONG[fault])
    with pytest.raises(AssertionError, match="check_grads: reverse mode disagrees"):
        pa.check_grads(f, (X,), order=1)
    pa.check_grads(f, (X,), order=1, modes=["forward"])


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_wrong_at_second_order_only(sine, mode):
    frozen = lambda d, y, x: d * pa.stop_gradient(pa.cos(x))
    f = sine(jvp=frozen, vjp=frozen)
    pa.check_grads(f, (X,), order=1)
    with pytest.raises(AssertionError, match=f"{mode}, then {mode} mode disagrees"):
        pa.check_grads(f, (X,), order=2, modes=[mode])


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_wrong_conjugation(sine, mode):
    z = np.array([0.3 + 0.5j, -1.2 + 0.1j])
    pa.check_grads(sine(jvp=right, vjp=right), (z,))
    conjugated = lambda d, y, x: d * pa.conj(pa.cos(x))
    for fault in (conjugated, lambda d, y, x: pa.conj(d) * pa.cos(x), lambda d, y, x: pa.real(d) * pa.cos(x)):
        with pytest.raises(AssertionError, match=mode):
            pa.check_grads(sine(jvp=fault, vjp=fault), (z,), modes=[mode])


def test_a_kernel_that_does_not_fit_its_rules(sine):
    with pytest.raises(AssertionError):
        pa.check_grads(sine(jvp=right, kernel=lambda x: np.sin(x) + 0.01 * x), (X,))


def test_trees_integers_and_constants():
    f = lambda p, n: {"a": p["x"] ** n, "b": 3.0, "n": n}
    pa.check_grads(f, ({"x": X}, 3))


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_single_precision(sine, dtype):
    x = np.array([0.3, -1.2], dtype)
    pa.check_grads(lambda x: pa.sin(x) * x, (x,))
    with pytest.raises(AssertionError):
        pa.check_grads(sine(jvp=WRONG["factor"]), (x,))


def test_argument_errors():
    with pytest.raises(pa.StructureError, match="tuple"):
        pa.check_grads(pa.sin, X)
    with pytest.raises(ValueError, match="modes"):
        pa.check_grads(pa.sin, (X,), modes=["backward"])


# ---------------------------------------------------------------------- what the message says
def says(error, *parts):
    return pytest.raises(error, match="".join(f"(?=[\\s\\S]*{re.escape(p)})" for p in parts))


def test_message_names_argument_and_size(sine):
    bad = sine(jvp=WRONG["factor"], vjp=right)
    f = lambda p, y: {"good": pa.sin(y), "bad": pa.sum(bad(p["w"][1])) + y}
    args = ({"w": [X, X]}, 0.5)
    parts = "check_grads: forward mode disagrees", "argument 0['w'][1]", "result['bad']", "off by", "rtol"
    with says(AssertionError, *parts) as e:
        pa.check_grads(f, args)
    assert "argument 1" not in str(e.value) and "smooth" not in str(e.value)
    bad = sine(jvp=right, vjp=WRONG["constant"])
    with says(AssertionError, "reverse mode disagrees", "argument 0['w'][1]", "off by"):
        pa.check_grads(f, args, rtol=1e-6, atol=1e-8)


def test_a_small_fault_is_not_hidden_by_a_large_argument(sine):
    bad = sine(jvp=right, vjp=WRONG["factor"])
    f = lambda x, y: pa.sum(bad(x)) + 1e6 * pa.sum(y * y)
    with says(AssertionError, "reverse mode disagrees", "argument 0"):
        pa.check_grads(f, (X, X), order=1)


def test_modes_that_contradict_each_other(sine):
    """By less than finite differences would see."""
    slightly = lambda d, y, x: d * pa.cos(x) * (1 + 5e-5)
    with says(AssertionError, "reverse mode disagrees with forward mode"):
        pa.check_grads(sine(jvp=right, vjp=slightly), (X,), order=1)
    pa.check_grads(sine(jvp=right, vjp=slightly), (X,), order=1, modes=("reverse",))


def test_kinks_are_named():
    with says(AssertionError, "may not be smooth here", "another point or eps"):
        pa.check_grads(lambda x: pa.sum(pa.abs(x - 0.3 - 2e-6)), (X,), order=1)


def test_rules_that_are_not_linear_where_a_cotangent_is_zero(sine):
    """A rule that masks zeros by a choice has slope zero there."""
    masked = lambda d, y, x: pa.where(d == 0, 0.0, d * pa.cos(x))
    f = sine(jvp=right, vjp=masked)
    pa.check_grads(f, (X,), order=1)
    with says(AssertionError, "reverse, then"):
        pa.check_grads(f, (X,), order=2, modes=("reverse",))


# ---------------------------------------------------------------------- functions that would fool it
def test_randomness():
    rng = np.random.default_rng(0)
    with says(AssertionError, "check_grads(<lambda>)", "two calls with the same arguments differ", "random or keeps state"):
        pa.check_grads(lambda x: pa.sum(x) * rng.normal(), (X,))
    key = pa.random.key(0)
    pa.check_grads(lambda x: pa.sum(x * pa.random.normal(key, (3,))), (X,))


def test_state():
    count = [0.0]

    def counting(x):
        count[0] += 1
        return x * count[0]

    with says(AssertionError, "two calls with the same arguments differ", "keeps state"):
        pa.check_grads(counting, (X,))

    cache = {}

    def remembering(x):
        if "scale" not in cache:
            cache["scale"] = pa.sum(x)
        return x * cache["scale"]

    with says(AssertionError, "keeps a value from one call for the next", "cache"):
        pa.check_grads(remembering, (X,))


def test_written_arguments():
    def writes(p):
        p["x"] *= 2.0
        return pa.sum(p["x"] ** 2)

    with says(AssertionError, "writes to its argument 0['x']", "copy"):
        pa.check_grads(writes, ({"x": X.copy()},))
    x = X.copy()
    pa.check_grads(lambda x: pa.sum(x**2), (x,))
    np.testing.assert_array_equal(x, X)


def test_closures_over_followed_values():
    with says(pa.StructureError, "Reverse[1]", "grad(<lambda>)", "closes over", "outside"):
        pa.grad(lambda w: pa.check_grads(lambda x: x * w, (X,)) or w)(2.0)
    with says(pa.StructureError, "argument 0", "Reverse[1]", "need numbers"):
        pa.grad(lambda w: pa.check_grads(pa.sin, (w,)) or w)(2.0)
    w = np.ones(3)
    pa.check_grads(lambda x: x * w, (X,))


def test_functions_that_ask_for_types():
    pa.check_grads(lambda x: x * 2.0 if isinstance(x, np.ndarray) else x * 3.0, (X,))  # which says the same in both
    f = lambda x: x * 2.0 if type(x) is np.ndarray else x * 3.0
    with says(AssertionError, "plain call", "forward mode", "does something else for followed values"):
        pa.check_grads(f, (X,))
    g = lambda x: x if type(x) is np.ndarray else (x,)
    with says(AssertionError, "different structures"):
        pa.check_grads(g, (X,))


def test_nothing_to_check():
    with says(pa.StructureError, "no argument holds floating numbers", "3.0 instead of 3"):
        pa.check_grads(lambda n: n * 2.0, (3,))
    with says(pa.ShapeError, "returns no floating numbers"):
        pa.check_grads(lambda x: x > 0, (X,))
    with pytest.raises(ValueError, match="order"):
        pa.check_grads(pa.sin, (X,), order=0)
    with says(pa.DTypeError, "argument 1", "not an array of numbers"):
        pa.check_grads(lambda x, s: x, (X, "text"))


def test_functions_that_compute_in_single_precision():
    pa.check_grads(lambda x: pa.sin(pa.astype(x, dtype="float32")), (X,), order=1)
    with pytest.raises(AssertionError, match="disagrees"):
        pa.check_grads(lambda x: pa.sin(pa.astype(pa.stop_gradient(x) * 0.1 + x, dtype="float32")), (X,), order=1)


def test_right_at_second_order_with_complex_arguments():
    z = np.array([0.3 + 0.5j, -1.2 + 0.1j])
    pa.check_grads(lambda z, x: pa.exp(z) * x + pa.abs(z) ** 2, (z, X[:2]), order=2)


def test_ill_conditioned_functions_pass():
    """Rounding that a followed call makes in another order may be magnified; it is no other value."""
    a = np.vander(np.linspace(0.5, 1.0, 6), 4)
    pa.check_grads(lambda a: pa.linalg.pinv(pa.einsum("ji,jk->ik", a, a)), (a,), order=1, modes="reverse", rtol=1e-2)


def test_a_difference_where_the_slope_is_zero_is_said_without_a_ratio():
    straight_through = pa.custom_vjp(lambda x: pa.round(x))
    straight_through.defvjp(lambda x: (pa.round(x), None), lambda saved, ct: (ct,))
    with says(AssertionError, "forward mode disagrees with finite differences", "where they give 0"):
        pa.check_grads(straight_through, (X,), order=1)


def test_arrays_of_callable_trees_are_varied():
    scaled = pa.custom_vjp(lambda w, x: pa.sum(w * x))
    scaled.defvjp(lambda w, x: (pa.sum(w * x), w), lambda w, ct: (None, ct * w))  # wrong by w
    model = lambda w: lambda x: scaled(w, x)
    pa.check_grads(model(X), (X,), modes="reverse")  # what a plain function captures is a constant
    with says(AssertionError, "disagrees", "by the function's w"):
        pa.check_grads(pa.closure(model(X)), (X,))
    with says(AssertionError, "disagrees", "argument 0.w"):
        pa.check_grads(lambda f, x: f(x), (pa.closure(model(X)), X))
    pa.check_grads(pa.closure(lambda x, w=None, captured=X: pa.sum(x)), (X,))
    right = lambda w: lambda x: pa.sum(pa.sin(w * x))
    pa.check_grads(pa.closure(right(X)), (X,))
