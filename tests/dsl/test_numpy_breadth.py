"""The published list: which of NumPy's dispatched functions and ufuncs work on followed values, and what to use instead.

Every function of `get_overridable_numpy_array_functions` and every ufunc of `get_overridable_numpy_ufuncs` either has an
example in these tables, whose value under each transformation is NumPy's and whose derivative is that of finite differences,
or raises MissingRuleError naming the alternative.
"""

import numpy as np
import numpy.char
import numpy.lib.recfunctions
import numpy.lib.scimath
import numpy.polynomial
import numpy.strings
import pytest
from numpy.testing.overrides import get_overridable_numpy_array_functions, get_overridable_numpy_ufuncs

import polyad as pa
from polyad.dsl.numpy_calls.alternatives import alternative

rng = np.random.default_rng(3)
X = rng.permutation(np.linspace(0.15, 0.95, 12)).reshape(3, 4)
GRID = np.array([0.2, 0.5, 0.8])


def sq(x):
    """A well conditioned square matrix."""
    return x[:, :3] + 2 * np.eye(3)


def sym(x):
    """A positive definite matrix."""
    a = sq(x)
    return a @ a.T


def wrote(function, *args, like=lambda x: x.copy(), **kwargs):
    """The result of a function that writes into its first argument."""

    def f(x):
        y = like(x)
        function(y, *[a(x) if callable(a) else a for a in args], **kwargs)
        return y

    return f


WORKS = {
    "all": lambda x: np.all(x > 0.2, axis=0), "any": lambda x: np.any(x > 0.2, axis=0),
    "allclose": lambda x: np.allclose(x, X), "amax": lambda x: np.amax(x, 1), "amin": lambda x: np.amin(x, 1),
    "angle": lambda x: np.angle(x + 1j), "append": lambda x: np.append(x, x[:1], axis=0),
    "arange": lambda x: np.arange(4.0, like=x) * x, "argmax": lambda x: np.argmax(x, axis=1),
    "argmin": lambda x: np.argmin(x, axis=1),
    "argpartition": lambda x: np.take_along_axis(x, np.argpartition(x, 1), -1)[:, 1],
    "argsort": lambda x: np.argsort(x, axis=0), "argwhere": lambda x: np.argwhere(x > 0.5),
    "real_if_close": lambda x: np.real_if_close(x),
    "around": lambda x: np.around(x + 0.012, 1), "array": lambda x: np.array([x, x], like=x),
    "array2string": lambda x: len(np.array2string(x)) > 3, "array_equal": lambda x: np.array_equal(x, X),
    "array_equiv": lambda x: np.array_equiv(x, X), "array_repr": lambda x: len(np.array_repr(x)) > 3,
    "array_str": lambda x: len(np.array_str(x)) > 3, "array_split": lambda x: np.array_split(x, 3, axis=1),
    "asanyarray": lambda x: np.asanyarray(x, like=x) * 1, "asarray": lambda x: np.asarray([x, 2 * x], like=x),
    "ascontiguousarray": lambda x: np.ascontiguousarray(x, like=x) * 1,
    "asfortranarray": lambda x: np.asfortranarray(x, like=x) * 1, "astype": lambda x: np.astype(x, np.float32),
    "atleast_1d": lambda x: np.atleast_1d(x[0, 0]), "atleast_2d": lambda x: np.atleast_2d(x[0]),
    "atleast_3d": lambda x: np.atleast_3d(x), "average": lambda x: np.average(x, axis=0, weights=x[:, 0]),
    "bincount": lambda x: np.bincount(np.argmax(x, 1), minlength=5), "block": lambda x: np.block([[x, x], [x, x]]),
    "broadcast_arrays": lambda x: np.broadcast_arrays(x, x[0])[1], "broadcast_to": lambda x: np.broadcast_to(x, (2, 3, 4)),
    "can_cast": lambda x: np.can_cast(x.dtype, np.float32), "choose": lambda x: np.choose([0, 1, 1, 0], [x[0], x[1]]),
    "clip": lambda x: np.clip(x, 0.3, 0.7), "column_stack": lambda x: np.column_stack([x[0], x[1]]),
    "common_type": lambda x: x * np.ones(1, np.common_type(x)),
    "compress": lambda x: np.compress([True, False, True], x, axis=0), "concatenate": lambda x: np.concatenate([x, x]),
    "convolve": lambda x: np.convolve(x[0], x[1]), "copy": lambda x: np.copy(x),
    "copyto": wrote(np.copyto, lambda x: 2 * x, where=X > 0.5), "corrcoef": lambda x: np.corrcoef(x),
    "correlate": lambda x: np.correlate(x[0], x[1, :2]), "count_nonzero": lambda x: np.count_nonzero(x > 0.5),
    "cov": lambda x: np.cov(x), "cross": lambda x: np.cross(x[:, :3], x[:, 1:]), "cumprod": lambda x: np.cumprod(x, axis=1),
    "cumsum": lambda x: np.cumsum(x, axis=0), "cumulative_prod": lambda x: np.cumulative_prod(x, axis=1),
    "cumulative_sum": lambda x: np.cumulative_sum(x, axis=1), "delete": lambda x: np.delete(x, 1, axis=0),
    "diag": lambda x: np.diag(x), "diag_indices_from": lambda x: x[:, :3][np.diag_indices_from(x[:, :3])],
    "diagflat": lambda x: np.diagflat(x[0]), "diagonal": lambda x: np.diagonal(x, 1), "diff": lambda x: np.diff(x, axis=0),
    "digitize": lambda x: np.digitize(x, GRID), "dot": lambda x: np.dot(x, x.T), "dsplit": lambda x: np.dsplit(x[None], 2),
    "dstack": lambda x: np.dstack([x, x]), "ediff1d": lambda x: np.ediff1d(x),
    "einsum": lambda x: np.einsum("ij,kj->ik", x, x),
    "empty": lambda x: wrote(lambda y: y.fill(2.0), like=lambda x: np.empty(3, like=x))(x) * x[:, 0],
    "empty_like": wrote(lambda y, x: y.__setitem__(Ellipsis, 3 * x), lambda x: x, like=np.empty_like),
    "expand_dims": lambda x: np.expand_dims(x, 1), "extract": lambda x: np.extract(X > 0.5, x),
    "eye": lambda x: np.eye(3, like=x) @ x, "fft.fft": lambda x: np.fft.fft(x), "fft.fft2": lambda x: np.fft.fft2(x),
    "fft.fftn": lambda x: np.fft.fftn(x), "fft.fftshift": lambda x: np.fft.fftshift(x),
    "fft.hfft": lambda x: np.fft.hfft(x + 1j * x), "fft.ifft": lambda x: np.fft.ifft(x),
    "fft.ifft2": lambda x: np.fft.ifft2(x), "fft.ifftn": lambda x: np.fft.ifftn(x),
    "fft.ifftshift": lambda x: np.fft.ifftshift(x), "fft.ihfft": lambda x: np.fft.ihfft(x),
    "fft.irfft": lambda x: np.fft.irfft(x + 1j * x), "fft.irfft2": lambda x: np.fft.irfft2(x + 1j * x),
    "fft.irfftn": lambda x: np.fft.irfftn(x + 1j * x), "fft.rfft": lambda x: np.fft.rfft(x),
    "fft.rfft2": lambda x: np.fft.rfft2(x), "fft.rfftn": lambda x: np.fft.rfftn(x),
    "fill_diagonal": wrote(np.fill_diagonal, lambda x: x[0, 1] * 2), "fix": lambda x: np.fix(3 * x),
    "flatnonzero": lambda x: np.flatnonzero(x > 0.5), "flip": lambda x: np.flip(x), "fliplr": lambda x: np.fliplr(x),
    "flipud": lambda x: np.flipud(x), "full": lambda x: np.full((3, 4), x[0, 0], like=x) * x,
    "full_like": lambda x: np.full_like(x, 2.0) * x, "geomspace": lambda x: np.geomspace(x[0, 0], x[1, 1], 5),
    "gradient": lambda x: np.gradient(x, axis=1), "histogram": lambda x: np.histogram(x, 3, (0, 1))[0],
    "histogram_bin_edges": lambda x: np.histogram_bin_edges(x, 4), "hsplit": lambda x: np.hsplit(x, 2),
    "hstack": lambda x: np.hstack([x, x]), "i0": lambda x: np.i0(x), "identity": lambda x: np.identity(3, like=x) @ x,
    "imag": lambda x: np.imag(x * (1 + 2j)), "inner": lambda x: np.inner(x, x),
    "insert": lambda x: np.insert(x, 1, x[0], axis=0), "interp": lambda x: np.interp(x[0], GRID, x[:, 1]),
    "intersect1d": lambda x: np.intersect1d(x[:2], X[1:]), "isclose": lambda x: np.isclose(x, X),
    "iscomplex": lambda x: np.iscomplex(x), "iscomplexobj": lambda x: np.iscomplexobj(x), "isin": lambda x: np.isin(x, X[:2]),
    "isneginf": lambda x: np.isneginf(x), "isposinf": lambda x: np.isposinf(x), "isreal": lambda x: np.isreal(x),
    "isrealobj": lambda x: np.isrealobj(x), "kron": lambda x: np.kron(x, x[:2, :2]),
    "lexsort": lambda x: np.lexsort((x[0], x[1])), "linspace": lambda x: np.linspace(x[0], x[1], 3),
    "logspace": lambda x: np.logspace(x[0, 0], x[1, 1], 4), "matrix_transpose": lambda x: np.matrix_transpose(x),
    "max": lambda x: np.max(x, axis=0), "mean": lambda x: np.mean(x, axis=0), "median": lambda x: np.median(x, axis=0),
    "meshgrid": lambda x: np.meshgrid(x[0], x[1])[1], "min": lambda x: np.min(x), "moveaxis": lambda x: np.moveaxis(x, 0, 1),
    "min_scalar_type": lambda x: np.min_scalar_type(x) == np.float64, "nan_to_num": lambda x: np.nan_to_num(x),
    "nanargmax": lambda x: np.nanargmax(x), "nanargmin": lambda x: np.nanargmin(x),
    "nancumprod": lambda x: np.nancumprod(x, 0), "nancumsum": lambda x: np.nancumsum(x, 0),
    "nanmax": lambda x: np.nanmax(x, 0), "nanmean": lambda x: np.nanmean(x, 0), "nanmedian": lambda x: np.nanmedian(x, 0),
    "nanmin": lambda x: np.nanmin(x, 0), "nanpercentile": lambda x: np.nanpercentile(x, 30, 0),
    "nanprod": lambda x: np.nanprod(x, 0), "nanquantile": lambda x: np.nanquantile(x, 0.3, 0),
    "nanstd": lambda x: np.nanstd(x, 0), "nansum": lambda x: np.nansum(x, 0), "nanvar": lambda x: np.nanvar(x, 0),
    "ndim": lambda x: np.ndim(x) * x, "nonzero": lambda x: np.nonzero(x > 0.5), "ones": lambda x: np.ones(4, like=x) * x,
    "ones_like": lambda x: np.ones_like(x) * x, "outer": lambda x: np.outer(x[0], x[1]), "pad": lambda x: np.pad(x, 1),
    "partition": lambda x: np.partition(x, 1)[:, 1], "percentile": lambda x: np.percentile(x, 30, axis=0),
    "piecewise": lambda x: np.piecewise(x, [x < 0.5, x >= 0.5], [lambda v: v * v, lambda v: 3 * v]),
    "place": wrote(np.place, X > 0.5, [7.0, 8.0]), "polyadd": lambda x: np.polyadd(x[0], x[1, :2]),
    "polyder": lambda x: np.polyder(x[0]), "polyint": lambda x: np.polyint(x[0]), "polymul": lambda x: np.polymul(x[0], x[1]),
    "polysub": lambda x: np.polysub(x[0], x[1]), "polyval": lambda x: np.polyval(x[0], x),
    "prod": lambda x: np.prod(x, axis=0), "ptp": lambda x: np.ptp(x, axis=0),
    "put": wrote(np.put, [0, -1], lambda x: x[1, :2]), "putmask": wrote(np.putmask, X > 0.5, lambda x: x * 2),
    "put_along_axis": wrote(np.put_along_axis, np.array([[0], [1], [2]]), lambda x: 2 * x[:, :1], 1),
    "quantile": lambda x: np.quantile(x, 0.3, axis=0), "ravel": lambda x: np.ravel(x),
    "ravel_multi_index": lambda x: np.ravel_multi_index((np.argmax(x, 1), np.argmin(x, 1)), (5, 6)),
    "real": lambda x: np.real(x * (1 + 2j)), "repeat": lambda x: np.repeat(x, 2, axis=0),
    "require": lambda x: np.require(x, like=x) * 1, "reshape": lambda x: np.reshape(x, (4, 3)),
    "resize": lambda x: np.resize(x, (2, 7)), "result_type": lambda x: np.result_type(x, 1j).kind == "c",
    "roll": lambda x: np.roll(x, 2), "rollaxis": lambda x: np.rollaxis(x, 1), "rot90": lambda x: np.rot90(x),
    "round": lambda x: np.round(x + 0.012, 1), "searchsorted": lambda x: np.searchsorted(GRID, x),
    "select": lambda x: np.select([X > 0.5], [x * x], x), "setdiff1d": lambda x: np.setdiff1d(x, X[:1]),
    "setxor1d": lambda x: np.setxor1d(x[:2], X[1:]), "shape": lambda x: np.shape(x)[1] * x, "sinc": lambda x: np.sinc(x),
    "size": lambda x: np.size(x) * x, "sort": lambda x: np.sort(x, axis=0), "split": lambda x: np.split(x, [1], axis=1),
    "squeeze": lambda x: np.squeeze(x[None]), "stack": lambda x: np.stack([x, x]), "std": lambda x: np.std(x, axis=0),
    "sum": lambda x: np.sum(x, axis=0), "swapaxes": lambda x: np.swapaxes(x, 0, 1),
    "take": lambda x: np.take(x, [0, 2], axis=1), "take_along_axis": lambda x: np.take_along_axis(x, np.argsort(x, 1), 1),
    "tensordot": lambda x: np.tensordot(x, x, ([1], [1])), "tile": lambda x: np.tile(x, 2), "trace": lambda x: np.trace(x),
    "transpose": lambda x: np.transpose(x), "trapezoid": lambda x: np.trapezoid(x), "tri": lambda x: np.tri(3, like=x) @ x,
    "tril": lambda x: np.tril(x), "triu": lambda x: np.triu(x), "tril_indices_from": lambda x: x[np.tril_indices_from(x)],
    "triu_indices_from": lambda x: x[np.triu_indices_from(x)], "union1d": lambda x: np.union1d(x, X),
    "unique": lambda x: np.unique(x), "unique_all": lambda x: tuple(np.unique_all(x)),
    "unique_counts": lambda x: tuple(np.unique_counts(x)), "unique_inverse": lambda x: tuple(np.unique_inverse(x)),
    "unique_values": lambda x: np.sort(np.unique_values(x)),
    "unravel_index": lambda x: np.unravel_index(np.argmax(x), (3, 4)), "unstack": lambda x: np.unstack(x),
    "unwrap": lambda x: np.unwrap(9 * x), "vander": lambda x: np.vander(x[0], 3), "var": lambda x: np.var(x, axis=0),
    "vdot": lambda x: np.vdot(x, x), "vsplit": lambda x: np.vsplit(x, 3), "vstack": lambda x: np.vstack([x, x]),
    "where": lambda x: np.where(x > 0.5, x, x * x), "zeros": lambda x: np.zeros(4, like=x) + x,
    "zeros_like": lambda x: np.zeros_like(x) + x,
    "lib.stride_tricks.sliding_window_view": lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, axis=1),
    "linalg.cholesky": lambda x: np.linalg.cholesky(sym(x)), "linalg.cond": lambda x: np.linalg.cond(sq(x)),
    "linalg.cross": lambda x: np.linalg.cross(x[:, :3], x[:, 1:]), "linalg.det": lambda x: np.linalg.det(sq(x)),
    "linalg.diagonal": lambda x: np.linalg.diagonal(x), "linalg.eig": lambda x: np.abs(np.linalg.eig(sq(x))[0]),
    "linalg.eigh": lambda x: np.abs(np.linalg.eigh(sym(x))[1]), "linalg.eigvals": lambda x: np.linalg.eigvals(sq(x)),
    "linalg.eigvalsh": lambda x: np.linalg.eigvalsh(sym(x)), "linalg.inv": lambda x: np.linalg.inv(sq(x)),
    "linalg.lstsq": lambda x: np.linalg.lstsq(x.T, x[0], rcond=None)[0], "linalg.matmul": lambda x: np.linalg.matmul(x, x.T),
    "linalg.matrix_norm": lambda x: np.linalg.matrix_norm(x),
    "linalg.matrix_power": lambda x: np.linalg.matrix_power(sq(x), 3),
    "linalg.matrix_rank": lambda x: np.linalg.matrix_rank(x),
    "linalg.matrix_transpose": lambda x: np.linalg.matrix_transpose(x),
    "linalg.multi_dot": lambda x: np.linalg.multi_dot([x, x.T, x]), "linalg.norm": lambda x: np.linalg.norm(x, axis=0),
    "linalg.outer": lambda x: np.linalg.outer(x[0], x[1]), "linalg.pinv": lambda x: np.linalg.pinv(x),
    "linalg.qr": lambda x: tuple(np.linalg.qr(sq(x))), "linalg.slogdet": lambda x: tuple(np.linalg.slogdet(sq(x))),
    "linalg.solve": lambda x: np.linalg.solve(sq(x), x), "linalg.svd": lambda x: np.linalg.svd(x, full_matrices=False)[1],
    "linalg.svdvals": lambda x: np.linalg.svdvals(x),
    "linalg.tensordot": lambda x: np.linalg.tensordot(x, x, axes=([1], [1])),
    "linalg.tensorinv": lambda x: np.linalg.tensorinv(sq(x), ind=1),
    "linalg.tensorsolve": lambda x: np.linalg.tensorsolve(sq(x), x[:, 0]), "linalg.trace": lambda x: np.linalg.trace(x),
    "linalg.vecdot": lambda x: np.linalg.vecdot(x, x), "linalg.vector_norm": lambda x: np.linalg.vector_norm(x, axis=0),
}  # fmt: skip

# how many elements there are depends on the values: lanes are split by them, and a trace has none
BY_VALUE = {"argwhere", "flatnonzero", "nonzero", "intersect1d", "setdiff1d", "setxor1d", "union1d", "unique", "unique_all",
            "unique_counts", "unique_inverse", "unique_values", "place", "bincount", "array_equal", "array_equiv",
            "allclose"}  # fmt: skip
NOT_SMOOTH = {"intersect1d", "setdiff1d", "setxor1d", "union1d"}  # they compare with numbers that do not move along

FUNCTIONS = {f"{f.__module__}.{f.__name__}".removeprefix("numpy."): f for f in get_overridable_numpy_array_functions()}
# without those that NumPy keeps to itself, behind a function of the same name
UFUNCS = {f.__name__: f for f in get_overridable_numpy_ufuncs() if getattr(np, f.__name__, f) is f}

INTEGERS = {"bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift", "gcd", "lcm"}
SPECIAL = {
    "arccosh": lambda x: np.arccosh(1 + x), "ldexp": lambda x: np.ldexp(x, np.arange(4)), "matmul": lambda x: np.matmul(x, x.T),
    "matvec": lambda x: np.matvec(x, x[0]), "vecmat": lambda x: np.vecmat(x[:, 0], x), "vecdot": lambda x: np.vecdot(x, x),
    "isnat": None, "clip": None, "_ones_like": None,
}  # fmt: skip


def test_every_example_is_one_of_numpys():
    assert set(WORKS) <= set(FUNCTIONS), set(WORKS) - set(FUNCTIONS)


def flat(y):
    """The arrays of a result."""
    return [np.asarray(v) for v in pa.tree.leaves(list(y) if isinstance(y, (list, tuple)) else y)]


def compare(found, expected, mode):
    assert len(found) == len(expected), mode
    for a, b in zip(found, expected, strict=True):
        assert a.dtype != object, mode
        np.testing.assert_allclose(a, b, rtol=1e-6 if b.dtype == np.float32 else 1e-10, atol=1e-12, err_msg=mode)
        assert a.shape == b.shape, mode


def check(f, by_value=False, smooth=True):
    expected = flat(f(X))
    inexact = [y.dtype.kind in "fc" for y in expected]
    listed = lambda x: [v for v in pa.tree.leaves(list_of(f(x)))]
    dx = rng.standard_normal(X.shape)
    y, dy = pa.jvp(listed, (X,), (dx,))
    compare(flat(y), expected, "jvp")
    y, pull = pa.vjp(listed, X)
    compare(flat(y), expected, "vjp")
    if not by_value:
        compare([v[1] for v in flat(pa.vmap(listed)(np.stack([X[::-1], X])))], expected, "vmap")
        compare(flat(pa.make_ir(listed)(X)(X)), expected, "ir")
    if smooth and any(inexact):
        h = 1e-6
        plus, minus = flat(f(X + h * dx)), flat(f(X - h * dx))
        cts = [rng.standard_normal(np.shape(v)) if k else pa.NoTangent for v, k in zip(expected, inexact, strict=True)]
        forward = 0.0
        for k, a, b, t, ct in zip(inexact, plus, minus, dy, cts, strict=True):
            if k:
                single = 1e-3 if a.dtype in (np.float32, np.complex64) else 1e-6
                if single == 1e-6:
                    np.testing.assert_allclose(np.asarray(t), (a - b) / (2 * h), rtol=1e-5, atol=1e-6)
                forward += np.sum(np.asarray(t) * ct).real
        cts = [c if c is pa.NoTangent else np.asarray(c, v.dtype) for c, v in zip(cts, expected, strict=True)]
        np.testing.assert_allclose(np.sum(pull(cts)[0] * dx), forward, rtol=1e-4, atol=1e-8)


def list_of(y):
    return list(y) if isinstance(y, (list, tuple)) else y


@pytest.mark.filterwarnings("ignore::polyad.PerformanceWarning")
@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated")  # from NumPy 2.5 on
@pytest.mark.parametrize("name", sorted(WORKS))
def test_function(name):
    check(WORKS[name], name in BY_VALUE, name not in NOT_SMOOTH)


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - set(WORKS)))
def test_function_that_has_an_alternative(name):
    advice = alternative(name)
    assert advice, f"np.{name} neither works nor has an alternative"

    def f(x):
        with pytest.raises(pa.MissingRuleError) as found:
            x.__array_function__(FUNCTIONS[name], (type(x),), (x,), {})
        assert advice in str(found.value) and name in str(found.value)
        return x

    pa.vjp(f, X)
    pa.vmap(f)(X)


def ufunc_example(ufunc):
    if ufunc.__name__ in SPECIAL:
        return SPECIAL[ufunc.__name__]
    if ufunc.__name__ in INTEGERS:
        ints = lambda x: np.argsort(x, axis=0) + 1
        return (lambda x: ufunc(ints(x))) if ufunc.nin == 1 else lambda x: ufunc(ints(x), ints(x[::-1]))
    if not any(set(t.partition("->")[0]) <= set("dl?") for t in ufunc.types) or alternative(ufunc.__name__):
        return None
    return (lambda x: ufunc(x)) if ufunc.nin == 1 else lambda x: ufunc(x, x[::-1] * 1.5)


@pytest.mark.parametrize("name", sorted(UFUNCS))
def test_ufunc(name):
    f = UFUNCS[name]
    example = ufunc_example(f)
    if name == "divmod":
        example = lambda x: np.divmod(x, 0.4)
    if example is not None:
        check(example)
        return
    advice = alternative(name)
    assert advice, f"np.{name} neither works nor has an alternative"

    def g(x):
        with pytest.raises(pa.MissingRuleError) as found:
            x.__array_ufunc__(f, "__call__", *[x] * f.nin)
        assert advice in str(found.value)
        return x

    pa.vjp(g, X)
    pa.vmap(g)(X)


UFUNC_METHODS = {
    "reduce": lambda x: np.add.reduce(x) + np.multiply.reduce(x, axis=0) + np.maximum.reduce(x) - np.minimum.reduce(x),
    "reduce_options": lambda x: np.add.reduce(x, axis=(0, 1), keepdims=True, initial=2.0, where=X > 0.3),
    "reduce_logical": lambda x: np.logical_and.reduce(x > 0.2) | np.logical_or.reduce(x > 0.9),
    "reduce_other": lambda x: np.hypot.reduce(x, axis=1) + np.subtract.reduce(x, axis=-1) + np.logaddexp.reduce(x, axis=1),
    "reduce_keepdims": lambda x: np.subtract.reduce(x, axis=1, keepdims=True) + np.divide.reduce(x),
    "reduce_in_dtype": lambda x: np.multiply.reduce(x, dtype=np.float32, axis=(0, 1)),
    "accumulate": lambda x: np.add.accumulate(x) * np.multiply.accumulate(x, axis=1),
    "accumulate_other": lambda x: np.maximum.accumulate(x, axis=1) + np.subtract.accumulate(x, axis=0),
    "outer": lambda x: np.add.outer(x[0], x) * np.multiply.outer(x[1], x) + np.hypot.outer(x[0], x),
    "reduceat": lambda x: np.add.reduceat(x, [0, 2, 1], axis=1) * np.maximum.reduceat(x, [1, 0, 2], axis=1),
    "at": wrote(np.add.at, ([0, 0, 1], [1, 1, 2]), lambda x: x[:, 0]),
    "where_out": lambda x: np.multiply(x, x, out=x.copy(), where=X > 0.5),
    "sum_where": lambda x: np.sum(x, where=X > 0.5, axis=0) + np.sum(x, initial=3.0)
    + np.prod(x, 0, where=X > 0.3, initial=2.0),
    "mean_where": lambda x: np.mean(x, axis=1, where=X > 0.25),
    "max_where": lambda x: np.max(x, axis=0, where=X > 0.5, initial=-1.0) - np.min(x, axis=0, initial=0.2),
    "any_where": lambda x: np.any(x > 0.5, where=X > 0.3, axis=0) ^ np.all(x > 0.5, where=X > 0.3, axis=0),
    "empty_max": lambda x: np.max(x[:0], axis=0, initial=0.5) + x,
    "out": lambda x: np.add(np.sin(x, out=np.empty_like(x)), 1, out=np.empty_like(x)),
    "out_function": lambda x: np.cumsum(x, axis=0, out=np.empty_like(x)) + np.clip(x, 0.2, 0.5, out=np.empty_like(x)),
    "scipy": lambda x: pytest.importorskip("scipy.special").gammaln(x),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(UFUNC_METHODS))
def test_ufunc_methods_and_options(name):
    check(UFUNC_METHODS[name])


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (lambda x: np.var(x, where=X > 0.5), "where="),
        (lambda x: np.mean(x, where=X > 0.5, initial=1), "initial"),
        (lambda x: np.max(x, where=X > 0.5), "where= .*without initial="),
        (lambda x: np.hypot.reduce(x, axis=None), "several axes"),
        (lambda x: np.spacing.at(x, [0]), "np.spacing.at"),
        (lambda x: np.ldexp.accumulate(x), "accumulate|ldexp"),
        (lambda x: np.median(x, out=np.zeros(())), "out="),
        (lambda x: np.einsum("ij->", x, out=np.zeros(())), "out="),
    ],
)
def test_options_that_are_refused(f, text):
    with pytest.raises((pa.PolyadError, TypeError), match=text):
        pa.vjp(f, X)


def test_the_count():
    """How many there are, for the documentation."""
    functions, ufuncs = len(FUNCTIONS), [u for u in UFUNCS.values() if not u.__name__.startswith("_")]
    assert functions >= 300 and len(WORKS) >= 240
    assert len([u for u in ufuncs if alternative(u.__name__) is None]) >= 80
