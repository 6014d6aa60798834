"""Transformations inside transformations, in any order, against finite differences, loops and formulas."""

import contextvars
import itertools
import threading

import numpy as np
import pytest

import polyad as pa
from polyad.dispatch import current_depth

close = np.testing.assert_allclose


# ---------------------------------------------------------------------- every transformation of f: R³ → R, as R³ → R
# Each takes a function of one vector with a number as result and returns another such function, so that they chain. The
# second entry says the same in NumPy: by finite differences or a loop over plain calls.
V, W, STEP = np.array([0.3, -0.7, 1.1]), np.array([1.0, 0.5, -0.25]), 1e-4


def slopes(f, x):
    """Central differences of a function with a number as result."""
    return np.array([(f(x + d) - f(x - d)) / (2 * STEP) for d in STEP * np.eye(x.size)])


def curvature(f, x):
    return np.array([slopes(lambda y, i=i: slopes(f, y)[i], x) for i in range(x.size)])


TRANSFORMATIONS = {
    "grad": (lambda f: lambda x: pa.sum(pa.grad(f)(x) * W), lambda f: lambda x: np.sum(slopes(f, x) * W)),
    "jvp": (lambda f: lambda x: pa.jvp(f, (x,), (V,))[1], lambda f: lambda x: slopes(f, x) @ V),
    "derivative": (
        lambda f: lambda x: pa.derivative(lambda t: f(x + t * V))(0.5),
        lambda f: lambda x: slopes(f, x + 0.5 * V) @ V,
    ),
    "vjp": (
        lambda f: lambda x: pa.sum(pa.vjp(f, x)[1](2.0)[0] * W),
        lambda f: lambda x: 2.0 * np.sum(slopes(f, x) * W),
    ),
    "vmap": (
        lambda f: lambda x: pa.sum(pa.vmap(lambda s: f(x * s))(W)),
        lambda f: lambda x: sum(f(x * s) for s in W),
    ),
    "hessian": (
        lambda f: lambda x: W @ pa.hessian(f)(x) @ V,
        lambda f: lambda x: W @ curvature(f, x) @ V,
    ),
    "jacfwd": (lambda f: lambda x: pa.dot(pa.jacfwd(f)(x), W), lambda f: lambda x: slopes(f, x) @ W),
    "jacrev": (lambda f: lambda x: pa.dot(pa.jacrev(f)(x), W), lambda f: lambda x: slopes(f, x) @ W),
    "make_ir": (lambda f: lambda x: pa.make_ir(f)(x)(x), lambda f: f),
}
PROGRAMS = {
    "cubic": (lambda x: pa.sum(x * x * x) / 3.0 + x[0] * x[1] * x[2], lambda x: np.sum(x**3) / 3 + x[0] * x[1] * x[2]),
    "waves": (
        lambda x: pa.sum(pa.sin(x) * pa.exp(0.5 * x)) + pa.sum(x) ** 2,
        lambda x: np.sum(np.sin(x) * np.exp(0.5 * x)) + np.sum(x) ** 2,
    ),
}
BRANCH = (  # Python control flow: not for make_ir
    lambda x: pa.sum(x**3) if x[0] > 5 else pa.sum(x * x) * x[1],
    lambda x: np.sum(x * x) * x[1],
)
X = np.array([0.4, 0.9, -0.6])
ORDER = {"hessian": 2, "vmap": 0, "make_ir": 0}


def chained(names, program):
    mine, reference = program
    for name in names:
        wrap, wrap_reference = TRANSFORMATIONS[name]
        mine, reference = wrap(mine), wrap_reference(reference)
    return mine(X), reference(X)


def tolerance(names):
    """Finite differences of finite differences lose digits with each level."""
    order = sum(ORDER.get(name, 1) for name in names)
    return {0: 1e-10, 1: 1e-7, 2: 1e-5}.get(order, 1e-2)


PAIRS = [*itertools.product(TRANSFORMATIONS, repeat=2)]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_pairs(names, program):
    found, right = chained(names, PROGRAMS[program])
    if sum(ORDER.get(n, 1) for n in names) > 3:
        right = by_polynomial(names, program)
    close(found, right, rtol=tolerance(names), atol=tolerance(names))


def by_polynomial(names, program):
    """The fourth derivatives that hessian of hessian takes, exact: differences alone have lost their digits there."""
    if program == "cubic":
        return 0.0
    fourth = np.exp(0.5 * X) * np.real((0.5 + 1j) ** 4 * np.exp(1j * X) * -1j)
    return np.sum(fourth * W * V * W * V)


@pytest.mark.parametrize("names", [t for t in PAIRS if "make_ir" not in t], ids="-".join)
def test_pairs_over_a_python_branch(names):
    if names == ("hessian", "hessian"):
        close(chained(names, BRANCH)[0], 0, atol=1e-12)
        return
    found, right = chained(names, BRANCH)
    close(found, right, rtol=tolerance(names), atol=tolerance(names))


TRIPLES = [t for t in itertools.product(TRANSFORMATIONS, repeat=3) if sum(ORDER.get(n, 1) for n in t) <= 3]


@pytest.mark.parametrize("first", list(dict.fromkeys(names[0] for names in TRIPLES)))
def test_triples(first, each):
    chosen = TRIPLES[::2] + [("vmap",) * 3, ("grad", "vmap", "jvp")]
    each({"-".join(names): (names,) for names in chosen if names[0] == first}, as_one_after_another)


def as_one_after_another(names):
    order = sum(ORDER.get(n, 1) for n in names)
    found, right = chained(names, PROGRAMS["cubic"])
    close(found, right, rtol=1e-2 if order == 3 else tolerance(names), atol=1e-2 if order == 3 else tolerance(names))


# ---------------------------------------------------------------------- higher derivatives in mixed modes
SCALAR = {"f": pa.derivative, "r": pa.grad, "v": lambda f: lambda x: pa.vmap(pa.grad(f))(x[None])[0]}
ORDERS = range(1, 6)
SMOOTH = {
    "sin": (pa.sin, [np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x), np.sin, np.cos]),
    "log": (pa.log, [lambda x, n=n: (-1) ** (n - 1) * [1, 1, 2, 6, 24][n - 1] / x**n for n in ORDERS]),
    "reciprocal": (
        lambda x: 1.0 / x,
        [lambda x, n=n: (-1) ** n * [1, 2, 6, 24, 120][n - 1] / x ** (n + 1) for n in ORDERS],
    ),
    "power": (lambda x: x**7, [lambda x, n=n: [7, 42, 210, 840, 2520][n - 1] * x ** (7 - n) for n in ORDERS]),
    "root": (
        pa.sqrt,
        [lambda x, n=n: [1 / 2, -1 / 4, 3 / 8, -15 / 16, 105 / 32][n - 1] * x ** (0.5 - n) for n in ORDERS],
    ),
    "exp2x": (lambda x: pa.exp(2.0 * x), [lambda x, n=n: 2.0**n * np.exp(2 * x) for n in ORDERS]),
    "tanh": (
        pa.tanh,
        [
            lambda x: 1 - np.tanh(x) ** 2,
            lambda x: -2 * np.tanh(x) * (1 - np.tanh(x) ** 2),
            lambda x: (6 * np.tanh(x) ** 2 - 2) * (1 - np.tanh(x) ** 2),
            lambda x: (16 * np.tanh(x) - 24 * np.tanh(x) ** 3) * (1 - np.tanh(x) ** 2),
            lambda x: (16 - 120 * np.tanh(x) ** 2 + 120 * np.tanh(x) ** 4) * (1 - np.tanh(x) ** 2),
        ],
    ),
}  # fmt: skip
MIXTURES = ["f", "r", "v", "ff", "fr", "rf", "rr", "vf", "frf", "rfr", "fff", "rrr", "vfr", "ffrr", "rffr", "frfrf", "rrfff"]


@pytest.mark.parametrize("modes", MIXTURES)
@pytest.mark.parametrize("name", SMOOTH)
def test_orders(name, modes):
    f, right = SMOOTH[name]
    for mode in modes:
        f = SCALAR[mode](f)
    found = f(np.float64(0.7))
    assert type(found) is np.float64
    close(found, right[len(modes) - 1](0.7), rtol=1e-11)


# ---------------------------------------------------------------------- which level a value belongs to
D = {"derivative": pa.derivative, "grad": pa.grad, "jacfwd": pa.jacfwd, "jacrev": pa.jacrev}


@pytest.mark.parametrize("outer", D)
@pytest.mark.parametrize("inner", D)
def test_perturbation_confusion(outer, inner):
    outer, inner = D[outer], D[inner]
    assert outer(lambda x: x * inner(lambda y: x + y)(1.0))(1.0) == 1
    assert outer(lambda x: inner(lambda y: x * y)(2.0))(3.0) == 1
    assert outer(lambda x: x * inner(lambda y: x * x * y)(5.0))(2.0) == 12
    assert outer(lambda x: inner(lambda y: y * y * x)(x))(3.0) == 12
    assert outer(lambda x: inner(lambda y: 7.0 * x)(x))(3.0) == 0


def test_captured_values_of_three_levels():
    f = lambda x: pa.grad(lambda y: pa.derivative(lambda z: x * y**2 * z**3)(y))(x)
    # d/dz at z=y: 3 x y⁴; d/dy: 12 x y³ at y=x: 12 x⁴; d/dx: 48 x³
    for d in (pa.grad, pa.derivative):
        close(d(f)(2.0), 48 * 8)


def test_transformed_closure_over_lanes():
    xs, ys = np.array([1.0, 2.0, 3.0]), np.array([0.5, -1.0])
    found = pa.vmap(lambda x: pa.vmap(pa.grad(lambda y: pa.sin(x * y) * x))(ys))(xs)
    close(found, [[x * x * np.cos(x * y) for y in ys] for x in xs])
    total = lambda x: pa.sum(pa.vmap(lambda y: pa.jvp(lambda v: v * x * v, (y,), (1.0,))[1])(ys))
    close(pa.grad(total)(2.0), 2 * ys.sum())


def test_program_of_a_gradient():
    program = pa.make_ir(pa.grad(lambda x: pa.sum(pa.sin(x) ** 2)))(X)
    close(program(X), 2 * np.sin(X) * np.cos(X))
    close(pa.jacfwd(program)(X), np.diag(2 * np.cos(2 * X)), atol=1e-15)
    close(pa.vmap(program)(np.stack([X, 2 * X])), 2 * np.sin([X, 2 * X]) * np.cos([X, 2 * X]))
    of_jvp = pa.make_ir(lambda x, v: pa.jvp(pa.sin, (x,), (v,))[1])(X, V)
    close(of_jvp(X, V), np.cos(X) * V)


def test_aux_in_every_level():
    def inner(x, y):
        return x * y**2, {"y": y, "x": x}

    def outer(x):
        slope, aux = pa.grad(inner, 1, has_aux=True)(x, 3.0)
        return slope * x, aux

    slope, aux = pa.grad(outer, has_aux=True)(2.0)
    assert slope == 2 * 2 * 2 * 3 and aux == {"y": 3, "x": 2}
    assert all(type(v) is np.float64 for v in aux.values())
    y, dy, aux = pa.jvp(lambda x: (x * x, x), (3.0,), (1.0,), has_aux=True)
    assert (y, dy, aux) == (9, 6, 3)
    y, pullback, aux = pa.vjp(lambda x: (x * x, [x, "text"]), 3.0, has_aux=True)
    assert (y, pullback(1.0)[0], aux) == (9, 6, [3, "text"])
    lanes = pa.vmap(pa.grad(lambda x: (x * x, x + 1), has_aux=True))(np.arange(3.0))
    close(lanes, [[0, 2, 4], [1, 2, 3]])


# ---------------------------------------------------------------------- functions as results
def test_function_valued_results():
    f = lambda x: lambda y: x * y**2
    assert pa.grad(f)(2.0)(3.0) == 9 and pa.derivative(f)(2.0)(3.0) == 9
    value, slope = pa.value_and_grad(f)(2.0)(3.0)
    assert value == 18 and slope == 9
    y, dy = pa.jvp(f, (2.0,), (1.0,))(3.0)
    assert y == 18 and dy == 9
    y, pullback = pa.vjp(f, 2.0)(3.0)
    assert y == 18 and pullback(1.0) == (9,)
    for jacobian in (pa.jacfwd, pa.jacrev):
        close(jacobian(lambda x: lambda y: x * y)(np.ones(2))(3.0), 3 * np.eye(2))
    assert pa.grad(pa.grad(lambda x: lambda y: x**3 * y))(2.0)(5.0) == 60
    assert pa.grad(lambda x: lambda y, scale: x * y * scale)(2.0)(3.0, scale=4.0) == 12


def test_function_of_a_function_and_an_outer_variable():
    f = lambda x: lambda y: x * x * y
    assert pa.grad(lambda y: pa.grad(f)(3.0)(y) * y)(2.0) == 24  # 6 y²


# ---------------------------------------------------------------------- depth, exceptions, threads
LEVELS = [
    lambda f: pa.grad(f)(1.0),
    lambda f: pa.jvp(f, (1.0,), (1.0,)),
    lambda f: pa.vjp(f, 1.0),
    lambda f: pa.vmap(f)(np.ones(2)),
    lambda f: pa.jacfwd(f)(np.ones(2)),
    lambda f: pa.make_ir(f)(1.0),
    lambda f: pa.hessian(f)(np.ones(2)),
]


@pytest.mark.parametrize("outer", LEVELS)
@pytest.mark.parametrize("inner", LEVELS)
def test_exceptions_restore_the_depth(outer, inner):
    class Oops(Exception):
        pass

    def fail(x):
        assert current_depth() >= 2
        raise Oops

    def caught(x):
        depth = current_depth()
        with pytest.raises(Oops):
            inner(fail)
        assert current_depth() == depth
        return pa.sum(x * x)

    with pytest.raises(Oops):
        outer(lambda x: inner(fail))
    assert current_depth() == 0
    outer(caught)
    assert current_depth() == 0
    assert pa.grad(lambda x: x * x)(3.0) == 6


def test_generator_suspended_in_a_transformation():
    def values(x):
        yield pa.grad(lambda y: x * y * y)(2.0)
        yield x

    assert pa.grad(lambda x: sum(values(x)))(1.0) == 5


def in_thread(function):
    """Run a function in another thread; its result or exception."""
    box = []

    def run():
        try:
            box.append(function())
        except Exception as error:
            box.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return box[0]


def test_threads_of_their_own():
    def work(k):
        return [pa.grad(pa.grad(lambda x: x**3 * k))(float(i)) for i in range(50)]

    results = {}
    threads = [threading.Thread(target=lambda k=k: results.update({k: work(k)})) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k in range(4):
        close(results[k], [6.0 * i * k for i in range(50)])


def test_thread_inside_a_transformation():
    def copied(x):
        context = contextvars.copy_context()
        return in_thread(lambda: context.run(lambda: pa.grad(lambda y: x * y * y)(3.0)))

    for d in (pa.grad, pa.derivative):
        assert d(copied)(2.0) == 6
        found = []
        d(lambda x: found.append(in_thread(lambda: pa.grad(lambda y: x * y)(3.0))) or x)(2.0)
        (error,) = found
        assert not isinstance(error, Exception) or "copy_context" in str(error)
        if not isinstance(error, Exception):
            pytest.fail("a thread at depth 0 followed a value of depth 1 silently")
