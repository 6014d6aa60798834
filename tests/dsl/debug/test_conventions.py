"""A second derivative through a slope that is a convention is said, once per place, or raised."""

import re
import warnings

import numpy as np
import pytest

import polyad as pa

linalg, norm = pa.linalg, pa.linalg.norm
THROUGH = {
    "sqrt": (lambda x: pa.cosh(norm(x)), np.zeros(2)), "abs": (lambda x: pa.sum(pa.cosh(pa.abs(x))), np.array([0.0, 1.0])),
    "power": (lambda x: pa.cosh((x @ x) ** 0.25), np.zeros(2)),
    "hypot": (lambda x: pa.cos(pa.hypot(x[0], x[1])), np.zeros(2)), "cbrt": (lambda x: pa.sum(pa.cbrt(x)), np.zeros(2)),
    "arctan2": (lambda x: x[0] * pa.arctan2(x[0], x[1]), np.zeros(2)),
    "angle": (lambda x: x[0] * pa.angle(x[0] + 1j * x[1]), np.zeros(2)),
    "svdvals": (lambda x: linalg.norm(x, 2) ** 2, np.diag([0.0, 0.0, 1.0])[:, :1]),
}  # fmt: skip
WHOLE = {
    "norm**2": lambda x: pa.exp(-(norm(x) ** 2)), "product": lambda x: norm(x) * norm(x),
    "scaled": lambda x: (norm(x) / 2) ** 2,
    "abs": lambda x: pa.sum(pa.abs(x) ** 2), "sqeuclidean": lambda x: pa.sqeuclidean(x, 0.0), "x**2": lambda x: pa.sum(x**2),
    "part": lambda x: pa.sum(norm(pa.stack([x, x]), axis=1)[1] ** 2), "hypot": lambda x: pa.hypot(x[0], x[1]) ** 2,
}  # fmt: skip
MODES = {
    "hessian": pa.hessian, "forward": lambda f: pa.jacfwd(pa.jacfwd(f)), "reverse": lambda f: pa.jacrev(pa.grad(f)),
    "both": lambda f: pa.jacrev(pa.jacfwd(f)), "lanes": lambda f: lambda x: pa.vmap(pa.hessian(f))(np.stack([x + 1, x])),
}  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", THROUGH)
def test_it_is_said(name, mode):
    f, x = THROUGH[name]
    with pytest.warns(pa.ConventionWarning, match=f"slope of {name} at 0, a convention.*sqeuclidean"):
        found = MODES[mode](f)(x)
    assert np.all(np.isfinite(found))
    with pa.debug_conventions(), pytest.raises(pa.ConventionError, match=f"slope of {name} at 0"):
        MODES[mode](f)(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MODES[mode](f)(x + 0.5)
        pa.grad(f)(x)
        pa.jacfwd(f)(x)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", WHOLE)
def test_nothing_is_said_of_wholes(name, mode):
    with warnings.catch_warnings(), pa.debug_conventions():
        warnings.simplefilter("error")
        MODES[mode](WHOLE[name])(np.zeros(2))


def test_once_per_place():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default")
        for _ in range(3):
            pa.hessian(lambda x: pa.cosh(norm(x)))(np.zeros(2))
    assert [w.category for w in seen] == [pa.ConventionWarning]
    assert seen[0].filename == __file__


SPECTRA = {
    "eigvalsh": linalg.eigvalsh, "eigvals": lambda x: pa.real(linalg.eigvals(x)), "svdvals": linalg.svdvals,
    "singular vectors or eigenvectors": lambda x: linalg.eigh(x)[0],
}  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SPECTRA)
def test_squares_of_equal_values(name, mode):
    """Their sum is that of squares of the elements, with other second derivatives; apart from ties it has these."""
    f = lambda x: pa.sum(SPECTRA[name](x + x.T) ** 2)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        MODES[mode](f)(np.eye(3))
    said = {str(w.message) for w in seen}
    pattern = rf"a second derivative comes through the slope of {name} at equal values.*sum\(x\*\*2\)"
    assert any(re.match(pattern, text) for text in said)
    with pa.debug_conventions(), pytest.raises(pa.ConventionError, match="equal values"):
        MODES[mode](f)(np.eye(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pa.grad(f)(np.eye(3)), pa.jacfwd(f)(np.eye(3))
        x = np.diag([1.0, 2.0, 4.0])
        np.testing.assert_allclose(pa.hessian(f)(x), pa.hessian(lambda x: pa.sum((x + x.T) ** 2))(x), atol=1e-9)


def test_equal_singular_values():
    def f(x):
        u, _, vh = pa.linalg.svd(x)
        return pa.sum(np.arange(4.0).reshape(2, 2) * (u @ vh))

    with pytest.warns(pa.ConventionWarning, match="vectors (or eigenvectors at|of) equal values"):
        pa.hessian(f)(np.eye(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pa.grad(f)(np.eye(2))
        pa.hessian(f)(np.diag([1.0, 2.0]))


def rebuilt(x):
    w, v = linalg.eigh(x)
    return (v * pa.exp(w)[..., None, :]) @ pa.matrix_transpose(v)


def rebuilt_svd(x):
    u, s, vh = linalg.svd(x, full_matrices=False)
    return (u * s) @ vh


def rebuilt_eig(x):
    w, v = linalg.eig(x)
    return pa.real((v * w) @ linalg.inv(v))


def inverse(x):
    w, v = np.linalg.eigh(x)
    return v @ np.diag(1 / w) @ np.linalg.inv(v)


def polar(x):
    u, _, vh = linalg.svd(x, full_matrices=False)
    return u @ vh


def projection(x):
    w, v = linalg.eigh(x)
    inside = v[:, w < 1.5]
    return inside @ inside.T


EYE, RECTANGLE = np.eye(3), np.array([[1.0, 0], [0, 0], [0, 0]])
LOSES = {
    "eigh": (rebuilt, EYE), "at 0": (rebuilt, 0 * EYE), "some": (rebuilt, np.diag([1.0, 1, 2])), "inverse": (inverse, EYE),
    "stack": (rebuilt, np.stack([EYE, np.diag([1.0, 2, 3])])), "svd": (rebuilt_svd, EYE), "eig": (rebuilt_eig, EYE),
    "svd at 0": (rebuilt_svd, RECTANGLE), "wide": (rebuilt_svd, RECTANGLE.T), "float32": (rebuilt, np.eye(3, dtype=np.float32)),
    "complex": (lambda x: pa.real(rebuilt_svd(x * (1 + 1j))), EYE),
}  # fmt: skip
LOSES_NOTHING = {
    "apart": (rebuilt, np.diag([1.0, 1.001, 2])), "eigenvalues": (lambda x: linalg.eigh(x)[0] ** 2, EYE),
    "singular values": (lambda x: linalg.svd(x)[1] ** 2, EYE), "eigvalsh": (linalg.eigvalsh, EYE), "polar": (polar, EYE),
    "projection": (projection, np.diag([1.0, 1.0, 2.0])), "all": (lambda x: (lambda v: v @ v.T)(linalg.eigh(x)[1]), EYE),
    "others": (lambda x: (lambda w, v: v[:, 2] * w[2])(*linalg.eigh(x)), np.diag([1.0, 1, 2])), "expm": (linalg.expm, EYE),
    "one column": (rebuilt_svd, np.array([[1.0], [0.0]])), "rank": (rebuilt_svd, np.diag([1.0, 2, 0])),
}  # fmt: skip
FIRST = {
    "reverse": pa.grad, "forward": pa.jacfwd, "jvp": lambda f: lambda x: pa.jvp(f, (x,), (np.ones_like(x),)),
    "rows": pa.jacrev, "lanes": lambda f: lambda x: pa.vmap(pa.grad(f))(np.stack([x, x])),
}  # fmt: skip


def weighted(f):
    return lambda x: (lambda y: pa.sum(np.cos(np.arange(y.size)).reshape(y.shape) * y))(f(x))


@pytest.mark.parametrize("mode", FIRST)
@pytest.mark.parametrize("name", LOSES)
def test_functions_of_values_and_vectors_at_ties(name, mode):
    """The slope between equal values is lost: said of first derivatives, once, with what to use."""
    f, x = LOSES[name]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        FIRST[mode](weighted(f))(x)
    assert [w.category for w in seen] == [pa.ConventionWarning]
    assert re.match("(eigh|svd|eig): a derivative comes through vectors of equal values.*expm.*svdvals", str(seen[0].message))
    with pa.debug_conventions(), pytest.raises(pa.ConventionError, match="vectors of equal values"):
        FIRST[mode](weighted(f))(x)


@pytest.mark.parametrize(
    ("name", "mode"), [(n, m) for n in LOSES_NOTHING for m in FIRST if n != "others" or m not in ("forward", "jvp")]
)
def test_nothing_is_lost(name, mode):
    """Forward mode sees that values and vectors are read, not which of them."""
    f, x = LOSES_NOTHING[name]
    with warnings.catch_warnings(), pa.debug_conventions():
        warnings.simplefilter("error")
        FIRST[mode](weighted(f))(x)


def test_vectors_alone():
    """What depends on the choice of the basis has a cotangent of the turn; only reverse mode sees it."""
    with pytest.warns(pa.ConventionWarning, match="eigh: a derivative comes through vectors of equal values"):
        pa.grad(weighted(lambda x: linalg.eigh(x)[1]))(EYE)
    with pytest.warns(pa.ConventionWarning, match="svd: a derivative"):
        pa.grad(weighted(lambda x: linalg.svd(x).U))(EYE)


def test_ties_in_programs():
    """As of slopes: a program says nothing, and raises where it was traced under the switch."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pa.jit(pa.grad(weighted(rebuilt)))(EYE)
    for mode in (pa.grad, pa.jacfwd):
        with pa.debug_conventions():
            g = pa.jit(mode(weighted(rebuilt)))
            g(np.diag([1.0, 2.0, 3.0]))
            with pytest.raises(pa.ConventionError, match="eigh: a derivative"):
                g(EYE)


def test_programs():
    """Compiled programs say nothing, and raise if they were traced under the switch."""
    f = lambda x: pa.cosh(norm(x))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pa.jit(pa.hessian(f))(np.zeros(2))
    with pa.debug_conventions():
        h = pa.jit(pa.hessian(f))
        h(np.ones(2))
        with pytest.raises(pa.ConventionError, match="slope of sqrt at 0"):
            h(np.zeros(2))
