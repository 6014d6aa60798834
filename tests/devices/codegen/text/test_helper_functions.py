"""Helper functions in C at their edges, against NumPy, Python's whole numbers and mpmath."""

import math

import mpmath
import numpy as np
import pytest

import polyad as pa
from polyad.devices.codegen.plan.plan import lowerable
from polyad.dsl import operations

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

INTEGERS = "bhilBHIL"


def compiled(cases):
    """Results by C of several functions, each with its arrays, in one program; nothing of it runs by itself."""
    counts = [len(xs) for _, *xs in cases]

    def f(*flat):
        left = iter(flat)
        return [op(*[next(left) for _ in range(n)]) for (op, *_), n in zip(cases, counts)]

    program = pa.make_ir(f)(*[x for _, *xs in cases for x in xs])
    run = pa.compile_program(program, pa.devices.Device("cpu"))
    found = run(*[x for _, *xs in cases for x in xs])
    assert len(run.sources) == 1 and not [e for e in program.equations if not lowerable(e)]
    return found


def grid(dtype):
    info = np.iinfo(dtype)
    values = [0, 1, 2, 3, 7, info.max - 1, info.max, *([-1, -2, -7, info.min, info.min + 1] if info.min else [])]
    a, b = np.meshgrid(np.array(values, dtype), np.array(values, dtype))
    return a.reshape(-1), b.reshape(-1)


def wrapped(n, dtype):
    """A whole number of Python's in a dtype, modulo a power of 2."""
    bits = 8 * np.dtype(dtype).itemsize
    n %= 1 << bits
    return n - (1 << bits) if np.dtype(dtype).kind == "i" and n >> bits - 1 else n


def test_whole_numbers():
    """Where C leaves it open (a divisor 0, the least number by -1, shifts by too many bits) the numbers are Python's, or 0."""
    cases, wanted = [], []
    exact = {
        "floor_divide": lambda a, b: a // b if b else 0,
        "remainder": lambda a, b: a % b if b else 0,
        "fmod": lambda a, b: int(math.copysign(abs(a) % abs(b), a)) if b and abs(a) < 2**53 and abs(b) < 2**53 else None,
        "gcd": math.gcd,
        "lcm": math.lcm,
        "bitwise_left_shift": lambda a, b: a << b if 0 <= b < 64 else 0 if b >= 64 else None,
        "bitwise_right_shift": lambda a, b: a >> min(b, 64) if b >= 0 else None,
        "masked_product": lambda a, b: a * b,
    }
    for dtype in INTEGERS:
        a, b = grid(dtype)
        for name, f in exact.items():
            cases.append((operations[name], a, b))
            wanted.append((f"{name} of {dtype}", [f(int(p), int(q)) for p, q in zip(a, b, strict=True)]))
        cases += [(pa.abs, a), (pa.sign, a)]
        wanted += [(f"abs of {dtype}", [abs(int(p)) for p in a]), (f"sign of {dtype}", [(p > 0) - (p < 0) for p in a.tolist()])]
    for y, (name, right) in zip(compiled(cases), wanted, strict=True):
        known = np.array([r is not None for r in right])
        assert y[known].tolist() == [wrapped(r, y.dtype) for r in right if r is not None], name


TINY = {"f": 1e-30, "d": 1e-200}
NEAR = {
    "logaddexp": (lambda a, b: mpmath.log(mpmath.exp(a) + mpmath.exp(b)), [(700.0, 700.0), (-700.0, -701.5), (1.0, -40.0)]),
    "logaddexp2": (lambda a, b: mpmath.log(mpmath.power(2, a) + mpmath.power(2, b), 2), [(100.0, 100.5), (-3.0, -90.0)]),
    "expit": (lambda a: 1 / (1 + mpmath.exp(-a)), [(-40.0,), (0.0,), (30.0,)]),
    "sinc": (lambda a: mpmath.sinc(mpmath.pi * a), [(0.0,), (0.25,), (1e-9,)]),
    "xlogy": (lambda a, b: a * mpmath.log(b) if a else 0, [(0.0, 0.0), (2.0, 3.0), (0.0, 5.0)]),
    "xlog1py": (lambda a, b: a * mpmath.log1p(b) if a else 0, [(0.0, -1.0), (2.0, 1e-12)]),
    "entr": (lambda a: -a * mpmath.log(a) if a else 0, [(0.0,), (0.5,), (4.0,)]),
}


@pytest.mark.parametrize("dtype", "fd")
def test_real_numbers(dtype):
    """To a few units in the last place, where the naive formula overflows or loses its digits."""
    cases = [(operations[n], *np.array(points, dtype).T.copy()) for n, (_, points) in NEAR.items()]
    for (name, (exact, points)), y in zip(NEAR.items(), compiled(cases), strict=True):
        for found, point in zip(y, np.array(points, dtype), strict=True):
            right = float(exact(*map(mpmath.mpf, point.tolist())))
            assert abs(found - right) <= 8 * np.finfo(dtype).eps * max(abs(right), TINY[dtype]), (name, point)


def test_logaddexp_at_equal_and_infinite_arguments():
    values = np.array([0.0, -0.0, 1.0, -1.0, 700.0, -700.0, np.inf, -np.inf, np.nan, 1e-20, 1e308, -1e308])
    a, b = [v.reshape(-1) for v in np.meshgrid(values, values)]
    for f, theirs in ((pa.logaddexp, np.logaddexp), (pa.logaddexp2, np.logaddexp2)):
        np.testing.assert_allclose(pa.jit(lambda a, b, f=f: f(a, b))(a, b), theirs(a, b), rtol=4e-16, atol=1e-300)


def test_complex_numbers_in_numpys_order():
    """Equal real parts go by the imaginary ones; what is not a number wins in maximum and loses in fmax."""
    parts = [0.0, -0.0, 1.0, -1.0, np.inf, np.nan]
    z = np.array([complex(a, b) for a in parts for b in parts])
    a, b = (x.reshape(-1) for x in np.meshgrid(z, z))
    names = ("maximum", "minimum", "fmax", "fmin", "less", "less_equal", "equal", "isnan", "isinf", "isfinite")
    args = lambda name: (a,) if name.startswith("is") else (a, b)
    for name, y in zip(names, compiled([(operations[n], *args(n)) for n in names]), strict=True):
        np.testing.assert_array_equal(y, getattr(np, name)(*args(name)), err_msg=name)


def test_quotients_of_complex_numbers_without_overflow():
    parts = [1e300, 1.0, -1e-300, 0.0, 3e-5]
    z = np.array([complex(a, b) for a in parts for b in parts])
    a, b = (x.reshape(-1) for x in np.meshgrid(z, z[z != 0]))
    divided, inverse = compiled([(pa.divide, a, b), (pa.reciprocal, b)])
    np.testing.assert_array_equal(divided, a / b)  # NumPy's is Smith's method, too
    np.testing.assert_array_equal(inverse, np.reciprocal(b))
    exact = [complex(mpmath.mpc(1) / mpmath.mpc(complex(v))) for v in b]
    np.testing.assert_allclose(inverse, exact, rtol=1e-15)
