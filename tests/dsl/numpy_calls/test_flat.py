"""`x.flat`: reads and writes x, whatever x's layout, under every transformation, as NumPy has it."""

import numpy as np
import pytest

import polyad as pa

X = np.linspace(0.2, 1.3, 6).reshape(2, 3)


def written(write, layout=lambda b: b):
    """A function (x) -> a copy of x that was written to by `flat`, and what was read of it on the way."""

    def f(x):
        b = layout(x * 1.0)
        write(b, x)
        return b * x if b.shape == x.shape else b.sum() * x

    return f


def through_a_name(b, x):
    f = b.flat
    f[1] = x[1, 1]
    f[-1] = f[0] * 2.0
    b[0, 0] = 3.0 * x[0, 1]
    f[2] = f[0]  # which sees the write before


def of_what_was_taken(b, x):
    part = b.flat[1:4]
    part[0] = 7.0  # a copy in NumPy
    b.flat[0] = part[1] * part[0]


WRITES = {
    "int": lambda b, x: b.flat.__setitem__(0, x[1, 2]),
    "negative int": lambda b, x: b.flat.__setitem__(-2, x[1, 2]),
    "slice": lambda b, x: b.flat.__setitem__(slice(1, 4), x[1]),
    "step": lambda b, x: b.flat.__setitem__(slice(None, None, 2), x[1]),
    "back": lambda b, x: b.flat.__setitem__(slice(None, None, -1), x.reshape(-1)),
    "index array": lambda b, x: b.flat.__setitem__(np.array([4, 0, 2]), x[1] * 2.0),
    "list": lambda b, x: b.flat.__setitem__([5, 1], x[0, :2]),
    "mask": lambda b, x: b.flat.__setitem__(np.array([True, False, True, False, True, False]), x[0]),
    "one number": lambda b, x: b.flat.__setitem__(slice(2, 5), x[0, 0]),
    "repeated": lambda b, x: b.flat.__setitem__(slice(None), x[0, :2]),
    "too many": lambda b, x: b.flat.__setitem__(slice(0, 2), x[0]),
    "a matrix": lambda b, x: b.flat.__setitem__(slice(None), x.T),
    "all": lambda b, x: setattr(b, "flat", x[::-1]),
    "all, repeated": lambda b, x: setattr(b, "flat", x[1]),
    "+=": lambda b, x: b.flat.__setitem__(2, b.flat[2] + x[0, 0]),
    "through a name": through_a_name,
    "of what was taken": of_what_was_taken,
}
LAYOUTS = {
    "whole": lambda b: b, "transpose": lambda b: b.T, "rows": lambda b: b[::-1], "part": lambda b: b[:, 1:],
    "one axis": lambda b: b.reshape(-1),
}  # fmt: skip
PAIRS = [(w, "whole") for w in WRITES] + [
    (w, name) for w in ("int", "slice", "repeated", "+=") for name in LAYOUTS if name != "whole"
]


@pytest.mark.parametrize("write, layout", PAIRS)
def test_writes(write, layout):
    f = written(WRITES[write], LAYOUTS[layout])
    expected = f(X)
    total, v = lambda x: pa.sum(pa.sin(f(x))), np.cos(np.arange(6.0)).reshape(2, 3)
    slope = (np.sum(np.sin(f(X + 1e-6 * v))) - np.sum(np.sin(f(X - 1e-6 * v)))) / 2e-6
    np.testing.assert_allclose(pa.vjp(f, X)[0], expected, rtol=1e-15)
    np.testing.assert_allclose(np.sum(pa.grad(total)(X) * v), slope, rtol=1e-6)
    y, dy = pa.jvp(total, (X,), (v,))
    np.testing.assert_allclose([y, dy], [np.sum(np.sin(expected)), slope], rtol=1e-6)
    for lanes in (pa.vmap(f), pa.jit(pa.vmap(f))):
        np.testing.assert_allclose(lanes(np.stack([X, X[::-1]])), np.stack([expected, f(X[::-1])]), rtol=1e-15)
    np.testing.assert_allclose(pa.jit(f)(X), expected, rtol=1e-15)
    np.testing.assert_allclose(pa.jit(pa.grad(total))(X), pa.grad(total)(X), rtol=1e-14)


def test_the_view_sees_writes_to_a_part_and_the_whole():
    def f(x):
        b = x * 1.0
        row, column = b[0], b[:, 1]
        b.flat[1] = x[1, 1]
        return pa.stack([row[1], column[0], b[0, 1], b.flat[1]])

    np.testing.assert_array_equal(pa.vjp(f, X)[0], np.full(4, X[1, 1]))


def test_reading_alone_keeps_nothing_from_being_written():
    def f(x):
        b = x * 1.0
        total = sum(b.flat) + len(b.flat) + np.sum(b.flat)
        b[0, 0] = total
        return b

    np.testing.assert_allclose(pa.vjp(f, X)[0], f(X))


def test_a_read_only_view_stays_one():
    def f(x):
        np.broadcast_to(x[0], (4, 3)).flat[0] = x[1, 0]
        return x

    with pytest.raises(pa.MutationError, match="read-only"):
        pa.vjp(f, X)


def test_other_attributes_are_not_writable():
    def f(x):
        x.nbytes = 3
        return x

    with pytest.raises(AttributeError, match="'nbytes' of .* is not writable"):
        pa.vjp(f, X)
