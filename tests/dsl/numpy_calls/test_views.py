"""Views of followed values: any sequence of writes through any of them, against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polyad as pa

pytestmark = pytest.mark.quick


rng = np.random.default_rng(5)


x0 = rng.uniform(0.5, 1.5, 6)


VIEWS = [lambda a: a, lambda a: a[1:], lambda a: a[::-1], lambda a: a[:, 0], lambda a: a.T, lambda a: a[None],
         lambda a: a[0], lambda a: np.swapaxes(a, 0, -1), lambda a: a[..., ::2], lambda a: np.moveaxis(a, 0, -1),
         lambda a: a.real, lambda a: np.squeeze(a), lambda a: np.rot90(a), lambda a: np.split(a, 1)[0]]  # fmt: skip


STEPS = st.lists(
    st.tuples(st.integers(0, 30), st.sampled_from(["view", "write", "add", "copy", "drop"]), st.integers(0, len(VIEWS) - 1)),
    min_size=1, max_size=12,
)  # fmt: skip


def run(steps, x):
    """A program that makes views of views and writes through them, as the steps say."""
    held = [x.copy().reshape(3, 4)]
    for number, what, choice in steps:
        a = held[number % len(held)]
        if what == "view" and a.ndim >= 2 and a.shape[0] > 1:
            held.append(VIEWS[choice](a))
        elif what == "write" and a.ndim:
            a[choice % a.shape[0]] = 0.3 * choice
        elif what == "add" and a.ndim:
            a += 0.5 * a.sum()
        elif what == "copy":
            held.append(a.copy())
        elif what == "drop" and len(held) > 1:
            del held[number % len(held)]
        else:
            continue
        a = None
    return np.stack([np.sum(np.sin(a)) for a in held])


@given(STEPS)
def test_any_views_and_writes(steps):
    x = np.linspace(0.1, 1.2, 12)
    expected = run(steps, x)
    y, pull = pa.vjp(lambda x: run(steps, x), x)
    np.testing.assert_allclose(y, expected, rtol=1e-12)
    np.testing.assert_allclose(pa.vmap(lambda x: run(steps, x))(x[None])[0], expected, rtol=1e-12)
    _, dy = pa.jvp(lambda x: run(steps, x), (x,), (x,))
    np.testing.assert_allclose(np.sum(dy), np.sum(pull(np.ones_like(y))[0] * x), rtol=1e-9, atol=1e-9)


def test_a_reshaped_value_that_alone_is_in_use_may_be_written():
    def f(x):
        a = (x * 2).reshape(2, 3)
        a = np.outer(x, x).reshape(4, 9)
        a[0] = 1.0
        return np.sum(a)

    pa.grad(f)(x0)


def test_long_chains_of_views():
    def f(x):
        y = x * 1.0
        first = y
        for _ in range(3000):
            y = y[::-1]
        total = np.sum(y * np.arange(6))
        with pytest.raises(pa.MutationError, match="very many views"):
            y[0] = 1.0
        del first
        y[0] = 1.0
        return total + np.sum(y)

    np.testing.assert_array_equal(pa.grad(f)(x0), np.arange(6) + (np.arange(6) > 0))


def test_views_die():
    """A view that nobody holds any more is not in the way."""

    def f(x):
        a = x.reshape(2, 3) * 1.0
        a.ravel()
        for _ in range(40):
            a[0]
        a[0] = 1.0
        assert len(a[0].memory.memory.members) < 20
        return np.sum(a)

    pa.grad(f)(x0)
