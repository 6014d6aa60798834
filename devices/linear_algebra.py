"""Kernels of linear algebra for a NumPy-like library: what its `linalg` lacks, or gives in another form."""

import importlib
from typing import Any

import numpy as np

from ..dsl.avals import aval_of
from ..dsl.ops.determinants import SlogdetResult
from ..dsl.ops.factorize import LUResult, QRResult, SVDResult, lu_shape
from ..dsl.ops.matrices import computed_dtype
from ..dsl.ops.spectra import EighResult, EigResult


def linear_algebra_kernels(xp, scipy):
    """name -> function. xp: the library. scipy: name of the library's counterpart of `scipy.linalg`, imported when needed."""

    def in_named_tuple(name, kind):
        return lambda x, **params: kind(*getattr(xp.linalg, name)(x, **params))

    def complexly(x):
        return x.astype(np.result_type(x.dtype, np.complex64))

    def eig(x):
        w, v = xp.linalg.eig(x)
        return EigResult(complexly(w), complexly(v))

    def pinv(x, rtol=None):
        rtol = max(x.shape[-2:]) * np.finfo(np.result_type(x.dtype, np.float32)).eps if rtol is None else rtol
        return xp.linalg.pinv(x, rtol)

    def adjugate(x):
        u, s, vh = xp.linalg.svd(x)
        n = s.shape[-1]
        others = xp.prod(xp.where(xp.eye(n, dtype=bool), 1.0, s[..., None, :]), axis=-1).astype(s.dtype)
        scale = (xp.linalg.det(u) * xp.linalg.det(vh))[..., None, None]
        v, uh = (xp.conj(xp.swapaxes(m, -1, -2)) for m in (vh, u))
        return scale * ((v * others[..., None, :]) @ uh)

    def solve_triangular(a, b, trans=0, lower=False, unit_diagonal=False):
        a, b = taken("solve_triangular", a, b)
        if a.ndim == 2 and b.ndim <= 2 and a.shape[0] == a.shape[1] == b.shape[0] and b.size:
            try:
                quick = importlib.import_module(scipy).solve_triangular
            except ImportError:  # SciPy is no requirement
                pass
            else:
                return quick(a, b, trans=trans, lower=lower, unit_diagonal=unit_diagonal, check_finite=False)
        k = 1 if unit_diagonal else 0
        full = xp.tril(a, -k) if lower else xp.triu(a, k)
        if unit_diagonal:
            full = full + xp.eye(a.shape[-1], dtype=a.dtype)
        if trans in (2, "C"):
            full = xp.conj(full)
        return xp.linalg.solve(full if trans in (0, "N") else xp.swapaxes(full, -1, -2), b)

    def taken(name, *xs):
        """Arrays in the dtype that the shape rules say, in the machine's order of bytes: SciPy itself would take others."""
        dtype = computed_dtype(name, *xs).newbyteorder("=")
        return [x if x.dtype == dtype else x.astype(dtype) for x in xs]

    def expm(x):
        return of_scipy("expm")(*taken("expm", x))

    def of_scipy(name):
        try:
            return getattr(importlib.import_module(scipy), name)
        except ImportError as error:
            raise ImportError(f"{name}: its kernel is {scipy}.{name}, and {error}; install scipy") from error

    def lu(x):
        x = taken("lu", x)[0]
        if x.size:
            return LUResult(*of_scipy("lu")(x))
        p: Any
        lower: Any
        upper: Any
        p, lower, upper = lu_shape(aval_of(x))  # SciPy's shapes are others
        identity = xp.broadcast_to(xp.eye(p.shape[-1], dtype=p.dtype), p.shape)
        return LUResult(identity, xp.zeros(lower.shape, lower.dtype), xp.zeros(upper.shape, upper.dtype))

    return {
        "slogdet": in_named_tuple("slogdet", SlogdetResult),
        "qr": in_named_tuple("qr", QRResult),
        "svd": in_named_tuple("svd", SVDResult),
        "eigh": in_named_tuple("eigh", EighResult),
        "eig": eig,
        "eigvals": lambda x: complexly(xp.linalg.eigvals(x)),
        "pinv": pinv,
        "adjugate": adjugate,
        "solve_triangular": solve_triangular,
        "lu": lu,
        "expm": expm,
    }
