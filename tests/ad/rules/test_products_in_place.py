"""Products in the memory of a slope: never in memory that somebody holds."""

import numpy as np
import pytest

import polyad as pa
from polyad.dsl import operations

close = np.testing.assert_allclose


LONG = np.linspace(0.5, 1.5, 20_000)


SMOOTH = [
    pytest.param(op, make, id=f"{name}-{i}")
    for name, op in operations.items() for i, make in enumerate(op.card.samples) if op.card.differentiable
]  # fmt: skip


TABLE = np.linspace(1.0, 2.0, 20_000)


def test_a_slope_that_somebody_holds_is_not_written_to():
    held = TABLE.copy()
    kept = []

    def remembered(y, x):
        kept.append(np.cos(x))
        return kept[-1]

    shared = pa.scalar_rule(np.sin, lambda y, x: held, name="shared", vectorized=True)
    listed = pa.scalar_rule(np.sin, remembered, name="listed", vectorized=True)
    viewed = pa.scalar_rule(np.sin, lambda y, x: held[:], name="viewed", vectorized=True)
    itself = pa.scalar_rule(np.exp, lambda y, x: y, name="itself", vectorized=True)
    ct = np.full(20_000, 3.0)
    for op, slope in ((shared, TABLE), (listed, np.cos(LONG)), (viewed, TABLE), (itself, np.exp(LONG))):
        for _ in range(2):
            y, pull = pa.vjp(op, LONG)
            close(pull(ct)[0], 3.0 * slope)
            close(pull(ct)[0], 3.0 * slope)  # again, from the same tape
            close(pa.jvp(op, (LONG,), (ct,))[1], 3.0 * slope)
        np.testing.assert_array_equal(held, TABLE)
        np.testing.assert_array_equal(ct, 3.0)
    close(kept[0], np.cos(LONG))


def test_a_pullback_may_be_called_again():
    f = lambda x: pa.sum(pa.tanh(x[1:]) * x[:-1] ** 2 - pa.exp(x[1:] * 0.5)) * x[0]
    x = LONG.copy()
    _, pull = pa.vjp(f, x)
    first = pull(1.0)[0].copy()
    for _ in range(3):
        np.testing.assert_array_equal(pull(1.0)[0], first)
    np.testing.assert_array_equal(x, LONG)
    close(first[:50], [(f(x + 1e-6 * e) - f(x - 1e-6 * e)) / 2e-6 for e in np.eye(50, 20_000)], rtol=2e-4, atol=1e-2)
