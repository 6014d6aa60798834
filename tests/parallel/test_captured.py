"""Marks of what a mapped function is and reads, as ranks compare them if asked to: of code, globals, closures, defaults."""

import functools

import numpy as np
import pytest

from polyad.parallel.captured import reads, reads_given

SCALE = np.array([1.0, 2.0])


def made(value, default=0, other=False):
    if other:
        return lambda x, k=default: x - value
    return lambda x, k=default: x + value


def changed(first, second):
    """What differs between two lists of marks."""
    assert [what for what, *_ in first] == [what for what, *_ in second]
    return [a[0] for a, b in zip(first, second, strict=True) if a[1:] != b[1:]]


def nested(k):
    return [lambda x: (lambda y: y + 1)(x), lambda x: (lambda y: y * 1)(x), lambda x: (lambda y: y + 1)(x)][k]


class Model:
    def __init__(self, w):
        self.w = w

    def __call__(self, x):
        return x * self.w


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (made(3.0), made(3.0), []),
        (made(SCALE), made(SCALE.copy()), []),
        (made(SCALE), made(SCALE + 1), ["what the function reads as 'value'"]),
        (made(3.0), made(4.0), ["what the function reads as 'value'"]),
        (made({"a": SCALE}), made({"a": SCALE * 2}), ["what the function reads as 'value'"]),
        (made(3.0), made(3.0, other=True), ["the code of the function, or of one that it calls,"]),
        (nested(0), nested(1), ["the code of the function, or of one that it calls,"]),
        (Model(SCALE).__call__, Model(SCALE.copy()).__call__, []),
    ],
)
def test_functions(first, second, told):
    assert changed(reads(first), reads(second)) == told


def test_defaults_are_part_of_the_code():
    assert changed(reads(made(3.0, 1)), reads(made(3.0, 2)))[0] == "the code of the function, or of one that it calls,"


def test_globals():
    def f(x):
        return x * SCALE

    before = reads(f)
    assert changed(before, reads(f)) == []
    SCALE[0] += 1
    try:
        assert changed(before, reads(f)) == ["what the function reads as 'SCALE'"]
    finally:
        SCALE[0] -= 1


def test_functions_among_the_arguments():
    given = lambda f: ((f, SCALE), {})
    assert changed(reads_given(given(made(3.0))), reads_given(given(made(3.0)))) == []
    told = changed(reads_given(given(made(3.0))), reads_given(given(made(4.0))))
    assert told and all("argument 0" in what for what in told)
    assert reads_given(((SCALE, 2.0), {})) == []  # arrays and numbers are compared elsewhere
    partials = [reads(functools.partial(made(3.0), SCALE * k)) for k in (1, 2)]
    assert len(changed(*partials)) == 1


def test_code_is_what_it_does_and_not_where_it_is_written():
    first, second = [compile(f"{blank}f = lambda x: (lambda y: y in {{1, 2}})(x)", "<text>", "exec") for blank in ("", "\n\n")]
    functions = []
    for code in (first, second):
        namespace = {}
        exec(code, namespace)
        functions.append(namespace["f"])
    assert changed(*map(reads, functions)) == []
