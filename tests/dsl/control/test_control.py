"""Control flow: what is an error, what happens once, and other transformations."""

import numpy as np
import pytest
from ways import forms

import polyad as pa
from polyad.dsl.ir.programs import check

close = np.testing.assert_allclose

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
