"""`check_rule` takes right rules, catches planted faults, one of each kind, and names what is wrong."""

import numpy as np
import pytest

import polyad as pa
from polyad.dsl import operations
from polyad.testing import check_rule

x, y = np.array([0.3, 1.2, -0.7]), np.array([[1.0, 2.0, 0.5], [0.1, -1.0, 3.0]])


@pytest.fixture(autouse=True)
def forget():
    """Operations declared here are gone afterwards."""
    before = dict(operations)
    yield
    for name in set(operations) - set(before):
        del operations[name]


def operation(kind, prototype, kernel, **facts):
    """An operation of the test's own, with a kernel for plain arrays."""
    op = kind(kernel=None, **facts)(prototype)
    op.generic.add(kernel, (pa.HostArray,) * len(op.generic.arrays))
    return op


def cubed(x, /):
    """x * x * x."""


def total(x, /):
    """Sum of all elements."""


def scaled(x, /):
    """x times 2, of kind linear."""


def cube(partial=lambda y, x: 3 * x * x):
    return operation(pa.elementwise, cubed, lambda x: x * x * x, partials=[partial])


def double(transpose=lambda ct, y, x: ct * 2, shape=lambda x: x, batch=lambda size, xs, batched: double_it(xs[0])):
    op = operation(pa.linear, scaled, lambda x: np.asarray(x)[()] * 2)
    global double_it
    double_it = op
    op.rule("shape")(shape)
    op.rule("transpose")([transpose])
    op.rule("batch")(batch)
    return op


def test_right_rules_pass():
    check_rule(cube(), x)
    check_rule(double(), y)
    check_rule(pa.matmul, y, x)
    check_rule(pa.concatenate, [x, x[:2]])
    check_rule(pa.sum, y, axis=1, keepdims=True)
    check_rule(pa.index, y, np.array([1, 0]), spec=("array",))


def test_needs_a_card():
    with pytest.raises(TypeError, match="check_grads"):
        check_rule(np.sin, x)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cube(lambda y, x: 2 * x * x), "cubed: forward mode: "),
        (lambda: cube(lambda y, x: 3 * pa.stop_gradient(x) * x), "cubed: second order: "),
        (lambda: double(transpose=lambda ct, y, x: ct * 3), "scaled: reverse mode by argument 0: "),
        (lambda: double(transpose=lambda ct, y, x: pa.sum(ct) + 0 * ct), "scaled: reverse mode by argument 0: "),
        (lambda: double(shape=lambda x: pa.Aval((*x.shape, 1), x.dtype)), r"scaled: shape rule: .*float64\[2,3,1\]"),
        (lambda: double(shape=lambda x: pa.Aval(x.shape, np.dtype("float32"))), r"scaled: shape rule: .*float32"),
        (lambda: double(batch=lambda size, xs, batched: double_it(xs[0][::-1])), "scaled: 3 lanes of arguments 0: "),
        (lambda: double(batch=lambda size, xs, batched: xs[0][0] * 2), "scaled: 3 lanes of arguments 0: "),
        (
            lambda: double(batch=lambda size, xs, batched: pa.reshape(double_it(xs[0]), shape=(size, -1, 3))),
            "scaled: 0 lanes of arguments 0: ",
        ),
        (lambda: operation(pa.opaque, total, np.sum), "total: shape rule: MissingRuleError: total has no shape rule"),
    ],
)
def test_wrong_rules_are_caught(make, message):
    with pytest.raises(AssertionError, match=f"^{message}"):
        check_rule(make(), y)


def test_operations_on_objects_are_caught():
    op = operation(pa.elementwise, cubed, lambda x: np.asarray(x, object))
    with pytest.raises(AssertionError, match="cubed: kernel: the result is of dtype object"):
        check_rule(op, x)
