"""Jitted functions inside and around maps: what has happened in a call, an effect or a collective, happens once, though lanes
that go different ways, or a function that does otherwise than last time, make code run again."""

import itertools
import warnings
from collections import Counter

import numpy as np
import pytest

import polyad as pa
from polyad import jit, psum, vmap

X = np.array([1.0, -2.0, 3.0])
seen = []


def note(x):
    seen.append(round(float(x), 9))
    return 10 * x


tell = lambda x: pa.io_callback(note, None, x)
ask = lambda x: pa.io_callback(note, pa.Aval((), float), x)
lanes = lambda f: vmap(f, axis_name="i")
total = lambda f: lambda x: pa.sum(f(x))


def carried_out(f, *args):
    """(result, what was noted), or the name of the error."""
    seen.clear()
    try:
        return f(*args), Counter(seen)
    except pa.LaneSplitError as error:
        return str(error), None


def agree(eager, jitted, inputs):
    for i, x in enumerate(inputs):
        (right, noted), (found, again) = carried_out(eager, x), carried_out(jitted, x)
        assert noted is not None, right
        assert again == noted, (i, found)
        np.testing.assert_allclose(found, right, rtol=1e-12, err_msg=str(i))


def test_a_collective_before_a_choice_is_run_once():
    f = lambda x: (psum(x * x, "i"), psum(2 * x if x > 0 else x, "i"))[1]
    for mapped in (lanes(jit(f)), pa.pmap(jit(f), axis_name="i"), jit(lanes(jit(f))), jit(lanes(f))):
        for x, right in [(X, 6), (X, 6), (-X, 0), (X, 6), (X + 5, 34)]:
            np.testing.assert_array_equal(mapped(x), np.full(3, right))
    gradient = pa.grad(total(lanes(jit(f))))
    for _ in range(3):
        np.testing.assert_array_equal(gradient(X), [6, 3, 6])
    one = lanes(jit(lambda x: psum(x * x, "i") * (2 if x > 0 else 1)))  # no second collective
    for _ in range(3):
        np.testing.assert_array_equal(one(X), [28, 14, 28])


def choices(x):
    s = psum(x * x, "i")
    tell(x)
    t = psum(2 * x if x > 0 else x, "i")
    u = psum(t * x if t > x else x, "i")
    return s * x + t + u


def early(x):
    y = psum(x * x, "i") if x > 0 else psum(-x, "i")
    return y * x if y > 4 else y


def loop(x):
    s, n = psum(x, "i"), 0
    while s > 1.0 and n < 3:
        tell(s)
        s, n = psum(s * 0.2 * abs(x), "i"), n + 1
    return s * x


def answers(x):
    y = ask(x * x)
    return ask(2 * y if x > 0 else y) + x


NESTINGS = {
    "lanes": lambda J, f: lanes(J(f)),
    "around": lambda J, f: J(lanes(J(f))),
    "slopes outside": lambda J, f: pa.grad(total(lanes(J(f)))),
    "slopes inside": lambda J, f: lanes(pa.grad(J(f))),
    "slopes in jit": lambda J, f: lanes(J(pa.grad(f))),
    "checkpoint": lambda J, f: lanes(pa.grad(pa.checkpoint(J(f)))),
    "lanes of lanes": lambda J, f: lambda x: vmap(lanes(J(f)))(np.stack([x, x[::-1] * 0.5])),
}
PLAIN = ("lanes", "around", "lanes of lanes")  # a callback whose result counts has no derivative
CASES = [(n, f) for n in NESTINGS for f in (choices, early, loop, answers) if f is not answers or n in PLAIN]


@pytest.mark.parametrize(("nesting", "f"), CASES, ids=lambda x: getattr(x, "__name__", x))
def test_jit_among_maps_is_what_it_is_without(nesting, f):
    """First and later calls, other lanes on each side, derivatives of collectives along ways that differ."""
    make = NESTINGS[nesting]
    agree(make(lambda f: f, f), make(jit, f), [X, X, -X, X + 0.25])


def scanned(x):
    s = psum(x, "i")
    return pa.scan(lambda c, r: (c * s * x * r, None), 1.0, np.arange(1.0, 3.0))[0]


def written_out(x):
    s = psum(x, "i")
    return s * x * 1.0 * (s * x * 2.0)


def chosen(x):
    s = psum(x, "i")
    return pa.cond(s > 1, lambda: s * x * x, lambda: s)


def asked(x):
    s = psum(x, "i")
    return s * x * x if s > 1 else s


def repeated(x):
    s = psum(x, "i")
    return pa.while_loop(lambda v: v[1] < 2, lambda v: (v[0] * s * x, v[1] + 1), (x, 0))[0]


def by_hand(x):
    s = psum(x, "i")
    return s * x * s * x * x


PAIRS = [(scanned, written_out), (chosen, asked), (repeated, by_hand)]


@pytest.mark.parametrize(("f", "plain"), PAIRS, ids=lambda f: f.__name__)
def test_the_slope_of_what_is_the_same_in_all_lanes_is_summed_once(f, plain):
    """Programs that read a sum over the lanes sum its cotangents; their caller must not do so again."""
    traced = lambda f: lambda *xs: pa.make_ir(f)(*xs)(*xs)
    right = lanes(pa.grad(plain))(X)
    for made in (pa.grad(traced(f)), traced(pa.grad(f)), pa.grad(jit(f)), jit(pa.grad(f)), pa.grad(jit(plain))):
        for _ in range(3):
            np.testing.assert_allclose(lanes(made)(X), right, rtol=1e-12)


# ---------------------------------------------------------------------- functions that do otherwise
def changing(x):
    tell(x)
    s = psum(x * x, "i")
    if next(count) % 2:
        x = x + 0.0
    t = psum(x if x > 0 else x * x, "i")
    tell(t)
    return s * t * x + psum(x * t if x * t < 2 else s, "i")


def changing_alone(x):
    y = ask(x)
    if next(count) % 3:
        x = x + 0.0
    y = pa.scan(lambda c, r: (ask(c) + r, None), y, np.arange(2.0))[0]
    if x > 0:
        if next(count) % 2:
            x = x + 0.0
        y = ask(y)
        if x > 1:
            tell(x)
    tell(y)
    return y


@pytest.mark.parametrize("start", range(3))
@pytest.mark.parametrize(
    ("make", "f", "inputs"),
    [
        (lambda f: f, changing_alone, [1.0, 2.0, -1.0, 3.0, -2.0]),
        (lanes, changing_alone, [X, -X, X]),
        (lanes, changing, [X, -X, X]),
        (lambda f: lanes(pa.grad(f)), changing, [X, -X, X]),
        (lambda f: lanes(pa.grad(pa.checkpoint(f))), changing, [X, -X, X]),
    ],
    ids=["alone", "effects", "collectives", "slopes", "checkpoint"],
)
def test_a_function_that_does_otherwise_repeats_nothing(make, f, inputs, start):
    """It goes on eagerly where it stands; what a program has run ahead of it is taken from there."""
    global count
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pa.PerformanceWarning)
        found = []
        for made in (make(f), make(jit(f))):
            count = itertools.count(start)
            found.append([carried_out(made, x) for x in inputs])
    for (right, noted), (y, again) in zip(*found, strict=True):
        assert noted == again and noted is not None
        np.testing.assert_allclose(y, right, rtol=1e-12)
