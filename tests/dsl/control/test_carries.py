"""What loops carry: Python numbers follow the dtypes beside them, and no step leaves all as it is."""

import numpy as np
import pytest
from ways import eagerly, forms, shown, traced

import polyad as pa

close = np.testing.assert_allclose

x64, x32 = np.arange(3.0), np.arange(3, dtype=np.float32)


@forms
@pytest.mark.parametrize(("f", "x", "right"), [
    (lambda x: pa.fori_loop(0, 3, lambda i, c: c + x[1], 0.0), x32, (np.float32, 3.0)),
    (lambda x: pa.fori_loop(0, 3, lambda i, c: c + x[1], 0), x32, (np.float32, 3.0)),
    (lambda x: pa.fori_loop(0, 3, lambda i, c: c + i * x, x), x32, (np.float32, [0, 4, 8])),  # the counter is a number
    (lambda x: pa.fori_loop(0, 2, lambda i, c: 1.5, x[0]), x32, (np.float32, 1.5)),  # what returns one stays an array
    (lambda x: x * pa.while_loop(lambda s: s < 3, lambda s: s + 1, 0), x32, (np.float32, [0, 3, 6])),  # a number to the end
    (lambda x: x * pa.fori_loop(0, 3, lambda i, c: c * 0.5, 1), x32, (np.float32, [0, 0.125, 0.25])),
    (lambda x: pa.scan(lambda c, r: (c + r, c), 0, x)[0], x32, (np.float32, 3.0)),
    (lambda x: pa.scan(lambda c, r: (c, 1), 0, x)[1], x32, (np.int64, [1, 1, 1])),
    (lambda x: pa.scan(lambda c, r: ((c[0] + r, c[1] + c[0], c[2] + c[1]), None), (0.0, 0.0, 0.0), x)[0],
     np.ones(5, np.float16), ((np.float16, 5), (np.float16, 10), (np.float16, 10))),  # jax-ml/jax#9046
    (lambda x: pa.cond(x[1] > 0, lambda: x[1], lambda: 1), x32, (np.float32, 1)),
    (lambda x: pa.cond(x[1] > 0, lambda c: c * x, lambda c: x, 2.0), x32, (np.float32, [0, 2, 4])),  # an operand
    (lambda x: pa.fori_loop(0, 3, lambda i, s: s & (x[0] > 5), True), x32, (np.bool_, False)),
])  # fmt: skip
def test_numbers(form, f, x, right):
    found = shown(form(f)(x))
    assert found == right


def test_no_step():
    for form in (eagerly, traced):
        carry, ys = form(lambda x: pa.scan(lambda c, r: (c * r, (r, c)), x, pa.zeros((0, 3))))(x64)
        close(carry, x64)
        assert [y.shape for y in ys] == [(0, 3), (0, 3)]
        close(form(lambda x: pa.fori_loop(2, 2, lambda i, c: c * 2, x))(x64), x64)
        close(form(lambda x: pa.fori_loop(5, 2, lambda i, c: c * 2, x))(x64), x64)
        assert form(lambda x: pa.associative_scan(pa.add, x))(x64[:0]).shape == (0,)
        close(form(pa.grad(lambda x: pa.sum(pa.scan(lambda c, r: (c * r, c), x, pa.zeros((0, 3)))[0] ** 2)))(x64), 2 * x64)
    assert pa.fori_loop(0, 0, lambda i, c: c + 1, 7) == 7 and pa.scan(lambda c, r: (c + r, None), 7, x64[:0])[0] == 7
