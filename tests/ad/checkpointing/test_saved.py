"""How much checkpoints keep: of chains, of recursion, and in second derivatives."""

from functools import partial

import numpy as np
import pytest

import polyad as pa

rng = np.random.default_rng(0)


x, w = rng.standard_normal(3), rng.standard_normal((3, 3))


close = partial(np.testing.assert_allclose, rtol=1e-10, atol=1e-13)


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


def test_a_chain_keeps_one_array_per_block(peak):
    kept = [peak(pa.grad(chain(pa.checkpoint(block), n)), long) for n in (4, 20)]
    all_of_it = [peak(pa.grad(chain(block, n)), long) for n in (4, 20)]
    assert kept[1] - kept[0] < 1.1 * 16  # 16 blocks more, 16 arrays more
    assert all_of_it[1] - all_of_it[0] > 7.5 * 16  # without: one, the argument of sin, for each of 8 steps


def test_recursion_keeps_logarithmically_many(peak):
    step = lambda x: pa.sin(x) * 1.1

    def halves(n):
        if n == 1:
            return step
        half = halves(n // 2)
        return pa.checkpoint(lambda x: half(half(x)))

    sizes = [peak(pa.grad(lambda x, n=n: pa.sum(halves(n)(x))), long) for n in (8, 16, 32, 64)]
    assert max(np.diff(sizes)) < 4.5
    close(pa.grad(lambda x: pa.sum(halves(16)(x)))(x), pa.grad(chain(step, 16))(x))


@pytest.mark.parametrize("second", [
    lambda f: lambda x: pa.hvp(f, x, np.ones_like(x)),
    lambda f: pa.grad(lambda x: pa.sum(pa.grad(f)(x) ** 2)),
], ids=["forward over reverse", "reverse over reverse"])  # fmt: skip
def test_second_derivatives_keep_little_too(second, peak):
    wrapped, bare = [peak(second(chain(b, 16)), long) for b in (pa.checkpoint(block), block)]
    assert wrapped < bare / 4
