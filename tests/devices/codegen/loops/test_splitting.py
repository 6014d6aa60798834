"""Long chains of function calls run in stages over tiles, and give what they gave."""

import numpy as np
import pytest

import polyad as pa
from polyad.devices.codegen.loops import splitting
from polyad.devices.codegen.loops.splitting import constant, staged
from polyad.devices.codegen.text.expressions import Access, Name, c, call
from polyad.devices.codegen.text.indices import Buffer, Index
from polyad.devices.codegen.text.statements import FAULT, Assign, Block, If, Local

pytestmark = pytest.mark.optimized

RNG = np.random.default_rng(0)


def rounds(x):
    for _ in range(10):
        x = 0.5 * x + 0.1 * pa.sin(x)
    return x


def mixed(x, y):
    """Numbers that are used many stages later, selections, several results, one value for all elements."""
    kept, positive = x * y, x > 0.1
    for k in range(5):
        x = pa.where(positive, pa.tanh(x) + kept, pa.exp(-x * x) - y)
        kept = kept + pa.cos(x) * k
    return x, kept, positive & (kept > 0)


def deep(x):
    for _ in range(60):
        x = 1.1 * pa.sin(x) + 0.1
    return pa.sum(x * pa.exp(-x))


@pytest.mark.parametrize("n", [3, 15, 16, 17, 63, 64, 65, 127, 1000, 200_001])
def test_results_at_lengths_around_tiles(n):
    f, x = pa.jit(rounds), RNG.normal(size=n)
    np.testing.assert_allclose(f(x), rounds(x), rtol=1e-13, atol=1e-15)
    assert ("_tile[" in pa.jit.source(f)[0]) == (n >= 15)


@pytest.mark.parametrize("shape", [(40,), (3, 50), (7, 129)])
@pytest.mark.parametrize("dtype", ["f", "d"])
def test_values_between_stages(shape, dtype):
    f = pa.jit(mixed)
    x, y = RNG.normal(size=shape).astype(dtype), RNG.normal(size=shape[-1:]).astype(dtype)
    for a, b in zip(f(x, y), mixed(x, y), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-12 if dtype == "d" else 1e-4, atol=1e-12 if dtype == "d" else 1e-5)
    assert "_tile[" in pa.jit.source(f)[0]


@pytest.mark.parametrize("n", [20, 64, 500])
def test_gradients_of_deep_chains(n):
    f, x = pa.jit(pa.grad(deep)), RNG.normal(size=n)
    np.testing.assert_allclose(f(x), pa.grad(deep)(x), rtol=1e-10, atol=1e-13)
    (text,) = pa.jit.source(f)
    assert 0 < text.count("int64_t i0 = start") <= 4 * splitting.MOST


@pytest.mark.parametrize("n", [30, 512, 513, 2000, 300_000])
@pytest.mark.parametrize("name", ["sum", "max", "mean", "prod", "logsumexp"])
def test_reductions_of_chains(n, name):
    f = lambda x, axis=None: getattr(pa, name)(1.0 + 1e-3 * rounds(x), axis=axis)
    x = RNG.normal(size=n)
    whole, rows = pa.jit(lambda x, both: (f(x), f(both, 1)))(x, np.stack([x, -x]))
    wanted = [f(x), f(-x)]
    np.testing.assert_allclose(whole, wanted[0], rtol=1e-12)
    np.testing.assert_allclose(rows, wanted, rtol=1e-12)


def test_places_that_are_computed_in_the_loop():
    """What is read there is neither the same for all elements nor ready before the stage that computes the place."""
    table, x = np.linspace(0.0, 1.0, 8), np.linspace(0.1, 3.0, 300)
    places = np.arange(300) % 8
    deep = lambda x: pa.sin(pa.take(table, pa.astype(pa.abs(pa.sin(pa.exp(pa.sin(x)))) * 7.0, int)) + pa.tanh(x))
    column = lambda b: (pa.tanh(pa.at(pa.zeros((8, 1)), places).add(b)) * 0.1)[places]
    for f, given in ((deep, x), (column, x[:, None])):
        np.testing.assert_allclose(pa.jit(f)(given), f(given), rtol=1e-12)
        np.testing.assert_allclose(pa.jit(f)(given), f(given), rtol=1e-12)


@pytest.mark.parametrize("kind", ["double", "float", "double complex", "float complex", "uint8_t", "int16_t", "_Bool"])
def test_what_is_the_same_for_a_row_comes_before_it(kind):
    x = lambda name, counter: Access(Buffer(name, None, (9,)), Index(0, [(counter, 1)]))
    row = [Local(kind, "v0", x("x0", "i0")), Local(kind, "v1", c("{0} * {0}", Name("v0")))]
    own = [Local(kind, "v2", x("x1", "i1")), Local(kind, "v3", c("{} + {}", Name("v1"), Name("v2")))]
    stored, again = Assign(x("y0", "i1"), Name("v3")), Local(kind, "v4", x("y0", "i0"))
    before, inside = constant(splitting.Loop("i1", 9, False), [*row, *own, stored, again])
    assert [s.name for s in before] == ["v0", "v1"] and inside == [*own, stored, again]  # others are stored where v4 is read
    assert constant(splitting.Loop("i1", 0, False), row) == ([], row)


@pytest.mark.parametrize("dtype", ["B", "h", "f", "d", "F", "D", "?"])
def test_rows_with_a_number_for_each(dtype):
    x, k = (RNG.integers(0, 2, (9, 40)) + 1).astype(dtype), (RNG.integers(0, 2, 9) + 1).astype(dtype)
    f = lambda x, k: x + (k * k + k)[:, None] * x
    np.testing.assert_allclose(pa.jit(f)(x, k), f(x, k), rtol=1e-6)
    if x.dtype.kind in "fc":
        turned = lambda x, k: pa.exp(k * 0.5j)[:, None] * x + k[:, None]
        np.testing.assert_allclose(pa.jit(turned)(x, k), turned(x, k), rtol=1e-5)


def number(name, value):
    return Local("double", name, value)


def test_what_stays_one_loop():
    loop, here = splitting.Loop("i0", 1000, False), Index(0, [("i0", 1)])
    sine = lambda name: call("sin", Name(name))
    stored = lambda k, value, place=here: Assign(Access(Buffer(f"y{k}", np.dtype(float), (1000,)), place), value)
    first = number("v0", Access(Buffer("x0", np.dtype(float), (1000,)), here))
    once = [first, number("v1", sine("v0")), number("v2", sine("v0")), stored(0, Name("v1")), stored(1, Name("v2"))]
    assert staged(loop, once) is None  # calls that do not wait for each other
    chain = [first, number("v1", sine("v0")), number("v2", sine("v1")), stored(0, Name("v2"))]
    tiles, statements = staged(loop, chain)
    assert tiles.length == 16 and sum(type(s) is Block and s.simd for s in statements) == 2
    assert staged(splitting.Loop("i0", 9, False), chain) is None  # too short
    assert staged(loop, [*chain, If(c("{} < 0", Name("v2")), [FAULT])]) is None  # statements of another kind
    wide = [*chain[:1], *[number(f"a{k}", c("{} * {}", Name("v0"), k)) for k in range(200)], *chain[1:-1]]
    wide += [stored(0, c("{} * {}", Name("v2"), Name(f"a{k}")), here + k) for k in range(200)]
    assert staged(loop, wide) is None  # too much waits between stages for the cache
