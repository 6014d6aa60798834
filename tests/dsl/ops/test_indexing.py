"""Reading and writing by index against NumPy itself: plain, followed by derivatives, over lanes and in programs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polyad as pa

pytestmark = pytest.mark.quick


@st.composite
def indexed(draw):
    """(shape, index): slices of any step, integers, None, one ellipsis, integer and boolean arrays, in any order."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    count = draw(st.integers(1, 2))
    wide = draw(st.sampled_from([(), (2,), (1,), (2, 2), (0,)]))
    parts, axis = [], 0
    dots = draw(st.integers(0, len(shape)))
    while axis < len(shape):
        if axis == dots and draw(st.booleans()):
            parts.append(Ellipsis)
            axis += draw(st.integers(0, len(shape) - axis))
            dots = -1
            continue
        n = shape[axis]
        kind = draw(st.sampled_from(["slice", "slice", "int", "array", "array", "mask", "none", "stop"]))
        if kind == "none":
            parts.append(None)
        elif kind == "stop":
            break
        elif kind == "slice":
            bound = st.none() | st.integers(-n - 1, n + 1)
            parts.append(slice(draw(bound), draw(bound), draw(st.sampled_from([None, 1, 2, -1, -2, 3]))))
            axis += 1
        elif kind == "int":
            parts.append(draw(st.integers(-n, n - 1)))
            axis += 1
        elif kind == "array":
            lengths = wide if draw(st.booleans()) else (1,) * len(wide)
            size = int(np.prod(lengths))
            drawn = draw(st.lists(st.integers(-n, n - 1), min_size=size, max_size=size))
            parts.append(np.array(drawn, np.intp).reshape(lengths))
            axis += 1
        elif count and not any(isinstance(p, np.ndarray) for p in parts):
            count = 0
            parts.append(np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n))))
            axis += 1
    consumed = sum(p is not None and p is not Ellipsis for p in parts)
    if Ellipsis in [p if p is Ellipsis else None for p in parts] and consumed > len(shape):
        parts = [p for p in parts if p is not Ellipsis]
    index = tuple(parts) if len(parts) != 1 or draw(st.booleans()) else parts[0]
    try:
        np.empty(shape)[index]
    except IndexError:  # a mask beside arrays of another length
        index = slice(None)
    return shape, index


def values(shape, seed=4):
    return np.random.default_rng(seed).standard_normal(shape)


def scattered(shape, index, ct):
    y = np.zeros(shape)
    np.add.at(y, index, ct)
    return y


@given(indexed())
def test_reading(case):
    shape, index = case
    x = values(shape)
    y = x[index]
    ct = values(y.shape, 5)
    np.testing.assert_array_equal(pa.getitem(x, index), y)
    found, pullback = pa.vjp(lambda v: v[index], x)
    np.testing.assert_array_equal(found, y)
    np.testing.assert_allclose(pullback(ct)[0], scattered(shape, index, ct))
    dx = values(shape, 6)
    np.testing.assert_array_equal(pa.jvp(lambda v: v[index], (x,), (dx,))[1], dx[index])
    program = pa.make_ir(lambda v: v[index])(x)
    np.testing.assert_array_equal(program(x), y)
    assert program.outputs[0].aval.shape == y.shape
    namespace = {}
    exec(pa.make_ir(lambda v: v[index] * 1.0)(x).code, namespace)
    np.testing.assert_array_equal(namespace["program"](x), y)


@given(indexed(), st.sampled_from([0, 1, 3]))
def test_reading_over_lanes(case, size):
    shape, index = case
    x = values((size, *shape))
    expected = np.stack([v[index] for v in x]) if size else np.zeros((0, *np.empty(shape)[index].shape))
    found = pa.vmap(lambda v: v[index])(x)
    np.testing.assert_array_equal(found, expected)
    assert found.shape == expected.shape


def arrays_of(index):
    parts = index if isinstance(index, tuple) else (index,)
    return [p for p in parts if isinstance(p, np.ndarray) and p.dtype != bool]


def with_arrays(index, arrays):
    left = iter(arrays)
    swap = lambda p: next(left) if isinstance(p, np.ndarray) and p.dtype != bool else p
    return tuple(swap(p) for p in index) if isinstance(index, tuple) else swap(index)


@settings(max_examples=150)
@given(indexed(), st.data())
def test_reading_with_the_lanes_own_indices(case, data):
    shape, index = case
    arrays = arrays_of(index)
    if not arrays:
        return
    own = [data.draw(st.booleans()) for _ in arrays]
    both = data.draw(st.booleans())
    # every lane has the positions in another order, so that they differ and stay in range
    turned = [np.stack([a, np.flip(a), np.roll(a, 1)]) if o else a for a, o in zip(arrays, own)]
    x = values((3, *shape)) if both else values(shape)
    if not both and not any(own):
        return
    lane = lambda k: with_arrays(index, [t[k] if o else t for t, o in zip(turned, own)])
    row = lambda k: x[k] if both else x
    expected = np.stack([row(k)[lane(k)] for k in range(3)])
    axes = (0 if both else None, [0 if o else None for o in own])
    read = pa.vmap(lambda v, a: pa.getitem(v, with_arrays(index, a)), in_axes=axes)
    np.testing.assert_array_equal(read(x, turned), expected)
    ct = values(expected.shape, 5)
    parts = np.stack([scattered(shape, lane(k), ct[k]) for k in range(3)])
    (g,) = pa.vjp(lambda v: read(v, turned), x)[1](ct)
    np.testing.assert_allclose(g, parts if both else parts.sum(0), rtol=1e-12, atol=1e-14)
    traced = pa.make_ir(lambda v, a: v[with_arrays(index, a)])(row(0), [t[0] if o else t for t, o in zip(turned, own)])
    np.testing.assert_array_equal(traced(row(0), [t[0] if o else t for t, o in zip(turned, own)]), expected[0])


@given(indexed())
def test_writing(case):
    shape, index = case
    x = values(shape)
    v = values(x[index].shape, 5)
    expected = x.copy()
    expected[index] = v
    added = x.copy()
    np.add.at(added, index, v)
    np.testing.assert_array_equal(pa.at(x, index).set(v), expected)
    np.testing.assert_allclose(pa.at(x, index).add(v), added)
    np.testing.assert_array_equal(pa.at(x, index).get(), x[index])
    np.testing.assert_array_equal(pa.make_ir(lambda a, b: pa.at(a)[index].set(b))(x, v)(x, v), expected)
    # writing is linear in both: the derivative is that of a matrix, whose transpose the pullback must be
    ct, dx, dv = values(shape, 7), values(shape, 8), values(v.shape, 9)
    for name in ("set", "add"):
        write = lambda a, b, name=name: getattr(pa.at(a, index), name)(b)
        cx, cv = pa.vjp(write, x, v)[1](ct)
        dy = pa.jvp(write, (x, v), (dx, dv))[1]
        np.testing.assert_allclose(np.sum(ct * dy), np.sum(cx * dx) + np.sum(cv * dv), rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(pa.jvp(lambda a, b: a.at[index].set(b), (x, v), (dx, dv))[1], written(dx, index, dv))


def written(x, index, v):
    y = x.copy()
    y[index] = v
    return y


@settings(max_examples=60)
@given(indexed(), st.sampled_from([(True, True), (True, False), (False, True)]))
def test_writing_over_lanes(case, batched):
    shape, index = case
    inner = np.empty(shape)[index].shape
    x = values((3, *shape)) if batched[0] else values(shape)
    v = values((3, *inner), 5) if batched[1] else values(inner, 5)
    row = lambda w, b, k: w[k] if b else w
    axes = tuple(0 if b else None for b in batched)
    found = pa.vmap(lambda a, b: pa.at(a, index).set(b), in_axes=axes)(x, v)
    expected = np.stack([written(row(x, batched[0], k), index, row(v, batched[1], k)) for k in range(3)])
    np.testing.assert_array_equal(found, expected)
    found = pa.vmap(lambda a, b: pa.at(a, index).add(b), in_axes=axes)(x, v)
    expected = np.stack([row(x, batched[0], k) + scattered(shape, index, row(v, batched[1], k)) for k in range(3)])
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


# --- repeated positions ----------------------------------------------------------------------------------------


def test_the_last_write_counts():  # D6
    y = values((5, 5))
    rows = np.zeros(5, int)
    write = lambda v: pa.at(np.zeros((5, 5)), rows).set(v)
    np.testing.assert_array_equal(write(y)[0], y[4])
    (g,) = pa.vjp(write, y)[1](np.ones((5, 5)))
    np.testing.assert_array_equal(g, np.vstack([np.zeros((4, 5)), np.ones((1, 5))]))
    for order in (np.array([1, 0, 1]), np.array([-1, 2, 2]), np.array([0, -3, 0])):
        (g,) = pa.vjp(lambda v, order=order: pa.at(np.zeros(3), order).set(v), np.ones(3))[1](np.ones(3))
        survives = [not any(order[j] % 3 == order[i] % 3 for j in range(i + 1, 3)) for i in range(3)]
        np.testing.assert_array_equal(g, np.array(survives, float))


def test_all_additions_count():
    y = values((3,))
    add = lambda v: pa.at(np.zeros(2), [0, 0, 1]).add(v)
    np.testing.assert_allclose(add(y), [y[0] + y[1], y[2]])
    np.testing.assert_array_equal(pa.jacrev(add)(y), [[1, 1, 0], [0, 0, 1]])
    np.testing.assert_array_equal(pa.jacfwd(add)(y), [[1, 1, 0], [0, 0, 1]])


def test_multiply():
    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(pa.at(x, 1).multiply(5.0), [1, 10, 3])
    np.testing.assert_array_equal(pa.jacfwd(lambda v: v.at[1].multiply(v[0]))(x), [[1, 0, 0], [2, 1, 0], [0, 0, 1]])
    pa.check_grads(lambda v: pa.at(v)[np.array([0, 2])].multiply(v[:2]), (x,), order=2)


def test_x_itself_does_not_change():
    x = np.zeros(3)
    y = pa.at(x, 0).set(1.0)
    assert x[0] == 0 and y[0] == 1 and not np.shares_memory(x, y)


# --- take ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [None, 0, 1, -1, -3])
@pytest.mark.parametrize("indices", [1, np.array(1), [0, 1], np.array([[0, -1], [1, 1]]), np.array([], int)])
def test_take(axis, indices):
    x = values((2, 3, 2))
    expected = np.take(x, indices, axis=axis)
    np.testing.assert_array_equal(pa.take(x, pa.asarray(indices), axis=axis), expected)
    f = lambda v: np.take(v, indices, axis)
    ct = values(expected.shape)
    y, pullback = pa.vjp(f, x)
    np.testing.assert_array_equal(y, expected)
    dx = values(x.shape, 1)
    np.testing.assert_allclose(np.sum(pullback(ct)[0] * dx), np.sum(ct * np.take(dx, indices, axis)), atol=1e-14)
    lanes = values((4, *x.shape))
    np.testing.assert_array_equal(pa.vmap(f)(lanes), np.stack([np.take(v, indices, axis) for v in lanes]))


def test_take_with_the_lanes_own_positions():
    x, i = values((4, 3)), np.array([[2, 0], [1, -1]])
    found = pa.vmap(lambda k: pa.take(x, k, axis=0))(i)
    np.testing.assert_array_equal(found, x[i])


# --- Python's ways ---------------------------------------------------------------------------------------------


def test_rows_length_and_unpacking():
    x = values((2, 3))

    def f(v):
        a, b = v
        rows = [row for row in v]
        assert len(v) == 2 and len(rows) == 2
        return np.sum(a * rows[1]) + b[0] * v[0][1] * v[-1, -1]

    expected = np.array([x[1], x[0]])
    expected[1, 0] += x[0, 1] * x[1, 2]
    expected[0, 1] += x[1, 0] * x[1, 2]
    expected[1, 2] += x[1, 0] * x[0, 1]
    np.testing.assert_allclose(pa.grad(f)(x), expected)
    np.testing.assert_allclose(pa.vmap(f)(x[None]), [f(x)])
    np.testing.assert_allclose(pa.make_ir(f)(x)(x), f(x))
    assert 2.0 in pa.vjp(lambda v: (v, pa.stop_gradient(2.0 in v))[0], np.array([2.0]))[0]


def test_no_axes():
    for ask in (len, list, lambda v: v[0]):
        with pytest.raises((TypeError, IndexError, pa.ShapeError)):
            pa.grad(lambda v, ask=ask: (ask(v), v)[1])(1.0)


def test_index_arrays_that_are_followed():
    x = values((4,))
    f = lambda v: v[(v * 0 + 2).astype(int)] * np.sum(v)
    np.testing.assert_allclose(pa.jacobian(f)(x), pa.jacfwd(lambda v: v[np.full(4, 2)] * np.sum(v))(x))
    picks = pa.vmap(lambda n: pa.grad(lambda v: v[n])(x))(np.arange(4))
    np.testing.assert_array_equal(picks, np.eye(4))


def test_masks():
    x = np.array([1.0, -2.0, 3.0])
    np.testing.assert_array_equal(pa.grad(lambda v: np.sum(v[v > 0] ** 2))(x), [2, 0, 6])
    np.testing.assert_array_equal(pa.grad(lambda v: np.sum(v.at[v < 0].set(0.0)))(x), [1, 0, 1])
    with pytest.raises(pa.ConcreteValueError, match="where"):
        pa.make_ir(lambda v: v[v > 0])(x)


# --- errors ----------------------------------------------------------------------------------------------------

followed = pytest.mark.parametrize("follow", ["eager", "grad", "vmap", "ir"])


def under(follow, f, x):
    match follow:
        case "eager":
            return f(x)
        case "grad":
            return pa.vjp(f, x)
        case "vmap":
            return pa.vmap(f)(np.stack([x, x]))
        case "ir":
            return pa.make_ir(f)(x)(x)


@followed
@pytest.mark.parametrize(
    "index",
    [
        3,
        -4,
        (0, 4),
        np.array([0, 3]),
        [0, -4],
        (slice(None), slice(None), 0),
        np.ones(4, bool),
        [True, False, False, False],
        (..., np.arange(3) < 1),
        (np.array([0, 1]), np.arange(3)),
    ],  # fmt: skip
    ids=str,
)
def test_out_of_range(follow, index):
    """An IndexError of ours (what Python's own iteration relies on) that names the operation and the array."""
    x = values((3, 4))
    with pytest.raises(IndexError) as found:
        under(follow, lambda v: pa.getitem(v, index) * 1.0, x)
    text = str(found.value).replace(" ", "").replace("[2,3,4]", "[3,4]")  # with the lanes of a batch
    assert "index" in text and "[3,4]" in text


@followed
@pytest.mark.parametrize("index", [1.0, np.array([0.5]), "a", (0, "b"), {}, np.array([None]), True], ids=str)
def test_what_does_not_index(follow, index):
    with pytest.raises(pa.DTypeError, match="ind(ex|ices)"):
        under(follow, lambda v: pa.getitem(v, index), values((3, 4)))


@followed
def test_values_that_do_not_fit(follow):
    x = values((3, 4))
    with pytest.raises(pa.ShapeError, match=r"index_set: .*\[3\] does not fit the selection float64\[4\]"):
        under(follow, lambda v: pa.at(v, 0).set(np.ones(3)), x)
    with pytest.raises(pa.DTypeError, match="index_set: complex cannot be written.*astype"):
        under(follow, lambda v: pa.at(v, 0).set(1j), x)
    with pytest.raises(pa.DTypeError, match="index_add"):
        under(follow, lambda v: pa.at((v * 0).astype(int), 0).add(np.ones(4)), x)
    with pytest.raises(pa.ShapeError, match="one index"):
        under(follow, lambda v: pa.at(v).set(1.0), x)


@pytest.mark.parametrize("axis", [2, -3])
def test_take_from_no_axis(axis):
    with pytest.raises(pa.ShapeError, match=f"take: axis {axis} is out of range"):
        pa.take(values((3, 4)), np.array([0]), axis=axis)


def test_dtypes_stay():
    x = np.arange(3, dtype=np.float32)
    assert pa.at(x, 0).set(1.0).dtype == np.float32
    assert pa.at(x, 0).add(np.float64(1)).dtype == np.float32
    assert pa.vjp(lambda v: pa.at(np.zeros(3), 0).set(v[1]), x)[1](np.ones(3))[0].dtype == np.float32
