"""`debug_mutation`: arrays that change after a derivative kept them are found, harmless changes are not."""

import numpy as np
import pytest

import polyad as pa

pytestmark = pytest.mark.quick


rng = np.random.default_rng(5)


x0 = rng.uniform(0.5, 1.5, 6)


def test_debug_mutation_lets_harmless_changes_pass():
    b = np.ones(6)

    def f(x):
        y = x + b
        b[0] = 7.0
        return np.sum(y.reshape(2, 3))

    with pa.debug_mutation():
        np.testing.assert_array_equal(pa.grad(f)(x0), np.ones(6))


def test_debug_mutation_sees_a_work_array_used_again():
    work = np.zeros(6)

    def f(x):
        total = 0.0
        for k in range(2):
            work[...] = k + 1
            total += np.sum(x * work)
        return total

    with pa.debug_mutation(), pytest.raises(pa.MutationError, match="multiply"):
        pa.grad(f)(x0)
    with pa.debug_mutation(), pytest.raises(pa.MutationError, match="trace"):
        pa.make_ir(f)(x0)
