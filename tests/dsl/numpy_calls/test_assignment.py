"""In-place code on followed values: NumPy programs as they are, against NumPy, finite differences and loops."""

import copy

import numpy as np
import pytest

import polyad as pa

pytestmark = pytest.mark.quick

rng = np.random.default_rng(5)
x0 = rng.uniform(0.5, 1.5, 6)


# --- programs: each takes an array of six, changes a copy of it in place and returns a number -------------------


def heat(u0):
    u = u0.copy()
    for _ in range(4):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return np.sum(u * u)


def heat_with_live_views(u0):
    u = u0.copy()
    left, mid, right = u[:-2], u[1:-1], u[2:]
    for _ in range(3):
        mid += 0.1 * (right - 2 * mid + left)
    return np.sum(u**2 * np.arange(6))


def gauss_seidel(x):
    u = x.copy()
    for i in range(1, 5):
        u[i] = (u[i - 1] + u[i + 1]) / 2 + u[i] ** 2
    return u.sum()


def alias(x):
    y = x.copy()
    z = y
    z *= y
    y[0] = z[1] * 3
    return np.sum(z * np.cos(y))


def rows(x):
    a = x.reshape(2, 3).copy()
    for i, row in enumerate(a):
        row *= i + row
    a[0][1] = a[1, 2] * 2
    return np.sum(np.sin(a) * np.arange(6).reshape(2, 3))


def through_transpose(x):
    a = x.copy().reshape(2, 3)
    b = a.T
    b[0] += 2 * b[1]
    a[1, ::-1] = a[0] * b[2, 0]
    return np.sum(a**2) + np.sum(b[1] * a[:, 0])


def view_of_view(x):
    y = x.copy()
    v = y[1:]
    w = v[::2]
    w[1] = y[0] * w[0]
    v += 1
    y[3] *= 2
    return np.sum(y * np.arange(6)) + np.sum(w**3) + np.sum(v)


def new_axes(x):
    y = x.copy()
    z = y[None, :, None]
    z[0, 2, 0] = y[1] ** 2
    e = np.expand_dims(y, 0)
    e[0, :2] = 3 * y[3]
    s = np.squeeze(e)
    s *= 2
    return np.sum(y * z[0, :, 0])


def flipped(x):
    y = x.copy()
    z = np.flip(y)
    z[:2] = y[:2] * z[4:]
    z /= 2.0
    return np.sum(y * y[::-1] * np.arange(6))


def real_and_imaginary(x):
    z = x[:3] + 1j * x[3:]
    z.real *= 2
    z.imag[1:] = z.real[1:] ** 2
    w = z.copy()
    w.real = z.imag
    return np.sum(np.abs(z) ** 2) + np.sum(w.real * w.imag)


def buffer(x):
    out = np.zeros_like(x)
    out[0] = 1.0
    for i in range(1, len(x)):
        out[i] = out[i - 1] * x[i] + x[0]
    return np.sum(out)


def shaped_buffer(x):
    a = np.empty_like(x, shape=(3, 2))
    a[:, 0] = x[:3]
    a[:, 1] = x[3:] * a[::-1, 0]
    b = np.zeros((2, 3), like=x)
    b[...] = a.T
    b[:, 1:] -= 1
    return np.sum(np.exp(b) * a.T)


def masks(x):
    y = x.copy()
    y[y > 1] = 0.25
    y[np.array([True, False] * 3)] *= 3
    y[np.array([False, True] * 3)] = x[:3] * x[3:]
    return np.sum(y**2)


def positions(x):
    y = x.copy()
    i = np.array([0, 3, 3])
    y[i] += x[:3]
    y[[5, 1]] = y[[1, 5]]
    np.add.at(y, i, 2 * y[2])
    np.subtract.at(y, 1, x[0])
    return np.sum(y * x)


def methods(x):
    y = x.copy()
    y.put([0, -1], y[1] * 2)
    z = np.empty_like(y)
    z.fill(3.0)
    z[2:] = y[2:]
    z.sort()
    np.copyto(y, z, where=x > 1)
    np.put(y, [1, 2], [z[0], 5.0])
    a = np.outer(y[:3], z[:3])
    np.fill_diagonal(a, y[3])
    np.putmask(z, z > 1, y * 2)
    np.place(z, z < 1, [0.5])
    return np.sum(a) + np.sum(y * z)


def outs(x):
    y = np.empty_like(x)
    np.multiply(x, x, out=y)
    np.sin(y, out=y)
    np.add(y, 1, out=y, where=x > 1)
    np.cumsum(y, out=y)
    s = np.sum(y[:, None] * np.ones((6, 2)), axis=0, out=np.zeros_like(x, shape=2))
    return np.sum(y) * s[0]


def operators(x):
    y = x.copy()
    y += x
    y -= 0.5
    y *= y
    y /= 3
    y **= 2
    y %= 5.0
    y += 7
    y[1:] -= y[:-1]
    a = y.copy().reshape(2, 3)
    a @= np.arange(9.0).reshape(3, 3)
    y //= 100.0
    return np.sum(a * x.reshape(2, 3)) + np.sum(y)


def numbers(x):
    s = x[0]
    t = s
    s += x[1]
    s *= 2
    total = 0.0
    for v in x:
        total += v * v
    return s * t + total


def views_of_every_kind(x):
    a = x.reshape(2, 3) * (1 + 2j)
    turned, part, whole = a.T[1:], a.imag[None, 0, ::-1], a[()]
    inner = turned.real[:, 1]
    inner *= x[0]
    part[0, :2] = inner[0] + x[:2]
    whole[0, :2] = turned[:, 0] * x[5]
    return np.sum(np.abs(a) ** 2 * np.arange(3)) + np.sum(inner * part[0, 1:]) + np.sum(turned.imag**2)


def overlapping(x):
    y = x.copy()
    y[1:] = y[:-1]
    y[:-2] += y[2:]
    y[::2], y[1::2] = y[1::2], y[::2].copy()
    return np.sum(y * np.arange(6))


def copies(x):
    y = x.copy()
    kept = [y.copy(), np.copy(y), y.flatten(), y + 0, copy.copy(y), copy.deepcopy(y), y[[0, 1, 2, 3, 4, 5]], np.array(6) * y]
    y[...] = 0
    return sum(np.sum(k) for k in kept) + np.sum(y)


def sorted_in_place(x):
    a = x.copy().reshape(2, 3)
    a.sort(axis=0)
    a[a.argsort(axis=1)[:, 0] * 0] *= 2
    return np.sum(a * np.arange(6).reshape(2, 3))


PROGRAMS = [heat, heat_with_live_views, gauss_seidel, alias, rows, through_transpose, view_of_view, new_axes, flipped,
            real_and_imaginary, buffer, shaped_buffer, masks, positions, methods, outs, operators, numbers, overlapping,
            copies, sorted_in_place, views_of_every_kind]  # fmt: skip
SMOOTH = [f for f in PROGRAMS if f not in (sorted_in_place, methods)]
each = pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)


def on_numpy(f, x):
    """f without polyad: `like=x` and a write to a number's real part go to NumPy as they are."""
    return f(np.array(x))


def slope(f, x, h=1e-6):
    steps = np.eye(len(x)) * h
    return np.array([(on_numpy(f, x + s) - on_numpy(f, x - s)) / (2 * h) for s in steps])


@each
def test_reverse(f):
    value, g = pa.value_and_grad(f)(x0)
    np.testing.assert_allclose(value, on_numpy(f, x0), rtol=1e-13)
    np.testing.assert_allclose(g, slope(f, x0), rtol=1e-6, atol=1e-7)


@each
def test_forward(f):
    dx = rng.standard_normal(6)
    y, dy = pa.jvp(f, (x0,), (dx,))
    np.testing.assert_allclose(y, on_numpy(f, x0), rtol=1e-13)
    np.testing.assert_allclose(dy, slope(f, x0) @ dx, rtol=1e-6, atol=1e-7)


@each
def test_lanes(f):
    xs = np.stack([x0, x0[::-1] * 0.9, x0 + 0.3])
    np.testing.assert_allclose(pa.vmap(f)(xs), [on_numpy(f, x) for x in xs], rtol=1e-13)
    np.testing.assert_allclose(pa.vmap(pa.grad(f))(xs), [pa.grad(f)(x) for x in xs], rtol=1e-12)
    np.testing.assert_allclose(pa.grad(lambda xs: np.sum(pa.vmap(f)(xs)))(xs), [pa.grad(f)(x) for x in xs], rtol=1e-12)


# these two ask for a mask's values
@pytest.mark.parametrize("f", [f for f in PROGRAMS if f not in (masks, methods)], ids=lambda f: f.__name__)
def test_trace(f):
    program = pa.make_ir(f)(x0)
    np.testing.assert_allclose(program(x0 * 0.9), on_numpy(f, x0 * 0.9), rtol=1e-13)
    np.testing.assert_allclose(pa.grad(program)(x0 * 0.9), pa.grad(f)(x0 * 0.9), rtol=1e-12)
    np.testing.assert_allclose(pa.grad(lambda x: pa.make_ir(f)(x)(x))(x0), pa.grad(f)(x0), rtol=1e-12)


@each
def test_second_order(f):
    h = pa.hessian(f)(x0)
    np.testing.assert_allclose(pa.jacrev(pa.grad(f))(x0), h, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(pa.jacfwd(pa.jacfwd(f))(x0), h, rtol=1e-10, atol=1e-12)
    steps = np.eye(6) * 1e-6
    numeric = [(pa.grad(f)(x0 + s) - pa.grad(f)(x0 - s)) / 2e-6 for s in steps]
    np.testing.assert_allclose(h, numeric, rtol=1e-5, atol=1e-6)


# --- any sequence of writes through any views -------------------------------------------------------------------


def test_lanes_that_part_at_a_branch():
    def f(x):
        y = x.copy()
        for i in range(3):
            if y[i] > 1:
                y[i + 1] *= y[i]
            else:
                y[i:] += 0.5
        return np.sum(y * y)

    xs = rng.uniform(0, 2, (5, 4))
    np.testing.assert_allclose(pa.vmap(f)(xs), [f(x) for x in xs])
    np.testing.assert_allclose(pa.vmap(pa.grad(f))(xs), [pa.grad(f)(x) for x in xs])


def test_values_of_collectives():
    """The same in all lanes until a lane's own value is written into it."""

    def f(x):
        total = pa.psum(x, "i")
        view = total[1:]
        total[0] = x[0]
        view *= x[1]
        constant = pa.psum(x, "i")
        constant[0] = 1.0
        return np.sum(total) + np.sum(view) + np.sum(constant)

    xs = rng.uniform(0, 2, (3, 4))
    s = xs.sum(0)
    expected = [x[0] + 2 * np.sum(s[1:] * x[1]) + 1 + np.sum(s[1:]) for x in xs]
    np.testing.assert_allclose(pa.vmap(f, axis_name="i")(xs), expected)


# --- what is recorded does not change ---------------------------------------------------------------------------


def test_programs_keep_constants_of_outer_values():
    def outer(w):
        w = w * 1.0

        def inner(x):
            y = x + w
            w[0] = 9.0
            return y * w

        return np.sum(pa.make_ir(inner)(x0)(x0))

    w = x0 + 1
    expected = np.sum((x0 + w) * np.concatenate([[9.0], w[1:]]))
    np.testing.assert_allclose(pa.value_and_grad(outer)(w)[0], expected)


# --- errors -----------------------------------------------------------------------------------------------------

under = pytest.mark.parametrize(
    "under",
    [lambda f: pa.vjp(f, x0), lambda f: pa.jvp(f, (x0,), (x0,)), lambda f: pa.vmap(f)(x0[None]), lambda f: pa.make_ir(f)(x0)],
    ids=["grad", "jvp", "vmap", "ir"],
)  # fmt: skip


def reshaped_base(x):
    a = x.reshape(2, 3) * 1.0
    flat = a.ravel()
    a[0] = 1.0
    return flat


def reshaped_view(x):
    a = x.reshape(2, 3) * 1.0
    flat = a.reshape(3, 2)
    flat[0] = 1.0
    return a


@under
@pytest.mark.parametrize(
    ("f", "error", "text"),
    [
        (reshaped_base, pa.MutationError, r"reshape or ravel.*x\.copy\(\).*x\.at\[i\]\.set"),
        (reshaped_view, pa.MutationError, r"float64\[3, 2\].*float64\[2, 3\].*reshape or ravel"),
        (lambda x: np.broadcast_to(x, (2, 6)).__setitem__(0, 1.0), pa.MutationError, "read-only"),
        (lambda x: np.diagonal(np.outer(x, x)).__setitem__(0, 1.0), pa.MutationError, "read-only"),
        (lambda x: x.__setitem__(slice(0, 2), np.ones(3)), pa.ShapeError, r"item assignment.*\[3\].*float64\[2\]"),
        (lambda x: x.__setitem__(0, 1j), pa.DTypeError, "item assignment.*complex"),
        (lambda x: x.__iadd__(np.ones((2, 6))), pa.ShapeError, r"x \+= v: the result has the shape \[2, 6\]"),
        (lambda x: x.__imul__(1j), pa.DTypeError, r"x \*= v: a result of complex128"),
        (lambda x: x.__setitem__("a", 1), pa.DTypeError, "an index of"),
        (lambda x: x.__setitem__(9, 1), IndexError, "index"),
        (lambda x: np.copyto(np.zeros(6), x), pa.MutationError, r"np.copyto.*ndarray.*polyad.zeros"),
        (lambda x: np.put(np.zeros(6), [0], x[0]), pa.MutationError, "np.put"),
        (lambda x: np.add.at(np.zeros(6), [0], x[0]), pa.MutationError, "np.add.at"),
        (lambda x: np.multiply.at(x.copy(), [0], x[0]), pa.MissingRuleError, "np.multiply.at"),
        (lambda x: np.fill_diagonal(np.zeros((2, 2)), x[0]), (pa.ConcreteValueError, ValueError), "polyad.zeros|sequence"),
        (lambda x: np.add(x, x, out=np.zeros_like(x, shape=3)), pa.ShapeError, "np.add: out="),
        (lambda x: np.add(x, 1, where=x > 1), pa.MissingRuleError, "where= without out="),
        (lambda x: pa.Diagonal(x).__setitem__((0, 0), 1.0), pa.MutationError, "Diagonal does not change"),
    ],
)
def test_refused(under, f, error, text):
    def g(x):
        f(x)
        return np.sum(x)

    with pytest.raises(error, match=text):
        under(g)


@pytest.mark.parametrize("inner", [
    lambda f: pa.grad(f)(1.0), lambda f: pa.jvp(f, (1.0,), (1.0,)), lambda f: pa.vmap(f)(np.ones(2)),
    lambda f: pa.make_ir(f)(1.0)])  # fmt: skip
@pytest.mark.parametrize("write", [
    lambda a, p: a.__setitem__(0, p), lambda a, p: a.__iadd__(p), lambda a, p: np.add(a, p, out=a)])  # fmt: skip
def test_a_deeper_value_into_an_outer_one(inner, write):
    def outer(x):
        def f(p):
            write(x, p)
            return p

        inner(f)
        return np.sum(x)

    for transform in (pa.grad(outer), pa.vmap(lambda x: outer(x * 1.0))):
        with pytest.raises(pa.MutationError, match=r"written into .* of .*around it"):
            transform(x0[None] if transform is not None and transform.__name__ != "outer" else x0)


def test_plain_buffers_refuse():
    def f(x):
        out = np.zeros(3)
        out[0] = x[0]
        return np.sum(out)

    with pytest.raises(pa.ConcreteValueError, match="polyad.zeros"):
        pa.grad(f)(x0)
