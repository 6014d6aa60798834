"""How operations act on lanes: by their own rule, by one for their kind, or lane by lane with a warning; as a loop does it."""

import numpy as np
import pytest

import polyad as pa
from polyad.dsl import operations
from polyad.dsl.layers.batch_rules import batch_rule

X, Y = np.random.default_rng(4).standard_normal((2, 3, 4, 2))


@pytest.fixture(autouse=True)
def forget():
    before = set(operations)
    yield
    for name in set(operations) - before:
        operations.pop(name)


def test_elementwise_operations_broadcast_as_the_lanes_would_alone():
    rule = batch_rule(operations["multiply"].generic)
    row, number = X[:, 0, :], X[:, 0, 0]  # lanes of fewer axes than the others
    for x, y in ((X, Y), (X, row), (number, Y), (row, number)):
        expected = np.stack([np.multiply(a, b) for a, b in zip(x, y, strict=True)])
        np.testing.assert_array_equal(rule(3, (x, y), (True, True)), expected)
    np.testing.assert_array_equal(rule(3, (number, Y[0]), (True, False)), np.stack([a * Y[0] for a in number]))


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1), (-2,)])
def test_reductions_take_the_axes_of_a_lane(axis):
    rule = batch_rule(operations["max"].generic)
    expected = np.stack([np.max(x, axis=axis) for x in X])
    np.testing.assert_array_equal(rule(3, (X,), (True,), axis=axis), expected)


def test_lane_by_lane_with_a_warning():
    @pa.opaque(kernel=None)
    def scaled(x, y, /, by=1):
        """x y, times a number."""

    @scaled.method
    def scaled_dense(x: pa.HostArray, y: pa.HostArray, /, by=1):
        return x * y * by

    with pytest.warns(pa.PerformanceWarning, match=r"scaled has no batch rule.*@scaled.rule\('batch'\)"):
        found = batch_rule(scaled.generic)(3, (X, Y[0]), (True, False), by=2)
    np.testing.assert_array_equal(found, X * Y[0] * 2)
    scaled.rule("batch")(lambda size, xs, batched, by=1: np.full((size, 2), by))
    np.testing.assert_array_equal(batch_rule(scaled.generic)(3, (X, Y[0]), (True, False), by=5), np.full((3, 2), 5))
