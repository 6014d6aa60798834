"""Loops written out, and arrays that become variables."""

from polyad.devices.codegen.loops.loops import Loop, around
from polyad.devices.codegen.loops.unrolling import unrolled
from polyad.devices.codegen.text.expressions import Access, Name, c
from polyad.devices.codegen.text.indices import Buffer, Index
from polyad.devices.codegen.text.printer import Printer
from polyad.devices.codegen.text.statements import Array, Assign, If, Local, count

A = Buffer("a", None, (6,))
X = Buffer("x", None, (6,))


def at(buffer, const=0, **terms):
    return Access(buffer, Index(const, terms.items()))


def text(statements):
    return Printer().text(statements).replace("\n", " ")


def test_a_loop_and_its_array():
    """Rounds go on side by side, each with variables of its own; the counter is a number in places and in expressions."""
    body = [Local("double", "v", at(X, 1, i=2)), Assign(at(A, i=1), c("{} * {}", Name("v"), Name("i")))]
    made = unrolled([Array("double", "a", 2), *around([Loop("i", 2, False)], body, unroll=True)])
    inside = "double v_0 = x[1]; double v_1 = x[3]; a_0 = v_0 * 0; a_1 = v_1 * 1;"
    assert text(made) == f"double a_0; double a_1; {{ {inside} }}"


def test_places_that_are_variables_of_a_round():
    body = [Local("int64_t", "p", at(X, i=1)), Assign(at(A, p=2, i=1), "1")]
    made = unrolled(around([Loop("i", 2, False)], body, unroll=True))
    assert text(made) == "{ int64_t p_0 = x[0]; int64_t p_1 = x[1]; a[2 * p_0] = 1; a[2 * p_1 + 1] = 1; }"


def test_rounds_that_build_on_each_other():
    """What sets a variable, or may fail, goes on round by round."""
    body = [Local("double", "v", at(X, i=1)), Assign(Name("t"), c("{} + {}", Name("t"), Name("v")))]
    made = unrolled(around([Loop("i", 2, False)], body, unroll=True))
    assert text(made) == "{ double v = x[0]; t = t + v; } { double v = x[1]; t = t + v; }"
    body = [Local("double", "v", at(X, i=1)), If(c("{} > 0", Name("v")), [Assign(at(A, i=1), Name("v"))])]
    made = unrolled(around([Loop("i", 1, False)], body, unroll=True))
    assert text(made) == "{ double v = x[0]; if (v > 0) a[0] = v; }"


def test_loops_within_loops():
    body = [Assign(at(A, i=3, j=1), at(X, j=1))]
    loops = around([Loop("i", 2, False), Loop("j", 3, False)], body, unroll=True)
    made = unrolled([Array("double", "a", 6), *loops])
    assert text(made[6:]) == " ".join(f"a_{3 * i + j} = x[{j}];" for i in range(2) for j in range(3))
    assert text(unrolled(around([Loop("i", 0, False)], body, unroll=True))) == ""


def test_other_loops_stay():
    loop = count("i", 0, 2, [Assign(at(A, i=1), "1")])
    assert text(unrolled([Array("double", "a", 2), loop])) == text([Array("double", "a", 2), loop])
