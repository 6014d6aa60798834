"""`eval_shape`: of operations by their rules, of functions by a trace, against what the functions give."""

from collections import namedtuple

import numpy as np
import pytest

import polyad as pa

pytestmark = pytest.mark.quick

State = namedtuple("State", "x n")
double, single = np.dtype(float), np.dtype(np.float32)
A, x, x32 = np.ones((2, 3)), np.arange(3.0), np.arange(3, dtype=np.float32)


def network(params, x):
    for w, b in params:
        x = pa.tanh(x @ w + b)
    return {"y": x, "loss": pa.mean(x**2), "both": (x[0], pa.argmax(x, axis=-1))}


PARAMS = [(np.ones((3, 4)), np.zeros(4)), (np.ones((4, 2)), np.zeros(2))]
FUNCTIONS = {
    "an array": (lambda v: pa.sin(v), (x,)),
    "NumPy's functions": (lambda v: np.sum(np.outer(v, v), axis=0), (x,)),
    "float32": (lambda v: v * 2.0 + 1, (x32,)),
    "trees": (network, (PARAMS, np.ones((5, 3)))),
    "tuples of the user": (lambda s: State(s.x * s.n, s.n), (State(x, np.int64(2)),)),
    "a number": (lambda v, k: v * k, (x32, 2.5)),
    "numbers alone": (lambda k: k * 2, (3,)),
    "a constant result": (lambda v: (v, 3.0, np.ones(2)), (x,)),
    "gradients": (pa.grad(lambda p, v: pa.sum(network(p, v)["y"])), (PARAMS, np.ones((5, 3)))),
    "maps": (pa.vmap(pa.grad(lambda v: pa.sum(v**2))), (A,)),
    "jit": (pa.jit(lambda v: pa.sum(v, axis=0)), (A,)),
    "a composite operation": (pa.softmax, (x,)),
    "an operation": (pa.matmul, (A, x)),
    "complex": (lambda v: (pa.real(v), v * 1j), (np.ones(2, np.complex64),)),
    "nothing": (lambda v: (), (x,)),
    "control flow": (lambda v: pa.scan(lambda c, r: (c + r, c * r), v[0], v), (A,)),
}
described = lambda y: pa.tree.map(lambda v: pa.Aval(np.shape(v), np.asarray(v).dtype), y)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    f, args = FUNCTIONS[name]
    right = described(f(*args))
    assert pa.eval_shape(f, *args) == right
    if name not in ("a number", "numbers alone"):  # whose dtype follows what they meet
        assert pa.eval_shape(f, *described(args)) == right


def test_nothing_is_computed():
    def f(v):
        assert not hasattr(v, "primal")
        return pa.zeros((10**6, 10**6)) @ v if False else v @ v.T

    huge = pa.Aval((10**7, 10**5), single)
    assert pa.eval_shape(f, huge) == pa.Aval((10**7, 10**7), single)


def test_keywords():
    assert pa.eval_shape(lambda v, *, w: v + w, x32, w=x) == pa.Aval((3,), double)
    assert pa.eval_shape(pa.sum, A, axis=0) == pa.Aval((3,), double)  # an operation's are its parameters
    assert pa.eval_shape(pa.softmax, A, axis=0) == pa.Aval((2, 3), double)
    assert pa.eval_shape(pa.var, pa.Aval((2, 3), single), axis=0, keepdims=True) == pa.Aval((1, 3), single)


def test_descriptions_of_others():
    Described = namedtuple("Described", "size")

    class Other:
        shape, dtype = (2, 3), "float32"

    assert pa.eval_shape(lambda v: v.T, Other()) == pa.Aval((3, 2), single)
    assert pa.eval_shape(lambda d: d.size, Described(x)) == pa.Aval((3,), double)


def test_inside_transformations():
    seen = []
    note = lambda v: seen.append(pa.eval_shape(lambda u: pa.outer(u, u), v)) or pa.sum(v)
    pa.grad(note)(x), pa.vmap(note)(A), pa.jit(note)(x), pa.make_ir(note)(x)
    assert seen == [pa.Aval((3, 3), double)] * 4


def test_errors():
    with pytest.raises(pa.ConcreteValueError, match=r"eval_shape\(branch\).*polyad.where or polyad.cond"):
        pa.eval_shape(branch, x)
    with pytest.raises(pa.DTypeError, match=r"eval_shape\(branch\): leaf 0 of the arguments is str"):
        pa.eval_shape(branch, "text")
    with pytest.raises(pa.DTypeError, match=r"eval_shape: ndarray\(float64\[3\]\) is no function"):
        pa.eval_shape(x, x)
    with pytest.raises(pa.ShapeError, match="matmul"):
        pa.eval_shape(lambda v: A @ v, pa.Aval((4,), double))
    with pytest.raises(pa.DTypeError, match="not an array of numbers"):
        pa.eval_shape(lambda v: "text", x)


def branch(v):
    return v if v[0] > 0 else -v
