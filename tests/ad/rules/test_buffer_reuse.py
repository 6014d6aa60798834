"""Forward over reverse writes to memory that nobody holds any more, and to no other; and `hvp` is `jvp` of `grad`."""

import subprocess
import sys
import weakref

import numpy as np
import pytest

import polyad as pa
from polyad.ad.rules import buffer_reuse

LARGE = buffer_reuse.LEAST // 8  # numbers of an array that is worth it
counted = pytest.mark.skipif(not hasattr(sys, "getrefcount"), reason="references are not counted")


pytestmark = pytest.mark.usefixtures("forget_declared")


def rosenbrock(x):
    return ((1.0 - x[:-1]) ** 2).sum() + (100.0 * (x[1:] - x[:-1] ** 2) ** 2).sum()


def powers(x):
    return np.sum(np.exp(np.sin(x) * x) / (2.0 + np.cos(x)) - x * x * x)


def halves(x):
    n = len(x) // 2
    return np.sum(np.tanh(x[:n] * x[n : 2 * n]) * x[::2][:n]) + np.sum(np.maximum(x, 0.3) ** 2) * x[0]


def matrices(x):
    a = x[:10000].reshape(100, 100)
    return np.sum(np.tanh(a @ a.T + x[:100]) ** 2) + np.sum(np.sqrt(x * x + 1.0))


def picks(x):
    return np.sum(x[np.array([0, 3, 3, -1])] ** 3) + np.sum(np.where(x > 0.0, x * x, np.abs(x)) * np.arange(float(len(x))))


def rows(x):
    return np.sum(x.reshape(2, -1).sum(axis=0) ** 3) + x[1] * x[2]


def inner(x):
    return np.tanh((x @ np.sin(x)) / len(x)) * np.sum(x * x) + x @ x


FUNCTIONS = (rosenbrock, powers, halves, picks, rows, inner)


def along(f, x, v):
    return pa.jvp(pa.grad(f), (x,), (v,))[1]


def back(f, x, v):
    """The same by reverse over reverse, which uses no memory twice."""
    return pa.grad(lambda x: pa.sum(pa.grad(f)(x) * v))(x)


@pytest.mark.parametrize("n", [12, 2 * 4096, 2 * LARGE])
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_three_ways_to_a_product_with_the_hessian(f, n, rng):
    x, v = rng.normal(size=n), rng.normal(size=n)
    found = pa.hvp(f, x, v)
    np.testing.assert_allclose(found, along(f, x, v), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found, back(f, x, v), rtol=1e-9, atol=1e-9)


def test_matrices(rng):
    x, v = rng.normal(size=2 * LARGE), rng.normal(size=2 * LARGE)
    np.testing.assert_allclose(pa.hvp(matrices, x, v), back(matrices, x, v), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtypes_stay(dtype, rng):
    x = rng.normal(size=4 * LARGE).astype(dtype)
    found = pa.hvp(rosenbrock, x, x)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, back(rosenbrock, x, x), rtol=2e-3 if dtype is np.float32 else 1e-9)


def test_complex(rng):
    x, v = rng.normal(size=(2, LARGE)) + 1j * rng.normal(size=(2, LARGE))
    f = lambda x: pa.sum(pa.real(x * x * x) + pa.imag(x * x))
    np.testing.assert_allclose(pa.hvp(f, x, v), along(f, x, v), rtol=1e-12)
    np.testing.assert_allclose(pa.hvp(f, x, v), (6 * x - 2j) * v, rtol=1e-9)


def test_trees_with_parts_that_are_not_used_or_have_no_tangent(rng):
    x = {"a": rng.normal(size=LARGE), "b": [rng.normal(size=3), rng.normal(size=2)]}
    v = {"a": rng.normal(size=LARGE), "b": [pa.NoTangent, rng.normal(size=2)]}
    found = pa.hvp(lambda x: np.sum(x["a"] ** 3) * x["b"][0][1], x, v)
    np.testing.assert_allclose(found["a"], 6 * x["a"] * x["b"][0][1] * v["a"])
    np.testing.assert_allclose(found["b"][0], [0.0, 3 * np.sum(x["a"] ** 2 * v["a"]), 0.0])
    np.testing.assert_array_equal(found["b"][1], [0.0, 0.0])


def test_numbers_constants_and_functions():
    assert pa.hvp(lambda x: x**3, 2.0, 1.0) == 12.0
    assert type(pa.hvp(lambda x: 1.0, 2.0, 1.0)) is np.float64
    np.testing.assert_array_equal(pa.hvp(lambda x: 1.0, np.ones(3), np.ones(3)), np.zeros(3))
    np.testing.assert_array_equal(pa.hvp(lambda x: x[0] * 2.0, np.ones(3), np.ones(3)), np.zeros(3))
    np.testing.assert_allclose(pa.hvp(lambda x: lambda y: np.sum(x**2) * y, np.ones(2), np.ones(2))(3.0), [6.0, 6.0])


def test_zeros_that_stay_zero(rng):
    x = np.abs(rng.normal(size=2 * LARGE))
    x[::3] = 0.0
    f = lambda x: pa.sum(pa.where(x > 0.0, x * pa.log(x), 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        found = pa.hvp(f, x, np.ones(x.size))
    np.testing.assert_allclose(found, np.where(x > 0.0, 1.0 / np.where(x > 0.0, x, 1.0), 0.0))


def test_a_result_shares_memory_with_nothing(rng):
    x, v = rng.normal(size=LARGE), rng.normal(size=LARGE)
    f = lambda x: np.sum(x * x) / 2
    found = pa.hvp(f, x, v)
    again = pa.hvp(f, x, 2 * v)
    assert not any(np.shares_memory(a, b) for a, b in ((found, x), (found, v), (again, found)))
    np.testing.assert_allclose(found, v)
    two = pa.hvp(lambda p: pa.sum(p[0] * p[1]), (x, x.copy()), (v, v))
    assert not np.shares_memory(*two)


def test_a_result_shares_no_memory_of_a_buffer(rng):
    """Arrays over other memory than NumPy's, whose views have that array for a base."""
    ct = np.frombuffer(bytearray(96))
    (found,) = pa.vjp(lambda x: x.reshape(12), rng.normal(size=(3, 4)))[1](ct)
    assert not np.shares_memory(found, ct)


def test_arrays_that_a_rule_keeps_are_not_written_to(rng):
    """A rule of a user's sees the plain arrays of the pass, and stores them and views of them."""
    kept = []

    @pa.custom_jvp
    def cube(x):
        return x * x * x

    @cube.defjvp
    def cube_jvp(primals, tangents):
        (x,), (dx,) = primals, tangents
        for part in (x, dx, x[1:] if type(x) is np.ndarray else x):
            if type(part) is np.ndarray:
                kept.append((part, part.copy()))
        return x * x * x, 3 * x * x * dx

    x, v = rng.normal(size=(2, LARGE))
    f = lambda x: pa.sum(cube(x * 1.5) * pa.sin(x * x) + cube(x + x))
    np.testing.assert_allclose(pa.hvp(f, x, v), along(f, x, v), rtol=1e-12)
    assert all((part == copy).all() for part, copy in kept)


def test_passes_inside_passes(rng):
    x, v = rng.normal(size=(2, LARGE))
    third = lambda f: lambda x: pa.sum(pa.hvp(f, x, v) * v)
    f = lambda x: pa.sum(pa.sin(x) * x)
    expected = (-3 * np.sin(x) - x * np.cos(x)) * v**2
    np.testing.assert_allclose(pa.grad(third(f))(x), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(pa.jvp(lambda x: pa.hvp(f, x, v), (x,), (v,))[1], expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        pa.vmap(lambda v: pa.hvp(f, x, v))(np.stack([v, x])),
        (2 * np.cos(x) - x * np.sin(x)) * np.stack([v, x]), rtol=1e-9, atol=1e-9,
    )  # fmt: skip


@counted
def test_the_store_gives_what_nobody_holds():
    store, model = buffer_reuse.Store(), np.empty(10)
    first = store.take(model)
    name, view = id(first), first[1:]
    del first
    second = store.take(model)
    assert id(second) != name  # a view holds it
    del view
    first = store.take(model)
    assert id(first) == name
    assert store.take(np.empty(10, np.float32)).dtype == np.float32
    first.flags.writeable = False
    del first
    third = store.take(model)
    assert id(third) != name
    assert third.flags.writeable
    watch, name = weakref.ref(third), id(third)
    del third
    fourth = store.take(model)
    assert id(fourth) != name
    assert watch() is not None


@counted
def test_the_store_gives_nothing_that_was_made_another():
    store, model = buffer_reuse.Store(), np.empty((10, 3))
    taken = store.take(model)
    taken.shape = (30,)
    del taken
    assert store.take(model).shape == (10, 3)


@counted
def test_a_slope_in_a_cache_that_does_not_hold_it(rng):
    """A card's partial finds the same array again for as long as something is in it, and no other numbers there."""
    cache = weakref.WeakValueDictionary()

    def slope(y, x):
        if type(x) is not np.ndarray:
            return pa.cos(x)
        found = cache.get(id(x))
        if found is None:
            found = cache[id(x)] = np.cos(x)
        return found

    @pa.elementwise(partials=[slope], kernel=None)
    def sine(x, /):
        """sin(x)"""

    @sine.method
    def sine_of_host(x: pa.HostArray, /):
        return np.sin(x)

    x = rng.normal(size=LARGE)
    np.testing.assert_allclose(pa.grad(lambda x: pa.sum(sine(x) + 2 * sine(x) + 3 * sine(x)))(x), 6 * np.cos(x))


@pytest.mark.parametrize("n", [6, 2 * 4096, LARGE])
def test_a_slope_that_is_a_program(n, rng):
    """A compiled function within a slope that two passes share."""

    @pa.elementwise(partials=[pa.jit(lambda y, x: pa.where(x > 0.0, pa.cos(x), pa.cos(-x)))], kernel=None)
    def sine(x, /):
        """sin(x)"""

    @sine.method
    def sine_of_host(x: pa.HostArray, /):
        return np.sin(x)

    x, v = rng.normal(size=(2, n))
    found = pa.hvp(lambda x: pa.sum(sine(x) * x), x, v)
    np.testing.assert_allclose(found, (2 * np.cos(x) - x * np.sin(x)) * v, rtol=1e-9, atol=1e-9)


@counted
def test_the_store_gives_back_what_is_of_no_use():
    store = buffer_reuse.Store()
    for n in range(1, 100):
        store.take(np.empty(n))
    assert len(store.ids) < 10
    held = [store.take(np.empty(5)) for _ in range(200)]
    assert len({id(x) for x in held}) == 200
    assert len(store.ids) < 210
    del held
    store.take(np.empty(6)), store.take(np.empty(7))
    for n in range(8, 50):
        store.take(np.empty(n))
    assert len(store.ids) < 60


@counted
def test_a_store_ends_with_its_pass(rng):
    x = rng.normal(size=LARGE)
    inside = []

    def f(x):
        inside.append(buffer_reuse._store() is not None)
        return pa.sum(x**3)

    pa.hvp(f, x, x)
    with pytest.raises(ZeroDivisionError):
        pa.hvp(lambda x: pa.sum(x * x) / 0 if f(x) is None else 1 // 0, x, x)
    assert all(inside)
    assert buffer_reuse._store() is None
    with pytest.raises(pa.ShapeError) as kept:  # whose frames hold what was theirs
        pa.hvp(lambda x: pa.sum(pa.sin(x) + np.ones(3)), x, x)
    assert buffer_reuse._store() is None
    assert kept


def test_an_interpreter_that_does_not_count_references():
    code = (
        "import sys; del sys.getrefcount; import numpy as np, polyad as pa; x = np.arange(1e5) / 1e5; "
        "f = lambda x: pa.sum(pa.exp(x) * x) + x[0] * x[1]; "
        "print(pa.grad(f)(x)[-1] - np.exp(x[-1]) * (x[-1] + 1), pa.hvp(f, x, x)[-1] - np.exp(x[-1]) * (x[-1] + 2) * x[-1])"
    )
    found = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=60)
    assert not found.stderr
    np.testing.assert_allclose([float(part) for part in found.stdout.split()], 0.0, atol=1e-12)


@counted
def test_the_peak_of_memory(peak, rng):
    """Of the Hessian's product for Rosenbrock's function: eleven arrays, three fewer than with new memory for each."""
    assert peak(lambda x: pa.hvp(rosenbrock, x, x), rng.normal(size=4 * LARGE)) < 12


@counted
def test_the_peak_of_memory_where_no_two_arrays_are_alike(peak, rng):
    def f(x):
        return sum([np.sum(np.sin(y * y) * y) for y in [x[: len(x) - 100 * k] for k in range(1, 20)]])

    x = rng.normal(size=2 * LARGE)
    assert peak(lambda x: pa.hvp(f, x, x), x) < 2.7 * peak(pa.grad(f), x)
