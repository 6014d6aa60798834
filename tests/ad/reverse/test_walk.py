"""Cotangents on the walk back: those of picked elements are summed in place, and a given one is not written to."""

import numpy as np
import pytest

import polyad as pa
from polyad.dsl.mutation_checks import debug_mutation

close = np.testing.assert_allclose


def random(*shape, seed=0, kind="f"):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if kind == "c" else x


def reference(f, x):
    """The gradient by forward mode, which knows nothing of the walk."""
    return pa.jacfwd(f)(x)


PICKS = [
    lambda x: sum([x[i] * x[i] for i in range(5)]),
    lambda x: x[0] * x[1] + pa.sum(pa.sin(x)) * x[2] + x[1],
    lambda x: pa.sum(x[1:] * x[:-1]) + pa.sum(x[::-2] ** 2),
    lambda x: pa.sum(x[np.array([0, 0, 3, -1])] ** 2 * x[np.array([1, 1, 1, 2])]),
    lambda x: pa.sum(x[x > 0] ** 3) + x[2],
    lambda x: pa.sum(x[None, 1:4, None] * x[2]),
    lambda x: pa.sum((2.0 * x)[1:] * x[0]) + pa.sum(x),
    lambda x: x[3] * pa.stop_gradient(x[0]) + x[0],
    lambda x: pa.sum(x[...] * x) + x[-1],
    lambda x: sum([pa.sum(x[i] * x) for i in range(5)]),
]


@pytest.mark.parametrize("f", PICKS)
def test_gradients_of_picked_elements(f):
    x = random(5, seed=4)
    before = x.copy()
    close(pa.grad(f)(x), reference(f, x), rtol=1e-12)
    close(pa.hessian(f)(x), pa.jacrev(pa.jacrev(f))(x), atol=1e-12)
    rows = np.stack([x, 2 * x, x[::-1]])
    if "x > 0" not in str(f.__code__.co_consts) and f is not PICKS[4]:
        close(pa.vmap(pa.grad(f))(rows), [pa.grad(f)(row) for row in rows], rtol=1e-12)
        close(pa.make_ir(pa.grad(f))(x)(x), pa.grad(f)(x), rtol=1e-12)
    with debug_mutation():
        close(pa.grad(f)(x), reference(f, x), rtol=1e-12)
    np.testing.assert_array_equal(x, before)


def test_a_given_cotangent_is_not_written_to():
    """The seed reaches x's own node and is then added to."""
    x, ct = random(4), np.ones(4)
    (found,) = pa.vjp(lambda x: (x, x[1]), x)[1]((ct, 5.0))
    close(found, [1.0, 6.0, 1.0, 1.0])
    np.testing.assert_array_equal(ct, np.ones(4))
    y, pull = pa.vjp(lambda x: (x[1], x[np.array([2, 2])]), x)
    first, second = pull((1.0, np.ones(2))), pull((1.0, np.ones(2)))
    close(first[0], [0.0, 1.0, 2.0, 0.0])
    first[0][:] = 7.0  # neither pullback holds the other's array
    close(second[0], [0.0, 1.0, 2.0, 0.0])
