"""Elements of arrays that become variables."""

import numpy as np
import pytest

from polyad.devices.codegen.loops.scalar_replacement import elements, in_variables, read_before
from polyad.devices.codegen.text.expressions import Access, Name, c
from polyad.devices.codegen.text.indices import Buffer, Index
from polyad.devices.codegen.text.printer import Printer
from polyad.devices.codegen.text.statements import Array, Assign, Block, Do, If, scope
from polyad.dsl.avals import UNKNOWN

A = Buffer("a", None, (6,))
X = Buffer("x", np.dtype(float), (6,))


def at(buffer, const=0, **terms):
    return Access(buffer, Index(const, terms.items()))


def text(statements):
    return Printer().text(statements).replace("\n", " ")


def test_first_values():
    used = [Do(at(A)), Do(at(A, 2))]
    assert text(in_variables([Array("double", "a", 6, ("0",)), *used])) == "double a_0 = 0; double a_2 = 0; a_0; a_2;"
    assert text(in_variables([Array("int", "a", 6, ("4", "5", "6")), *used])) == "int a_0 = 4; int a_2 = 6; a_0; a_2;"


@pytest.mark.parametrize(
    "use",
    [
        Do(Name("a")),  # a pointer to it
        Do(at(A, i=1)),  # which element is found out later
        Do(c("{} + f({})", at(A), Name("a"))),
        If(c("{} > 0", at(A, i=1)), []),
        scope(Assign(at(A, 1), Access(A, c("{}++", Name("k"))))),
        Do(at(A, 6)),  # outside of it: nothing may hide that
        Do(at(A, -1)),
        Assign(Access(X, c("{}", at(A, i=1))), "0"),
    ],
)
def test_arrays_that_stay(use):
    statements = [Array("double", "a", 6), Assign(at(A, 1), "1"), use]
    assert elements(statements) == {} and text(in_variables(statements)) == text(statements)


def test_elements_that_are_named_within_places():
    use = Assign(Access(X, c("{}", at(A, 3))), at(A, 1))
    assert text(in_variables([Array("int64_t", "a", 6), use])) == "int64_t a_1; int64_t a_3; x[a_3] = a_1;"


def test_truth_values_are_bytes_in_memory_only():
    mask = Buffer("a", np.dtype(bool), (2,))
    made = in_variables([Array("uint8_t", "a", 2), Assign(at(mask, 1), at(X))])
    assert text(made) == "_Bool a_1; a_1 = x[0];"


# ---------------------------------------------------------------------- arrays that stay the same
def loop(*body, fixed=(X,)):
    return Block("for (;;)", list(body), fixed=fixed)


def test_elements_are_read_before_a_loop():
    made = read_before([loop(Assign(at(A, i=1), c("{} + {}", at(X, 2), at(X, i=1))), If("1", [Do(at(X, 2))]))])
    assert text(made) == "{ double x_2 = x[2]; for (;;) { a[i] = x_2 + x[i]; if (1) x_2; } }"


def test_the_outermost_loop_reads_them():
    made = read_before([loop(loop(Do(at(X, 1)), fixed=(X, A)), Do(at(A, 1)))])
    assert text(made) == "{ double x_1 = x[1]; for (;;) { for (;;) { x_1; } a[1]; } }"


@pytest.mark.parametrize("shape", [(1,), (0, 3), (UNKNOWN,), (UNKNOWN, 3)])
def test_what_may_not_be_there_is_not_read_before(shape):
    """A loop without a step reads nothing: an array of no or unknown length may have no element."""
    statements = [loop(Do(at(X, 1)), fixed=(Buffer("x", np.dtype(float), shape),))]
    assert text(read_before(statements)) == text(statements)
