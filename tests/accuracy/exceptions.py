"""What does not meet the goals of accuracy, and why: one table for the page and for the test."""

from math import inf

GOALS = (4.0, 16.0, None)  # ulp, of values, first and second derivatives

FLUSHED = "SciPy's value: 0 where it should be a subnormal number."
SCALED = "SciPy's value below zero: exp(x²) of an x² that is rounded; the slope is made from it."
WAVES = "SciPy's value: the phase is rounded, so that the error grows with |x|; the slope is made of such functions."
ALIKE = "The slope is a difference of two scaled Bessel functions, which cancel as |x| grows: about 2 |x| ulp."
POLES = "SciPy's value near the negative whole numbers, where the reflection formula cancels; slopes are made from it."
BETA = "SciPy's value: a difference of logarithms of Γ, each rounded; slopes are differences of ψ."
DENSITY = "The exponent of the density, a log x - x - log Γ(a) or its like, is rounded before exp: as many ulp as it is large."
GAMMA = "SciPy's value in the far tails, whose exponent is rounded before exp."
TINY = "SciPy's value: 0 for I₁ of the smallest arguments (1e-170), where it should be x/2; its slope is made of such."
ORDER = "SciPy's values of Bessel functions of small or large arguments; slopes are differences of them."
EXPONENT = "The exponent y - 1 is rounded, and counts |log x| times: up to 350 ulp where x is near the largest or least number."
PHASE = "NumPy's value: πx is rounded before its sine, and overflows at the largest numbers."
PRODUCT = "A factor of the value is a subnormal number."
CANCEL = "SciPy's value near x = 40, where two formulas meet."


def _rows(why, *rows, most=inf):
    return {row: (most, why) for row in rows}


def _all(why, *names, arguments=(0,), most=inf):
    """The value and the slopes by these arguments."""
    return _rows(why, *[(name, by, 1) for name in names for by in arguments], *[(name, None, 0) for name in names], most=most)


# (operation, argument or None, order) -> (the largest error allowed in ulp, why)
# Bounds are about four times what was measured: SciPy's versions differ. Those of values near poles are infinite, since the
# error there is the value itself.
EXCEPTIONS = {
    **_rows(FLUSHED, ("erfc", None, 0), ("ndtr", None, 0), ("log_ndtr", None, 0), ("gelu", None, 0), most=3e10),
    **_all(SCALED, "erfcx", most=1e3), **_rows(CANCEL, ("expi", None, 0), most=700),
    **_all(WAVES, "j0", "j1", "y0", "y1", most=1e4), **_rows(ALIKE, ("i0e", 0, 1), ("i1e", 0, 1), most=4e3),
    **_rows(POLES, ("gammaln", None, 0), ("gammaln", 0, 1), ("gamma", 0, 1), ("digamma", None, 0)),
    **_rows(POLES, ("rgamma", 0, 1), most=3e4),
    **_all(BETA, "beta", "betaln", arguments=(0, 1), most=4e4),
    **_rows(GAMMA, ("betainc", None, 0), most=3e6), **_rows(DENSITY, ("betainc", 2, 1), most=2e4),
    **_rows(GAMMA, ("gammainc", None, 0), most=2e5), **_rows(GAMMA, ("gammaincc", None, 0), ("gammaincinv", None, 0), most=500),
    **_rows(DENSITY, *[(name, by, 1) for name in ("gammainc", "gammaincc", "gammaincinv") for by in (0, 1)],
            ("gammainc_da", None, 0), most=1e4),
    **_rows(ORDER, *[(name, None, 0) for name in ("ive", "jv", "kv", "kve", "yv")], most=600),
    **_rows(ORDER, ("ive", 1, 1), ("kve", 1, 1), most=2e3),
    **_all(TINY, "iv", arguments=(1,)),
    **_rows(EXPONENT, ("power", 0, 1), ("float_power", 0, 1), most=700), **_all(PHASE, "sinc"),
    **_rows(PRODUCT, ("silu", None, 0), most=1300),
}  # fmt: skip


def reason(name, by, order):
    """Why a row misses its goal, None if nobody has said so."""
    found = EXCEPTIONS.get((name, by, order))
    return found and found[1]


def bound(name, by, order):
    """The largest error allowed, in ulp."""
    found = EXCEPTIONS.get((name, by, order))
    return GOALS[order] if found is None else found[0]
