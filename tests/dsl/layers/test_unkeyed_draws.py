"""A mapped function that draws from NumPy's or Python's generators gets one number for all lanes, and a warning says so."""

import random
import warnings

import numpy as np
import pytest

import polyad as pa
from polyad.dsl.layers import unkeyed_draws

X = np.arange(3.0)
rng = np.random.default_rng(0)


class Model:
    def __init__(self):
        self.noise = np.random.default_rng(1)

    def __call__(self, x):
        return x + self.noise.normal()

    def step(self, x):
        return x + self.noise.normal()


model = Model()
FUNCTIONS = {
    "numpy.random": lambda x: x + np.random.normal(),
    "numpy.random: ": lambda x: x + np.random.normal() if x > 1 else x,
    "Python's module random": lambda x: x + random.random(),
    "the generator 'rng'": lambda x: x + rng.normal(),
    "the generator 'model.noise'": lambda x: x + model.noise.normal(),
    "the generator 'self.noise'": model.step,
    "the generator 'self.noise': ": model,
}


@pytest.mark.filterwarnings("ignore:jit.* runs eagerly from now on")
@pytest.mark.parametrize("what", FUNCTIONS)
@pytest.mark.parametrize("transform", [lambda f: f, pa.grad, pa.jit], ids=["plain", "grad", "jit"])
def test_who_is_drawn_from_is_named_at_the_users_line(what, transform):
    f = FUNCTIONS[what]
    unkeyed_draws._looked.clear()
    with pytest.warns(pa.PolyadWarning, match=f"draws random numbers from {what.rstrip(': ')}: one draw for all lanes") as told:
        pa.vmap(transform(f))(X)
    assert all(w.filename == __file__ for w in told)


def test_what_draws_for_each_lane_or_before_the_map_is_fine():
    noise = np.random.normal(size=3)
    keys = pa.random.split(pa.random.key(0), 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error", pa.PolyadWarning)
        pa.vmap(lambda x, e: x + e)(X, noise)
        pa.vmap(lambda x, key: x + pa.random.normal(key))(X, keys)
        drawn = pa.vmap(lambda x: pa.io_callback(lambda v: v + np.random.normal(), pa.Aval((), float), x))(0 * X)
        pa.vmap(lambda x: pa.callback(lambda v: v + np.random.normal(), pa.Aval((), float), x))(X)
    assert len(set(drawn.tolist())) == 3


def test_a_function_is_looked_at_in_its_first_calls_only(monkeypatch):
    looks = []
    monkeypatch.setattr(unkeyed_draws, "_numpys", lambda: looks.append(1) or [])
    f = pa.vmap(lambda x: x * 2)
    for _ in range(8):
        f(X)
    assert len(looks) == unkeyed_draws.LOOKS
