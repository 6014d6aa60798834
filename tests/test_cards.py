"""Every operation by its card: kernel, shape, both derivatives, second order, lanes and tracing, against references
that know nothing of the rules (NumPy itself, finite differences, a Python loop, eager execution)."""

import numpy as np
import pytest

from polyad import testing
from polyad.dsl import operations


def all_cases():
    for name, op in operations.items():
        for i, make in enumerate(op.card.samples):
            yield pytest.param(op, make, id=f"{name}-{i}")


cases = list(all_cases())
each_case = pytest.mark.parametrize(("op", "make"), cases)
smooth_cases = [case for case in cases if case.values[0].card.differentiable]
each_smooth_case = pytest.mark.parametrize(("op", "make"), smooth_cases)


def draw(make, seed=7):
    """Arguments and parameters of a sample."""
    return make(np.random.default_rng(seed))


@each_case
def test_kernel_is_numpys(op, make):
    testing.check_kernel(op, *draw(make))


@each_case
def test_shape_rule_is_the_results(op, make):
    testing.check_shape(op, *draw(make))


@each_smooth_case
def test_forward_against_finite_differences(op, make):
    testing.check_forward(op, *draw(make))


@each_smooth_case
def test_reverse_is_the_transpose_of_forward(op, make):
    testing.check_reverse(op, *draw(make))


@each_smooth_case
def test_second_order(op, make):
    testing.check_second_order(op, *draw(make))


@pytest.mark.parametrize("size", [3, 0])
@each_case
def test_lanes_against_a_loop(op, make, size):
    testing.check_lanes(op, [draw(make, seed)[0] for seed in (7, 8, 9)], draw(make)[1], size)


@each_case
def test_traced_program_runs_like_eager(op, make):
    testing.check_trace(op, *draw(make))
