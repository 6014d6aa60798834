"""Whether results agree: by dtype first, and where that is not enough by how far rounding may carry.

How far is measured: the program in double precision is run again with all its values changed by a few units in the last place
of the dtype that it is computed in (sums within one operation are not, so an operation that adds up carelessly is found).
"""

import warnings

import numpy as np

import polyad as pa
from polyad.dsl.ir.programs import Var, evaluate

RTOL = {"d": 1e-11, "f": 4e-6, "e": 4e-3}  # by the dtype of the real part
DOUBLE = {"e": "d", "f": "d", "d": "d", "F": "D", "D": "D"}
DRAWS, UNITS, SURE = 4, 4, 8  # of shaken programs; by how many units they are shaken; what their deviation is multiplied by


class quiet(warnings.catch_warnings):
    """Without warnings, those of floating-point arithmetic included."""

    def __enter__(self):
        super().__enter__()
        warnings.simplefilter("ignore")
        self.state = np.errstate(all="ignore")
        self.state.__enter__()

    def __exit__(self, *error):
        self.state.__exit__(*error)
        super().__exit__(*error)


def real_char(dtype):
    """The character of the dtype of an inexact dtype's real part."""
    return {"F": "f", "D": "d"}.get(dtype.char, dtype.char)


def doubled(xs):
    """Arrays in double precision, and lying plainly."""
    return [np.array(x, DOUBLE[x.dtype.char] if x.dtype.kind in "fc" else x.dtype.newbyteorder("="))[()] for x in xs]


def shaken(program, leaves, eps, rng):
    """The results of a program all of whose inexact values are changed a little."""
    env = dict(program.constants)

    def shake(x):
        x = np.asarray(x)
        if x.dtype.kind not in "fc" or x.dtype.itemsize < 8:
            return x[()]
        return (x * (1 + UNITS * eps * rng.uniform(-1, 1, size=x.shape))).astype(x.dtype)[()]

    env.update({v: shake(x) for v, x in zip(program.inputs, leaves, strict=True)})
    for e in program.equations:
        given = [env[v] if isinstance(v, Var) else v for v in e.inputs]
        y = e.op.generic.spread(*given, **e.params)
        for v, part in zip(e.outputs, y if isinstance(y, tuple) else (y,), strict=True):
            env[v] = shake(part)
    return [np.asarray(env[v] if isinstance(v, Var) else v) for v in program.outputs]


class Carried:
    """How far the results of f at xs may deviate: `limits`, an array for each (inf where nothing is known), made when asked."""

    def __init__(self, f, xs):
        self.f, self.xs, self.known = f, xs, None
        self.eps = max([np.finfo(x.dtype).eps for x in xs if x.dtype.kind in "fc"], default=np.finfo(float).eps)

    @property
    def limits(self):
        if self.known is None:
            with quiet():
                xs = doubled(self.xs)
                try:
                    program = pa.make_ir(self.f)(*xs)
                    plain = [np.asarray(y) for y in evaluate(program, xs)]
                    rng = np.random.default_rng(0)
                    others = [shaken(program, xs, self.eps, rng) for _ in range(DRAWS)]
                except Exception:  # what cannot be traced
                    self.known = [0.0] * 1000
                    return self.known
                self.known = [limit(y, [ys[k] for ys in others]) for k, y in enumerate(plain)]
        return self.known


def limit(plain, others):
    """By how much each element may deviate."""
    if plain.dtype.kind not in "fc":
        return np.where(np.all([y == plain for y in others], axis=0), 0.0, np.inf)
    far = np.max([np.abs(y - plain) for y in others], axis=0, initial=0.0)
    fixed = np.all([(y == plain) | ((y != y) & (plain != plain)) for y in others], axis=0)
    finite = np.isfinite(far)
    most = np.max(far, where=finite, initial=0.0)
    return np.where(finite, SURE * (0.5 * far + 0.5 * most), np.where(fixed, 0.0, np.inf))


def disagreement(found, wanted, carried, of_dtype=True):
    """What is wrong with results, as text, or None. carried: a Carried, whose limits are used where the dtype's do not do;
    of_dtype: whether the dtypes must be the same."""
    if len(found) != len(wanted):
        return f"{len(found)} results instead of {len(wanted)}"
    for k, (a, b) in enumerate(zip(found, wanted, strict=True)):
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape:
            return f"result {k} has shape {a.shape} instead of {b.shape}"
        if of_dtype and a.dtype.newbyteorder("=") != b.dtype.newbyteorder("="):
            return f"result {k} has dtype {a.dtype} instead of {b.dtype}"
        wrong = ~near(a, b)
        if np.any(wrong):
            limits = carried.limits[k]
            with quiet():
                far = np.abs(a.astype(complex) - b) if b.dtype.kind in "fc" else (a != b) * 1.0
                wrong &= ~(far <= limits) & ~np.isinf(limits)
        if np.any(wrong):
            at = np.unravel_index(np.argmax(wrong), wrong.shape)
            where = f"[{', '.join(map(str, at))}]" if at else ""
            return f"{int(np.sum(wrong))} of {wrong.size} elements; result {k}{where} is {a[at]!s} instead of {b[at]!s}"
    return None


def near(a, b):
    """Where elements agree to what their dtype allows."""
    if b.dtype.kind not in "fc":
        return a == b
    with quiet():
        kind = real_char(a.dtype) if a.dtype.kind in "fc" else "d"
        info = np.finfo(kind)
        a, b = a.astype("D" if b.dtype.kind == "c" else "d"), b.astype("D" if b.dtype.kind == "c" else "d")
        largest = np.max(np.abs(b), where=np.isfinite(b), initial=0.0)
        smallest = 1e-3 * RTOL[kind] * min(1.0, largest) + 4 * float(info.smallest_subnormal)
        close = np.abs(a - b) <= RTOL[kind] * np.abs(b) + smallest
        same = (a == b) | ((a != a) & (b != b)) | (~np.isfinite(a) & ~np.isfinite(b) & (b.dtype.kind == "c"))
        beyond = (np.abs(b) > 0.9 * float(info.max)) & np.isfinite(b)  # of double precision: too large for a's dtype
        return close | same | beyond


def directional(f, xs, dxs, h):
    """(the derivative of a number f along dxs by central differences, how unsure it is)."""
    at = lambda t: float(f(*[x + t * dx for x, dx in zip(xs, dxs, strict=True)]))
    slopes = [(at(s) - at(-s)) / (2 * s) for s in (h, h / 2)]
    return (4 * slopes[1] - slopes[0]) / 3, abs(slopes[1] - slopes[0])


def wrong_slope(f, xs, cts):
    """What is wrong with a gradient of a number f, as text, or None. xs: double precision; cts: the gradient."""
    rng = np.random.default_rng(5)
    dxs = [np.asarray(rng.standard_normal(x.shape) + (0.5j if x.dtype.kind == "c" else 0)).astype(x.dtype)[()] for x in xs]
    with quiet():
        along = sum([float(np.sum(np.real(c * d))) for c, d in zip(cts, dxs, strict=True)])
        scale = sum([float(np.sum(np.abs(c * d))) for c, d in zip(cts, dxs, strict=True)])
        size = abs(float(f(*xs)))
        for h in (1e-3, 1e-5, 1e-7):
            slope, unsure = directional(f, xs, dxs, h)
            allowed = 1e-5 * scale + 5 * unsure + 1e-14 * size / h
            if not np.isfinite(slope) or not np.isfinite(along) or abs(slope - along) <= allowed:
                return None
    return f"the slope is {along} instead of {slope}"
