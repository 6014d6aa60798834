"""Every operation by its card: kernel, shape, both derivatives, second order, lanes and tracing, against references
that know nothing of the rules (NumPy itself, finite differences, a Python loop, eager execution)."""

import numpy as np
import pytest

from polyad import testing
from polyad.dsl import operations

CHECKS = {
    "kernel": testing.check_kernel,
    "shape": testing.check_shape,
    "forward": testing.check_forward,
    "reverse": testing.check_reverse,
    "second order": testing.check_second_order,
    "lanes": lambda op, args, params, lanes: testing.check_lanes(op, lanes, params),
    "trace": testing.check_trace,
}
sampled = [pytest.param(op, id=name) for name, op in operations.items() if op.card.samples]


def draw(make, seed=7):
    """Arguments and parameters of a sample."""
    return make(np.random.default_rng(seed))


@pytest.mark.parametrize("op", sampled)
def test_rules_at_each_sample(op, each):
    def check(what, make):
        lanes = [[draw(make, seed)[0] for seed in (7, 8, 9)]] if what == "lanes" else []
        CHECKS[what](op, *draw(make), *lanes)

    each({f"{what} at sample {i}": (what, make) for i, make in enumerate(op.card.samples) for what in CHECKS}, check)
