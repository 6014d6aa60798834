"""Elements that are chosen: by conditions, of several arrays, and by nearness."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

import polyad as pa

some = st.integers(-3, 3) | st.sampled_from([np.nan, np.inf, -np.inf, -0.0])
vectors = nps.arrays(np.float64, st.integers(0, 6), elements=some)


@settings(max_examples=40)
@given(nps.arrays(np.float64, nps.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=3), elements=st.integers(0, 1)))
def test_not_zero(x):
    for found in (pa.nonzero(x), np.nonzero(x), x.nonzero()):
        for a, b in zip(found, np.nonzero(x), strict=True):
            np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(pa.flatnonzero(x), np.flatnonzero(x))
    np.testing.assert_array_equal(pa.argwhere(x), np.argwhere(x))
    np.testing.assert_array_equal(pa.grad(lambda x: pa.sum(x[np.nonzero(x)] ** 2))(x), 2 * x)
    count = int(np.count_nonzero(x))
    assert pa.count_nonzero(x) == count
    for size in {max(count - 1, 0), count, count + 2}:
        program = pa.make_ir(lambda x, size=size: pa.nonzero(x, size=size, fill_value=-7))(x)
        for a, b in zip(program(x), np.nonzero(x), strict=True):
            kept = min(size, count)
            np.testing.assert_array_equal(a, [*b[:kept], *[-7] * (size - kept)])


def test_choices():
    x = np.array([-2.0, 0.5, 3.0])
    for f in (lambda x, m: m.select([x < 0, x > 1], [x * x, 3 * x], 7.0), lambda x, m: m.select([x < 0], [x]),
              lambda x, m: m.piecewise(x, [x < 0, x > 1], [lambda v: v * v, 3.0]),
              lambda x, m: m.piecewise(x, [x < 0], [lambda v: v * v, lambda v: 3 * v]),
              lambda x, m: m.choose(np.array([1, 0, 1]), [x, 2 * x]),
              lambda x, m: m.choose(np.array([5, 0, -1]), [x, 2 * x], mode="clip"),
              lambda x, m: m.choose(np.array([5, 0, -1]), [x, 2 * x], mode="wrap"),
              lambda x, m: m.extract(np.array([True, False, True]), x), lambda x, m: m.compress(np.array([True, False]), x),
              lambda x, m: m.compress(np.array([True]), x[None], axis=0)):  # fmt: skip
        expected = f(x, np)
        np.testing.assert_array_equal(f(x, pa), expected)
        for module in (np, pa):
            np.testing.assert_array_equal(pa.jvp(lambda x, f=f, m=module: f(x, m), (x,), (x,))[0], expected)
            pa.check_grads(lambda x, f=f, m=module: f(x, m), (x,), order=2)


def test_the_branch_not_taken_has_no_derivative():
    x = np.array([-1.0, 0.0, 4.0])
    with np.errstate(all="ignore"):
        slope = pa.grad(lambda x: pa.sum(pa.piecewise(x, [x > 0], [lambda v: v**0.5])))(x)
    np.testing.assert_array_equal(slope, [0.0, 0.0, 0.25])


def test_extrema_that_pass_over_nan():
    x, y = np.array([np.nan, 1.0, 2.0, np.nan]), np.array([1.0, np.nan, 2.0, np.nan])
    for name in ("fmax", "fmin"):
        np.testing.assert_array_equal(getattr(pa, name)(x, y), getattr(np, name)(x, y))
        cts = pa.vjp(getattr(np, name), x, y)[1](np.ones(4))
        np.testing.assert_array_equal(cts[0], [0.0, 1.0, 0.5, 0.5])
        np.testing.assert_array_equal(cts[1], [1.0, 0.0, 0.5, 0.5])


@settings(max_examples=60)
@given(vectors, st.data())
def test_nearness(x, data):
    y = x + data.draw(st.sampled_from([0.0, 1e-9, 1e-3]))
    for equal_nan in (False, True):
        np.testing.assert_array_equal(pa.isclose(x, y, equal_nan=equal_nan), np.isclose(x, y, equal_nan=equal_nan))
        assert pa.allclose(x, y, equal_nan=equal_nan) == np.allclose(x, y, equal_nan=equal_nan)
        assert pa.array_equal(x, y, equal_nan=equal_nan) == np.array_equal(x, y, equal_nan=equal_nan)
    assert pa.array_equiv(x, y[None]) == np.array_equiv(x, y[None])
    assert not pa.array_equal(x, np.ones(9)) and not pa.array_equiv(np.ones(2), np.ones(3))


def test_lanes_are_split_by_nearness():
    f = lambda x: x * 10 if np.allclose(x, 1.0) else -x
    np.testing.assert_array_equal(pa.vmap(f)(np.array([1.0, 2.0, 1.0])), [10.0, -2.0, 10.0])
    assert pa.grad(f)(1.0) == 10.0
