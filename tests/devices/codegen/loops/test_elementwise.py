"""C expressions of elementwise cards against the operations' own kernels, on special values, in every dtype."""

import inspect
import warnings

import numpy as np
import pytest

import polyad as pa
from polyad.devices import compilers
from polyad.devices.codegen.plan.plan import lowerable
from polyad.dsl import compile_program, operations

pytestmark = pytest.mark.optimized

REALS = "?bhilBHILfd"
AS_USERS = "?bLfdD"  # compiled as users have them; the others, of the same widths, with -O1 in half the time
# exact by IEEE 754 or by definition; every other function is libm's, libmvec's or SciPy's
ROUNDED_ONCE = {
    "add", "subtract", "multiply", "divide", "negative", "positive", "square", "reciprocal", "sqrt", "abs", "fabs", "sign",
    "floor", "ceil", "trunc", "rint", "maximum", "minimum", "fmax", "fmin", "equal", "not_equal", "less", "less_equal",
    "greater", "greater_equal", "logical_and", "logical_or", "logical_xor", "logical_not", "isnan", "isinf", "isfinite",
    "signbit", "copysign", "nextafter", "fmod", "remainder", "floor_divide", "heaviside", "ldexp", "gcd", "lcm",
    "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_invert", "bitwise_left_shift", "bitwise_right_shift", "where",
    "real", "imag", "conj", "stop_gradient",
}  # fmt: skip
LOOSE = {"gamma": 1e-13, "gammaln": 1e-13, "logaddexp": 1e-15, "logaddexp2": 1e-15}  # relative, beside 4 units
ULPS = 4
elementwise = {name: op for name, op in operations.items() if op.card.kind == "elementwise" and op.card.c}


def special_values(dtype):
    """Numbers at which mistakes show, of a dtype."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        values = [0, 1, 2, 3, 7, 31, 100, info.max, info.max - 1]
        return np.array(values + ([-1, -2, -7, -100, info.min, info.min + 1] if dtype.kind == "i" else []), dtype)
    tiny = np.finfo(dtype)
    values = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.7, 10.0, 80.0, 1e-3, 1e-8, 1e10, 0.1, np.pi, np.inf, tiny.max, tiny.tiny,
              tiny.smallest_subnormal]  # fmt: skip
    real = np.array([*values, *[-v for v in values], np.nan], dtype if dtype.kind == "f" else tiny.dtype)
    if dtype.kind == "f":
        return real
    calm = np.array([0.0, 0.5, 1.0, -1.0, -2.5, 3.0], real.dtype)
    return (calm[:, None] + 1j * calm).reshape(-1).astype(dtype)


def arguments(op, dtype):
    """Every pair (or triple) of special values."""
    count = len(op.generic.arrays)
    values = special_values(dtype)
    if count == 1:
        return [values]
    grids = np.meshgrid(*[values] * min(count, 2), indexing="ij")
    xs = [g.reshape(-1) for g in grids]
    return xs + [xs[0][::-1].copy()] * (count - 2)


def programs(dtype):
    """name -> (program of one equation, arguments), for operations that have C in this dtype."""
    found = {}
    for name, op in elementwise.items():
        xs = arguments(op, dtype)
        if name in ("masked_product", "expit", "bell") and np.dtype(dtype).kind in "biu":
            continue  # of numbers only
        if name == "where":
            xs[0] = xs[0] != 0
        if name == "ldexp":
            xs[1] = (np.arange(xs[1].size) % 50 - 25).astype(np.int32)
        params = {"dtype": np.dtype("float32")} if name == "astype" else {}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                program = pa.make_ir(lambda *xs, op=op, params=params: op(*xs, **params))(*xs)
        except (TypeError, ValueError, pa.PolyadError):
            continue  # not defined for this dtype
        if len(program.equations) == 1 and lowerable(program.equations[0]):
            found[name] = (program, xs)
    return found


def units_apart(a, b):
    """How many floating numbers lie between, 0 for two NaN."""
    spacing = np.spacing(np.maximum(np.abs(b), np.finfo(b.dtype).tiny))
    with np.errstate(all="ignore"):
        apart = np.abs(a - b) / spacing
    return np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, apart)


def parts(x):
    return (x.real, x.imag) if x.dtype.kind == "c" else (x,)


def compiled(dtype, cpu, monkeypatch):
    """(name, arguments, result, what the kernel gives) of all operations of a dtype, in one program."""
    if dtype not in AS_USERS:
        monkeypatch.setattr(compilers, "STRICT", ("-O1", *compilers.STRICT[1:]))
    chosen = programs(np.dtype(dtype))
    flat = [x for _, xs in chosen.values() for x in xs]

    def everything(*flat):
        left = iter(flat)
        return [operation(name, [next(left) for _ in xs]) for name, (_, xs) in chosen.items()]

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = compile_program(pa.make_ir(everything)(*flat), cpu)(*flat)
        wanted = [np.asarray(operation(name, xs)) for name, (_, xs) in chosen.items()]
    return list(zip(chosen, [xs for _, xs in chosen.values()], results, wanted, strict=True))


@pytest.mark.parametrize("dtype", REALS)
def test_special_values(dtype, cpu, monkeypatch):
    """C against the kernels."""
    made = compiled(dtype, cpu, monkeypatch)
    assert len(made) > (25 if np.dtype(dtype).kind in "biu" else 60)
    with np.errstate(all="ignore"):
        for name, xs, found, wanted in made:
            check(name, found, wanted, xs)


def operation(name, xs):
    return elementwise[name](*xs, **({"dtype": np.dtype("float32")} if name == "astype" else {}))


def check(name, found, wanted, xs):
    assert found.dtype == wanted.dtype and found.shape == wanted.shape, name
    if wanted.dtype.kind in "biu":
        defined = np.ones(wanted.shape, bool)
        np.testing.assert_array_equal(found[defined], wanted[defined], err_msg=name)
        return
    for a, b in zip(parts(found), parts(wanted)):
        apart = units_apart(a, b)
        close = apart <= (0 if name in ROUNDED_ONCE else ULPS)
        if name in LOOSE:
            close |= np.isclose(a, b, rtol=LOOSE[name] * (2**29 if a.dtype == np.float32 else 1), atol=1e-300)
        worst = np.argmin(close)
        assert close.all(), f"{name}{[x.reshape(-1)[worst] for x in xs]}: {a[worst]!r}, not {b[worst]!r}"
        if name in ROUNDED_ONCE - {"maximum", "minimum", "fmax", "fmin"}:
            same = np.signbit(a) == np.signbit(b)
            assert (same | np.isnan(b)).all(), f"{name}: signs of zero"


@pytest.mark.parametrize("dtype", "FD")
def test_complex_numbers(dtype, cpu, monkeypatch):
    made = compiled(dtype, cpu, monkeypatch)
    assert len(made) > 25
    for name, _, found, wanted in made:
        assert found.dtype == wanted.dtype
        defined = np.isfinite(wanted) if wanted.dtype.kind == "c" else np.ones(wanted.shape, bool)
        tolerance = 4e-15 if dtype == "D" else 2e-6
        np.testing.assert_allclose(found[defined], wanted[defined], rtol=tolerance, atol=tolerance, err_msg=name)


def test_every_card_has_an_expression_or_none_can_be():
    """Elementwise operations without C are those that no C library has."""
    without = {name for name, op in operations.items() if op.card.kind == "elementwise" and not op.card.c}
    assert "gammainc_da" in without and not without & (ROUNDED_ONCE | {"exp", "tanh", "erf"})
    for op in elementwise.values():
        texts = op.card.c.values() if isinstance(op.card.c, dict) else [op.card.c]
        assert all(f"{{{len(op.generic.arrays)}}}" not in text for text in texts)
        assert inspect.getdoc(op)


mixed = [("i", "d"), ("b", "f"), ("?", "l"), ("B", "b"), ("f", "d"), ("L", "f"), ("l", "F")]


@pytest.mark.parametrize(("left", "right"), mixed)
def test_promotion(left, right, cpu):
    x, y = special_values(left)[:6], special_values(right)[:6]
    n = min(x.size, y.size)

    def f(x, y):
        return [x + y, x * y, x == y, pa.where(x != 0, x, y), x + 2, y * 1.5, pa.astype(x, np.dtype("h"))]

    program = pa.make_ir(f)(x[:n], y[:n])
    for a, b in zip(compile_program(program, cpu)(x[:n], y[:n]), f(x[:n], y[:n]), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def test_contraction_is_off(cpu):
    rng = np.random.default_rng(0)
    a = rng.normal(size=1000)
    program = pa.make_ir(lambda a, b: a * a - b * b)(a, a)
    assert not compile_program(program, cpu)(a, a)[0].any()
