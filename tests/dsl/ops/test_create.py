"""Arrays that are created: what makes none is named."""

import numpy as np
import pytest

import polyad as pa

x = np.ones((2, 3))
objects = np.array([1.0, None, 2.0], dtype=object)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: pa.zeros("a"), pa.DTypeError, r"zeros\('a'\): "),
        (lambda: pa.zeros(-1), pa.ShapeError, r"zeros\(-1\): negative dimensions"),
        (lambda: pa.ones(2, dtype="foo"), pa.DTypeError, r"ones\(2, dtype='foo'\): data type 'foo' not understood"),
        (lambda: pa.zeros(2, dtype=object), pa.DTypeError, "array of dtype object; polyad takes numbers only"),
        (lambda: pa.empty((2, "a")), pa.DTypeError, r"empty\(\(2, 'a'\)\): "),
        (lambda: pa.full(2, "a"), pa.DTypeError, r"full\(2, 'a'\) would be an array of dtype <U1"),
        (lambda: pa.full(2, None), pa.DTypeError, "array of dtype object"),
        (lambda: pa.full(2, np.ones(3)), pa.ShapeError, "full.*broadcast"),
        (lambda: pa.arange("a"), pa.DTypeError, "arange"),
        (lambda: pa.arange(0, 1, 0), pa.ShapeError, "arange.*zero"),
        (lambda: pa.linspace(0, 1, -1), pa.ShapeError, "linspace.*non-negative"),
        (lambda: pa.linspace("a", 1), pa.DTypeError, "linspace"),
        (lambda: pa.eye(2.5), pa.DTypeError, r"eye\(2.5"),
        (lambda: pa.zeros_like([1, 2]), pa.DTypeError, "zeros_like: list is not an array of numbers; convert it"),
        (lambda: pa.ones_like(None), pa.DTypeError, "ones_like: NoneType is not an array"),
        (lambda: pa.zeros_like(objects), pa.DTypeError, r"zeros_like: ndarray\(object\[3\]\) is not an array"),
        (lambda: pa.full_like(x, "a"), pa.ShapeError, "full"),
        (lambda: pa.zeros_like(x, dtype="foo"), pa.DTypeError, "data type 'foo'"),
        (lambda: pa.asarray([1, [2]]), pa.DTypeError, "asarray: list is no regular array of numbers"),
        (lambda: pa.asarray("abc"), pa.DTypeError, "asarray: str would become an array of <U3"),
        (lambda: pa.asarray(None), pa.DTypeError, "asarray: NoneType"),
        (lambda: pa.asarray(objects), pa.DTypeError, "asarray: .*object"),
        (lambda: pa.asarray([1, "a"]), pa.DTypeError, "numbers only"),
        (lambda: pa.grad(lambda v: pa.asarray([v, None]))(1.0), pa.DTypeError, "asarray|NoneType|object"),
    ],
)
def test_creation(make, error, text):
    with pytest.raises(error, match=text):
        make()
