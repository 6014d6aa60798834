"""Policies of checkpoints: what they keep is not computed again, and takes the memory that it takes."""

from functools import partial

import numpy as np

import polyad as pa

x = np.random.default_rng(0).standard_normal(3)

close = partial(np.testing.assert_allclose, rtol=1e-10, atol=1e-13)


def counted(kind=pa.elementwise):
    """An operation sin of its own, and how often its kernel has run."""
    runs = [0]

    @pa.elementwise(partials=[lambda y, x: pa.cos(x)], kernel=None, numpy=())
    def counted_sin(x, /):
        """Sine of each element."""

    def kernel(x: pa.HostArray, /):
        runs[0] += 1
        return np.sin(x)

    counted_sin.method(kernel)
    return counted_sin, runs


def test_what_policies_keep_is_not_computed_again():
    op, runs = counted()
    mark = lambda x: pa.checkpoint_name(op(x), "here")
    for policy, count in ((None, 2), (pa.policies.operations(op), 1), (pa.policies.names("here"), 1),
                          (pa.policies.names("there"), 2), (pa.policies.everything, 1),
                          (lambda operation, params: operation is op, 1)):  # fmt: skip
        runs[0] = 0
        f = pa.checkpoint(lambda x: pa.exp(mark(pa.exp(x))), policy=policy)
        close(pa.grad(lambda x: pa.sum(f(x)))(x), pa.grad(lambda x: pa.sum(pa.exp(pa.sin(pa.exp(x)))))(x))
        assert runs[0] == count
        runs[0] = 0
        pa.grad(lambda x: pa.sum(pa.vmap(f)(x)))(x)
        assert runs[0] == count


def block(x):
    for _ in range(8):
        x = pa.sin(x) * 1.1
    return x


def chain(block, n):
    def f(x):
        for _ in range(n):
            x = block(x)
        return pa.sum(x)

    return f


long = np.linspace(0.0, 1.0, 20_000)


def test_policies_cost_what_they_keep(peak):
    keeping = pa.checkpoint(block, policy=pa.policies.operations("sin"))
    kept = [peak(pa.grad(chain(keeping, n)), long) for n in (4, 20)]
    assert 7.9 * 16 < kept[1] - kept[0] < 9.5 * 16
