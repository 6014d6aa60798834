"""Loops that a program repeats are written once; what differs in more than names is not taken for the same."""

import numpy as np
import pytest

import polyad as pa
from polyad.devices.codegen.loops.outlining import without_repeats
from polyad.devices.codegen.text.expressions import Access, Name, c, call
from polyad.devices.codegen.text.indices import Buffer, Index
from polyad.devices.codegen.text.printer import Printer
from polyad.devices.codegen.text.statements import Assign, Do, Local, count, scope
from polyad.devices.compilers import find_compiler

pytestmark = [pytest.mark.optimized, pytest.mark.quick]

RNG = np.random.default_rng(0)
HEAD = [Local("const double *", "x0"), Local("double *", "y0"), Local("double *", "y1"), Local("float *", "y2")]
CHANGE = Assign(Name("x"), "1")


def loop(read, written, scale="0.5", function="sin", more=(), **options):
    """A loop over vectors that stores a function of what it reads."""
    at = lambda name: Access(Buffer(name, None, (64,)), Index(0, [("i", 1)]))
    value = call(function, c("{} * {}", Name("v"), scale))
    return count("i", 0, 64, [Local("double", "v", at(read)), Assign(at(written), value), *more], **{"simd": True, **options})


def test_two_that_differ_in_names():
    functions, statements = without_repeats(HEAD, [loop("y1", "y0"), CHANGE, loop("y0", "y1")])
    assert Printer().lines(statements) == ["loop0(y1, y0);", "x = 1;", "loop0(y0, y1);"]
    assert functions[0].endswith("loop0(double *a0, double *a1) {") and "".join(functions).count("{") == 2


@pytest.mark.parametrize(
    "second",
    [
        loop("y0", "y1", "0.25"),  # another number
        loop("y0", "y2"),  # of another type
        loop("y0", "y0"),  # one array where there were two
        loop("x0", "y1"),  # one that must not be changed
        loop("y0", "unknown"),
        loop("y0", "y1", clause=" reduction(+:s)"),
        loop("y0", "y1", shared=""),  # by threads
        loop("y0", "y1", more=[Assign(Name("s"), Name("v"))]),  # changes a number from outside
        loop("y0", "y1", more=[Do(c("{}++", Name("s")), ("s",))]),
        loop("y0", "y1", function="floor"),
    ],
)
def test_what_is_not_the_same(second):
    statements = [loop("y1", "y0"), second]
    assert without_repeats([*HEAD, Local("double", "s", "0")], statements) == ([], statements)


def test_loops_without_calls_stay():
    statements = [loop("y1", "y0", function=""), loop("y0", "y1", function="")]
    assert without_repeats(HEAD, statements) == ([], statements)


def test_a_name_of_two_types_is_not_guessed():
    head = [*HEAD, scope(Local("double", "t", "1")), scope(Local("int64_t", "t", "1"))]
    statements = [loop("y1", "y0", Name("t")), loop("y0", "y1", Name("t"))]
    assert without_repeats(head, statements) == ([], statements)


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
    for many in (8, 16):
        f = pa.jit(rounds(many))
        bounds = {"rtol": 1e-12, "atol": 1e-14} if dtype == "float64" else {"rtol": 1e-4, "atol": 1e-5}
        for got, wanted in zip(f(x, y), rounds(many)(x, y), strict=True):
            np.testing.assert_allclose(got, wanted, **bounds)
        (text,) = pa.jit.source(f)
        sizes.append((text.count("sin("), text.count("loop0(")))
    if n >= 64:
        assert sizes[0][0] == sizes[1][0] and sizes[0][1] < sizes[1][1]
