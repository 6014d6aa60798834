"""Special functions and NumPy's smaller ones at hard points: limits, zeros, infinities, dtypes, slopes without a rule."""

import math
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st

import polyad as pa
from polyad.ad.tools.check import numerical_jvp
from polyad.dsl import operations

SCIPY = [name for name, op in operations.items() if (op.card.kernel or "").startswith("special.")]
finite = st.floats(-30, 30)


def slope(f, x):
    return float(pa.grad(f)(float(x)))


@pytest.mark.parametrize("name", SCIPY)
def test_float32_empty_scalars_and_strides(name):
    op = operations[name]
    args = op.card.samples[0](np.random.default_rng(0))[0]
    single = [a.astype(np.float32) if isinstance(a, np.ndarray) and a.dtype.kind == "f" else a for a in args]
    assert op(*single).dtype == np.float32
    np.testing.assert_allclose(op(*single), op(*args), rtol=1e-3)
    for cut in (slice(0), slice(None, None, 2)):
        some = [a[cut] if isinstance(a, np.ndarray) else a for a in args]
        np.testing.assert_array_equal(op(*some), np.asarray(op(*args))[cut])
    first = [a[0] if isinstance(a, np.ndarray) else a for a in args]
    assert isinstance(op(*first), np.floating)
    grads = pa.grad(lambda *xs: pa.sum(op(*xs)), argnums=len(args) - 1)(*single)
    assert grads.dtype == np.float32


@given(finite, finite)
def test_xlogy_and_logaddexp_as_scipy_and_numpy(x, y):
    assert pa.xlogy(x, abs(y)) == scipy.special.xlogy(x, abs(y))
    assert pa.logaddexp(x, y) == np.logaddexp(x, y)
    gx, gy = pa.grad(pa.logaddexp, argnums=(0, 1))(x, y)
    np.testing.assert_allclose([gx, gy], scipy.special.softmax([x, y]), rtol=1e-12, atol=1e-300)


# ---------------------------------------------------------------------- hard points
def test_entropy_terms_at_zero():
    assert pa.xlogy(0.0, 0.0) == 0 and pa.xlog1py(0.0, -1.0) == 0 and pa.entr(0.0) == 0
    for f, at in ((pa.xlogy, (0.0, 0.0)), (pa.xlog1py, (0.0, -1.0))):
        assert pa.grad(f, argnums=(0, 1))(*at) == (0.0, 0.0)
    assert slope(pa.entr, 0) == 0
    assert pa.grad(pa.xlogy, argnums=(0, 1))(0.0, 2.0) == (np.log(2.0), 0.0)
    assert slope(lambda x: pa.xlogy(x, x), 0) == 0
    mixed = pa.grad(lambda y: pa.grad(pa.xlogy)(0.0, y))
    assert float(mixed(4.0)) == 0.25  # of log y by y, where x is 0
    p = np.array([0.0, 0.5, 0.5])
    assert np.all(np.isfinite(pa.grad(lambda p: pa.sum(pa.entr(p)))(p)))


def test_branch_not_taken_leaves_no_nan():
    for f in (pa.gammaln, pa.digamma, pa.logit, pa.ndtri, pa.erfinv, pa.expi):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert slope(lambda x, f=f: pa.where(x > 5, f(x), 2 * x), 0 if f is not pa.erfinv else 1) == 2


def test_bessel_functions_at_zero_to_the_third_order():
    third = lambda f: float(pa.grad(pa.grad(pa.grad(f)))(0.0))
    assert third(pa.i1) == pytest.approx(3 / 8, rel=1e-12)  # of x/2 + x³/16 + …
    assert third(pa.j1) == pytest.approx(-3 / 8, rel=1e-12)
    assert third(pa.i0) == third(pa.j0) == 0
    x = np.array([0.5, 0.999, 1.0, 1.001, 3.0])
    expected = (scipy.special.iv(0, x) + scipy.special.iv(2, x)) / 2
    np.testing.assert_allclose(pa.grad(lambda x: pa.sum(pa.i1(x)))(x), expected, rtol=1e-14)


def test_sinc_near_zero():
    x = np.array([0.0, 1e-8, -1e-3, 0.3, 0.32, 1.0])
    with np.errstate(all="ignore"):
        z = np.pi * np.where(np.abs(x) < 0.1, 1.0, x)
        near = -(np.pi**2) * x / 3 * (1 - (np.pi * x) ** 2 / 10)
        exact = np.where(np.abs(x) < 0.1, near, np.pi * (np.cos(z) - np.sin(z) / z) / z)
    np.testing.assert_allclose(pa.grad(lambda x: pa.sum(pa.sinc(x)))(x), exact, rtol=1e-11)
    assert slope(pa.grad(pa.sinc), 0) == pytest.approx(-(np.pi**2) / 3, rel=1e-14)
    assert slope(pa.grad(pa.grad(pa.grad(pa.sinc))), 0) == pytest.approx(np.pi**4 / 5, rel=1e-14)


def test_erfcx_far_out():
    x = np.array([10.0, 49.9, 50.1, 1e4, 1e8])
    t = 1 / x**2
    series = -t / np.sqrt(np.pi) * (1 - 1.5 * t + 3.75 * t**2 - 105 / 8 * t**3 + 945 / 16 * t**4)
    np.testing.assert_allclose(pa.grad(lambda x: pa.sum(pa.erfcx(x)))(x)[1:], series[1:], rtol=1e-11)


def test_logistic_curve_without_overflow_and_cancellation():
    x = np.array([-np.inf, -800.0, -1.0, 0.0, 1.0, 800.0, np.inf])
    np.testing.assert_allclose(pa.expit(x), scipy.special.expit(x), rtol=1e-15)
    assert pa.expit is pa.sigmoid and pa.expit(np.float32(1)).dtype == np.float32
    assert slope(pa.expit, 40) == pytest.approx(math.exp(-40), rel=1e-14)
    assert slope(pa.log_sigmoid, -800) == 1 and pa.log_sigmoid(-800.0) == -800
    assert slope(pa.softplus, 800) == 1 and pa.softplus(-800.0) == 0
    assert np.isnan(pa.expit(np.nan))


@pytest.mark.parametrize("f", [pa.logaddexp, pa.logaddexp2])
def test_logaddexp_of_infinities(f):
    inf = np.inf
    by = pa.grad(f, argnums=(0, 1))
    assert f(-inf, -inf) == -inf and by(-inf, -inf) == (0.0, 0.0)
    assert f(-inf, 1.0) == 1 and by(-inf, 1.0) == (0.0, 1.0)
    assert f(inf, 1.0) == inf and by(inf, 1.0) == (1.0, 0.0)


def test_conventions_of_activations():
    assert slope(pa.relu, 0) == 0 and slope(pa.relu, 2) == 1 and np.isnan(pa.relu(np.nan))
    assert slope(pa.leaky_relu, 0) == 1 and slope(pa.leaky_relu, -1) == 0.01
    assert slope(pa.elu, -800) == 0 and pa.elu(800.0) == 800
    x = np.linspace(-4, 4, 9)
    np.testing.assert_allclose(pa.gelu(x), x * scipy.special.ndtr(x), rtol=1e-14)
    np.testing.assert_allclose(pa.gelu(x, approximate=True), pa.gelu(x), atol=1e-3)
    assert pa.relu(np.arange(-1, 2)).dtype == np.int64 and pa.relu(np.float32(2)).dtype == np.float32


# ---------------------------------------------------------------------- gamma and its kin
def test_polygamma_of_number_and_array_orders():
    x = np.array([0.3, 1.7, 20.0])
    for n in range(4):
        np.testing.assert_allclose(pa.polygamma(n, x), scipy.special.polygamma(n, x), rtol=1e-13)
    n = np.array([[0], [1], [2]])
    np.testing.assert_allclose(pa.polygamma(n, x), scipy.special.polygamma(n, x), rtol=1e-13)
    np.testing.assert_allclose(
        pa.grad(lambda x: pa.sum(pa.polygamma(n, x)))(x), scipy.special.polygamma(n + 1, x).sum(0), rtol=1e-13
    )
    assert pa.polygamma(1, np.float32(2)).dtype == np.float32
    single = np.float32(1) / np.arange(1, 8, dtype=np.float32)
    for orders in (np.arange(7), np.arange(7, dtype=np.int32)):  # which make float64 of float32
        for f in (pa.polygamma, pa.jit(pa.polygamma)):
            found = f(orders, single)
            assert found.dtype == np.float64
            np.testing.assert_allclose(found, scipy.special.polygamma(orders, single.astype(float)), rtol=1e-13)
    assert pa.polygamma(np.arange(7, dtype=np.int8), single).dtype == np.float32
    with pytest.raises(pa.DTypeError, match="polygamma: the order n must be an integer"):
        pa.polygamma(1.5, x)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_incomplete_gamma_by_its_shape(order):
    a, x = np.meshgrid([0.1, 0.9, 3.0, 40.0, 900.0], [0.01, 0.5, 2.9, 45.0, 850.0])
    h = 1e-3 * np.sqrt(a)
    c, at = [1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280], range(-4, 5)
    below = (lambda a: scipy.special.gammainc(a, x)) if order == 1 else lambda a: pa.gammainc_da(a, x, order=order - 1)
    numeric = sum(k * below(a + i * 8 * h) for i, k in zip(at, c, strict=True)) / (8 * h)
    np.testing.assert_allclose(pa.gammainc_da(a, x, order=order), numeric, rtol=1e-7, atol=1e-9)


def test_incomplete_gamma_by_its_shape_at_the_edges():
    inf, nan = np.inf, np.nan
    a = np.array([2.0, 2.0, 2.0, -1.0, nan, 1e6, 1e8])
    x = np.array([0.0, inf, nan, 1.0, 1.0, 1e6 + 500, 1e8])
    y = pa.gammainc_da(a, x)
    np.testing.assert_array_equal(y[:5], [0, 0, nan, nan, nan])
    pdf = np.exp(-((x[5] - a[5]) ** 2) / (2 * a[5])) / np.sqrt(2 * np.pi * a[5])
    assert y[5] == pytest.approx(-pdf, rel=2e-3)  # by the normal approximation
    assert y[6] == pytest.approx(-1 / np.sqrt(2 * np.pi * a[6]), rel=1e-3)
    assert pa.gammainc_da(np.float32(2), np.float32(1)).dtype == np.float32 and pa.gammainc_da(2, 1) < 0


def test_quantiles_of_the_gamma_distribution_differentiated_implicitly():
    a, p = np.array([0.5, 2.0, 30.0]), np.array([0.2, 0.7, 0.999])
    np.testing.assert_allclose(pa.gammainc(a, pa.gammaincinv(a, p)), p, rtol=1e-12)
    f = lambda a, p: pa.gammaincinv(a, p)
    y, dy = pa.jvp(f, (a, p), (np.ones(3), np.zeros(3)))
    h = 1e-5
    np.testing.assert_allclose(dy, (f(a + h, p) - f(a - h, p)) / (2 * h), rtol=1e-7)


@pytest.mark.parametrize(
    ("op", "args", "argument"),
    [(pa.betainc, (2.0, 1.0, 0.5), 0), (pa.betainc, (2.0, 1.0, 0.5), 1), (pa.zeta, (2.0, 1.0), 0)],
)
@pytest.mark.parametrize("mode", [pa.grad, pa.jacfwd])
def test_a_missing_slope_is_an_error_never_zero(op, args, argument, mode):
    with pytest.raises(pa.MissingRuleError, match=rf"{op.__name__} has no derivative by .*stop_gradient"):
        mode(op, argnums=argument)(*args)


# ---------------------------------------------------------------------- NumPy's smaller functions
def test_ldexp_has_its_slope_at_zero():
    assert slope(lambda x: pa.ldexp(x, 3), 0) == 8
    assert slope(lambda x: np.ldexp(x, 3), 0) == 8
    g = pa.grad(lambda x: pa.sum(pa.ldexp(x, np.array([[1], [-1]]))))(np.zeros(2, np.float32))
    np.testing.assert_array_equal(g, np.full(2, 2.5, np.float32))
    with pytest.raises(pa.DTypeError, match="ldexp"):
        pa.ldexp(np.ones(2), np.ones(2))


def test_frexp_and_modf():
    x = np.array([0.0, -0.0, 1.5, -6.25, np.inf, -np.inf, np.nan])
    for ours, numpys in ((pa.frexp, np.frexp), (pa.modf, np.modf)):
        for mine, theirs in zip(ours(x), numpys(x), strict=True):
            np.testing.assert_array_equal(mine, theirs)
            np.testing.assert_array_equal(np.signbit(mine), np.signbit(theirs))
    assert slope(lambda x: np.frexp(x)[0], 6.0) == 1 / 8
    assert slope(lambda x: np.modf(x)[0] + 10 * np.modf(x)[1], -6.25) == 1
    m, n = pa.vmap(pa.frexp)(np.array([1.0, 8.0]))
    np.testing.assert_array_equal(n, [1, 4])
    program = pa.make_ir(lambda x: pa.frexp(x))(8.0)
    assert program(8.0) == (0.5, 4)


def test_heaviside_steps():
    by = pa.grad(pa.heaviside, argnums=(0, 1))
    assert by(0.0, 0.5) == (0.0, 1.0) and by(2.0, 0.5) == (0.0, 0.0) and pa.heaviside(0.0, 0.25) == 0.25


def test_numpys_names_are_answered():
    x, y = np.array([0.5, 1.5]), np.array([2.0, 3.0])
    for name in ("deg2rad", "rad2deg", "radians", "degrees", "fabs", "sinc", "i0"):
        f = getattr(np, name)
        numeric = numerical_jvp(lambda x, f=f: f(x), (x,), (np.ones(2),))
        np.testing.assert_allclose(pa.jvp(f, (x,), (np.ones(2),))[1], numeric, rtol=1e-6)
    for name in ("logaddexp", "logaddexp2", "float_power", "heaviside"):
        f = getattr(np, name)
        numeric = numerical_jvp(f, (x, y), (np.ones(2), np.ones(2)))
        np.testing.assert_allclose(pa.jvp(f, (x, y), (np.ones(2), np.ones(2)))[1], numeric, rtol=1e-6)
    assert pa.float_power(np.float32(2), 0.5).dtype == np.float64 and pa.float_power(2, -1) == 0.5
    assert pa.fabs(-2).dtype == np.float64 and pa.gcd(12, 18) == 6 and pa.lcm(4, 6) == 12
    with pytest.raises(pa.DTypeError, match="gcd"):
        pa.gcd(1.5, 2)
    with pytest.raises(pa.DTypeError, match="fabs"):
        pa.fabs(1j)


# ---------------------------------------------------------------------- SciPy
def test_scipys_own_functions_on_followed_values():
    x = np.array([0.5, 1.5])
    f = lambda x: np.sum(scipy.special.erf(x) * scipy.special.psi(x) + scipy.special.gammainc(x, 2 * x))
    pa.check_grads(f, (x,), order=2)
    np.testing.assert_array_equal(pa.vmap(scipy.special.expit)(x), pa.expit(x))
    pa.check_grads(lambda x: scipy.special.kv(1.0, x) * scipy.special.ive(2.0, x), (x,), order=2)
    with pytest.raises(pa.MissingRuleError, match="struve"):
        pa.grad(lambda x: scipy.special.struve(1.0, x))(2.0)


def test_without_scipy_the_error_names_the_extra():
    program = """
import sys
sys.modules["scipy"] = sys.modules["scipy.special"] = None
import numpy as np, polyad as pa
assert pa.expit(0.0) == 0.5 and pa.softmax(np.zeros(2))[0] == 0.5 and pa.random.normal(pa.random.key(0), 3).shape == (3,)
try:
    pa.erf(np.ones(2))
except ImportError as error:
    print(error)
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "polyad.erf needs scipy.special" in found.stdout and "polyad[scipy]" in found.stdout, found.stderr


def test_a_library_without_the_function_says_so():
    from polyad.devices.special import LazyModule

    run = LazyModule("math", "").function("erfinv", "erfinv")
    with pytest.raises(pa.MissingRuleError, match=r"erfinv: math has no erfinv; .*to_device"):
        run(0.5)


# ---------------------------------------------------------------------- Bessel functions of any order
def test_bessel_functions_at_zero_and_of_known_orders():
    x = np.linspace(0.1, 9, 7)
    for n, (first, second) in enumerate(((pa.j0, pa.y0), (pa.j1, pa.y1))):
        np.testing.assert_allclose(pa.jv(n, x), first(x), atol=1e-14)
        np.testing.assert_allclose(pa.yv(n, x), second(x), atol=1e-14)
        slopes = [pa.vmap(pa.grad(f))(x) for f in (lambda x, n=n: pa.jv(n, x), first)]
        np.testing.assert_allclose(*slopes, atol=1e-13)
    assert slope(lambda x: pa.jv(1.0, x), 0) == 0.5 and slope(lambda x: pa.iv(0.0, x), 0) == 0
    with pytest.raises(pa.MissingRuleError, match="jv has no derivative by the order"):
        pa.grad(lambda v: pa.jv(v, 1.0))(2.0)


@pytest.mark.parametrize("n", range(5))
def test_reciprocal_gamma_at_the_poles(n):
    assert pa.rgamma(-float(n)) == 0
    np.testing.assert_allclose(slope(pa.rgamma, -n), (-1) ** n * math.factorial(n), rtol=1e-12)
    pa.check_grads(pa.rgamma, (-float(n),), order=2)


def test_multivariate_gamma():
    a = np.array([2.5, 4.0])
    np.testing.assert_allclose(pa.multigammaln(a, 4), scipy.special.multigammaln(a, 4))
    with pytest.raises(pa.ShapeError, match="multigammaln: the dimension"):
        pa.multigammaln(a, 0)


# ---------------------------------------------------------------------- slopes in the tails
TAILS = [  # function, point, order of the derivative, what mpmath says
    (pa.tanh, 20.0, 1, 1.699341702116635e-17), (pa.tanh, 20.0, 2, -3.39868340423327e-17),
    (pa.expm1, -40.0, 1, 4.248354255291589e-18), (pa.softplus, 37.4, 2, 5.719872877313072e-17),
    (pa.log_sigmoid, -37.4, 2, -5.719872877313072e-17), (pa.log_ndtr, -1e4, 2, -0.9999999900000006),
    (pa.log_ndtr, -1e5, 2, -0.9999999999), (pa.arcsinh, 1e200, 1, 1e-200), (pa.arctan, 1e155, 1, 1e-310),
    (lambda y: pa.arctan2(y, 1e-170), 1e-170, 1, 5e169), (lambda a: pa.log(pa.gammaincc(a, 50.0)), 0.5, 1, 5.894964573471229),
    (lambda a: pa.log(pa.gammaincc(a, 50.0)), 3.0, 1, 3.009622694241999),
]  # fmt: skip


@pytest.mark.parametrize(("f", "x", "order", "expected"), TAILS)
def test_slopes_in_the_tails_in_every_mode(f, x, order, expected):
    modes = {"reverse": pa.grad, "forward": pa.jacfwd}
    for name, mode in modes.items():
        g = f
        for _ in range(order):
            g = mode(g)
        for run in (g, pa.jit(g)):
            np.testing.assert_allclose(float(run(np.float64(x))), expected, rtol=1e-13, err_msg=name)
    np.testing.assert_allclose(float(pa.derivatives(f, order)(x)[order]), expected, rtol=1e-13)


def test_the_norm_of_half_precision_numbers_does_not_overflow():
    x = np.full(9, 100, np.float16)
    for f in (pa.linalg.norm, pa.linalg.vector_norm, lambda x: pa.linalg.matrix_norm(x.reshape(3, 3))):
        assert f(x) == 300 and f(x).dtype == np.float16
        for g in (pa.grad(f)(x), pa.jit(pa.grad(f))(x)):
            np.testing.assert_allclose(g, np.full(9, 1 / 3), rtol=1e-3)
