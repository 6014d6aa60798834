"""Kernels of special functions: SciPy's, or those of a device's library, imported when the first one is called.

A card whose kernel is `special.<name>` is answered by `module.<name>`, so a library needs nothing but the module's name.
"""

import functools
import importlib
import math

import numpy as np

from ..dispatch import MissingRuleError
from ..dsl import operations
from ..dsl.ops.gamma import bell

LARGEST_SERIES = 1e4  # argument from which the series takes too many terms
NODES = np.arange(-3.8, 4.7, 0.1)  # of the trapezoidal rule in v, with t = x ± width · exp(v - exp(-v))


def special_kernels(xp, module, remedy):
    """operation -> function, for every card whose kernel is a special function, and for those near them that `xp` lacks.

    xp: the NumPy-like library. module: name of the module with its special functions. remedy: what to do without it.
    """
    lazy = LazyModule(module, remedy)
    named = {name: op.card.kernel for name, op in operations.items() if (op.card.kernel or "").startswith("special.")}
    kernels = {name: lazy.function(kernel.partition(".")[2], name) for name, kernel in named.items()}
    return {**kernels, "expit": logistic(xp), "gammainc_da": incomplete_gamma_slope(xp, lazy)}


class LazyModule:
    """A module that is imported by the first call of one of its functions."""

    def __init__(self, name, remedy):
        self.name, self.remedy = name, remedy

    def find(self, function, operation):
        """A function of the module. Raises ImportError, MissingRuleError, with the next step."""
        try:
            module = importlib.import_module(self.name)
        except ImportError as error:
            raise ImportError(f"polyad.{operation} needs {self.name}, which cannot be imported; {self.remedy}") from error
        found = getattr(module, function, None)
        if found is None:
            raise MissingRuleError(
                f'{operation}: {self.name} has no {function}; compute it on the host, polyad.to_device(x, "cpu")'
            )
        return found

    def function(self, name, operation):
        """A function of the module, looked up when it is called."""
        find = functools.cache(lambda: self.find(name, operation))

        def run(*args):
            return find()(*args)

        run.__name__ = run.__qualname__ = name
        return run


def logistic(xp):
    """The kernel of `expit`: no overflow on either side."""

    def expit(x):
        if getattr(x, "dtype", None) is not None and x.dtype.kind not in "fc":
            x = xp.multiply(x, 1.0)  # -x is no number of an unsigned or boolean dtype
        right = xp.real(x) >= 0
        e = xp.exp(xp.where(right, xp.negative(x), x))
        return (xp.where(right, 1, e) / (1 + e))[()]

    return expit


# ---------------------------------------------------------------------- the incomplete gamma function by its shape
def incomplete_gamma_slope(xp, special):
    """The kernel of `gammainc_da`: derivatives of P(a, x) by a."""

    def gammainc_da(a, x, order=1):
        dtype = xp.add(a, x).dtype
        if dtype.kind == "c":
            raise TypeError("a and x must be real")
        a, x = xp.broadcast_arrays(xp.asarray(a), xp.asarray(x))
        a, x = a.astype(np.float64), x.astype(np.float64)
        inside = (a > 0) & (x > 0) & (x < math.inf) & (a < math.inf)
        a1, x1 = xp.where(inside, a, 1.0), xp.where(inside, x, 1.0)
        tail = xp.logical_or(x1 > a1 + 1, x1 > LARGEST_SERIES)
        y = series(xp.where(tail, 1.0, a1), xp.where(tail, 1.0, x1), order)
        if bool(xp.any(tail)):
            y = xp.where(tail, integral(xp.where(tail, a1, 1.0), xp.where(tail, x1, 3.0), order), y)
        edge = xp.where((a > 0) & (x >= 0), 0.0, math.nan)  # P is 0 at x = 0 and 1 at infinity, whatever a is
        return xp.where(inside, y, edge).astype(dtype if dtype.kind == "f" else np.float64)[()]

    def series(a, x, order):
        """Σ dᵏ/daᵏ x^(a+n) e^-x / Γ(a+n+1), over the n whose terms count."""
        if not a.size:
            return a
        gammaln, digamma, polygamma = functions()
        width = 9 * xp.sqrt(x) + 40
        z = a + xp.floor(xp.maximum(x - a - width, 0.0))
        term = xp.exp(z * xp.log(x) - x - gammaln(z + 1))
        slopes = [xp.log(x) - digamma(z + 1), *[-polygamma(k, z + 1) for k in range(1, order)]]
        total = 0.0
        for _ in range(int(2 * xp.max(width))):
            total = total + term * xp_bell(slopes)
            z = z + 1
            term = term * (x / z)
            slopes = [s + (-1) ** (k + 1) * math.factorial(k) / z ** (k + 1) for k, s in enumerate(slopes)]
        return total

    def xp_bell(slopes):
        return slopes[0] if len(slopes) == 1 else bell(slopes)

    def integral(a, x, order):
        """The derivative of the density by a, integrated from x to the nearer end: above x > a of one sign, so that nothing
        cancels in the tail (double exponential quadrature: H. Takahasi and M. Mori, Publ. RIMS 9, 1974)."""
        gammaln, digamma, polygamma = functions()
        side = xp.where(x > a, 1.0, -1.0)
        width = x / (xp.abs(x - a + 1) + xp.sqrt(x))
        later = [-polygamma(k, a) for k in range(1, order)]
        total = 0.0
        for v in NODES:
            u = side * width * math.exp(v - math.exp(-v))
            inside = u > -x
            u = xp.where(inside, u, 0.0)
            weight = xp.where(inside, (1 + math.exp(-v)) * xp.abs(u) * xp.exp((a - 1) * xp.log1p(u / x) - u), 0.0)
            total = total + weight * xp_bell([xp.log(x + u) - digamma(a), *later])
        return -side * (NODES[1] - NODES[0]) * total * xp.exp((a - 1) * xp.log(x) - x - gammaln(a))

    def functions():
        return [special.find(f, "gammainc_da") for f in ("gammaln", "digamma", "polygamma")]

    return gammainc_da
