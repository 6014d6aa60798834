"""What the steps of loops keep for their way back."""

import numpy as np
import pytest

import polyad as pa

close = np.testing.assert_allclose


def kept(program, steps):
    """Shapes of what the loops forward of a program give per step."""
    forward = [e for e in program.equations if "body" in e.params and not e.params["reverse"]]
    return [v.aval.shape[1:] for e in forward for v in e.outputs if v.aval.shape[:1] == (steps,)]


def test_a_network_keeps_two_vectors_per_step(rng):
    """What is carried, and the argument of tanh, of which its slope is made: the result loses it near 1."""
    w, u, xs = rng.standard_normal((8, 8)) * 0.1, rng.standard_normal((8, 8)), rng.standard_normal((50, 8))
    last = lambda w, u: pa.sum(pa.scan(lambda h, x: (pa.tanh(w @ h + u @ x), None), np.zeros(8), xs)[0])
    assert kept(pa.make_ir(pa.grad(last, (0, 1)))(w, u), 50) == [(8,), (8,)]  # the inputs are at hand
    every = lambda w: pa.sum(pa.scan(lambda h, x: ((y := pa.tanh(w @ h + x)), y), np.zeros(8), xs)[1] ** 2)
    assert kept(pa.make_ir(pa.grad(every))(w), 50) == [(8,), (8,), (8,)]  # and the outputs
    product = lambda xs: pa.scan(lambda c, x: (c * x, None), 1.0, xs)[0]
    assert kept(pa.make_ir(pa.grad(product))(xs[:, 0]), 50) == [()]
    affine = lambda x: pa.scan(lambda c, r: (0.5 * c + r * x, None), 0.0, xs[:, 0])[0]
    assert kept(pa.make_ir(pa.grad(affine))(1.0), 50) == []  # linear in what is followed


def lorenz(p, x):
    return pa.stack([p[0] * (x[1] - x[0]), x[0] * (p[1] - x[2]) - x[1], x[0] * x[1] - p[2] * x[2]])


def runge_kutta(p, x, h=0.01):
    k1 = lorenz(p, x)
    k2 = lorenz(p, x + h / 2 * k1)
    k3 = lorenz(p, x + h / 2 * k2)
    return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + lorenz(p, x + h * k3))


@pytest.mark.parametrize(("wrap", "most"), [(lambda f: f, 4), (pa.checkpoint, 1)])
def test_a_differential_equation_keeps_its_stages(wrap, most):
    solve = lambda p: pa.sum(pa.scan(lambda x, _: (wrap(lambda x: runge_kutta(p, x))(x), None), np.ones(3), length=30)[0])
    p = np.array([10.0, 28.0, 8 / 3])
    program = pa.make_ir(pa.grad(solve))(p)
    assert len(kept(program, 30)) <= most
    close(program(p), pa.grad(solve)(p), rtol=1e-9)
    ends = [solve(p + h * np.eye(3)[1]) for h in (1e-5, -1e-5)]
    close(program(p)[1], (ends[0] - ends[1]) / 2e-5, rtol=1e-5)


def test_checkpoint_within_a_scan_needs_less_memory(rng):
    import tracemalloc

    n, steps = 64, 600
    w = rng.standard_normal((n, n)) * 0.1

    def peak(wrap, form):
        step = lambda w: lambda h: pa.tanh(w @ pa.sin(w @ pa.tanh(w @ pa.cos(w @ h))))
        f = form(pa.grad(lambda w: pa.sum(pa.scan(lambda h, _: (wrap(step(w))(h), None), np.ones(n), length=steps)[0])))
        value = f(w)
        tracemalloc.start()
        f(w)
        used = tracemalloc.get_traced_memory()[1] / (8 * n * steps)
        tracemalloc.stop()
        return value, used

    with pa.debug_mutation(False):
        plain, all_kept = peak(lambda f: f, lambda f: pa.make_ir(f)(w))
        again, few_kept = peak(pa.checkpoint, lambda f: pa.make_ir(f)(w))
        close(again, plain)
        assert few_kept < 3 < 0.6 * all_kept, (few_kept, all_kept)
        plain, all_kept = peak(lambda f: f, lambda f: f)
        again, few_kept = peak(pa.checkpoint, lambda f: f)
        close(again, plain)
        assert few_kept < 0.8 * all_kept, (few_kept, all_kept)
