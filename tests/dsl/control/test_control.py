"""Control flow: what is an error, what Python numbers become, what happens once, and bug reports of other libraries."""

import numpy as np
import pytest

import polyad as pa
from polyad.dsl.ir.programs import check

close = np.testing.assert_allclose


def eagerly(f):
    return f


def traced(f):
    return lambda *args: pa.make_ir(f)(*args)(*args)


def in_lanes(f):
    """As one of two equal lanes."""
    first = lambda y: y[0]
    return lambda *args: pa.tree.map(first, pa.vmap(f)(*[np.stack([x, x]) for x in args]))


def in_a_trace_of_lanes(f):
    return in_lanes(lambda *args: pa.make_ir(f)(*args)(*args))


forms = pytest.mark.parametrize("form", [eagerly, traced, in_lanes, in_a_trace_of_lanes])
x64, x32 = np.arange(3.0), np.arange(3, dtype=np.float32)


# ---------------------------------------------------------------------- errors are the same in every form
@forms
@pytest.mark.parametrize(("f", "error", "text"), [
    (lambda x: pa.scan(lambda c, _: (pa.concatenate([c, c]), None), x, length=2), pa.StructureError,
     "scan: the carry itself is float64[3] before a step and float64[6] after it; shapes and dtypes must stay"),
    (lambda x: pa.scan(lambda c, _: ({"a": c["a"], "b": c["b"][:2]}, None), {"a": x, "b": x}, length=2), pa.StructureError,
     "scan: the carry['b'] is float64[3] before a step and float64[2] after it"),
    (lambda x: pa.fori_loop(0, 2, lambda i, c: (c[0], c[1] * 1j), (x, x)), pa.StructureError,
     "fori_loop: the carry[1] is float64[3] before a step and complex128[3] after it"),
    (lambda x: pa.fori_loop(0, 2, lambda i, c: c * 0.5, pa.astype(x, int)), pa.StructureError,
     "fori_loop: the carry itself is int64[3] before a step and float64[3] after it"),
    (lambda x: pa.fori_loop(0, 2, lambda i, c: c + x, 0.0), pa.StructureError,
     "fori_loop: the carry itself is float64[] before a step and float64[3] after it"),
    (lambda x: pa.while_loop(lambda c: c[1] < 2, lambda c: (c[0] * np.float32(2), 1.5), (x, np.int64(0))), pa.StructureError,
     "while_loop: the carry[1] is int64[] before a step and float64[] after it"),
    (lambda x: pa.scan(lambda c, _: ((c, c), None), x, length=2), pa.StructureError,
     "scan: f must return what the loop carries, *, not (*, *)"),
    (lambda x: pa.while_loop(lambda c: c["i"] < 2, lambda c: c["i"], {"i": 0}), pa.StructureError,
     "while_loop: body_fun must return what the loop carries, {'i': *}, not *"),
    (lambda x: pa.scan(lambda c, r: c, x, x), pa.StructureError, "scan: f must return (carry, output), not "),
    (lambda x: pa.scan(lambda c, r: ("s", r), x, x), pa.DTypeError, "scan: f returned str for the carry, no array of numbers"),
    (lambda x: pa.scan(lambda c, r: (c, r), "s", x), pa.DTypeError, "scan: the first carry is str, no array of numbers"),
    (lambda x: pa.while_loop(lambda c: c > 0, lambda c: c - 1, x), pa.ShapeError, "cond_fun must return one boolean, not "),
    (lambda x: pa.while_loop(lambda c: c[0], lambda c: c - 1, x), pa.DTypeError, "cond_fun must return a boolean, not "),
    (lambda x: pa.scan(lambda c, r: (c, r), x, x, length=2), pa.ShapeError, "xs and length say 2 and 3 for the number"),
    (lambda x: pa.scan(lambda c, r: (c, r), x), pa.ShapeError, "nothing says the number of steps"),
    (lambda x: pa.scan(lambda c, r: (c, r), x, x[0]), pa.ShapeError, "xs has no axis of steps"),
    (lambda x: pa.scan(lambda c, r: (c, r), x, length=-1), pa.ShapeError, "an integer of at least 0, not -1"),
    (lambda x: pa.scan(lambda c, r: (c, r), x, length=2.5), pa.ShapeError, "an integer of at least 0, not 2.5"),
    (lambda x: pa.fori_loop(0, 2.0, lambda i, c: c, x), pa.DTypeError, "fori_loop: the bounds are integers, not float"),
    (lambda x: pa.switch(0, [], x), pa.ShapeError, "switch: there is no branch"),
    (lambda x: pa.switch(0.5, [lambda x: x], x), pa.DTypeError, "switch: the choice is by an integer"),
    (lambda x: pa.cond(x > 0, lambda: x, lambda: x), pa.ShapeError, "cond: the choice is by one number"),
    (lambda x: pa.associative_scan(lambda a, b: a[:1], pa.stack([x] * 5)), pa.ShapeError, "f returns shape [1, 3] for [2, 3]"),
    (lambda x: pa.associative_scan(lambda a, b: (a, b), x), pa.StructureError, "f must return what it is given"),
    (lambda x: pa.associative_scan(lambda a, b: a, (x, x[:2])), pa.ShapeError, "the lengths along axis 0 differ: [2, 3]"),
])  # fmt: skip
def test_errors(form, f, error, text):
    with pytest.raises(error) as info:
        form(f)(x64)
    assert text in str(info.value), info.value


@pytest.mark.parametrize(("f", "text"), [
    (lambda x: pa.cond(x[0] > 0, lambda: (x, x), lambda: x), "cond: its functions return different structures: * and (*, *)"),
    (lambda x: pa.cond(x[0] > 0, lambda: x, lambda: pa.astype(x, np.float32)),
     "cond: its functions return float32[3] and float64[3] for the result itself; shapes and dtypes must agree"),
    (lambda x: pa.cond(x[0] > 0, lambda: {"a": x}, lambda: {"a": 1.0}), "and a number (float) for the result['a']"),
    (lambda x: pa.switch(pa.astype(x[0], int), [lambda: 1, lambda: 2.5, lambda: pa.astype(x[0], int)]), "a number (float)"),
])  # fmt: skip
def test_branches_that_differ(f, text):
    with pytest.raises(pa.StructureError) as info:
        pa.make_ir(f)(x64)
    assert text in str(info.value), info.value


# ---------------------------------------------------------------------- numbers follow dtypes
def shown(y):
    return pa.tree.map(lambda y: (y.dtype.type if hasattr(y, "dtype") else np.asarray(y).dtype.type, np.asarray(y).tolist()), y)


@forms
@pytest.mark.parametrize(("f", "x", "right"), [
    (lambda x: pa.fori_loop(0, 3, lambda i, c: c + x[1], 0.0), x32, (np.float32, 3.0)),
    (lambda x: pa.fori_loop(0, 3, lambda i, c: c + x[1], 0), x32, (np.float32, 3.0)),
    (lambda x: pa.fori_loop(0, 3, lambda i, c: c + i * x, x), x32, (np.float32, [0, 4, 8])),  # the counter is a number
    (lambda x: pa.fori_loop(0, 2, lambda i, c: 1.5, x[0]), x32, (np.float32, 1.5)),  # what returns one stays an array
    (lambda x: x * pa.while_loop(lambda s: s < 3, lambda s: s + 1, 0), x32, (np.float32, [0, 3, 6])),  # a number to the end
    (lambda x: x * pa.fori_loop(0, 3, lambda i, c: c * 0.5, 1), x32, (np.float32, [0, 0.125, 0.25])),
    (lambda x: pa.scan(lambda c, r: (c + r, c), 0, x)[0], x32, (np.float32, 3.0)),
    (lambda x: pa.scan(lambda c, r: (c, 1), 0, x)[1], x32, (np.int64, [1, 1, 1])),
    (lambda x: pa.scan(lambda c, r: ((c[0] + r, c[1] + c[0], c[2] + c[1]), None), (0.0, 0.0, 0.0), x)[0],
     np.ones(5, np.float16), ((np.float16, 5), (np.float16, 10), (np.float16, 10))),  # jax-ml/jax#9046
    (lambda x: pa.cond(x[1] > 0, lambda: x[1], lambda: 1), x32, (np.float32, 1)),
    (lambda x: pa.cond(x[1] > 0, lambda c: c * x, lambda c: x, 2.0), x32, (np.float32, [0, 2, 4])),  # an operand
    (lambda x: pa.fori_loop(0, 3, lambda i, s: s & (x[0] > 5), True), x32, (np.bool_, False)),
])  # fmt: skip
def test_numbers(form, f, x, right):
    found = shown(form(f)(x))
    assert found == right


@pytest.mark.parametrize("form", [eagerly, traced])
def test_numbers_of_branches(form):
    assert shown(form(lambda x: x * pa.cond(x[0] > 0, lambda: 1, lambda: 2.5))(x32)) == (np.float32, [0, 2.5, 5])


def test_no_step():
    for form in (eagerly, traced):
        carry, ys = form(lambda x: pa.scan(lambda c, r: (c * r, (r, c)), x, pa.zeros((0, 3))))(x64)
        close(carry, x64)
        assert [y.shape for y in ys] == [(0, 3), (0, 3)]
        close(form(lambda x: pa.fori_loop(2, 2, lambda i, c: c * 2, x))(x64), x64)
        close(form(lambda x: pa.fori_loop(5, 2, lambda i, c: c * 2, x))(x64), x64)
        assert form(lambda x: pa.associative_scan(pa.add, x))(x64[:0]).shape == (0,)
        close(form(pa.grad(lambda x: pa.sum(pa.scan(lambda c, r: (c * r, c), x, pa.zeros((0, 3)))[0] ** 2)))(x64), 2 * x64)
    assert pa.fori_loop(0, 0, lambda i, c: c + 1, 7) == 7 and pa.scan(lambda c, r: (c + r, None), 7, x64[:0])[0] == 7


# ---------------------------------------------------------------------- effects
def printed(capsys, f, *args):
    capsys.readouterr()
    f(*args)
    return capsys.readouterr().out.split()


def say(text, x, y=None):
    pa.debug_print(text + "{:g}", x)
    return x if y is None else y


def summed(x):
    return pa.scan(lambda c, r: (say("s", r, c + r), None), 0.0, x)[0]


def chosen(x):
    return pa.cond(x > 2, lambda: say("yes", x), lambda: say("no", x, 2 * x))


def doubled(x):
    return pa.while_loop(lambda x: x < 8, lambda x: say("w", x, 2 * x), x)


def asked(x):
    return pa.while_loop(lambda x: say("t", x, x < 8), lambda x: 2 * x, x)


def nested(x):
    return pa.fori_loop(0, 2, lambda i, y: pa.cond(y > 2, lambda: say("big", y), lambda: say("small", y, y + 2)), x)


@pytest.mark.parametrize(("f", "args", "right"), [
    (summed, (np.array([1.0, 2, 3]),), "s1 s2 s3"),
    (pa.grad(summed), (np.array([1.0, 2, 3]),), "s1 s2 s3"),
    (pa.hessian(summed), (np.array([1.0, 2, 3]),), "s1 s2 s3"),
    (pa.vmap(summed), (np.array([[1.0, 2], [5, 6]]),), "s1 s5 s2 s6"),
    (pa.vmap(pa.grad(summed)), (np.array([[1.0, 2], [5, 6]]),), "s1 s5 s2 s6"),
    (chosen, (3.0,), "yes3"),
    (chosen, (1.0,), "no1"),
    (pa.grad(chosen), (1.0,), "no1"),
    (pa.vmap(chosen), (np.array([1.0, 2, 3]),), "no1 no2 yes3"),
    (pa.grad(lambda x: pa.sum(pa.vmap(chosen)(x))), (np.array([1.0, 3]),), "no1 yes3"),
    (doubled, (1.0,), "w1 w2 w4"),
    (pa.jacfwd(doubled), (1.0,), "w1 w2 w4"),
    (pa.vmap(doubled), (np.array([1.0, 5, 9]),), "w1 w2 w4 w5"),
    (pa.vmap(pa.grad(doubled)), (np.array([1.0, 5, 9]),), "w1 w2 w4 w5"),
    (asked, (2.0,), "t2 t4 t8"),
    (pa.grad(asked), (2.0,), "t2 t4 t8"),
    (nested, (1.0,), "small1 big3"),
    (pa.vmap(nested), (np.array([1.0, 3]),), "small1 big3 big3 big3"),
    (lambda x: (chosen(x), 1.0)[1], (1.0,), "no1"),  # an effect whose result nobody uses
])  # fmt: skip
def test_effects_happen_once_in_order(f, args, right, capsys):
    assert printed(capsys, f, *args) == right.split()
    assert printed(capsys, pa.make_ir(f), *args) == []  # not while tracing
    program = pa.make_ir(f)(*args)
    assert printed(capsys, program, *args) == right.split()


def test_effects_of_conditions_in_lanes(capsys):
    for form in (eagerly, traced):
        assert sorted(printed(capsys, form(pa.vmap(asked)), np.array([2.0, 9]))) == ["t2", "t4", "t8", "t9"]


# ---------------------------------------------------------------------- reports of other libraries
@forms
def test_branch_not_taken_is_safe(form):  # jax-ml/jax#5658, #9159
    def normalized(x):
        zero = pa.all(pa.abs(x) < 1e-8)
        return pa.cond(zero, lambda x: pa.zeros_like(x), lambda x: x / pa.sqrt(pa.sum(x * x)), x)

    slope = pa.grad(lambda x: pa.sum(normalized(x)))
    close(form(slope)(np.zeros(3)), np.zeros(3))
    mixed = np.array([[0.0, 0, 0], [3.0, 0, 4]])
    right = np.stack([slope(row) for row in mixed])
    close(pa.vmap(slope)(mixed), right)
    close(traced(pa.vmap(slope))(mixed), right)
    close(traced(pa.grad(lambda x: pa.sum(pa.vmap(normalized)(x))))(mixed), right)


def test_branch_that_would_not_end_for_other_lanes():  # jax-ml/jax#2947
    shrink = lambda going: lambda x: pa.while_loop(going, lambda x: x * 0.1, x)
    f = lambda x: pa.cond(x >= 0, shrink(lambda y: (y <= 0) | (y > 1e-6)), shrink(lambda y: y < -1e-6), x)
    xs = np.array([0.5, -0.3, 2.0, -4.0])
    right = np.array([f(x) for x in xs])
    close(pa.vmap(f)(xs), right)
    close(traced(pa.vmap(f))(xs), right)
    close(traced(pa.vmap(pa.grad(f)))(xs), right / xs)


@forms
def test_slope_by_the_inputs(form):  # jax-ml/jax#753
    f = lambda x0, a, ns: pa.scan(lambda x, n: (x + a * n, x + a * n), x0, ns)[1]
    ns = np.arange(5.0)
    close(form(lambda ns: pa.jacrev(lambda ns: f(0.0, 1.0, ns))(ns))(ns), np.tril(np.ones((5, 5))))
    close(form(lambda ns: pa.jacfwd(lambda ns: f(0.0, 1.0, ns))(ns))(ns), np.tril(np.ones((5, 5))))


@forms
def test_results_that_nobody_uses(form):  # jax-ml/jax#1082
    def loss(p):
        step = lambda c, _: ({k: v + c["a"] for k, v in c.items()}, np.zeros(()))
        carry, _ = pa.scan(step, {"a": p, "b": np.zeros(())}, np.array([1, 2]))
        return carry["a"] * p

    close(form(pa.grad(loss))(np.float64(3.0)), 24.0)
    close(pa.grad(form(loss))(np.float64(3.0)), 24.0)


@forms
def test_carry_of_nothing(form):  # jax-ml/jax#1533
    carry, ys = form(lambda xs: pa.scan(lambda c, x: (None, x * 2), None, xs))(x64)
    assert carry is None
    close(ys, 2 * x64)
    assert form(lambda xs: pa.scan(lambda c, x: ((), None), (), xs))(x64) == ((), None)


@pytest.mark.parametrize("size", [2, 3])
def test_two_maps_over_a_loop(size):  # jax-ml/jax#2960, #3164
    count = lambda x, n: pa.fori_loop(0, n, lambda i, x: x + 1, x)
    xs, ns = np.arange(3.0), np.arange(size)
    table = pa.vmap(lambda x: pa.vmap(lambda n: count(x, n))(ns))
    close(table(xs), xs[:, None] + ns)
    close(traced(table)(xs), xs[:, None] + ns)


def test_collective_over_one_of_two_axes():  # jax-ml/jax#7063
    def f(x):
        z, y = x + pa.axis_index("a"), x + pa.axis_index("b")
        return pa.while_loop(lambda s: s[1] < 5, lambda s: (s[0] + 1, s[1] + pa.psum(y, "b")), (0, z))[1]

    both = lambda x: pa.vmap(lambda _: pa.vmap(lambda _: f(x), axis_name="b")(np.arange(3)), axis_name="a")(np.arange(2))
    right = np.array([[1 + a + 6 * (1 if 1 + a < 5 else 0)] * 3 for a in range(2)])
    close(both(1.0), right)
    close(traced(both)(1.0), right)


def test_collective_where_lanes_part():
    f = lambda x: pa.while_loop(lambda x: x < 3, lambda x: x + pa.psum(x, "i"), x)
    with pytest.raises(pa.LaneSplitError, match="over their axis 'i'|only lanes"):
        pa.vmap(f, axis_name="i")(np.array([1.0, 9.0]))
    with pytest.raises(pa.LaneSplitError, match="a collective over their axis 'i'"):
        traced(pa.vmap(f, axis_name="i"))(np.array([1.0, 9.0]))


@forms
def test_counting_loop_within_a_choice(form):  # google/flax#4709
    f = lambda flag, x: pa.cond(flag < 2, lambda x: pa.fori_loop(0, 3, lambda i, v: v * 0.5 + i, x), lambda x: 0.0 * x, x)
    flags, xs = np.arange(4), np.arange(4.0)
    right = [f(a, b) for a, b in zip(flags, xs, strict=True)]
    close(pa.vmap(f)(flags, xs), right)
    close(traced(pa.vmap(f))(flags, xs), right)
    close([form(f)(a, b) for a, b in zip(flags, xs, strict=True)], right)


@forms
def test_closure_over_followed_values(form):  # jax-ml/jax#9567
    f = lambda x: pa.scan(lambda y, _: (y * x, None), 1.0, length=3)[0]
    close(form(pa.grad(f))(2.0), 12.0)
    close(form(lambda x: pa.jvp(f, (x,), (1.0,))[1])(2.0), 12.0)


def test_functions_made_by_the_same_code():
    """Not to be taken for recursion."""
    clipped = lambda f: lambda x: pa.cond(x > 0, lambda: f(x), lambda: 0.0 * x)
    f = clipped(clipped(clipped(pa.sin)))
    for x in (1.3, -0.2):
        close(traced(f)(x), f(x))
        close(traced(pa.grad(f))(x), pa.grad(f)(x))

    def halves(x):
        half = len(x) // 2
        return x[0] if not half else pa.cond(x[0] > 0, lambda: halves(x[:half]), lambda: halves(x[half:]))

    xs = np.array([1.0, -2, 3, 4, -5, 6, 7, 8])
    close(traced(halves)(xs), halves(xs))


def test_recursion_without_end_in_a_trace():
    f = lambda x: pa.cond(x <= 1, lambda x: x, lambda x: f(x - 1), x)
    g = lambda x, n=0: pa.cond(x <= 1, lambda x: x, lambda x: g(x - 1, n + 1), x)  # never twice the same
    for h in (f, g):
        assert h(5.0) == 1
        close(pa.vmap(h)(np.array([5.0, 2.5])), [1, 0.5])
        with pytest.raises(pa.ConcreteValueError, match="calls the function around it.*put polyad.jit on that function"):
            pa.make_ir(h)(5.0)


# ---------------------------------------------------------------------- associative_scan
@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 8, 13])
@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scan(n, reverse, rng):
    a, b = rng.standard_normal((2, n, 3))
    affine = lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1])  # not commutative
    fa, fb = pa.associative_scan(affine, (a, b), reverse=reverse)
    order = range(n)[:: -1 if reverse else 1]
    total = None
    for i in order:
        total = (a[i], b[i]) if total is None else affine(total, (a[i], b[i]))
        close(fa[i], total[0])
        close(fb[i], total[1])
    m = rng.standard_normal((n, 2, 2)) * 0.5
    products = pa.associative_scan(pa.matmul, m)
    close(products[-1], np.linalg.multi_dot([*m, np.eye(2)]) if n > 1 else m[0])
    along = pa.associative_scan(pa.add, a, reverse=reverse, axis=1)
    close(along, np.cumsum(a[:, ::-1], axis=1)[:, ::-1] if reverse else np.cumsum(a, axis=1))


# ---------------------------------------------------------------------- other transformations
def rolled(x):
    y = pa.scan(lambda c, r: (pa.sin(c * r), c), x[0], x)[0]
    z = pa.while_loop(lambda s: s[1] < 3, lambda s: (s[0] * x[1] + y, s[1] + 1), (x[2], 0))[0]
    return pa.cond(x[0] > 0, lambda: y * z, lambda: y - z)


def unrolled(x):
    y, z = x[0], x[2]
    for r in range(3):
        y = pa.sin(y * x[r])
    for _ in range(3):
        z = z * x[1] + y
    return y * z if x[0] > 0 else y - z


@pytest.mark.parametrize("x", [np.array([0.7, -0.4, 1.1]), np.array([-0.7, 0.4, 1.1])])
def test_taylor_series_and_sparsity(x):
    along = lambda f: lambda t: f(x + t * np.array([1.0, 0.5, -0.2]))
    program = pa.make_ir(rolled)(x)
    for f in (rolled, program):
        for found, right in zip(pa.derivatives(along(f), 4)(0.3), pa.derivatives(along(unrolled), 4)(0.3), strict=True):
            close(found, right, rtol=1e-8)
        close(pa.sparse_hessian(f)(x).toarray(), pa.hessian(unrolled)(x), atol=1e-12)
        y, pushed = pa.linearize(f, x)
        close(pushed(x), pa.jvp(unrolled, (x,), (x,))[1])
    check(program)


def test_sparse_jacobian_of_a_scan(rng):
    x = rng.standard_normal(6)
    f = lambda x: pa.scan(lambda c, r: (r[0], pa.sin(r[0]) * r[1]), x[0], (x, 2 * x))[1]
    found = pa.sparse_jacobian(f)(x)
    close(found.toarray(), pa.jacobian(f)(x))
    assert found.nnz == 6


def test_jacobians_of_integers_and_trees():
    f = lambda x, n: pa.fori_loop(0, n["n"], lambda i, c: {"y": c["y"] * x, "k": c["k"] + i}, {"y": x * 0 + 1.0, "k": n["n"]})
    for form in (eagerly, traced):
        y, pull = pa.vjp(lambda x: form(f)(x, {"n": 3})["y"], 2.0)
        assert y == 8 and pull(1.0) == (12.0,)
        assert form(f)(2.0, {"n": 3})["k"] == 6
