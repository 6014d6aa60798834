"""What the tape keeps of large arrays: numbers as before, and no memory beside."""

from contextlib import contextmanager

import numpy as np
import pytest

import polyad as pa
from polyad.ad.rules import residuals, written
from polyad.dsl import operations
from polyad.testing.comparing import agree, random_like
from polyad.testing.rules import _differentiable

close = np.testing.assert_allclose
LONG = np.linspace(0.5, 1.5, 20_000)


@pytest.fixture
def always(monkeypatch):
    """A context in which is done for all arrays what is meant for large ones."""

    @contextmanager
    def context():
        with monkeypatch.context() as patch:
            patch.setattr(residuals, "LARGE", 1)
            patch.setitem(written.SPACE, "LARGE", 1)
            yield

    return context


SMOOTH = [pytest.param(op, id=name) for name, op in operations.items() if op.card.samples and op.card.differentiable]


def derivatives(f, xs):
    """Reverse mode at random cotangents, and derivatives by arrays and cotangents: reverse mode in both modes, and in forward
    mode by the arrays."""
    rng = np.random.default_rng(1)
    dxs, others = (tuple([random_like(rng, x) for x in xs]) for _ in range(2))
    ct, dct = (pa.tree.map(lambda v: random_like(rng, np.asarray(v)[()]), f(*xs)) for _ in range(2))
    pull = lambda xs, ct: pa.vjp(f, *xs)[1](ct)
    push = lambda *xs: pa.jvp(f, xs, dxs)[1]
    return pull(xs, ct), pa.jvp(pull, (xs, ct), (dxs, dct))[1], pa.vjp(pull, xs, ct)[1](others), pa.vjp(push, *xs)[1](dct)


@pytest.mark.parametrize("op", SMOOTH)
def test_what_rules_do_not_read_is_not_needed(op, each, always):
    """The same numbers as where everything is kept, which tests/test_cards.py compares with finite differences."""

    def check(make):
        f, xs = _differentiable(op, *make(np.random.default_rng(7)))
        if xs:
            with always():
                found = derivatives(f, xs)
            agree(found, derivatives(f, xs), rtol=1e-9, atol=1e-11, exact=True)

    each({f"sample {i}": (make,) for i, make in enumerate(op.card.samples)}, check)


def test_cotangents_of_values_with_tangents(always):
    x, v = np.linspace(0.1, 0.9, 6), np.linspace(1.0, 2.0, 6)
    for f in (
        lambda x: pa.sum(pa.sin(x) * pa.exp(0.1 * x) + x * x), lambda x: pa.sum((x[1:] - x[:-1] ** 2) ** 2) + x[2] * x[3],
        lambda x: pa.sum(pa.tanh(x) ** 3 / (1.0 + x)), lambda x: pa.sum(x[np.array([0, 0, 3])] ** 2 * x[1:4]),
        lambda x: pa.logsumexp(x * 3.0) * pa.mean(x), lambda x: pa.sum(pa.cumsum(x) ** 2 - 2.0 * x),
    ):  # fmt: skip
        step = lambda h, f=f: pa.grad(f)(x + h * v)
        with always():
            close(pa.hvp(f, x, v), (step(1e-5) - step(-1e-5)) / 2e-5, rtol=1e-6, atol=1e-7)
            close(pa.hessian(f)(x) @ v, pa.hvp(f, x, v), rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(x, np.linspace(0.1, 0.9, 6))
    np.testing.assert_array_equal(v, np.linspace(1.0, 2.0, 6))


# ---------------------------------------------------------------------- memory
PEAKS = {
    "sum(sin)": (lambda x: pa.sum(pa.sin(x)), 1),
    "norm": (lambda x: pa.sqrt(pa.sum(x**2)), 1),
    "stencil": (lambda x: pa.sum((x[2:] - 2.0 * x[1:-1] + x[:-2]) ** 2), 5),
    "cumsum": (lambda x: pa.sum(pa.cumsum(x) ** 2), 3),
    "gather": (lambda x: pa.sum(x[::-1] ** 2), 3),
    "matmul": (lambda x: pa.sum(pa.reshape(x, shape=(100, 200)) @ np.ones((200, 100))), 2),
    "chain": (lambda x: pa.sum(pa.exp(pa.sin(x * 2.0 + 1.0) * 3.0)), 4),
}


@pytest.mark.parametrize("name", PEAKS)
def test_most_memory_of_gradients(name, peak):
    f, arrays = PEAKS[name]
    assert peak(pa.grad(f), LONG) < arrays + 0.2


@pytest.mark.parametrize("name", PEAKS)
def test_no_more_memory_than_a_peer(name, peak):
    autograd = pytest.importorskip("autograd")
    peers = {
        "sum(sin)": lambda l: lambda x: l.sum(l.sin(x)), "norm": lambda l: lambda x: l.sqrt(l.sum(x**2)),
        "stencil": lambda l: lambda x: l.sum((x[2:] - 2.0 * x[1:-1] + x[:-2]) ** 2),
        "cumsum": lambda l: lambda x: l.sum(l.cumsum(x) ** 2), "gather": lambda l: lambda x: l.sum(x[::-1] ** 2),
        "matmul": lambda l: lambda x: l.sum(l.matmul(l.reshape(x, (100, 200)), np.ones((200, 100)))),
        "chain": lambda l: lambda x: l.sum(l.exp(l.sin(x * 2.0 + 1.0) * 3.0)),
    }  # fmt: skip
    theirs = peak(autograd.grad(peers[name](autograd.numpy)), LONG)
    assert peak(pa.grad(PEAKS[name][0]), LONG) <= 1.05 * theirs
