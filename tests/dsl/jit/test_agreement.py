"""Where jit and plain Python could differ: the types of numbers, failures inside `try`, text, effects, what is refused."""

import argparse
import collections
import contextvars
import functools
import types

import numpy as np
import pytest

import polyad as pa

same = np.testing.assert_array_equal
x3 = np.array([1.0, -2.0, 3.0])
single = x3.astype(np.float32)
small = np.array([1, 2], np.uint8)


def agree(f, *calls):
    """Assert that jit gives what f gives, to the type of each leaf, in a first, second and third call of each kind."""
    g = pa.jit(f)
    for args in calls * 3:
        outcomes = []
        for h in (f, g):
            try:
                outcomes.append(h(*args))
            except Exception as error:
                outcomes.append((type(error), str(error)))
        leaves, others = [pa.tree.leaves(y) for y in outcomes]
        assert [(type(a), getattr(a, "dtype", None)) for a in leaves] == [(type(b), getattr(b, "dtype", None)) for b in others]
        for a, b in zip(leaves, others, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-14) if isinstance(a, (float, np.ndarray)) else same(a, b)


# ---------------------------------------------------------------------- numbers
def test_operators_on_python_numbers_give_python_numbers():
    agree(lambda n: (n << 2, n >> 1, n & 3, n | 4, n ^ 5, ~n, -n, +n, abs(n), n**2, n**3, n / 2, divmod(n, 2)), (7,), (True,))
    agree(lambda n: (n & True, n ^ True, n | False, n + True), (True,), (False,))
    agree(lambda s, x: (s**2 * x, (s + s) * x, s // 0.7 * x), (2.5, single), (3, single))


def test_functions_on_python_numbers_give_numpy_numbers():
    f = lambda a, x: (pa.add(a, a), np.multiply(a, 2), pa.abs(a), np.add(a, a) * x)
    agree(f, (3, single), (2.5, single), (True, single))
    with np.errstate(divide="ignore"):
        agree(lambda a, b: np.divide(a, b), (1.0, 0.0), (1.0, 2.0))  # only Python's own / raises


def test_negative_powers_and_shifts_of_whole_numbers():
    agree(lambda n, m: n**m, (2, 3), (2, -1), (4, -2))
    agree(lambda n: n**-1 if n else "zero", (4,), (0,))
    with pytest.raises(ZeroDivisionError):
        pa.jit(lambda n: n**-1)(0)
    with pytest.raises(ValueError, match="negative shift count"):
        pa.jit(lambda n, m: n << m)(3, -1)


def test_whole_numbers_that_do_not_fit_an_array():
    def f(n, x):
        try:
            return x + n
        except OverflowError:
            return "too large"

    agree(f, (3, small), (300, small), (-1, small), (2**40, np.arange(3, dtype=np.int32)))
    agree(lambda n, x: (x < n, n > x, x == n), (300, small), (-1, small), (1, small))


def test_whole_numbers_of_what_is_no_number():
    def f(x):
        try:
            return int(x)
        except (ValueError, OverflowError) as error:
            return type(error).__name__

    agree(f, (np.float64(np.nan),), (np.float64(-np.inf),), (np.float64(2.7),), (-2.7,))
    agree(lambda x: (round(x), int(x), list(range(round(x)))), (np.float64(2.5),), (3.5,))


def test_loops_carry_python_numbers():
    agree(lambda x: pa.while_loop(lambda c: c > 0, lambda c: c - 1, x), (3,), (2.5,))
    agree(lambda x, n: pa.fori_loop(0, n, lambda i, c: c * 0.5, x), (3, 2), (2.5, 0), (3, 1))


def test_numbers_stay_what_they_are_after_the_end_of_a_trace():
    def f(t, x):
        float(t)
        return t * 2, t * x, t > 1, (t + 1) / 2

    with pytest.warns(pa.PerformanceWarning):
        agree(f, (2.5, single), (3, single))


def test_text_and_repeated_lists():
    agree(lambda n: ({f"layer{n}": 1, "n": str(n)}[f"layer{n}"], [0.5] * n, n * "ab", (n,) * 2), (2,), (3,))
    with pytest.warns(pa.PerformanceWarning, match="text of it takes a value out"):
        agree(lambda x: f"{x}", (2.5,), (3.5,))


def test_single_numbers_are_never_arrays_without_axes():
    agree(lambda x: (x.sum(), pa.while_loop(lambda c: c < 5, lambda c: c + 1, x[0]), pa.linalg.det(pa.eye(2) * x[2])), (x3,))


def test_nothing_to_reduce():
    def f(x):
        try:
            return x.max()
        except ValueError:
            return "empty"

    agree(f, (x3,), (x3[:0],), (np.zeros((0, 3)),))
    agree(lambda x: (pa.max(x, axis=1), pa.min(x, axis=1)), (np.zeros((0, 3)),))


# ---------------------------------------------------------------------- failures


def test_writing_with_out():
    def f(x):
        y = np.zeros(3)
        np.add(x, 1.0, out=y)
        return y

    with pytest.warns(pa.PerformanceWarning, match="out=, a write into an array of NumPy's, takes a value out"):
        agree(f, (x3,), (-x3,))


# ---------------------------------------------------------------------- what is read, what is refused
def test_objects_that_hold_settings():
    plain, parsed = types.SimpleNamespace(a=1.0), argparse.Namespace(a=1.0)
    queue, variable = collections.deque([1.0]), contextvars.ContextVar("variable", default=1.0)

    def defaults(x, *, o={"q": 1.0}):  # noqa: B006
        return x * o["q"]

    f = pa.jit(lambda x: x * plain.a + parsed.a + sum(queue) + variable.get() + defaults(x))
    same(f(x3), f.__wrapped__(x3))
    changes = [lambda: setattr(plain, "a", 5.0), lambda: setattr(parsed, "a", 6.0), lambda: queue.append(7.0),
               lambda: variable.set(8.0), lambda: defaults.__kwdefaults__["o"].update(q=9.0)]  # fmt: skip
    for change in changes:
        change()
        for _ in range(3):
            same(f(x3), f.__wrapped__(x3))


class Lazy:
    async def __call__(self, x):
        yield x


async def later(x):
    return x


@pytest.mark.parametrize("f", [later, functools.partial(later), Lazy()], ids=["async", "partial", "object"])
def test_what_runs_bit_by_bit_is_refused(f):
    with pytest.raises(pa.StructureError, match=r"jit\(\w+\): it is a generator or coroutine"):
        pa.jit(f)
