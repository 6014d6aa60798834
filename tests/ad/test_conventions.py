"""tutorials/conventions.md, row by row: what its tables say is what polyad does, in both modes, in lanes, to second order."""

import re
from pathlib import Path

import numpy as np
import pytest

import polyad as pa

PAGE = (Path(__file__).parents[2] / "tutorials/conventions.md").read_text()
NAMES = {"pa": pa, "np": np}
code = lambda cell: re.findall(r"`(.+?)`", cell)
value = lambda text: eval(text, NAMES)


def rows():
    """(function's text, arguments, slopes, second derivative or None, slopes by forward mode where these are others), and those
    of complex numbers."""
    real, complex_ = [], []
    for line in PAGE.splitlines():
        cells = [c.strip() for c in line.strip("|").split(" | ")]
        if not line.startswith("| `"):
            continue
        at = value(code(cells[1])[0])
        args = tuple([np.array(a) if isinstance(a, list) else a for a in (at if isinstance(at, tuple) else (at,))])
        if len(cells) == 3:
            complex_ += [(f, args[0], value(code(cells[2])[0])) for f in code(cells[0])]
            continue
        slopes = value(code(cells[2])[0])
        slopes = slopes if isinstance(at, tuple) else (slopes,)
        second = value(code(cells[3])[0]) if code(cells[3]) else None
        forward = (value(code(cells[2])[1]),) if "forward:" in cells[2] else None
        real += [(f, args, slopes, second, forward) for f in code(cells[0])]
    return real, complex_


REAL, COMPLEX = rows()
ENDLESS = {text for text, _, slopes, _, _ in REAL if not np.all(np.isfinite(np.concatenate([np.ravel(s) for s in slopes])))}
label = lambda row: f"{row[0]} at {row[1]}".replace("::", ":")


def close(found, expected):
    found = np.asarray(found)
    np.testing.assert_allclose(found, np.broadcast_to(expected, found.shape), rtol=1e-11, atol=1e-13)


def quiet(text, f, *args):
    """Floating point errors are errors, unless the function itself makes one, or the slope of a branch of it is infinite."""
    if "where(" in text or text in ENDLESS:
        return np.errstate(all="ignore")
    try:
        with np.errstate(all="raise"):
            f(*[np.asarray(a)[()] for a in args])
    except FloatingPointError:
        return np.errstate(all="ignore")
    return np.errstate(all="raise", under="ignore")


def test_the_page_is_read():
    assert len(REAL) > 120 and len(COMPLEX) > 20
    assert sum(row[3] is not None for row in REAL) > 100


@pytest.mark.parametrize("row", REAL, ids=label)
def test_slope(row):
    text, args, slopes, _, by_forward = row
    f = value(f"lambda {'xyz'[: len(args)].replace('', ',')[1:-1]}: {text}")
    numbers = range(len(slopes))
    with quiet(text, f, *args):
        compiled = pa.jit(lambda *args: [(pa.grad(f, n)(*args), pa.jacfwd(f, n)(*args)) for n in numbers])(*args)
        for n, slope in enumerate(slopes):
            lanes = [np.stack([a, a]) for a in args]
            close(pa.grad(f, n)(*args), slope)
            close(compiled[n][0], slope)
            close(pa.vmap(pa.grad(f, n))(*lanes), [slope, slope])
            slope = slope if by_forward is None else by_forward[n]
            close(pa.jacfwd(f, n)(*args), slope)
            close(compiled[n][1], slope)
            close(pa.vmap(pa.jacfwd(f, n))(*lanes), [slope, slope])


@pytest.mark.parametrize("row", [row for row in REAL if row[3] is not None], ids=label)
def test_second_derivative(row, each):
    text, args, _, second, _ = row
    f = value(f"lambda {'xyz'[: len(args)].replace('', ',')[1:-1]}: {text}")
    everything = tuple(range(len(args)))

    def check(outer, inner):
        with quiet(text, f, *args):
            found = outer(inner(f, everything), everything)(*args)
        for block in pa.tree.leaves(found):
            close(block, second)

    modes = pa.jacrev, pa.jacfwd
    each({f"{outer.__name__} of {inner.__name__}": (outer, inner) for outer in modes for inner in modes}, check)


@pytest.mark.parametrize("row", COMPLEX, ids=label)
def test_complex(row):
    text, z, gradient = row
    f = value(f"lambda z: {text}")
    with quiet(text, f, z):
        for transform in (pa.grad, pa.jacfwd, pa.jacrev):
            close(transform(f)(z), gradient)
        close(pa.vmap(pa.grad(f))(np.stack([z, z])), [gradient, gradient])


# ---------------------------------------------------------------------- what the page says of complex numbers
def test_holomorphic_functions():
    z = np.array([1 + 2j, -0.5j, 0.3])
    f, slope = lambda z: pa.exp(z) * z**2, lambda z: np.exp(z) * (z**2 + 2 * z)
    for jacobian in (pa.jacfwd, pa.jacrev):
        close(jacobian(f)(z), np.diag(slope(z)))
    close(pa.derivative(f)(z[0]), slope(z[0]))
    ct = np.array([1j, 2.0, 3 - 1j])
    _, pullback = pa.vjp(f, z)
    close(pullback(ct)[0], ct * slope(z))


def test_pairing(rng):
    draw = lambda: rng.standard_normal(3) + 1j * rng.standard_normal(3)
    z, dz, ct = draw(), draw(), draw()
    f = lambda z: pa.conj(z) * pa.abs(z) + z**2  # not holomorphic
    y, dy = pa.jvp(f, (z,), (dz,))
    _, pullback = pa.vjp(f, z)
    close(np.sum(pullback(ct)[0] * dz).real, np.sum(ct * dy).real)


def test_steepest_ascent():
    z, f = 1 + 2j, lambda z: pa.abs(z - 3j) ** 2 + pa.real(z)
    step = 1e-6 * np.conj(pa.grad(f)(z))
    np.testing.assert_allclose(f(z + step) - f(z), np.abs(pa.grad(f)(z)) ** 2 * 1e-6, rtol=1e-5)
    turned = [f(z + step * np.exp(1j * angle)) for angle in np.linspace(0.1, 6.1, 9)]
    assert max(turned) < f(z + step)


def test_real_inputs_stay_real():
    gradient = pa.grad(lambda x: pa.real((1 + 2j) * x))(2.0)
    assert gradient == 1 and isinstance(gradient, np.float64)
