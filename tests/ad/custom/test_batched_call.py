"""Functions with rules of their own, for all lanes at once, and for lanes that go different ways."""

from functools import partial

import numpy as np
import pytest

import polyad as pa

pytestmark = pytest.mark.quick


x = np.array([0.3, 0.7, 1.1])


ones = np.ones(3)


close = partial(np.testing.assert_allclose, rtol=1e-12, atol=1e-14)


@pa.custom_jvp
def bent(x):
    return x * x if x > 0.5 else -x


bent.defjvp(lambda p, t: (bent(*p), 100 * t[0] if p[0] > 0.5 else 50 * t[0]))


folded = pa.custom_vjp(lambda x: x * x if x > 0.5 else -x)


folded.defvjp(lambda x: (folded(x), x), lambda x, ct: (100 * ct if x > 0.5 else 50 * ct,))


@pytest.mark.parametrize("h", [bent, folded])
def test_lanes_that_disagree(h):
    close(pa.vmap(h)(x), [-0.3, 0.49, 1.21])
    for result in (
        pa.grad(lambda x: pa.sum(pa.vmap(h)(x)))(x),
        pa.vmap(pa.grad(h))(x),
        pa.jvp(pa.vmap(h), (x,), (ones,))[1],
        pa.grad(lambda x: pa.sum(pa.vmap(lambda v: h(v) if v < 1 else h(v) * 1.0)(x)))(x),
    ):
        close(result, [50, 100, 100])


@pytest.mark.parametrize("h", [bent, folded])
def test_python_choices_under_jit(h):
    with pytest.warns(pa.PerformanceWarning, match=r"Python asked for a value inside custom_[jv]*p"):
        close([pa.grad(pa.jit(h))(v) for v in x], [50, 100, 100])


def test_lanes_that_disagree_in_backward_alone():
    h = pa.custom_vjp(lambda x: x * x)
    h.defvjp(lambda x: (x * x, x), lambda x, ct: (100 * ct if x > 0.5 else 50 * ct,))
    close(pa.grad(lambda x: pa.sum(pa.vmap(h)(x)))(x), [50, 100, 100])
