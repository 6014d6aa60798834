"""Random programs under jit give what plain Python gives: values, dtypes, structure and effects, at each call and in lanes
and derivatives."""

import importlib.util
import os
import warnings
from pathlib import Path

import numpy as np
import pytest

import polyad as pa

_spec = importlib.util.spec_from_file_location("random_programs", Path(__file__).with_name("random_programs.py"))
programs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(programs)
SEEDS = range(int(os.environ.get("POLYAD_RANDOM_PROGRAMS", "12")))  # more of them for a longer search


@pytest.fixture(autouse=True)
def falling_back_is_fine():
    """A program may ask too much."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pa.PerformanceWarning)
        yield


def outcome(f, space, args, kwargs):
    """(result or exception, what the effects saw)."""
    space["log"].clear()
    try:
        y = f(*args, **kwargs)
    except Exception as error:
        y = error
    return y, list(space["log"])


def agree(found, expected, rtol=1e-12):
    if isinstance(expected, Exception) or isinstance(found, Exception):
        assert isinstance(found, type(expected)) or isinstance(expected, pa.PolyadError), (found, expected)
    else:
        programs.same(found, expected, rtol)


@pytest.mark.parametrize("kind", ["array", "python", "float32"])
@pytest.mark.parametrize("seed", SEEDS)
def test_plain(seed, kind):
    """First, second and later calls, which take other branches; each effect happens as often as in plain Python, in order."""
    space, source = programs.program(seed)
    f, rng = space["f"], np.random.default_rng(seed)
    g, rtol = pa.jit(f), 1e-5 if kind == "float32" else 1e-12
    calls = [programs.arguments(rng, kind, np.float32 if kind == "float32" else float) for _ in range(4)]
    for args, kwargs in [*calls, *calls, *calls[::-1]]:
        (y, seen), (expected, wanted) = outcome(g, space, args, kwargs), outcome(f, space, args, kwargs)
        agree(y, expected, rtol)
        if not isinstance(expected, Exception):
            assert len(seen) == len(wanted), source
            for a, b in zip(seen, wanted, strict=True):
                np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


def total(f):
    """A number of arrays by position."""
    return lambda x, s, n, flag, p, y: sum(pa.sum(v) for v in pa.tree.leaves(f(x, s, n, flag, p, y=y)))


AXES = (0, 0, None, None, None, 0)
TRANSFORMED = {
    "grad jit": (lambda f, g: pa.grad(g, (0, 1, 4)), lambda f: pa.grad(f, (0, 1, 4))),
    "jit grad": (lambda f, g: pa.jit(pa.grad(f, (0, 1, 4))), lambda f: pa.grad(f, (0, 1, 4))),
    "jit grad jit": (lambda f, g: pa.jit(pa.grad(g, 0)), lambda f: pa.grad(f, 0)),
    "jacfwd jit": (lambda f, g: pa.jacfwd(g), pa.jacfwd),
    "jit hessian": (lambda f, g: pa.jit(pa.hessian(f)), pa.hessian),
    "hessian jit": (lambda f, g: pa.hessian(g), pa.hessian),
    "jit jit": (lambda f, g: pa.jit(lambda *args: g(*args)), lambda f: f),
    "vmap jit": (lambda f, g: pa.vmap(g, AXES), lambda f: pa.vmap(f, AXES)),
    "jit vmap": (lambda f, g: pa.jit(pa.vmap(f, AXES)), lambda f: pa.vmap(f, AXES)),
    "vmap grad jit": (lambda f, g: pa.vmap(pa.grad(g), AXES), lambda f: pa.vmap(pa.grad(f), AXES)),
    "jit vmap grad": (lambda f, g: pa.jit(pa.vmap(pa.grad(f), AXES)), lambda f: pa.vmap(pa.grad(f), AXES)),
}


@pytest.mark.parametrize("name", TRANSFORMED)
@pytest.mark.parametrize("seed", SEEDS[::3])
def test_transformed(seed, name):
    space, _ = programs.program(1000 + seed, effects=False)
    f, g = total(space["f"]), total(pa.jit(space["f"]))
    made, plain = TRANSFORMED[name]
    found, expected, rng = made(f, g), plain(f), np.random.default_rng(seed)
    calls = []
    for _ in range(2):
        (x, s, *others), kwargs = programs.arguments(rng)
        lanes = (lambda v: rng.normal(size=(3, *np.shape(v)))) if "vmap" in name else lambda v: v
        calls.append((lanes(x), lanes(s), *others, lanes(kwargs["y"])))
    for args in calls * 2:
        (y, _), (wanted, _) = outcome(found, space, args, {}), outcome(expected, space, args, {})
        agree(y, wanted, 1e-9)
