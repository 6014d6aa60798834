"""The text of each statement, and of names that a printer changes."""

import pytest

from polyad.devices.codegen.text.expressions import Access, Name, c, call
from polyad.devices.codegen.text.indices import Buffer, Index
from polyad.devices.codegen.text.printer import Printer
from polyad.devices.codegen.text.statements import FAULT, Array, Assign, Block, Do, If, Local, Stop, count, scope, switch

V, BODY = Name("v"), [Assign(Access(Buffer("y0", None, (9,)), Index(0, [("i", 2)])), Name("v"))]
SIMD = " reduction(+:a0)"


@pytest.mark.parametrize(
    ("statement", "lines"),
    [
        (Local("double", "v", c("{} + 1", Name("u"))), ["double v = u + 1;"]),
        (Local("const float *", "v"), ["const float *v;"]),
        (Array("double", "s", 3, ("0", V)), ["double s[3] = {0, v};"]),
        (Array("char", "s", 64, aligned=True), ["char s[64] __attribute__((aligned(64)));"]),
        (Do(call("f", V, 2)), ["f(v, 2);"]),
        (If(V, [FAULT]), ["if (v) fault = 1;"]),
        (If(V, [FAULT, Do("break")]), ["if (v) {", "fault = 1;", "break;", "}"]),
        (If(V, [Local("int", "w", "0")]), ["if (v) {", "int w = 0;", "}"]),
        (If(V, [Stop()]), ["if (v) {", "}"]),
        (scope(FAULT), ["{", "fault = 1;", "}"]),
        (count("i", 0, V, BODY), ["for (int64_t i = 0; i < v; i++) {", "y0[2 * i] = v;", "}"]),
        (count("i", 0, 9, [], simd=True, clause=SIMD), [f"#pragma omp simd{SIMD}", "for (int64_t i = 0; i < 9; i++) {", "}"]),
        (count("i", 0, 9, [], shared=" x"), ["#pragma omp parallel for x", "for (int64_t i = 0; i < 9; i++) {", "}"]),
        (Block("for (;;)", [], simd=True, shared=" x"), ["#pragma omp parallel for simd x", "for (;;) {", "}"]),
        (switch(V, [[FAULT], []]),
         ["switch (v) {", "case 0: {", "fault = 1;", "break;", "}", "default: {", "break;", "}", "}"]),
    ],
)  # fmt: skip
def test_c(statement, lines):
    assert Printer().lines([statement]) == lines


def test_leaving_a_function():
    assert Printer("return failed;").lines([If(V, [Stop()])]) == ["if (v) {", "return failed;", "}"]


def test_other_names():
    class Upper(Printer):
        def name(self, name):
            return name.upper()

    printed = Upper().lines([Local("double", "v", c("{} + x", Name("u"))), count("i", 0, 9, BODY), Array("int", "s", 1)])
    assert printed == ["double V = U + x;", "for (int64_t I = 0; I < 9; I++) {", "Y0[2 * I] = V;", "}", "int S[1];"]
