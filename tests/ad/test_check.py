"""check_grads finds planted faults and lets right derivatives pass."""

import numpy as np
import pytest

import polyad as pa
from polyad.dsl import operations


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
