"""Zero cotangents stay zero whatever they meet: branches and elements not taken, in lanes and programs."""

import numpy as np
import pytest

import polyad as pa
from polyad.dsl.ir.passes import optimized


def close(found, expected):
    found = np.asarray(found)
    np.testing.assert_allclose(found, np.broadcast_to(expected, found.shape), rtol=1e-11, atol=1e-13)


def entropy_term(x):
    return pa.where(x > 0, x * pa.log(x), 3 * x)


@pytest.fixture
def unwarned():
    with np.errstate(all="ignore"):
        yield


def test_lanes_that_take_different_branches(unwarned):
    x = np.array([0.0, 0.5, 0.0, 2.0])
    right = np.where(x > 0, np.log(np.where(x > 0, x, 1)) + 1, 3)
    close(pa.vmap(pa.grad(entropy_term))(x), right)
    close(pa.grad(lambda x: pa.sum(entropy_term(x)))(x), right)
    close(pa.grad(lambda x: pa.sum(pa.vmap(entropy_term)(x)))(x), right)
    close(pa.hessian(lambda x: pa.sum(entropy_term(x)))(x), np.diag([0, 2, 0, 0.5]))


def test_elements_that_are_left_out(unwarned):
    x = np.array([0.0, 0.5])
    close(pa.grad(lambda x: pa.sum((x * pa.log(x))[x > 0]))(x), [0, np.log(0.5) + 1])
    close(pa.grad(lambda x: np.sum(np.where(x > 0, x * np.log(x), 0)))(x), [0, np.log(0.5) + 1])


def test_programs(unwarned):
    for transform, right in ((pa.grad, 3), (lambda f: pa.jacfwd(pa.grad(f)), 0), (lambda f: pa.jacrev(pa.jacfwd(f)), 0)):
        assert pa.make_ir(transform(entropy_term))(0.5)(0.0) == right
        assert pa.jit(transform(entropy_term))(0.0) == transform(pa.jit(entropy_term))(0.0) == right
        assert transform(lambda x: pa.make_ir(entropy_term)(0.5)(x))(0.0) == right
    program = optimized(pa.make_ir(pa.grad(lambda x: 2.0 * pa.sin(3.0 * x)))(0.5))
    assert "masked" not in program.code  # a cotangent that is known not to be zero, and numbers


def test_nan_that_is_due_stays(unwarned):
    assert np.isnan(pa.grad(lambda x: pa.where(x < 0, 0.0, x * x))(np.nan))  # its cotangent is not zero
    assert pa.grad(lambda x: x * pa.log(x))(0.0) == -np.inf


def test_one_walk_where_nothing_is_lost(unwarned):
    walks = []

    @pa.opaque(kernel=None)
    def counted(x, /):
        """x"""

    counted.rule("shape")(lambda x: x)
    counted.rule("vjp")([lambda ct, y, x: walks.append(1) or ct])

    @counted.method
    def counted_on_host(x: pa.HostArray, /):
        return x * 1.0

    pa.grad(lambda x: pa.sum(counted(x) * np.array([np.inf, -np.inf])))(np.ones(2))
    assert len(walks) == 1  # infinities of both signs are no NaN
    pa.grad(lambda x: pa.sum(counted(x) * np.nan))(np.ones(2))
    assert len(walks) == 3
