"""What is right: mpmath's own functions, for every elementwise operation, and their derivatives to any precision.

A derivative is a closed form where one is known to the handbooks (and a difference would take long), else a central difference
in a precision that grows until two of them agree, so that slopes as small as the least subnormal number beside values near 1
are found as well.
"""

import functools
from dataclasses import dataclass, field

import mpmath
from mpmath import mp, mpf

BITS = (160, 320, 640, 1280, 2560)
AGREED = mpf(2) ** -64


@dataclass(frozen=True)
class Reference:
    """value: the function of mpf numbers. slopes, seconds: closed forms of its derivatives by each argument, where given.

    at: which points suit it ("real", "positive", …: `points.py`). most: largest |x| that mpmath, or the meaning, admits.
    scale: near zeros inside its domain the error counts as if the value were this large: a number or a function of the
    arguments, for the value and each order of derivatives, None for none. constants: positions of arguments that are integers
    or have no derivative. thin: one point in so many, where mpmath is slow. bits: in which closed forms are computed.
    """

    value: object
    slopes: tuple = ()
    seconds: tuple = ()
    at: tuple = ("real",)
    most: float = float("inf")
    scale: tuple = (None, None, None)
    constants: tuple = ()
    thin: int = 1
    bits: int = 400
    params: dict = field(default_factory=dict)

    def exact(self, args, by=None, order=0):
        """The value, or its derivative of an order by argument `by`, None where there is none that is real and finite."""
        closed = self.value if not order else dict(enumerate((self.slopes, self.seconds)[order - 1])).get(by)
        try:
            if closed is None:
                return difference(self.value, args, by, order)
            with mp.workprec(self.bits):
                return real_number(closed(*map(mpf, args)))
        except (ValueError, ZeroDivisionError, OverflowError, TypeError, mpmath.libmp.NoConvergence):
            return None


def real_number(y):
    """y as mpf, None if it is complex or not finite."""
    if isinstance(y, mpmath.mpc):
        if y.imag != 0:
            return None
        y = y.real
    y = mpf(y)
    return y if mp.isfinite(y) else None


def difference(f, args, by, order):
    """A derivative by central differences; None at a kink, at a jump and where the value does not exist."""
    before = gap_before = None
    sizes = [abs(mpf(a)) for a in args if a]
    for bits in BITS:
        with mp.workprec(bits + max(0, *map(mp.mag, sizes), 0)):
            xs = [mpf(a) for a in args]
            h = mp.ldexp(min([mpf(1), *([abs(xs[by])] if xs[by] else sizes)]), -min(bits // 4, 120 + bits // 64))
            parts = [real_number(f(*xs[:by], xs[by] + k * h, *xs[by + 1 :])) for k in (-1, 0, 1)]
            if None in parts:
                return None
            left, right = (parts[1] - parts[0]) / h, (parts[2] - parts[1]) / h
            d, gap = (left + right) / 2 if order == 1 else (right - left) / h, abs(right - left)
            kink = gap_before is not None and gap > gap_before / 2 and gap > (abs(left) + abs(right)) / 1000
        if kink:
            return None
        if before is not None and d != 0 and abs(d - before) <= AGREED * abs(d):
            return d
        if bits == BITS[-1]:
            return mpf(0) if abs(d) < mpf(2) ** -1100 else None
        before, gap_before = d, gap
    return None


def kept(f):
    """f, which keeps what it found in each precision: values and both slopes are made of the same few numbers."""
    found = functools.cache(lambda bits, *xs: f(*xs))
    return functools.wraps(f)(lambda *xs: found(mp.prec, *xs))


bessel_y = kept(mp.bessely)


def log_beta(a, b):
    return (mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)).real


def root(f, p, start):
    """The x with f(x) = p > 0, near a start."""
    return mp.findroot(lambda t: mp.log(f(t)) - mp.log(p), (mpf(start), mpf(start) * (1 + mpf(2) ** -30) + mpf(2) ** -300),
                       maxsteps=100)  # fmt: skip


def normal(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def density(x):
    return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


@kept
def normal_quantile(p):
    import scipy.special

    if p > 0.5:
        return -normal_quantile(1 - p)
    return mpf(0) if p == 0.5 else root(normal, p, scipy.special.ndtri(float(p)))


def log_normal(x):
    return mp.log1p(-normal(-x)) if x > 0 else mp.log(normal(x))


@kept
def error_inverse(x):
    import scipy.special

    if 0 < abs(x) < 0.5:
        return mp.sign(x) * root(mp.erf, abs(x), scipy.special.erfinv(float(abs(x))))
    return normal_quantile((x + 1) / 2) / mp.sqrt(2)


def scaled_error(x):
    return mp.exp(x * x) * mp.erfc(x)


def scaled_error_slope(x):
    return 2 * x * scaled_error(x) - 2 / mp.sqrt(mp.pi)


def log_add(x, y):
    d = abs(x - y)
    return max(x, y) + mp.log1p(mp.exp(-d))


def log_add_2(x, y):
    d = abs(x - y)
    return max(x, y) + mp.log1p(mpf(2) ** -d) / mp.log(2)


def logistic(x):
    return 1 / (1 + mp.exp(-x)) if x > 0 else mp.exp(x) / (1 + mp.exp(x))


def error_gelu(x):
    return x * normal(x)


def real_root(x):
    return mp.sign(x) * mp.cbrt(abs(x))


def sinc(x):
    return mpf(1) if x == 0 else mp.sin(mp.pi * x) / (mp.pi * x)


@kept
def gamma_by_shape(a, x):
    """The slope of the regularized lower incomplete gamma function by its shape."""
    return difference(lambda a, x: mp.gammainc(a, 0, x, regularized=True), (a, x), 0, 1)


def gamma_density(a, x):
    return mp.exp((a - 1) * mp.log(x) - x - mp.loggamma(a))


@kept
def gamma_quantile(a, p):
    import scipy.special

    return root(lambda x: mp.gammainc(a, 0, x, regularized=True), p, scipy.special.gammaincinv(float(a), float(p)))


def beta_density(a, b, x):
    return mp.exp((a - 1) * mp.log(x) + (b - 1) * mp.log1p(-x) - log_beta(a, b))


def bessel(f, scaled=None):
    return lambda v, x: f(v, x) * (scaled(x) if scaled else 1)


def order_zero(f, v, scaled=None):
    return lambda x: bessel(f, scaled)(v, x)


def shrink(x):
    return mp.exp(-abs(x))


def amplitude(x):
    return mp.sqrt(2 / (mp.pi * max(abs(x), mpf(1))))


def where(condition, x, y):
    return x if condition else y


def amplitude_of(v, x):
    return amplitude(x)


R = Reference
positive, unit, above_one = ("positive",), ("unit",), ("above one",)
waves = {"most": 1e4, "scale": (amplitude,) * 3, "thin": 3, "bits": 120}
modified = {"most": 700, "thin": 3}
of_order = {"at": ("order", "positive"), "constants": (0,), "thin": 6, "bits": 120}
pairs = {"at": ("real", "real")}
powers = {"at": ("positive", "real"),
          "slopes": (lambda x, y: y * mp.power(x, y - 1), lambda x, y: mp.log(x) * mp.power(x, y)),
          "seconds": (lambda x, y: y * (y - 1) * mp.power(x, y - 2), lambda x, y: mp.log(x) ** 2 * mp.power(x, y))}  # fmt: skip
half_pi = mp.sqrt(mp.pi)

REFERENCES = {
    # arithmetic
    "add": R(lambda x, y: x + y, **pairs), "subtract": R(lambda x, y: x - y, **pairs),
    "multiply": R(lambda x, y: x * y, **pairs), "divide": R(lambda x, y: x / y, **pairs),
    "masked_product": R(lambda x, y: x * y, **pairs), "masked_quotient": R(lambda x, y: x / y, **pairs),
    "negative": R(lambda x: -x), "positive": R(lambda x: x), "reciprocal": R(lambda x: 1 / x), "square": R(lambda x: x * x),
    "abs": R(abs), "fabs": R(abs), "sign": R(mp.sign), "conj": R(lambda x: x), "real": R(lambda x: x),
    "imag": R(lambda x: 0 * x), "angle": R(lambda x: mp.atan2(0, x)),
    "stop_gradient": R(lambda x: x), "checkpoint_name": R(lambda x: x, params={"name": "x"}),
    "uniform": R(lambda x: mpf(1.5), params={"value": 1.5}),
    "floor": R(mp.floor),
    "ceil": R(mp.ceil), "trunc": R(lambda x: mp.sign(x) * mp.floor(abs(x))),
    "rint": R(mp.nint),
    "floor_divide": R(lambda x, y: mp.floor(x / y), at=("moderate", "moderate")),
    "remainder": R(lambda x, y: x - y * mp.floor(x / y), at=("moderate", "moderate")),
    "fmod": R(lambda x, y: x - y * mp.sign(x / y) * mp.floor(abs(x / y)), at=("moderate", "moderate")),
    "maximum": R(max, **pairs), "minimum": R(min, **pairs), "fmax": R(max, **pairs), "fmin": R(min, **pairs),
    "copysign": R(lambda x, y: abs(x) if y >= 0 else -abs(x), **pairs),
    "heaviside": R(lambda x, y: mpf(x > 0) if x else y, **pairs),
    "ldexp": R(lambda x, n: mp.ldexp(x, int(n)), at=("real", "whole"), constants=(1,)),
    "where": R(where, [None, lambda c, x, y: mpf(c), lambda c, x, y: 1 - mpf(c)], at=("truth", "real", "real"), constants=(0,),
               thin=20),
    "hypot": R(mp.hypot, [lambda x, y: x / mp.hypot(x, y), lambda x, y: y / mp.hypot(x, y)],
               [lambda x, y: y * y / mp.hypot(x, y) ** 3, lambda x, y: x * x / mp.hypot(x, y) ** 3], **pairs),
    "deg2rad": R(mp.radians), "radians": R(mp.radians), "rad2deg": R(mp.degrees), "degrees": R(mp.degrees),
    # powers, exponentials, logarithms
    "exp": R(mp.exp), "exp2": R(lambda x: mpf(2) ** x), "expm1": R(mp.expm1), "log": R(mp.log),
    "log2": R(lambda x: mp.log(x) / mp.log(2)), "log10": R(lambda x: mp.log(x) / mp.log(10)), "log1p": R(mp.log1p),
    "sqrt": R(mp.sqrt), "cbrt": R(real_root), "power": R(mp.power, **powers), "float_power": R(mp.power, **powers),
    "logaddexp": R(log_add, [lambda x, y: logistic(x - y), lambda x, y: logistic(y - x)],
                   [lambda x, y: logistic(x - y) * logistic(y - x)] * 2, **pairs),
    "logaddexp2": R(log_add_2, [lambda x, y: logistic(mp.log(2) * (x - y)), lambda x, y: logistic(mp.log(2) * (y - x))],
                    [lambda x, y: mp.log(2) * logistic(mp.log(2) * (x - y)) * logistic(mp.log(2) * (y - x))] * 2, **pairs),
    "xlogy": R(lambda x, y: x * mp.log(y), at=("real", "positive")),
    "xlog1py": R(lambda x, y: x * mp.log1p(y), at=("real", "real")),
    "entr": R(lambda x: -x * mp.log(x), scale=(None, 1.0, None)),
    # trigonometric and hyperbolic functions
    "sin": R(mp.sin), "cos": R(mp.cos), "tan": R(mp.tan), "arcsin": R(mp.asin, at=unit), "arccos": R(mp.acos, at=unit),
    "arctan": R(mp.atan), "arctan2": R(mp.atan2, [lambda y, x: x / (x * x + y * y), lambda y, x: -y / (x * x + y * y)],
                 [lambda y, x: -2 * x * y / (x * x + y * y) ** 2, lambda y, x: 2 * x * y / (x * x + y * y) ** 2], **pairs),
    "sinh": R(mp.sinh), "cosh": R(mp.cosh), "tanh": R(mp.tanh),
    "arcsinh": R(mp.asinh), "arccosh": R(mp.acosh, at=above_one), "arctanh": R(mp.atanh, at=unit), "sinc": R(sinc, thin=2),
    "below_one": R(lambda x: (1 - x) * (1 + x)),
    "bell": R(lambda x, c: mp.exp(c * x * x), [lambda x, c: 2 * c * x * mp.exp(c * x * x)],
              [lambda x, c: (2 * c + (2 * c * x) ** 2) * mp.exp(c * x * x)], at=("real", "half"), constants=(1,)),
    # error functions, the normal distribution, the logistic curve
    "erf": R(mp.erf, slopes=[lambda x: 2 * mp.exp(-x * x) / half_pi], seconds=[lambda x: -4 * x * mp.exp(-x * x) / half_pi]),
    "erfc": R(mp.erfc, slopes=[lambda x: -2 * mp.exp(-x * x) / half_pi], seconds=[lambda x: 4 * x * mp.exp(-x * x) / half_pi]),
    "erfcx": R(scaled_error, slopes=[scaled_error_slope], most=1e30,
               seconds=[lambda x: 2 * scaled_error(x) + 2 * x * scaled_error_slope(x)]),
    "erfinv": R(error_inverse, at=unit, thin=4, bits=160, slopes=[lambda x: half_pi / 2 * mp.exp(error_inverse(x) ** 2)],
                seconds=[lambda x: mp.pi / 2 * error_inverse(x) * mp.exp(2 * error_inverse(x) ** 2)]),
    "erfcinv": R(lambda x: -normal_quantile(x / 2) / mp.sqrt(2), at=("probability", ), thin=4,
                 slopes=[lambda x: -half_pi / 2 * mp.exp(normal_quantile(x / 2) ** 2 / 2)],
                 seconds=[lambda x: -mp.pi / 2 * normal_quantile(x / 2) / mp.sqrt(2) * mp.exp(normal_quantile(x / 2) ** 2)]),
    "expi": R(mp.ei, slopes=[lambda x: mp.exp(x) / x], seconds=[lambda x: mp.exp(x) * (x - 1) / x**2], most=800,
              scale=(0.5, None, 1.0)),
    "ndtr": R(normal, slopes=[density], seconds=[lambda x: -x * density(x)]),
    "ndtri": R(normal_quantile, at=("probability",), thin=4, slopes=[lambda p: 1 / density(normal_quantile(p))],
               seconds=[lambda p: normal_quantile(p) / density(normal_quantile(p)) ** 2]),
    "log_ndtr": R(log_normal, slopes=[lambda x: density(x) / normal(x)], most=1e30,
                  seconds=[lambda x: -density(x) / normal(x) * (x + density(x) / normal(x))]),
    "logit": R(lambda p: mp.log(p) - mp.log1p(-p), at=("probability",), scale=(None, None, 1.0)),
    "expit": R(logistic, [lambda x: logistic(x) * logistic(-x)], scale=(None, None, 1.0)),
    "softplus": R(lambda x: log_add(x, 0), [logistic], [lambda x: logistic(x) * logistic(-x)]),
    "log_sigmoid": R(lambda x: -log_add(-x, 0), [lambda x: logistic(-x)], [lambda x: -logistic(x) * logistic(-x)]),
    "relu": R(lambda x: max(x, 0)), "leaky_relu": R(lambda x: x if x >= 0 else x * mpf(0.01)),
    "elu": R(lambda x: x if x > 0 else mp.expm1(x)), "silu": R(lambda x: x * logistic(x), scale=(None, 1.0, 1.0)),
    "gelu": R(error_gelu, slopes=[lambda x: normal(x) + x * density(x)], seconds=[lambda x: (2 - x * x) * density(x)],
              scale=(None, 1.0, 1.0)),
    # Bessel functions
    "j0": R(order_zero(mp.besselj, 0), [lambda x: -mp.besselj(1, x)],
            [lambda x: (mp.besselj(2, x) - mp.besselj(0, x)) / 2], **waves),
    "j1": R(order_zero(mp.besselj, 1), [lambda x: (mp.besselj(0, x) - mp.besselj(2, x)) / 2],
            [lambda x: (mp.besselj(3, x) - 3 * mp.besselj(1, x)) / 4], **waves),
    "y0": R(order_zero(bessel_y, 0), [lambda x: -bessel_y(1, x)],
            [lambda x: (bessel_y(2, x) - bessel_y(0, x)) / 2], at=positive, **waves),
    "y1": R(order_zero(bessel_y, 1), [lambda x: (bessel_y(0, x) - bessel_y(2, x)) / 2],
            [lambda x: (bessel_y(3, x) - 3 * bessel_y(1, x)) / 4], at=positive, **waves),
    "i0": R(order_zero(mp.besseli, 0), [lambda x: mp.besseli(1, x)],
            [lambda x: (mp.besseli(2, x) + mp.besseli(0, x)) / 2], **modified),
    "i1": R(order_zero(mp.besseli, 1), [lambda x: (mp.besseli(0, x) + mp.besseli(2, x)) / 2],
            [lambda x: (mp.besseli(3, x) + 3 * mp.besseli(1, x)) / 4], **modified),
    "i0e": R(order_zero(mp.besseli, 0, shrink), **modified), "i1e": R(order_zero(mp.besseli, 1, shrink), **modified),
    "jv": R(bessel(mp.besselj), most=300, scale=(amplitude_of,) * 3, **of_order),
    "yv": R(bessel(bessel_y), most=300, scale=(amplitude_of,) * 3, **of_order),
    "iv": R(bessel(mp.besseli), most=300, **of_order), "kv": R(bessel(mp.besselk), most=300, **of_order),
    "ive": R(bessel(mp.besseli, shrink), most=300, **of_order), "kve": R(bessel(mp.besselk, mp.exp), most=300, **of_order),
    # the gamma function and its kin
    "gammaln": R(lambda x: mp.loggamma(x).real, [mp.digamma], [lambda x: mp.psi(1, x)], scale=(1.0, 1.0, None), most=1e4,
                 thin=2),
    "gamma": R(mp.gamma, [lambda x: mp.gamma(x) * mp.digamma(x)],
               [lambda x: mp.gamma(x) * (mp.digamma(x) ** 2 + mp.psi(1, x))], scale=(None, 1.0, None), most=180),
    "rgamma": R(mp.rgamma, scale=(None, 1.0, 1.0), most=170, thin=4),
    "digamma": R(mp.digamma, [lambda x: mp.psi(1, x)], [lambda x: mp.psi(2, x)], scale=(1.0, None, 1.0), most=1e4, thin=2),
    "polygamma": R(lambda n, x: mp.psi(int(n), x), [None, lambda n, x: mp.psi(int(n) + 1, x)],
                   [None, lambda n, x: mp.psi(int(n) + 2, x)], at=("degree", "positive"), constants=(0,),
                   scale=(1.0, None, None), most=1e6, thin=4),
    "gammasgn": R(lambda x: mp.sign(mp.gamma(x)), most=170),
    "zeta": R(lambda s, q: mp.zeta(s, q), [None, lambda s, q: -s * mp.zeta(s + 1, q)],
              [None, lambda s, q: s * (s + 1) * mp.zeta(s + 2, q)], at=("exponent", "positive"), most=1e3, constants=(0,),
              thin=8),
    "beta": R(mp.beta, [lambda a, b: mp.beta(a, b) * (mp.digamma(a) - mp.digamma(a + b)),
                        lambda a, b: mp.beta(a, b) * (mp.digamma(b) - mp.digamma(a + b))],
              at=("shape", "shape"), thin=2),
    "betaln": R(log_beta, [lambda a, b: mp.digamma(a) - mp.digamma(a + b), lambda a, b: mp.digamma(b) - mp.digamma(a + b)],
                [lambda a, b: mp.psi(1, a) - mp.psi(1, a + b), lambda a, b: mp.psi(1, b) - mp.psi(1, a + b)],
                at=("shape", "shape"), scale=(1.0, None, None), thin=2),
    "betainc": R(lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True), [None, None, beta_density],
                 [None, None, lambda a, b, x: beta_density(a, b, x) * ((a - 1) / x - (b - 1) / (1 - x))],
                 at=("shape", "shape", "probability"), constants=(0, 1), thin=12, scale=(None, None, 1.0)),
    "gammainc": R(lambda a, x: mp.gammainc(a, 0, x, regularized=True), [gamma_by_shape, gamma_density],
                  [None, lambda a, x: gamma_density(a, x) * ((a - 1) / x - 1)], at=("shape", "shape"), thin=3,
                  scale=(None, None, 1.0)),
    "gammaincc": R(lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True),
                   [lambda a, x: -gamma_by_shape(a, x), lambda a, x: -gamma_density(a, x)],
                   [None, lambda a, x: -gamma_density(a, x) * ((a - 1) / x - 1)], at=("shape", "shape"), thin=3,
                   scale=(None, None, 1.0)),
    "gammainc_da": R(gamma_by_shape, at=("shape", "shape"), constants=(0, 1), thin=20),
    "gammaincinv": R(gamma_quantile, [None, lambda a, p: 1 / gamma_density(a, gamma_quantile(a, p))], [lambda *_: None] * 2,
                     at=("shape", "probability"), thin=12, bits=160),
}  # fmt: skip
