"""jit: Python's control flow, what is read from outside, static and donated arguments, and what is refused."""

import contextlib
import functools
import gc
import threading
import tracemalloc
import warnings
import weakref

import numpy as np
import pytest

import polyad as pa

close = np.testing.assert_allclose
same = np.testing.assert_array_equal
x3 = np.array([1.0, -2.0, 3.0])
rate = 2.0
table = {"w": np.ones(3), "on": True}


def segments(f):
    return [tree.size for tree in f.jitted.trees]


def traces(f):
    return sum(tree.traces for tree in f.jitted.trees)


# ---------------------------------------------------------------------- control flow
def test_branches_are_recorded_once():
    f = pa.jit(lambda x: x * 2 if x > 0 else -x)
    for value in (1.0, 2.0, -3.0, 4.0, -5.0):
        assert f(value) == (2 * value if value > 0 else -value)
    assert traces(f) == 2 and segments(f) == [3]


def test_nothing_runs_twice():
    seen = []

    @pa.jit
    def f(x):
        pa.io_callback(seen.append, None, x)
        y = pa.sum(x)
        if y > 0:
            pa.io_callback(seen.append, None, y)
            if y > 10:
                return pa.sin(x)
        pa.io_callback(seen.append, None, 2 * y)
        return x * y

    for value in (1.0, -1.0, 20.0, 1.0, -1.0, 20.0):
        seen.clear()
        f(np.full(2, value))
        assert len(seen) == {1.0: 3, -1.0: 2, 20.0: 2}[value]


def test_failing_steps():
    @pa.jit
    def f(a, b):
        try:
            return pa.linalg.solve(a, b)
        except pa.LinAlgError:
            return b * 0

    a, b = np.eye(2) * 2, np.ones(2)
    for _ in range(3):
        same(f(a, b), b / 2)
        same(f(a * 0, b), b * 0)
    same(pa.vmap(f, (0, None))(np.stack([a, a]), b), [b / 2, b / 2])
    unguarded = pa.jit(pa.linalg.inv)
    with pytest.raises(np.linalg.LinAlgError):
        unguarded(a * 0)
    same(unguarded(a), np.eye(2) / 2)


def test_loops_and_choices_that_ask_python():
    """A function inside a loop that asks Python for a value makes the loop Python's."""

    def f(x):
        def step(c, e):
            c = c - e if c > 0 else c + e
            return c, c * 2

        last, all_ = pa.scan(step, x, np.arange(3.0))
        last = pa.while_loop(lambda c: c < 20, lambda c: c + 3 if c > 5 else c * 2 + 1, last)
        last = pa.fori_loop(0, 2, lambda i, c: c if float(i) > 5 else c + i, last)
        return pa.cond(last > 21, lambda: last * 2 if last > 22 else last, lambda: last), all_

    g = pa.jit(f)
    for value in (1.0, 0.5, -3.0, 1.0):
        for a, b in zip(g(np.float64(value)), f(np.float64(value)), strict=True):
            close(a, b)
    with pytest.raises(pa.ConcreteValueError, match="Python asked for the value"):
        pa.make_ir(lambda x: pa.scan(lambda c, e: (c if c > 0 else e, None), x, np.arange(3.0)))(1.0)


def test_result_type_changes_with_the_answers():
    @pa.jit
    def f(x):
        if x[0] > 0:
            return {"a": x, "b": (pa.sum(x), None)}
        return x.astype(np.float32), "negative"

    for _ in range(3):
        assert f(x3)["b"] == (2.0, None)
        y, text = f(-x3)
        assert y.dtype == np.float32 and text == "negative"


def test_many_answers_end_with_eager_execution():
    def f(x):
        steps = 0
        while pa.sum(x) > 1.0:
            x, steps = x * 0.99, steps + 1
        return x, steps

    g, x = pa.jit(f), np.full(3, 50.0)
    with pytest.warns(pa.PerformanceWarning, match=r"jit\(f\) runs eagerly from now on: .*while_loop") as caught:
        found = g(x)
    assert len(caught) == 1 and found[1] == f(x)[1] > 400
    same(found[0], f(x)[0])
    assert g(x)[1] == found[1] and not any(s.seconds for t in g.jitted.trees if t.root for s in t.root.below())
    assert "runs eagerly" in pa.jit.explain(g)


@pytest.mark.parametrize("take", [float, lambda s: s.item(), np.asarray, lambda s: float(f"{s:.3f}")])
def test_values_taken_out(take):
    g = pa.jit(lambda x: x * take(pa.sum(x)))
    with pytest.warns(pa.PerformanceWarning, match="runs eagerly from now on"):
        close(g(x3), x3 * 2)
    close(g(x3 * 2), x3 * 8)


def test_integers_of_floats_and_indices():
    f = lambda x, n: sum(x[i] for i in range(int(n))) + x[int(n) - 1]
    g = pa.jit(f)
    for n in (np.float64(2.5), 3, np.int64(1), np.float64(2.0)):
        assert g(x3, n) == f(x3, n)


# ---------------------------------------------------------------------- arguments and results
def test_python_numbers():
    cases = [
        (lambda n: n * 3 + 1, 5), (lambda x: x / 2, 3), (lambda n: n // 2 - n % 3, -7), (lambda b: b + b, True),
        (lambda b: -b, True), (lambda z: abs(z) * 2, 3 + 4j), (lambda x: x > 1, 2.0), (lambda b: not b, True),
        (lambda n: n**2, 2**70),
    ]  # fmt: skip
    for f, x in cases:
        found = pa.jit(f)(x)
        assert found == f(x) and type(found) is type(f(x)), (x, found)
    f = pa.jit(lambda n, x: n * x)
    assert f(2, np.ones(2, np.float32)).dtype == np.float32
    divide = pa.jit(lambda a, b: a / b)
    assert divide(1, 2) == 0.5
    with pytest.raises(ZeroDivisionError):
        divide(1, 0)
    assert divide(1, 4) == 0.25


def test_results():
    f = pa.jit(lambda x, y: (x, x, y["a"], None, 3, x.shape, np.arange(2.0), table["w"]))
    y = {"a": np.ones(2)}
    for _ in range(2):
        a, b, c, nothing, three, shape, made, w = f(x3, y)
        assert a is b and nothing is None and three == 3 and shape == (3,)
        for found, expected in ((a, [1.0, -2.0, 3.0]), (c, np.ones(2)), (made, [0.0, 1.0]), (w, np.ones(3))):
            same(found, expected)
            found[:] = 7  # each call gives its own


def test_kinds_of_arguments():
    def f(a, b=2.0, *more, c, d=(1.0, 2.0), **others):
        return a * b + sum(more) + c["u"] * d[0] + others.get("e", 0.0)

    g = pa.jit(f)
    for args, kwargs in [
        ((x3,), {"c": {"u": x3}}),
        ((x3, 3.0, x3), {"c": {"u": x3}, "e": x3}),
        ((x3,), {"c": {"u": x3}, "d": (2.0, 0.0)}),
    ]:
        for _ in range(3):
            same(g(*args, **kwargs), f(*args, **kwargs))
    assert len(g.jitted.trees) == 3


def test_array_types_and_layers():
    f = pa.jit(lambda d, x: d @ x)
    diagonal = pa.Diagonal(x3)
    same(f(diagonal, x3), x3 * x3)
    assert isinstance(pa.grad(lambda d: pa.sum(f(d, x3)))(diagonal), pa.Diagonal)
    same(pa.vmap(f)(pa.Diagonal(np.ones((2, 3))), np.ones((2, 3))), np.ones((2, 3)))


def test_static_arguments():
    @functools.partial(pa.jit, static_argnums=1, static_argnames="mode")
    def f(x, n, mode="up", scale=1.0):
        return x**n * scale if mode == "up" else x / n

    same(f(x3, 2), x3**2)
    same(f(x3, 2, scale=3.0), x3**2 * 3)
    same(f(x3, n=2), x3**2)
    same(f(x3, 3, "down"), x3 / 3)
    same(f(x3, 3, mode="down"), x3 / 3)
    count = traces(f)
    same(f(-x3, 2), x3**2)
    assert traces(f) == count
    zeros = pa.jit(lambda x, s: x / s, static_argnums=(-1,))
    with np.errstate(divide="ignore"):
        assert (zeros(np.float64(1.0), 0.0), zeros(np.float64(1.0), -0.0)) == (np.inf, -np.inf)
    for options, text in [({"static_argnums": 4}, "static_argnums 4 is no position among its 1 parameters"),
                          ({"static_argnames": "y"}, "static_argnames 'y' is none of its parameters"),
                          ({"static_argnums": 0, "donate_argnums": 0}, "argument 0 is static and donated")]:  # fmt: skip
        with pytest.raises(pa.StructureError, match=text):
            pa.jit(lambda x: x, **options)


def test_unhashable_static_arguments():
    class Point:
        def __eq__(self, other):
            return True

    text = r"jit\(<lambda>\): an argument of type \S*Point is static and cannot be hashed; give its class __hash__"
    for f in (pa.jit(lambda x, o: x), pa.jit(lambda x, o: x, static_argnums=1)):
        with pytest.raises(pa.StructureError, match=text):
            f(x3, Point())
    with pytest.raises(pa.StructureError, match="an argument of type set is static and cannot be hashed"):
        pa.jit(lambda x, o: x, static_argnums=1)(x3, {1, 2})


# ---------------------------------------------------------------------- what f reads
def test_globals():
    global rate, table
    f = pa.jit(lambda x: x * rate * table["w"] if table["on"] else x)
    try:
        same(f(x3), x3 * 2)
        rate = 3.0
        same(f(x3), x3 * 3)
        table["w"] = np.full(3, 5.0)
        same(f(x3), x3 * 15)
        table["w"][0] = 1.0
        same(f(x3), x3 * np.array([3.0, 15.0, 15.0]))
        table = {"w": np.zeros(3), "on": True}
        same(f(x3), x3 * 0)
        table["on"] = False
        same(f(x3), x3)
        assert len(f.jitted.trees) == 3  # arrays are looked up, numbers are part of the program
    finally:
        rate, table = 2.0, {"w": np.ones(3), "on": True}


def test_variables_of_enclosing_functions():
    w, power, seen = np.ones(3), 2, []

    @pa.jit
    def f(x):
        return x**power * w

    same(f(x3), x3**2)
    w, power = np.full(3, 2.0), 3
    same(f(x3), x3**3 * 2)
    later = pa.jit(lambda x: helper(x) + 1)

    def helper(x):
        return x * 3

    same(later(x3), x3 * 3 + 1)

    def helper(x):  # noqa: F811
        return x * power

    same(later(x3), x3 * 3 + 1)
    power = 4
    same(later(x3), x3 * 4 + 1)
    keeps = pa.jit(lambda x: (pa.io_callback(seen.append, None, x), x)[1])
    for _ in range(3):
        keeps(x3)
    assert len(seen) == 3 and len(keeps.jitted.trees) == 1  # what is only written to is no part of the key


def test_what_numpy_computes_of_arrays_from_outside():
    w, b = np.ones(3), np.zeros(3)
    f = pa.jit(lambda x: x @ (w * 2) + float(w.mean()) + w.T[1:] @ x[1:] + np.sum(b**2))
    plain = f.__wrapped__
    close(f(x3), plain(x3))
    for _ in range(3):
        w, b = w + 1.0, b - 1.0
        close(f(x3), plain(x3))
        close(f(x3), plain(x3))
    b[0] = 5.0
    close(f(x3), plain(x3))
    with pytest.warns(
        pa.PerformanceWarning, match="NumPy alone compute something of w, which changes again and again; make it an argument"
    ):
        for _ in range(10):
            w = w + 1.0
            close(f(x3), plain(x3))


def test_views_of_arrays_from_outside():
    w = np.arange(9.0).reshape(3, 3)
    f = pa.jit(lambda x: w.T @ x + w[0] + w[:, 1:].T[0] + np.broadcast_to(w[2:, 2], (3,)))
    for _ in range(12):
        close(f(x3), f.__wrapped__(x3))
        w[1] += 1.0
        close(f(x3), f.__wrapped__(x3))
        w = w * 1.5


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


def test_methods_and_objects_with_state():
    model, other = Model(), Model()
    expected = lambda m, x: (
        x @ m.layers[0].w @ m.layers[1].w * m.layers[0].gain * m.layers[1].gain + m.bias + 2 * m.layers[0].gain
    )
    check = lambda m: same(m(x3), expected(m, x3))
    check(model)
    model.bias = np.ones(3)
    check(model)
    model.layers[1].gain = 3.0
    check(model)
    model.layers[0].w = np.full((3, 3), 0.5)
    check(model)
    model.layers[0].w[0, 0] = 7.0
    check(model)
    check(other)
    check(model)
    model.layers.append(Dense(np.eye(3)))
    check(model)
    same(model.helper(x3), x3 + 1)
    same(Model.unity(x3), x3)
    bound = pa.jit(other.layers[1].__call__)
    same(bound(x3), 2 * x3)
    other.layers[1].gain = 5.0
    same(bound(x3), 10 * x3)


def test_training_does_not_trace_again():
    class Net:
        def __init__(self):
            self.params = {"w": np.ones(3), "b": np.float64(0.0) * np.ones(1)}

        @pa.jit
        def loss(self, x):
            return pa.sum((self.params["w"] * x + self.params["b"]) ** 2)

    net, losses = Net(), []
    for _ in range(12):
        losses.append(net.loss(x3))
        net.params = {"w": net.params["w"] * 0.5, "b": net.params["b"] + 0.0}
    close(losses, [14 * 0.25**k for k in range(12)])
    (tree,) = Net.loss.jitted.trees
    assert tree.traces <= 3 and tree.calls == 12  # twice to see that nothing else comes of other arrays


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


def test_functions_that_do_something_else_each_time():
    @pa.jit
    def f(x):
        y = x * gc.get_threshold()[2]  # nowhere that jit looks
        return y if y.sum() > 0 else -y

    before = gc.get_threshold()
    try:
        gc.set_threshold(*before[:2], 1)
        same(f(x3), x3)
        gc.set_threshold(*before[:2], 2)
        with pytest.warns(pa.PerformanceWarning, match="does something else when it is run again .*random numbers need keys"):
            same(f(-x3), 2 * x3)
        same(f(x3), 2 * x3)  # eagerly
    finally:
        gc.set_threshold(*before)


def test_errors_of_the_function():
    @pa.jit
    def f(x):
        if x.sum() < 0:
            raise KeyError("negative")
        return x @ np.ones(4)

    for _ in range(2):
        with pytest.raises(KeyError, match="negative"):
            f(-x3 * 10)
        with pytest.raises(pa.ShapeError):
            f(x3)


def test_nans_are_found():
    f = pa.jit(lambda x: pa.sum(pa.where(x > 0, pa.log(x), 0.0)))
    with np.errstate(invalid="ignore"):
        f(-x3)
        with pa.debug_nans(), pytest.raises(pa.NaNError, match="log made a NaN"):
            f(-x3)
        f(-x3)


def test_disable_jit():
    seen = []
    f = pa.jit(lambda x: (seen.append(type(x)), x + 1)[1])
    with pa.disable_jit():
        same(f(x3), x3 + 1)
        f(x3)
        with (
            pa.disable_jit(False),
            pytest.warns(pa.PerformanceWarning, match="it adds to seen, outside of it, when it is traced"),
        ):
            f(x3)
    for _ in range(3):
        f(x3)
    assert seen[:2] == [np.ndarray, np.ndarray] and len(seen) == 3


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
def test_equal_segments_share_a_program():
    @pa.jit
    def f(x):
        while pa.sum(x) > 1.0:
            x = pa.sin(x) * 0.9
        return x

    for _ in range(3):
        f(np.full(4, 1.0))
    programs = {s.code.program for s in f.jitted.trees[0].root.below() if s.code and s.code.program.equations}
    assert f.jitted.trees[0].size > 4 and len(programs) <= 3


def test_programs_and_source():
    f = pa.jit(lambda x: pa.sin(x) * 2 if x[0] > 0 else x)
    for _ in range(3):
        f(x3)
    first, second = pa.jit.programs(f)
    assert "greater" in str(first) and "sin" in str(second) and "def" in second.code
    if pa.jit.source(f):
        assert all("int run(" in text for text in pa.jit.source(f))
    assert "compiled in" in pa.jit.explain(f) and "True -> segment 1" in pa.jit.explain(f)


def peak(f, *args):
    """(the most memory taken during a call, in arrays like the first argument, result)."""
    tracemalloc.start()
    y = f(*args)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / args[0].nbytes, y


def test_donated_arguments():
    n = 200_000
    f = lambda p, g: p - 0.1 * pa.sin(g)
    plain, giving = pa.jit(f), pa.jit(f, donate_argnums=0)
    new = lambda: (np.arange(n) * 1.0, np.ones(n))
    expected = f(*new())
    for g in (plain, giving):
        close(g(*new()), expected, rtol=1e-14)
    without, y = peak(plain, *new())
    close(y, expected, rtol=1e-14)
    p, g = new()
    with_, y = peak(giving, p, g)
    close(y, expected, rtol=1e-14)
    same(g, np.ones(n))
    if pa.jit.source(giving):  # there is a compiler
        assert without > 0.9 and with_ < 0.1 and y is p
    named = pa.jit(f, donate_argnames="p")
    close(named(g=np.ones(n), p=new()[0]), expected, rtol=1e-14)


@pytest.mark.parametrize("f", [
    lambda x, y: x * 2 + y, lambda x, y: (x + 1, x), lambda x, y: (x + 1)[::-1] * 1.0, lambda x, y: x + x[0],
    lambda x, y: (x + y, pa.sum(x)), lambda x, y: (x * y, x + y), lambda x, y: pa.cumsum(x), lambda x, y: x[1:] * y[:-1],
    lambda x, y: x if pa.sum(x) > 0 else x + y, lambda x, y: pa.outer(x, y) @ x,
    lambda x, y: x - 0.1 * pa.grad(lambda x: pa.sum(x * y))(x),
])  # fmt: skip
def test_donation_corrupts_nothing(f):
    g = pa.jit(f, donate_argnums=0)
    for make in (lambda: x3.copy(), lambda: np.stack([x3, x3]).T[:, 0], lambda: np.concatenate([x3, x3])[:3]):
        y = x3 * 2
        for a, b in zip(pa.tree.leaves(g(make(), y)), pa.tree.leaves(f(make(), y)), strict=True):
            close(a, b, rtol=1e-14)
        same(y, x3 * 2)
        shared = make()
        for a, b in zip(pa.tree.leaves(g(shared, shared)), pa.tree.leaves(f(make(), make())), strict=True):
            close(a, b, rtol=1e-14)
        same(shared, x3)


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
