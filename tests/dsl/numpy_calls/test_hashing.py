"""`hash` of a followed value is that of the plain one: sets, dictionaries and counters answer as without transformation."""

import collections
import functools

import numpy as np
import pytest

import polyad as pa

LOOKED_UP = {
    "in a set": lambda x: x * 3 if x in {1.0, 2.0} else x * 5,
    "get": lambda x: x * {1: 2.0, 2.5: 7.0}.get(x, 0.5),
    "a key among others": lambda x: x * {("a", 1.0): 2.0}.get(("a", x), 4.0),
    "a key made": lambda x: x * {x: 3.0}.get(1.0, 1.0),
    "how many": lambda x: x * len({x, x + 0.0, 1.0}),
    "frozenset": lambda x: x * len(frozenset([x, x * 1.0])),
    "counted": lambda x: x * collections.Counter([x, 1.0, x])[1.0],
    "hash": lambda x: x * (hash(x) % 7),
}
TRANSFORMED = {
    "grad": lambda f: lambda x: pa.value_and_grad(lambda y: f(y) * 1.0)(x)[0],
    "jvp": lambda f: lambda x: pa.jvp(f, (x,), (np.ones_like(x),))[0],
    "second order": lambda f: lambda x: pa.value_and_grad(lambda y: pa.value_and_grad(f)(y)[0])(x)[0],
    "jit": lambda f: pa.jit(f),
    "jit of grad": lambda f: lambda x: pa.jit(pa.value_and_grad(f))(x)[0],
}


@pytest.mark.filterwarnings("ignore:jit.*runs eagerly")
@pytest.mark.parametrize("how", TRANSFORMED)
@pytest.mark.parametrize("name", LOOKED_UP)
def test_as_without_the_transformation(name, how):
    f = LOOKED_UP[name]
    for x in (1.0, 2.5, -3.0, np.float64(1.0), np.float32(2.5)):
        run = TRANSFORMED[how](f)
        for _ in range(3):
            assert run(x) == f(x), (x, f(x))


@pytest.mark.parametrize("name", LOOKED_UP)
def test_whole_numbers_are_questions(name):
    """jit follows the answers in its tree, without a warning, and lanes split by them."""
    f = LOOKED_UP[name]
    run = pa.jit(lambda x: x * 2 if x in {1, 2} else x - 1)
    assert [run(n) for n in (1, 2, 5, 2, 1, 5)] == [2, 4, 4, 4, 2, 4]
    whole = np.array([1, 2, 5, 1])
    if name not in ("how many", "frozenset"):  # whose elements are floating
        mapped = [pa.vmap(f)(whole), pa.jit(pa.vmap(f))(whole)]
        for found in mapped:
            np.testing.assert_array_equal(found, [f(n) for n in whole])


def test_slopes_are_those_of_the_branch():
    f = LOOKED_UP["in a set"]
    assert [pa.grad(f)(x) for x in (1.0, 4.0)] == [3.0, 5.0]
    assert pa.grad(lambda v: len(set(v)) * pa.sum(v))(np.array([1.0, 1.0, 2.0])).tolist() == [2.0, 2.0, 2.0]


def test_elements_of_an_array():
    v = np.array([1.0, 1.0, 2.0])
    distinct = lambda v: len({e for e in v}) * v.sum()  # noqa: C416
    with pytest.warns(pa.PerformanceWarning, match="runs eagerly from now on"):
        assert pa.jit(distinct)(v) == distinct(v)


def test_floating_lanes_and_traces_are_refused():
    f = LOOKED_UP["in a set"]
    with pytest.raises(pa.ConcreteValueError, match="lanes can be split by booleans and integers only"):
        pa.vmap(f)(np.array([1.0, 2.0]))
    with pytest.raises(pa.ConcreteValueError, match="Python asked for the value"):
        pa.make_ir(f)(1.0)


@pytest.mark.parametrize("transform", [pa.grad, pa.jit, lambda f: pa.jit(pa.grad(f))])
def test_arrays_are_unhashable(transform):
    for x in (np.ones(2), np.array(1.0)):  # as in NumPy, with axes or without
        with pytest.raises(TypeError, match=r"unhashable type: 'numpy\.ndarray'"):
            transform(lambda x: pa.sum(x) * hash(x))(x)
    with pytest.raises(TypeError, match=r"unhashable type: 'numpy\.ndarray'"):
        pa.vmap(lambda x: pa.sum(x) * len({x}))(np.ones((2, 3)))


@functools.cache
def chebyshev(n, x):
    return x**n if n < 2 else 2 * x * chebyshev(n - 1, x) - chebyshev(n - 2, x)


class Polynomials:
    @functools.cache  # noqa: B019
    def chebyshev(self, n, x):
        return x**n if n < 2 else 2 * x * self.chebyshev(n - 1, x) - self.chebyshev(n - 2, x)


@pytest.mark.parametrize("of", [lambda x: chebyshev(5, x), lambda x: Polynomials().chebyshev(5, x)])
def test_caches_keep_derivatives(of):
    """What a cache has kept of a call with plain numbers, or of an earlier derivative, is no result for followed ones."""
    T = np.polynomial.Chebyshev([0, 0, 0, 0, 0, 1])
    for x in (0.3, 0.3, 1.0):
        assert float(of(x)) == pytest.approx(T(x))
        assert pa.grad(of)(x) == pytest.approx(T.deriv()(x))
        assert pa.grad(pa.grad(of))(x) == pytest.approx(T.deriv(2)(x))
        assert pa.jit(pa.grad(of))(x) == pytest.approx(T.deriv()(x))
    np.testing.assert_allclose(pa.vmap(of)(np.array([0.3, 0.5])), T(np.array([0.3, 0.5])))


def test_a_value_of_a_transformation_that_has_ended():
    kept = []
    pa.grad(lambda x: (kept.append(x), x * x)[1])(2.0)
    with pytest.raises(pa.LeakedLayerError):
        hash(kept[0])


def test_variables_are_keys():
    """By which one each is, as in the state of an optimiser; their results count by their numbers."""
    x, y, w = pa.variable(1.0), pa.variable(1.0), pa.variable(np.ones(2))
    state = {x: "x", y: "y", w: "w"}
    assert (state[x], state[y], state[w]) == ("x", "y", "w")
    assert (x * 2) in {2.0}
