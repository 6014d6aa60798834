"""jit: what is read from outside, how it composes, donated arguments, and what is refused."""

import contextlib
import functools
import gc
import threading
import warnings
import weakref

import numpy as np
import pytest

import polyad as pa

close = np.testing.assert_allclose
same = np.testing.assert_array_equal
x3 = np.array([1.0, -2.0, 3.0])
table = {"w": np.ones(3), "on": True}


# ---------------------------------------------------------------------- arguments and results


def test_array_types_and_layers():
    f = pa.jit(lambda d, x: d @ x)
    diagonal = pa.Diagonal(x3)
    same(f(diagonal, x3), x3 * x3)
    assert isinstance(pa.grad(lambda d: pa.sum(f(d, x3)))(diagonal), pa.Diagonal)
    same(pa.vmap(f)(pa.Diagonal(np.ones((2, 3))), np.ones((2, 3))), np.ones((2, 3)))


# ---------------------------------------------------------------------- what f reads


class Dense:
    def __init__(self, w):
        self.w, self.gain = w, 1.0

    def __call__(self, x):
        return x @ self.w * self.gain

    @property
    def double(self):
        return self.gain * 2


class Model:
    unit = 1.0

    def __init__(self):
        self.layers, self.bias = [Dense(np.eye(3)), Dense(np.eye(3) * 2)], np.zeros(3)

    @pa.jit
    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x + self.bias * self.unit + self.layers[0].double

    @pa.jit
    @staticmethod
    def helper(x):
        return x + 1

    @pa.jit
    @classmethod
    def unity(cls, x):
        return x * cls.unit


def test_partial_callable_objects_and_functions_as_arguments():
    f = pa.jit(functools.partial(lambda a, x, k=1.0: a * x * k, np.ones(3), k=3.0))
    same(f(x3), 3 * x3)
    dense = Dense(np.eye(3))
    g = pa.jit(dense)
    same(g(x3), x3)
    dense.gain = 4.0
    same(g(x3), 4 * x3)
    scale = 2.0
    apply, triple = pa.jit(lambda h, x: h(x)), lambda x: x * 3 * scale
    same(apply(triple, x3), 6 * x3)
    scale = 1.0
    same(apply(triple, x3), 3 * x3)
    close(apply(np.sin, x3), np.sin(x3))


def test_values_of_transformations_around():
    def outer(c):
        inner = pa.jit(lambda y: y * c + pa.sin(c))
        return inner(2.0) + inner(3.0)

    close(pa.grad(outer)(1.0), 5 + 2 * np.cos(1.0))
    close(pa.vmap(outer)(x3), 5 * x3 + 2 * np.sin(x3))
    close(pa.jit(outer)(1.0), outer(1.0))
    close(pa.grad(pa.jit(outer))(1.0), 5 + 2 * np.cos(1.0))
    box = {"w": x3}

    @pa.jit
    def f(x):
        return pa.sum(box["w"] * x)

    def loss(w):
        box["w"] = w
        return f(x3)

    for _ in range(2):
        same(pa.grad(loss)(np.ones(3)), x3)
    box["w"] = np.ones(3)
    assert f(x3) == 2.0 and len(f.jitted.trees) == 2


# ---------------------------------------------------------------------- composition
def nested(f):
    """Names and functions: f and its derivatives with jit in all places."""
    g = pa.jit(f)
    yield "grad jit", pa.grad(g), pa.grad(f)
    yield "jit grad", pa.jit(pa.grad(f)), pa.grad(f)
    yield "jit grad jit", pa.jit(pa.grad(g)), pa.grad(f)
    yield "hessian jit", pa.hessian(g), pa.hessian(f)
    yield "jit hessian", pa.jit(pa.hessian(f)), pa.hessian(f)
    yield "jacrev jit grad", pa.jacrev(pa.jit(pa.grad(f))), pa.hessian(f)
    yield "jvp jit", lambda x: pa.jvp(g, (x,), (x,))[1], lambda x: pa.jvp(f, (x,), (x,))[1]
    yield "jit jit jit", pa.jit(pa.jit(g)), f
    batch = lambda h: lambda x: pa.vmap(h)(np.stack([x, -x, 2 * x, x * 0.1]))
    yield "vmap jit", batch(g), batch(f)
    yield "jit vmap", pa.jit(batch(f)), batch(f)
    yield "jit vmap jit grad", pa.jit(batch(pa.jit(pa.grad(f)))), batch(pa.grad(f))
    yield "vmap grad jit", batch(pa.grad(g)), batch(pa.grad(f))
    yield "grad jit vmap jit", pa.grad(pa.jit(lambda x: pa.sum(batch(g)(x)))), pa.grad(lambda x: pa.sum(batch(f)(x)))
    yield "pmap jit", lambda x: pa.pmap(g)(np.stack([x, -x])), lambda x: pa.vmap(f)(np.stack([x, -x]))


def branching(x):
    y = pa.sin(x) * table["w"]
    if pa.sum(y) > 0:
        y = y * x
    for _ in range(int(pa.sum(x > 0))):
        y = pa.tanh(y) + x
    return pa.sum(y * pa.cond(y[0] > y[1], lambda: x, lambda: x * x))


@pytest.mark.parametrize("name, found, expected", list(nested(branching)), ids=lambda v: v if isinstance(v, str) else "")
def test_composition(name, found, expected):
    for x in (x3, -x3, x3 * 0.3, x3):
        close(found(x), expected(x), rtol=1e-11, atol=1e-13)


# ---------------------------------------------------------------------- refusals and switches
def test_writing_to_an_argument():
    @pa.jit
    def f(x):
        x[0] = 1.0
        return x

    @pa.jit
    def g(x):
        x += 1.0
        return x

    for h in (f, g):
        with pytest.raises(pa.MutationError, match=r"writes to one of its arguments, float64\[3\].*x = x\.copy\(\)"):
            h(x3)
    same(pa.jit(lambda x: g.__wrapped__(x.copy()))(x3), x3 + 1)
    assert pa.jit(g.__wrapped__)(2.0) == 3.0  # a number has no memory


def test_generators_and_what_is_no_function():
    def numbers(x):
        yield x

    with pytest.raises(pa.StructureError, match=r"jit\(numbers\): it is a generator"):
        pa.jit(numbers)
    with pytest.raises(pa.StructureError, match="returns a generator"):
        pa.jit(lambda x: (v for v in x))(x3)
    with pytest.raises(pa.DTypeError, match=r"jit: int is no function|jit: .*int.* is no function"):
        pa.jit(3)
    with pytest.raises(pa.StructureError, match=r"jit\.explain: .* is no function made by jit"):
        pa.jit.explain(np.sin)


def test_leaked_values():
    @pa.jit
    def f(x):
        functools.kept = x * 2  # where jit does not look
        return x

    f(x3)
    with pytest.raises(pa.LeakedLayerError, match=r"jit\(f\).*ended"):
        functools.kept + 1
    del functools.kept


def test_nans_are_found():
    f = pa.jit(lambda x: pa.sum(pa.where(x > 0, pa.log(x), 0.0)))
    with np.errstate(invalid="ignore"):
        f(-x3)
        with pa.debug_nans(), pytest.raises(pa.NaNError, match="log made a NaN"):
            f(-x3)
        f(-x3)


def test_clear_cache_and_what_is_kept():
    f = pa.jit(lambda x, w: x * w)
    x, w = np.ones(1000), Dense(np.ones(1000)).w
    alive = [weakref.ref(v) for v in (x, w)]
    for _ in range(3):
        f(x, w)
    assert f.jitted.trees
    del x, w
    gc.collect()
    assert [ref() for ref in alive] == [None, None]
    f.clear_cache()
    assert not f.jitted.trees and pa.jit.programs(f) == []
    model = Model()
    model(x3)
    gone = weakref.ref(model)
    del model
    Model()(x3)
    gc.collect()
    assert gone() is None


def test_too_many_kinds():
    f = pa.jit(lambda x, n: x, static_argnums=1)
    with pytest.warns(pa.PerformanceWarning, match="more than 256 kinds of its arguments") as caught:
        for n in range(300):
            f(x3, n)
    assert len(caught) == 1 and len(f.jitted.trees) == 256


def test_threads():
    failures = []

    def work(k):
        try:
            for i in range(100):
                x = np.full(3, (-1.0) ** (i + k) * (1 + i % 3))
                assert f(x) == (np.sum(np.sin(x)) if x[0] > 0 else x.sum() if x[0] < -1 else 0.0)
        except BaseException as error:
            failures.append(error)

    f = pa.jit(lambda x: pa.sum(pa.sin(x)) if x[0] > 0 else pa.sum(x) if x[0] < -1 else 0.0)
    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_reentrant():
    """The function calls itself with plain arrays while it is being traced."""

    @pa.jit
    def f(x):
        return x + (f(np.ones(3)) if table["on"] and not deeper else 0.0)

    deeper = []
    with contextlib.suppress(RecursionError):
        f(x3)
    deeper.append(1)
    same(f(x3), x3)


# ---------------------------------------------------------------------- programs and memory


def test_without_a_compiler(monkeypatch):
    from polyad.devices.codegen import program
    from polyad.devices.codegen.toolchain import library

    def none(*args):
        raise library.NoCompiler("there is none")

    monkeypatch.setattr(program, "Loading", none)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f = pa.jit(lambda x: pa.sin(x) if x[0] > 0 else -x, donate_argnums=0)
        for x in (x3, -x3, x3, -x3):
            close(f(x.copy()), np.sin(x) if x[0] > 0 else -x)


def test_constants_of_one_value_are_part_of_the_program():
    """Seeds of gradients and the like: no memory is read for them."""
    f = pa.jit(pa.grad(lambda x: pa.sum(pa.sin(x) * np.full(300, 2.0))))
    np.testing.assert_allclose(f(np.ones(300)), 2 * np.cos(np.ones(300)))
    (program,) = pa.jit.programs(f)
    assert len(program.inputs) == 1
    weights = np.array([1.0, 2.0, 3.0])
    g = pa.jit(lambda x: x * weights)  # one that f reads from outside is looked up, whatever its values
    np.testing.assert_array_equal(g(np.ones(3)), weights)
    weights[:] = 5.0
    np.testing.assert_array_equal(g(np.ones(3)), [5.0, 5.0, 5.0])
    weights[0] = 6.0
    np.testing.assert_array_equal(g(np.ones(3)), [6.0, 5.0, 5.0])
