"""Questions that Python asks of followed values: their answers, and the numbers that are taken out."""

import numpy as np
import pytest

import polyad as pa

close = np.testing.assert_allclose
x3 = np.array([1.0, -2.0, 3.0])


def test_loops_and_choices_that_ask_python():
    """A function inside a loop that asks Python for a value makes the loop Python's."""

    def f(x):
        def step(c, e):
            c = c - e if c > 0 else c + e
            return c, c * 2

        last, all_ = pa.scan(step, x, np.arange(3.0))
        last = pa.while_loop(lambda c: c < 20, lambda c: c + 3 if c > 5 else c * 2 + 1, last)
        last = pa.fori_loop(0, 2, lambda i, c: c if float(i) > 5 else c + i, last)
        return pa.cond(last > 21, lambda: last * 2 if last > 22 else last, lambda: last), all_

    g = pa.jit(f)
    for value in (1.0, 0.5, -3.0, 1.0):
        for a, b in zip(g(np.float64(value)), f(np.float64(value)), strict=True):
            close(a, b)
    with pytest.raises(pa.ConcreteValueError, match="Python asked for the value"):
        pa.make_ir(lambda x: pa.scan(lambda c, e: (c if c > 0 else e, None), x, np.arange(3.0)))(1.0)


def test_result_type_changes_with_the_answers():
    @pa.jit
    def f(x):
        if x[0] > 0:
            return {"a": x, "b": (pa.sum(x), None)}
        return x.astype(np.float32), "negative"

    for _ in range(3):
        assert f(x3)["b"] == (2.0, None)
        y, text = f(-x3)
        assert y.dtype == np.float32 and text == "negative"


@pytest.mark.parametrize("take", [float, lambda s: s.item(), np.asarray, lambda s: float(f"{s:.3f}")])
def test_values_taken_out(take):
    g = pa.jit(lambda x: x * take(pa.sum(x)))
    with pytest.warns(pa.PerformanceWarning, match="runs eagerly from now on"):
        close(g(x3), x3 * 2)
    close(g(x3 * 2), x3 * 8)


def test_integers_of_floats_and_indices():
    f = lambda x, n: sum(x[i] for i in range(int(n))) + x[int(n) - 1]
    g = pa.jit(f)
    for n in (np.float64(2.5), 3, np.int64(1), np.float64(2.0)):
        assert g(x3, n) == f(x3, n)


def test_python_numbers():
    cases = [
        (lambda n: n * 3 + 1, 5), (lambda x: x / 2, 3), (lambda n: n // 2 - n % 3, -7), (lambda b: b + b, True),
        (lambda b: -b, True), (lambda z: abs(z) * 2, 3 + 4j), (lambda x: x > 1, 2.0), (lambda b: not b, True),
        (lambda n: n**2, 2**70),
    ]  # fmt: skip
    for f, x in cases:
        found = pa.jit(f)(x)
        assert found == f(x) and type(found) is type(f(x)), (x, found)
    f = pa.jit(lambda n, x: n * x)
    assert f(2, np.ones(2, np.float32)).dtype == np.float32
    divide = pa.jit(lambda a, b: a / b)
    assert divide(1, 2) == 0.5
    with pytest.raises(ZeroDivisionError):
        divide(1, 0)
    assert divide(1, 4) == 0.25
