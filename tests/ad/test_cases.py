"""Bug reports of other libraries, retold, with the right values; the ids are the rows of that collection.

Rows about single operations and layers lie with their tests: B2, B4, C10 and C30 in dsl/ops, E10 and E12 in
dsl/arrays/test_diagonal.py, F6 and F10 in dsl/layers/test_vmap.py, D14 and G26 in rules/test_from_cards.py.
"""

import numpy as np
import pytest

import polyad as pa

close = np.testing.assert_allclose


def forward(f, *args):
    """The gradient by forward mode alone: one jvp per direction."""
    columns = []
    for n, x in enumerate(args):
        x = np.asarray(x, float)
        column = np.zeros(x.shape)
        for place in np.ndindex(x.shape):
            tangents = [np.zeros(np.shape(a)) for a in args]
            tangents[n][place] = 1.0
            column[place] = pa.jvp(f, tuple(args), tuple(tangents))[1]
        columns.append(column)
    return columns[0] if len(columns) == 1 else tuple(columns)


def reverse(f, *args):
    found = pa.grad(f, tuple(range(len(args))))(*args)
    return found[0] if len(found) == 1 else found


modes = pytest.mark.parametrize("gradient", [forward, reverse])


# ---------------------------------------------------------------------- gradients at a point, by both modes
def loop_of_means(z):
    x, y = 1.0, 1 + z
    while abs(x - y) > 1e-6:
        x, y = y, (x + y) / 2
    return y


def early_return(x):
    if x > 0:
        return 3 * x
    return x**5


def sums_of_sums(x):
    terms = [x]
    for _ in range(9):
        terms.append(sum(terms[1:], terms[0]))
    return pa.sum(terms[-1] ** 2)


def rows_selected(x):
    r = pa.sqrt(pa.sum(x**2, axis=1))
    return pa.sum(pa.where(r > 0.5, r, 1.0))


def masked_power(x):
    d = np.array([0.0, 1.0]) * x
    return pa.sum((d**0.5)[d > 0])


def real_plus_complex(x):
    shifted = 1j + x
    return pa.sum(pa.real(shifted) + x)


def fourth_power_by_cond(x):
    v = 1.0
    for _ in range(4):
        v = v * x if np.True_ else v
    return v


def ten_minus_sines(x):
    for _ in range(10):
        x = pa.grad(pa.cos)(x)
    return x


def run_time_power(x, n):
    y = 1.0
    while n > 0:
        y, n = y * x, n - 1
    return y


def factorial(r, x):
    return r if x <= 1 else factorial(r * x, x - 1)


def unreachable_and_shifted(x):
    return pa.logsumexp(pa.stack([0 * x - np.inf, x - np.inf]))


def shell_and_double_well(loc, scale):
    x = loc + scale * np.array([-1.5, 0.0])
    shell = 0.5 * ((pa.linalg.norm(x) - 2) / 0.4) ** 2
    return shell - pa.logsumexp(-0.5 * ((x[0] + np.array([-2.0, 2.0])) / 0.6) ** 2)


def columns_taken(x):
    columns = np.repeat([0, 1, 2], 10)[:, None]
    return pa.sum(pa.take_along_axis(x * np.array([[0.0, 1.0, 2.0]]), columns, axis=-1))


A, B = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0, 6.0], [7.0, 8.0]])
X = np.array([[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]])
C4 = np.array([3.0, 0.0, -5.0])
LAST_ROW = np.array([[0.0] * 5] * 4 + [[1.0] * 5])
unselected = np.array([False, True, False])

GRADIENTS = {
    "B6": (lambda x: pa.sum(x * A @ B), (0.0,), 134.0),
    "B6-numpy": (lambda x: np.sum(x * A @ B), (0.0,), 134.0),
    "B8": (lambda v: v[1] ** 2 if v[0] == 0 else v[1] ** 3, (np.array([0.0, 1.0]),), [0, 2]),
    "B10": (early_return, (1.0,), 3.0),
    "B12": (loop_of_means, (1024.0,), 2 / 3),
    "C2": (rows_selected, (X,), [[1 / 5**0.5, 2 / 5**0.5], [0.6, 0.8], [0, 0]]),
    "C4": (lambda a: pa.sum(pa.where(unselected, 0.0, pa.arctan2(a, a))), (C4,), [0, 0, 0]),
    "C6": (masked_power, (1.0,), 0.5),
    "C10-sum": (lambda x: pa.sqrt(pa.sum(x**2)) ** 2, (np.zeros(2),), [0, 0]),
    "C10-exp": (lambda x: pa.exp(-pa.sqrt(pa.sum(x**2))), (np.zeros(2),), [0, 0]),
    "C12": (lambda x: pa.sqrt(x**2), (0.0,), 0.0),
    "C14": (lambda x: pa.sum(pa.abs(x)), (np.array([0.0, -2.0]),), [0, -1]),
    "C14-builtin": (lambda x: sum(abs(v) for v in x), (np.array([0.0, -2.0]),), [0, -1]),
    "C18-1": (lambda z: pa.sum(z ** np.arange(2)), (1.0,), 1.0),
    "C18-2": (lambda z: pa.sum(z ** np.arange(2)), (3.14,), 1.0),
    "C18-floats": (lambda z: pa.sum(z ** np.arange(2.0)), (3.14,), 1.0),
    "C20": (lambda a, b: a**b, (0.0, 1.5), (0, 0)),
    "C24-one": (pa.prod, (np.array([0.0, 2.0, 3.0]),), [6, 0, 0]),
    "C24-two": (pa.prod, (np.array([0.0, 0.0, 3.0]),), [0, 0, 0]),
    "C24-middle": (pa.prod, (np.array([2.0, 0.0, 3.0, 4.0]),), [0, 24, 0, 0]),
    "C24-numpy": (np.prod, (np.array([2.0, 0.0, 3.0, 4.0]),), [0, 24, 0, 0]),
    "C8": (unreachable_and_shifted, (1.0,), 0.0),
    "C26": (lambda x: pa.sum(pa.cumprod(x) ** 2), (np.array([1.0, 0.0]),), [2, 0]),
    "C26-middle": (lambda x: pa.sum(pa.cumprod(x)), (np.array([2.0, 0.0, 3.0]),), [1, 8, 0]),
    "C26-numpy": (lambda x: np.sum(np.cumprod(x)), (np.array([2.0, 0.0, 3.0]),), [1, 8, 0]),
    "C28": (pa.max, (np.array([0.6, 0.6, 0.3]),), [0.5, 0.5, 0]),
    "C28-min": (pa.min, (np.array([0.6, 0.6, 0.3]),), [0, 0, 1]),
    "C28-maximum": (pa.maximum, (1.0, 1.0), (0.5, 0.5)),
    "C32": (lambda x: pa.ldexp(x, 3), (0.0,), 8.0),
    "C34": (shell_and_double_well, (0.0, 1.0), (4.51388825, -6.77083237)),
    "C34-vectors": (shell_and_double_well, (np.zeros(2), np.ones(2)), ([4.51388825, 0], [-6.77083237, 0])),
    "C38": (lambda x: 3 * pa.clip(x, 0, 1), (0.5,), 3.0),
    "D2": (columns_taken, (1.0,), 30.0),
    "D6": (lambda y: pa.sum(pa.at(np.zeros((5, 5)), [0] * 5).set(y)), (np.ones((5, 5)),), LAST_ROW),
    "D8": (lambda x: pa.einsum("i,i", x, np.array([2.0])), (np.array([1.0, 5.0]),), [2, 2]),
    "D10": (lambda x: pa.sum(pa.broadcast_to(x, (4, 3))), (np.ones(3),), [4, 4, 4]),
    "D16": (lambda w: pa.dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]) * w), (np.array([0.5, 0.7]),), [3, 8]),
    "E2": (sums_of_sums, (np.ones((10, 10)),), np.full((10, 10), 131072.0)),
    "E4": (lambda i: run_over([1, 2, 3], i), (1.0,), 6.0),
    "E6": (lambda x: pa.real(x + 1j * x), (1.0,), 1.0),
    "E8": (real_plus_complex, (np.ones(10),), np.full(10, 2.0)),
    "G2": (fourth_power_by_cond, (3.0,), 108.0),
    "G4": (ten_minus_sines, (0.5,), 0.38268762),
    "G10": (lambda x: factorial(1.0, x), (3.0,), 5.0),
    "G10-two": (lambda r, x: factorial(r, x), (1.0, 3.0), (6, 5)),
    "G20": (lambda x: pa.sum(x**2), (np.array([0.1, 0.2, 0.3]),), [0.2, 0.4, 0.6]),
    "G28": (lambda x: run_time_power(x, 3), (2.0,), 12.0),
}  # fmt: skip


def run_over(numbers, start):
    for n in numbers:
        start = start * n
    return start


def compiled(f, *args):
    found = pa.jit(pa.grad(f, tuple(range(len(args)))))(*args)
    return found[0] if len(found) == 1 else found


def of_compiled(f, *args):
    return reverse(pa.jit(f), *args)


@pytest.mark.parametrize("gradient", [forward, reverse, compiled, of_compiled])
@pytest.mark.parametrize("row", GRADIENTS)
def test_gradient(row, gradient):
    f, args, right = GRADIENTS[row]
    for found, expected in zip(np.atleast_1d(gradient(f, *args)), np.atleast_1d(right), strict=True):
        close(found, expected, rtol=1e-6, atol=1e-12)


def test_overflow_of_a_product_c22():
    """By reverse mode; forward mode has 0 · inf for the second number: conventions.md states both."""
    with np.errstate(over="ignore"):
        found = pa.grad(lambda a: a[0] * pa.exp(-a[1]))(np.array([1.0, -1000.0]))
    close(found, [np.inf, -np.inf])


# ---------------------------------------------------------------------- nesting and leaks
class Product:
    """The same function type inside and outside of a nesting."""

    def __init__(self, outer, v):
        self.outer, self.v = outer, v

    def __call__(self, y):
        return y * pa.derivative(Product(False, y))(1.0) if self.outer else self.v + y


def test_same_function_type_in_both_levels_a2():
    assert pa.derivative(Product(True, 0.0))(1.0) == 1
    assert pa.grad(Product(True, 0.0))(1.0) == 1


@pytest.mark.parametrize(
    "later",
    [
        lambda s: pa.grad(lambda y: s * y)(2.0),
        lambda s: pa.grad(lambda y: y * s)(2.0),
        lambda s: pa.grad(lambda y: s + y * y)(2.0),
        lambda s: pa.jvp(lambda y: y * s, (2.0,), (1.0,)),
        lambda s: pa.grad(lambda y: s)(2.0),
        lambda s: pa.jvp(lambda y: s, (2.0,), (1.0,)),
        lambda s: pa.vmap(lambda y: y * s)(np.ones(2)),
        lambda s: pa.sin(s),
        lambda s: s + 1.0,
    ],
)
@pytest.mark.parametrize("first", [lambda f: pa.grad(f)(3.0), lambda f: pa.jvp(f, (3.0,), (1.0,))])
def test_stored_value_is_a_loud_error_a4(first, later):
    kept = []
    first(lambda x: kept.append(x * x) or x)
    with pytest.raises(pa.LeakedLayerError, match="test_cases.py"):
        later(kept[0])


def test_constant_inner_functions_a6():
    assert pa.derivative(lambda x: pa.derivative(lambda y: x)(x))(1.0) == 0
    assert pa.grad(lambda x: pa.grad(lambda y: x * 1.0)(x))(1.0) == 0
    close(pa.hessian(lambda x: 3.0)(np.ones(2)), np.zeros((2, 2)))
    close(pa.grad(lambda x: pa.zeros_like(x[0]))(np.ones(2)), np.zeros(2))


def test_lagrangian_and_legendre_transform_a8():
    m, g = 1.0, 9.8
    L = lambda q, v: m / 2 * pa.sum(v * v) - m * g * q[1]  # noqa: N806
    q, v, p = np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.array([5.0, 6.0])
    for jacobian in (pa.jacfwd, pa.jacrev):
        close(jacobian(lambda q: pa.grad(L, 1)(q, v))(q), np.zeros((2, 2)))

    def hamiltonian(q):
        (a, b), (c, d) = pa.hessian(L, 1)(q, np.zeros(2))
        slope = pa.grad(L, 1)(q, np.zeros(2))
        r = p - slope
        v = pa.stack([d * r[0] - b * r[1], a * r[1] - c * r[0]]) / (a * d - b * c)
        return pa.dot(p, v) - L(q, v)

    close(pa.grad(hamiltonian)(q), [0, 9.8])


def test_gradient_of_a_squared_gradient_a10():
    inner = lambda v: pa.sum(pa.grad(lambda w: w[0] ** 2)(v) ** 2)
    for gradient in (forward, reverse):
        close(gradient(inner, np.array([1.0])), [8])


def test_forward_over_reverse_a12():
    x = np.array([1.0, 2.0, 3.0])
    close(pa.jvp(pa.grad(lambda x: pa.sum(x**2)), (x,), (np.array([1.0, 0.0, 0.0]),))[1], [2, 0, 0])


def test_aux_holds_plain_numbers_a14():
    slope, aux = pa.grad(lambda x: (x**2, {"a": x, "b": x + 1}), has_aux=True)(3.0)
    assert slope == 6 and aux == {"a": 3, "b": 4}
    assert all(isinstance(v, np.floating) for v in aux.values())


@pytest.mark.parametrize("d", [pa.derivative, pa.grad])
def test_derivative_of_functions_to_functions_a16(d):
    s = lambda u: lambda f: lambda x: f(x + u)
    along = d(s)(0.0)  # maps a function to its derivative
    close(along(along(pa.exp))(1.0), np.e)
    close(along(along(along(lambda x: x**5)))(2.0), 240)


# ---------------------------------------------------------------------- further derivatives, lanes, control flow
def test_absolute_value_of_complex_c14():
    for z, right in ((0j, 0), (3 + 4j, (3 - 4j) / 5)):
        close(pa.grad(lambda z: pa.sum(pa.abs(z)))(np.array([z])), [right])
        close(pa.grad(abs)(z), right)
        close(pa.jvp(abs, (z,), (1 + 0j,))[1] - 1j * pa.jvp(abs, (z,), (1j,))[1], right)


@pytest.mark.parametrize("outer", [pa.derivative, pa.grad])
@pytest.mark.parametrize("inner", [pa.derivative, pa.grad])
def test_second_derivatives_of_power_c16(outer, inner):
    by_y = lambda x, y: inner(lambda y: x**y)(y)
    close(outer(lambda x: by_y(x, 0.0))(4.0), 0.25)
    close(outer(lambda y: inner(lambda x: x**y)(4.0))(0.0), 0.25)
    close(outer(lambda y: by_y(4.0, y))(0.0), np.log(4) ** 2)


@pytest.mark.parametrize("form", [lambda f: f, pa.jit])
def test_overflow_below_a_logarithm_c36(form):
    """log(exp(x)) past the largest float32, where the slope 1 is lost: by reverse mode 0, not NaN. Forward mode has inf * 0."""
    with np.errstate(over="ignore"):
        found = form(pa.grad(lambda x: pa.log(pa.exp(x))))(np.float32(89))
    assert found == 0 and found.dtype == np.float32


def test_value_of_the_taken_columns_d2():
    assert columns_taken(1.0) == 30.0


def test_value_and_gradient_agree_on_a_clipped_row_d4():
    def f(x):
        n = x.shape[0]
        row = int(np.clip(-(n + 3), 0, n - 1))
        return pa.sum(x[row])

    x = np.arange(6.0).reshape(3, 2)
    value, gradient = pa.value_and_grad(f)(x)
    assert value == f(x) == 1
    close(gradient, [[1, 1], [0, 0], [0, 0]])


def test_shared_number_over_lanes_d12():
    logaddexp = lambda a, b: pa.log(pa.exp(a) + pa.exp(b))
    y = np.ones((3, 2))
    f = lambda z: pa.sum(pa.vmap(lambda row: logaddexp(z, pa.sum(row) + z))(y))
    for gradient in (forward, reverse):
        found = gradient(f, 0.1)
        assert np.shape(found) == ()
        close(found, 3.0)


def test_holomorphic_identity_has_no_gradient_e14():
    with pytest.raises(pa.DTypeError, match="one real number"):
        pa.value_and_grad(lambda z: z)(1j)


def test_jacrev_of_a_real_function_of_complex_is_grad_e16():
    z = np.array([1 + 2j, -0.5j, 0.3])
    f = lambda z: pa.sum(pa.abs(z) ** 2 * pa.real(z))
    right = 3 * z.real**2 + z.imag**2 - 2j * z.real * z.imag  # ∂x - i ∂y of x³ + x y²
    for found in (pa.grad(f)(z), pa.jacrev(f)(z), pa.jacfwd(f)(z)):
        close(found, right)


@pytest.mark.parametrize("x", [3, np.arange(3), True, np.array([True])])
def test_integer_arguments_e18(x):
    with pytest.raises(pa.DTypeError, match="argument 0.*no derivative"):
        pa.grad(lambda x: pa.sum(x * 1.0))(x)
    _, pullback = pa.vjp(lambda x: x * 1.0, x)
    assert pullback(np.ones(np.shape(x)))[0] is pa.NoTangent


def test_jacobian_in_lanes_f2():
    norm = lambda x: pa.sqrt(pa.sum(x**2))
    rows = np.array([[3.0, 4.0, 0.0], [1.0, 0.0, 0.0]])
    for jacobian in (pa.jacfwd, pa.jacrev, pa.grad):
        close(pa.vmap(jacobian(norm))(rows), [[0.6, 0.8, 0], [1, 0, 0]])


@pytest.mark.parametrize("size", [3, 4])
def test_trip_counts_differ_between_lanes_f8(size):
    def add_ones(x, n):
        for _ in range(n):
            x = x + 1.0
        return x

    xs, ns = np.arange(3.0), np.arange(size)
    table = pa.vmap(lambda x: pa.vmap(lambda n: add_ones(x, n))(ns))(xs)
    close(table, xs[:, None] + ns)
    swapped = pa.vmap(lambda n: pa.vmap(lambda x: add_ones(x, n))(xs))(ns)
    close(swapped, table.T)
    close(pa.grad(lambda x: pa.sum(pa.vmap(lambda n: add_ones(x, n))(ns)))(1.0), size)


def test_array_made_of_a_list_f12():
    for jacobian in (pa.jacfwd, pa.jacrev):
        close(jacobian(lambda x: pa.array(list(x)))(np.ones((5, 1))), np.eye(5).reshape(5, 1, 5, 1))


def test_value_of_the_loop_g4():
    close(ten_minus_sines(0.5), 0.36609904, rtol=1e-7)
    close(pa.jacfwd(ten_minus_sines)(0.5), 0.38268762, rtol=1e-7)


def test_while_g6():
    def f(a, b):
        while b < 10:
            a, b = 7.0 * a / a, b + 1
        return a, b

    assert f(33.0, 4.0) == (7, 10)
    (_, b), (da, db) = pa.jvp(f, (33.0, 4.0), (1.0, 1.0))
    assert b == 10 and abs(da) < 1e-15 and db == 1


def test_map_over_nothing_g8():
    found = pa.vmap(lambda x: x * x)(np.zeros(0))
    assert found.shape == (0,) and found.dtype == float
    assert pa.grad(lambda x: pa.sum(pa.vmap(lambda x: x * x)(x)))(np.zeros(0)).shape == (0,)


@modes
def test_recursion_g10(gradient):
    assert factorial(1.0, 3.0) == 6
    close(gradient(lambda x: x * (x - 1), 3.0), 5)


def test_each_step_runs_once_g12():
    calls = []

    def f(x):
        for i in range(5):
            calls.append(i)
            x = x * 2.0
        return x

    pa.grad(f)(1.0)
    assert calls == [0, 1, 2, 3, 4]
    pa.jvp(f, (1.0,), (1.0,))
    assert calls == [0, 1, 2, 3, 4] * 2


def test_same_function_twice_g16():
    f = lambda x: pa.sin(x) * x
    first, second = pa.jvp(f, (2.0,), (1.0,)), pa.jvp(f, (2.0,), (1.0,))
    assert first == second and pa.grad(f)(2.0) == pa.grad(f)(2.0)


def test_two_loops_one_over_the_others_results_g18(rng):
    w, u, xs = rng.standard_normal((2, 2)), rng.standard_normal((2, 2)), rng.standard_normal((4, 2))

    def f(w, u):
        h, hs, g = np.zeros(2), [], np.zeros(2)
        for x in xs:
            h = pa.tanh(w @ h + x)
            hs.append(h)
        for h in hs:
            g = pa.tanh(u @ g + h)
        return pa.sum(g)

    found = pa.grad(f, (0, 1))(w, u)
    for n in range(2):
        for place in np.ndindex(2, 2):
            step = np.zeros((2, 2))
            step[place] = 1e-6
            moved = lambda s, n=n, step=step: f(*[v + s * step if k == n else v for k, v in enumerate((w, u))])
            close(found[n][place], (moved(1) - moved(-1)) / 2e-6, rtol=1e-6, atol=1e-9)
