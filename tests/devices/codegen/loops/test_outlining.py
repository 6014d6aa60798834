"""Loops that a program repeats are written once; what differs in more than names is not taken for the same."""

import numpy as np
import pytest

import polyad as pa
from polyad.devices.codegen.loops.outlining import without_repeats
from polyad.devices.compilers import find_compiler

pytestmark = [pytest.mark.optimized, pytest.mark.quick]

RNG = np.random.default_rng(0)
HEAD = ["int run(const double *x0, double *y0, double *y1, float *y2) {"]


def loop(read, written, scale="0.5", pragma="#pragma omp simd"):
    return [pragma, "for (int64_t i = 0; i < 64; i++) {", f"double v = {read}[i];", f"{written}[i] = sin(v * {scale});", "}"]


def test_two_that_differ_in_names():
    functions, lines = without_repeats(HEAD, [*loop("y1", "y0"), "x = 1;", *loop("y0", "y1")])
    assert lines == ["loop0(y1, y0);", "x = 1;", "loop0(y0, y1);"]
    assert functions[0].endswith("loop0(double *a0, double *a1) {") and "".join(functions).count("{") == 2


@pytest.mark.parametrize(
    "second",
    [
        loop("y0", "y1", "0.25"),  # another number
        loop("y0", "y2"),  # of another type
        loop("y0", "y0"),  # one array where there were two
        loop("x0", "y1"),  # one that must not be changed
        loop("y0", "unknown"),
        loop("y0", "y1", pragma="#pragma omp simd reduction(+:s)"),
        [*loop("y0", "y1")[:-1], "s = v;", "}"],  # changes a number from outside
        [line.replace("sin", "floor") for line in loop("y0", "y1")],
    ],
)
def test_what_is_not_the_same(second):
    lines = [*loop("y1", "y0"), *second]
    assert without_repeats([*HEAD, "double s = 0;"], lines) == ([], lines)


def test_loops_without_calls_stay():
    lines = [line.replace("sin", "") for line in (*loop("y1", "y0"), *loop("y0", "y1"))]
    assert without_repeats(HEAD, lines) == ([], lines)


def test_a_name_of_two_types_is_not_guessed():
    head = [*HEAD, "{ double t = 1; }", "{ int64_t t = 1; }"]
    lines = [*loop("y1", "y0", "t"), *loop("y0", "y1", "t")]
    assert without_repeats(head, lines) == ([], lines)


@pytest.mark.skipif(find_compiler() is None, reason="there is no compiler")
@pytest.mark.parametrize("n", [10, 64, 100, 5000])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_unrolled_rounds(n, dtype):
    """The text grows by a line a round, and results are those of eager execution."""

    def rounds(count):
        def f(x, y):
            for _ in range(count):
                x, y = 0.5 * pa.sin(x) + y, pa.cos(y) - 0.1 * x
            return x, y

        return f

    x, y = RNG.normal(size=(2, n)).astype(dtype)
    sizes = []
    for count in (8, 16):
        f = pa.jit(rounds(count))
        bounds = {"rtol": 1e-12, "atol": 1e-14} if dtype == "float64" else {"rtol": 1e-4, "atol": 1e-5}
        for got, wanted in zip(f(x, y), rounds(count)(x, y), strict=True):
            np.testing.assert_allclose(got, wanted, **bounds)
        (text,) = pa.jit.source(f)
        sizes.append((text.count("sin("), text.count("loop0(")))
    if n >= 64:
        assert sizes[0][0] == sizes[1][0] and sizes[0][1] < sizes[1][1]
