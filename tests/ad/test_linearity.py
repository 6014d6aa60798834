"""Whether a function is linear: those that are, are transposed; those that are not, are refused."""

import re

import numpy as np
import pytest

import polyad as pa

pytestmark = pytest.mark.quick


close = np.testing.assert_allclose


X, A = np.array([0.3, 0.5, -0.2]), np.arange(9.0).reshape(3, 3)


LINEAR = {
    "matrix": lambda x: A @ x,
    "tree": lambda x: {"u": A @ x, "v": (x[::-1] / 2, -x)},
    "division": lambda x: x / np.array([1.0, 2.0, 3.0]),
    "cumsum": lambda x: pa.cumsum(x),
    "solve": lambda x: pa.linalg.solve(A + np.eye(3), x),
    "fft": lambda x: pa.fft.fft(x),
    "fixed choice": lambda x: pa.where(X > 0, x, 2 * x),
    "outer": lambda x: np.outer(x, X),
    "convolution": lambda x: pa.convolve(x, X),
    "mean": lambda x: pa.mean(x),
    "lanes": lambda x: pa.vmap(lambda u: u * 3)(x),
    "in place": lambda x: _placed(x),
    "derivative": lambda x: pa.jvp(pa.sin, (X,), (x,))[1],
    "gradient": lambda x: pa.grad(lambda z: pa.sum(z * z) / 2)(x),
    "zero": lambda x: 0.0 * X,
    "stack": lambda x: pa.stack([x, 2 * x]),
}


def _placed(x):
    y = pa.zeros(3)
    y[1:] = x[:2]
    return y


@pytest.mark.parametrize("name", LINEAR)
def test_transpose(name):
    f = LINEAR[name]
    rng = np.random.default_rng(0)
    ct = pa.tree.map(lambda v: rng.normal(size=np.shape(v)) * (1 + 2j if np.iscomplexobj(v) else 1), f(X))
    right = pa.vjp(f, X)[1](ct)[0]
    for example in (X, pa.Aval((3,), np.dtype(float))):
        (found,) = pa.linear_transpose(f, example)(ct)
        close(found, right)
        assert found.dtype == np.float64


def test_transpose_of_several_and_complex():
    back = pa.linear_transpose(lambda p, y: A @ p["x"] + y, {"x": X}, pa.eval_shape(pa.add, X, X))
    (cx, cy) = back(X)
    close(cx["x"], A.T @ X)
    close(cy, X)
    z = X + 1j
    back = pa.linear_transpose(lambda z: pa.real(z) + 2 * pa.conj(z), z)
    close(back(z)[0], pa.vjp(lambda z: pa.real(z) + 2 * pa.conj(z), z)[1](z)[0])
    close(pa.vmap(lambda x: pa.linear_transpose(lambda u: u * x, x)(1.0)[0])(X), X)
    close(pa.grad(lambda x: pa.sum(pa.linear_transpose(lambda u: u * x, x)(X)[0]))(X), X)
    close(pa.make_ir(lambda x: pa.linear_transpose(lambda u: u * x, x)(X)[0])(X)(2 * X), 2 * X * X)


REFUSED = {
    "square": (lambda x: x * x, "depends on its argument (through multiply)"),
    "sine": (lambda x: pa.sin(x), "through cos"),
    "affine": (lambda x: A @ x + 1.0, "not zero where its arguments are"),
    "constant": (lambda x: np.ones(3), "not zero"),
    "absolute value": (lambda x: abs(x), "through sign"),
    "maximum": (lambda x: pa.max(x), "through max"),
    "relu": (lambda x: pa.maximum(x, 0.0), "depends on its argument"),
    "sort": (lambda x: pa.sort(x), "through argsort"),
    "choice": (lambda x: pa.where(x > 0, x, 2 * x), "depends on its argument"),
    "own quotient": (lambda x: x * x / x, "depends on its argument"),
    "branch": (lambda x: x if x[0] > 0 else 2 * x, "asks for a value of its argument"),
    "small sine": (lambda x: 1e-9 * pa.sin(x), "through cos"),
    "bilinear": (lambda x: x @ A @ x, "depends on its argument"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_linear_is_refused(name):
    f, text = REFUSED[name]
    with pytest.raises(pa.StructureError, match=rf"linear_transpose\(<lambda>\).*{re.escape(text)}"):
        pa.linear_transpose(f, X)
