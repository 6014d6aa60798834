"""A second derivative through a slope that is a convention is said, once per place, or raised."""

import warnings

import numpy as np
import pytest

import polyad as pa

norm = pa.linalg.norm
THROUGH = {
    "sqrt": (lambda x: pa.cosh(norm(x)), np.zeros(2)), "abs": (lambda x: pa.sum(pa.cosh(pa.abs(x))), np.array([0.0, 1.0])),
    "power": (lambda x: pa.cosh((x @ x) ** 0.25), np.zeros(2)),
    "hypot": (lambda x: pa.cos(pa.hypot(x[0], x[1])), np.zeros(2)), "cbrt": (lambda x: pa.sum(pa.cbrt(x)), np.zeros(2)),
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


def test_equal_singular_values():
    def f(x):
        u, _, vh = pa.linalg.svd(x)
        return pa.sum(np.arange(4.0).reshape(2, 2) * (u @ vh))

    with pytest.warns(pa.ConventionWarning, match="vectors at equal values, a convention"):
        pa.hessian(f)(np.eye(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pa.grad(f)(np.eye(2))
        pa.hessian(f)(np.diag([1.0, 2.0]))


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
