"""Methods and options of NumPy's ufuncs on followed values: NumPy's results, also where nothing or one element is reduced."""

import numpy as np
import pytest
from numpy_agreement import agree

import polyad as pa

X = np.random.default_rng(3).permutation(np.linspace(0.15, 0.95, 12)).reshape(3, 4)
M = X > 0.5
SMALL = (X * 100).astype(np.int8)
USES = {
    "reduce": lambda x: np.hypot.reduce(x, axis=1) + np.subtract.reduce(x, axis=-1),
    "one": lambda x: np.hypot.reduce(x[:1]),
    "tuple": lambda x: np.subtract.reduce(x, axis=(1,), keepdims=True),
    "vector": lambda x: np.divide.reduce(x[0], axis=None),
    "other": lambda x: np.subtract.accumulate(x, axis=1),
    "one step": lambda x: np.subtract.accumulate(x[:1]),
    "nothing": lambda x: np.subtract.accumulate(x[:0]),
    "own": lambda x: np.add.accumulate(x, axis=1, dtype=np.float32),
    "logical": lambda x: np.logical_xor.accumulate(x > 0.4, axis=1),
    "of numbers": lambda x: np.logical_and.accumulate(x, axis=0),
    "outer": lambda x: np.hypot.outer(x[0], x),
    "outer of a number": lambda x: np.multiply.outer(x, 2.0),
    "reduceat": lambda x: np.add.reduceat(x, [0, 3, 1], axis=1),
    "one element each": lambda x: np.maximum.reduceat(x, [2, 1, 0]),
    "last": lambda x: np.multiply.reduceat(x, [3], axis=-1),
    "where": lambda x: np.sum(x, where=M, axis=0, initial=3.0),
    "where of a row": lambda x: np.sum(x, where=M[0]),
    "mean": lambda x: np.mean(x, axis=1, where=M | (X < 0.3), keepdims=True),
    "max": lambda x: np.max(x, axis=0, where=M, initial=-1.0),
    "empty": lambda x: np.max(x[:0], axis=0, initial=0.5),
    "empty rows": lambda x: np.min(x[:, :0], axis=1, initial=0.5, keepdims=True),
    "all": lambda x: np.all(x > 0.3, where=M, axis=0),
    "initial": lambda x: np.prod(x, axis=0, initial=2.0) + np.min(x, axis=0, initial=0.2) + np.nansum(x, axis=0, initial=1.0),
    "small whole numbers": lambda x: np.sum(SMALL * np.ones_like(x, dtype=np.int8), axis=0, where=M),
    "out": lambda x: np.add(x, 1, out=x.copy(), where=M),
}


@pytest.mark.filterwarnings("ignore:Mean of empty slice")
@pytest.mark.parametrize("name", USES)
def test_as_numpy(name):
    agree(USES[name], X)


@pytest.mark.parametrize(
    "name", [n for n in USES if n not in ("logical", "of numbers", "all", "small whole numbers", "nothing")]
)
def test_derivatives(name):
    f = USES[name]
    if f(X).dtype == float:
        pa.check_grads(f, (X,), order=1)


REFUSED = {
    "np.hypot.reduce: over several axes at once it is not offered; reduce one axis": lambda x: np.hypot.reduce(x, axis=(0, 1)),
    "np.subtract.reduce: an axis of length 0 has nothing to reduce": lambda x: np.subtract.reduce(x[:0]),
    "np.add.reduceat: an index is out of range for 4 elements": lambda x: np.add.reduceat(x, [0, 4], axis=1),
    "np.add.reduceat: an index is out of range for 3 elements": lambda x: np.add.reduceat(x, [-1]),
    "np.hypot.reduceat: only for add, multiply, maximum": lambda x: np.hypot.reduceat(x, [0]),
    "np.add.reduceat: only for .*, without dtype=": lambda x: np.add.reduceat(x, [0], dtype=np.float32),
    "np.max: where= is not offered without initial=; reduce polyad.where": lambda x: np.max(x, where=M),
    "np.var: where= is not offered; reduce polyad.where": lambda x: np.var(x, where=M),
    "np.mean: initial= is not offered|unexpected keyword": lambda x: np.mean(x, initial=1.0),
    r"np.add: the parameter where= without out= leaves elements without a value": lambda x: np.add(x, 1, where=M),
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused_says_what_to_write(text):
    for under in (lambda f: pa.vjp(f, X), lambda f: pa.vmap(f)(X[None]), lambda f: pa.make_ir(f)(X)):
        with pytest.raises((pa.PolyadError, TypeError, IndexError), match=text):
            under(REFUSED[text])


MASKED = {
    "log": lambda x, m, out: np.log(x, where=m, out=out),
    "divide": lambda x, m, out: np.divide(1.0, x, where=m, out=out),
    "fixed mask": lambda x, m, out: np.log(abs(x) + 1, where=np.array([True, False, True]), out=out),
    "followed mask alone": lambda x, m, out: np.multiply(np.arange(3.0), 2.0, where=m, out=out),
    "broadcast": lambda x, m, out: np.add(x, np.ones((2, 3)), where=m, out=out),
    "sum": lambda x, m, out: np.add.reduce(np.ones((2, 3)) * x, axis=0, where=m, out=out),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MASKED)
def test_where_and_out_together(name):
    """What the mask leaves out keeps its value: in an array of NumPy's under jit, in a value that is followed everywhere."""
    x, f = np.array([1.0, -2.0, 3.0]), MASKED[name]
    shape = (2, 3) if name == "broadcast" else (3,)
    right = f(x, x > 0, np.full(shape, 7.0))
    run = pa.jit(lambda x: f(x, x > 0, np.full(shape, 7.0)))
    for _ in range(3):
        np.testing.assert_allclose(run(x), right)
    followed = lambda x: f(x, x > 0, np.zeros(shape) * x + 7.0)
    np.testing.assert_allclose(pa.vmap(followed)(np.stack([x, x]))[1], right)
    np.testing.assert_allclose(pa.jvp(followed, (x,), (x,))[0], right)
    steps = 1e-6 * np.eye(3)
    rows = [(followed(x + h) - followed(x - h)).sum() / 2e-6 for h in steps]
    for transform in (pa.grad, lambda g: pa.jit(pa.grad(g))):
        np.testing.assert_allclose(transform(lambda x: np.sum(followed(x)))(x), rows, rtol=1e-6, atol=1e-8)
