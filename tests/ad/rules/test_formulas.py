"""What is read off a card: partial derivatives that are one of the arguments, and functions that are written out as text."""

import linecache
import traceback

import numpy as np
import pytest

import polyad as pa
from polyad.ad.rules.formulas import returned

RETURNED = [
    (lambda z, x, y: y, 1), (lambda z, x, y: x, 0), (lambda z, x, y: z, None), (lambda z, x, y: x * y, None),
    (lambda z, x, y: np.cos(x), None), (lambda z, x, y: None, None), (lambda z, x, y: x if x else y, None),
    (lambda z, x, y: (x, y)[0], 0), (lambda z, x, y: -y, None), (np.add, None), (lambda z, x: x, None),
    (lambda z, *xs: xs[1], None), (lambda z, x, y: y if x == 0 else x, None), (lambda z, x, y: y if True else x, 1),
]  # fmt: skip


@pytest.mark.parametrize(("slope", "place"), RETURNED)
def test_partials_that_are_an_argument(slope, place):
    assert returned(slope, 2) == place


def test_partials_of_users_in_both_modes():
    """The same number, however the partial is written, and whichever of the arrays are followed."""
    x, y, v = np.array([0.3, 2.0]), np.array([1.5, -0.7]), np.array([1.0, 3.0])
    for slopes in ([lambda z, x, y: y, lambda z, x, y: x], [lambda z, x, y: y * 1.0, lambda z, x, y: x + 0.0]):
        op = pa.scalar_rule(np.multiply, *slopes, name="product", vectorized=True)
        np.testing.assert_allclose(pa.jvp(op, (x, y), (v, v))[1], v * y + x * v)
        np.testing.assert_allclose(pa.jvp(lambda x: op(x, y), (x,), (v,))[1], v * y)
        np.testing.assert_allclose(pa.grad(lambda x, y: pa.sum(op(x, y) * v), argnums=(0, 1))(x, y), (v * y, v * x))
        np.testing.assert_allclose(pa.grad(lambda y: pa.sum(op(x, y) * v))(y), v * x)


@pytest.mark.parametrize("transform", [pa.grad, lambda f: lambda x: pa.jvp(f, (x,), (x,))])
def test_a_traceback_shows_what_was_written(transform):
    """The lines of functions that are no part of a file, with the operation's name."""

    def broken(y, x):
        raise ZeroDivisionError

    op = pa.scalar_rule(np.sin, broken, name="cracked", vectorized=True)
    with pytest.raises(ZeroDivisionError) as caught:
        transform(lambda x: pa.sum(op(x)))(np.ones(3))
    frames = [f for f in traceback.extract_tb(caught.value.__traceback__) if f.filename.startswith("<generic cracked: ")]
    assert frames
    assert all(f.name == "cracked" and f.line for f in frames)
    assert "slope0(y, " in frames[-1].line
    linecache.checkcache()
    assert linecache.getline(frames[-1].filename, frames[-1].lineno).strip() == frames[-1].line


def test_equal_texts_are_compiled_once():
    pa.grad(lambda x: pa.sum(pa.sinh(x) + pa.cosh(x)))(np.ones(3))
    x = np.ones(3)
    with_code = lambda op: [t for cls, t in op.generic.table.items() if cls.__name__ == "Reverse[1]"]
    (first,), (second,) = with_code(pa.sinh), with_code(pa.cosh)
    assert first.__code__.co_code == second.__code__.co_code
    assert first.__code__.co_consts is second.__code__.co_consts or first.__code__.co_consts == second.__code__.co_consts
    assert first.__name__ == "sinh"
    np.testing.assert_allclose(pa.grad(lambda x: pa.sum(pa.sinh(x)))(x), np.cosh(x))
