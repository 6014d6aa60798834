"""Eager derivatives against HIPS autograd on the same programs."""

import autograd
import autograd.numpy as anp
import numpy as np
from functions import chain, network
from timing import ratio

import polyad as pa


def rosenbrock(x):
    return ((1.0 - x[:-1]) ** 2).sum() + (100.0 * (x[1:] - x[:-1] ** 2) ** 2).sum()


def torch_rows(of_chain, of_mlp, of_rosenbrock):
    """Each gradient with its arguments against `torch.func.grad` of the same program, where PyTorch is installed."""
    try:
        import torch
    except ImportError:
        return
    torch.set_num_threads(1)

    def layers(params, x, y):
        for w, b in params:
            x = torch.tanh(torch.matmul(x, w) + b)
        return torch.mean((x - y) ** 2)

    def tensors(tree):
        return type(tree)(map(tensors, tree)) if isinstance(tree, (list, tuple)) else torch.tensor(tree)

    programs = {"50 rounds": (chain(torch), of_chain), "network": (layers, of_mlp), "Rosenbrock": (rosenbrock, of_rosenbrock)}
    for name, (f, (ours, *args)) in programs.items():
        theirs, given = torch.func.grad(f), [tensors(x) for x in args]
        yield f"grad, {name}", "torch.func", ratio(
            lambda ours=ours, args=args: ours(*args), lambda theirs=theirs, given=given: theirs(*given)), 1.0  # fmt: skip


def waves(x):
    return pa.sum(pa.sin(x) * pa.exp(0.1 * x) + x * x)


def tanh_chain(x):
    for _ in range(20):
        x = pa.tanh(pa.sin(x) * 0.9 + 0.1)
    return x


def rows():
    x = np.linspace(0.0, 1.0, 10)
    ours, theirs = pa.grad(chain(pa)), autograd.grad(chain(anp))
    np.testing.assert_allclose(ours(x), theirs(x))
    yield "grad, 50 rounds sin(x)*0.9+0.1", "autograd", ratio(lambda: ours(x), lambda: theirs(x)), 1 / 3
    plain = pa.grad(chain(np))
    yield "  the same in plain NumPy code", "autograd", ratio(lambda: plain(x), lambda: theirs(x)), None
    ours2 = pa.grad(lambda x: pa.sum(ours(x)))
    theirs2 = autograd.grad(lambda x: anp.sum(theirs(x)))
    np.testing.assert_allclose(ours2(x), theirs2(x))
    yield "second derivative of it", "autograd", ratio(lambda: ours2(x), lambda: theirs2(x)), 0.4

    rng = np.random.default_rng(0)
    params = [(rng.normal(size=(n, m)), np.zeros(m)) for n, m in ((16, 32), (32, 32), (32, 4))]
    a, b = rng.normal(size=(16, 16)), rng.normal(size=(16, 4))
    ours_mlp, theirs_mlp = pa.grad(network(pa)), autograd.grad(network(anp))
    np.testing.assert_allclose(ours_mlp(params, a, b)[0][0], theirs_mlp(params, a, b)[0][0])
    yield "grad, network 16-32-32-4", "autograd", ratio(
        lambda: ours_mlp(params, a, b), lambda: theirs_mlp(params, a, b)), 1 / 3  # fmt: skip
    z = rng.normal(size=1000)
    ours_r, theirs_r = pa.grad(rosenbrock), autograd.grad(rosenbrock)
    np.testing.assert_allclose(ours_r(z), theirs_r(z))
    yield "grad, Rosenbrock n = 1000", "autograd", ratio(lambda: ours_r(z), lambda: theirs_r(z)), 1 / 3
    yield from torch_rows((ours, x), (ours_mlp, params, a, b), (ours_r, z))

    many = [np.full(3, float(k)) for k in range(500)]
    ours_s, theirs_s = pa.grad(lambda xs: pa.sum(pa.stack(xs) ** 2)), autograd.grad(lambda xs: anp.sum(anp.stack(xs) ** 2))
    np.testing.assert_allclose(ours_s(many), theirs_s(many))
    yield "grad, stack of 500 arrays", "autograd", ratio(lambda: ours_s(many), lambda: theirs_s(many), repeat=5), None
    picked = lambda x: sum([x[i] * x[i] for i in range(2000)])
    z = rng.normal(size=2000)
    ours_p, theirs_p = pa.grad(picked), autograd.grad(picked)
    np.testing.assert_allclose(ours_p(z), theirs_p(z))
    yield "grad, x[i] * x[i] for 2000 elements", "autograd", ratio(lambda: ours_p(z), lambda: theirs_p(z), repeat=5), 1.0
    matrix, rows_ = rng.normal(size=(300, 300)), rng.normal(size=(300, 300))
    lanes = pa.grad(lambda a: pa.sum(pa.vmap(lambda v: a @ v)(rows_) ** 2))
    whole = autograd.grad(lambda a: anp.sum(anp.matmul(rows_, a.T) ** 2))
    np.testing.assert_allclose(lanes(matrix), whole(matrix))
    yield "grad, vmap of a @ v, 300 × 300", "X @ a.T", ratio(lambda: lanes(matrix), lambda: whole(matrix)), 1.5

    large = rng.normal(size=10**6)
    for name, f in {"sin(x)*exp(0.1x) + x²": waves, "Rosenbrock": rosenbrock}.items():
        slope = pa.grad(f)
        ours_h = lambda f=f: pa.hvp(f, large, large)
        yield f"hvp, {name}, n = 10⁶", "our grad", ratio(ours_h, lambda slope=slope: slope(large), repeat=5), 2.5
    slope = pa.grad(chain(pa))
    _, linear = pa.linearize(slope, x)
    yield "linear part of the gradient of the chain", "jvp of it", ratio(
        lambda: linear(x), lambda: pa.jvp(slope, (x,), (x,))), 0.8  # fmt: skip
    tower = pa.derivative(pa.derivative(pa.derivative(pa.derivative(pa.derivative(tanh_chain)))))
    taylor = pa.derivatives(tanh_chain, 5)
    np.testing.assert_allclose(taylor(0.3)[5], tower(0.3))
    yield "five derivatives of 20 rounds, Taylor mode", "nested forward", ratio(
        lambda: taylor(0.3), lambda: tower(0.3), repeat=3), 0.5  # fmt: skip
    yield "ten derivatives of 20 rounds, Taylor mode", "five", ratio(
        lambda: pa.derivatives(tanh_chain, 10)(0.3), lambda: taylor(0.3), repeat=5), 5.0  # fmt: skip
