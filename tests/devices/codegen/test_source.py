"""The C function of a straight line of equations: its parameters, what it checks first, and what it needs."""

import re

import numpy as np
import pytest

import polyad as pa
from polyad.devices.codegen.plan.memory import STACK
from polyad.devices.codegen.source import COMPLEX, Source, has_complex, vars_of

pytestmark = pytest.mark.quick


def source(f, *xs):
    program = pa.make_ir(f)(*xs)
    return Source(program.equations, program.inputs, program.outputs, dict(program.constants), {})


def run_of(made):
    """The function `run` in a source: its head, and its lines."""
    return re.search(r"\nint run\((.*?)\) \{\n(.*?\nreturn [^\n]*;)\n\}\n", made.text, re.S).groups()


def test_parameters():
    head, _ = run_of(source(lambda x, i, b: (x * 2.0, b & (i > 0)), np.ones(3, "f"), np.ones(3, "i"), np.ones(3, bool)))
    assert head == "const float *x0, const int32_t *x1, const uint8_t *x2, float *y0, uint8_t *y1, void **constants"


def test_alignment_is_looked_at_where_there_is_one():
    """Bytes may lie anywhere."""
    _, body = run_of(
        source(lambda x, z, b, h: (x * 2.0, z + z, b, h + h), np.ones(2), np.ones(2, "D"), np.ones(2, bool), np.ones(2, "h"))
    )
    first = body.splitlines()[0]
    assert first == "if (((uintptr_t)x0 & 7) | ((uintptr_t)x1 & 7) | ((uintptr_t)x3 & 1)) return 1;"
    assert "return 1" not in run_of(source(lambda b: b ^ True, np.ones(2, bool)))[1]


def test_what_may_go_wrong_is_told_apart():
    plain, checked = source(lambda x: x * 2.0, np.ones(3)), source(lambda x, i: x[i], np.ones(3), np.array([0, 2]))
    assert not plain.faults and run_of(plain)[1].endswith("return 0;")
    assert checked.faults and run_of(checked)[1].endswith("return memory ? 2 : failed ? failed : fault ? 3 : 0;")
    inside = source(lambda x: x[np.array([0, 2])], np.ones(3))
    assert not inside.faults or "constants" in inside.text


@pytest.mark.parametrize("size, place", [(STACK // 8, "stack"), (STACK // 8 + 1, "heap")])
def test_temporaries_at_both_sides_of_the_stack(size, place):
    """On the stack up to a bound; beyond in memory that is given back, and whose absence is an error."""
    _, body = run_of(source(lambda x: (lambda e: e + e[::-1])(pa.exp(x)), np.ones(size)))
    assert ("taken(" in body and "given(arena" in body and "return 2" in body) == (place == "heap")
    assert bool(re.search(r"char arena\[\d+\] __attribute__\(\(aligned\(64\)\)\)", body)) == (place == "stack")
    assert "arena" not in run_of(source(lambda x: pa.exp(x) + 1.0, np.ones(size)))[1]


def test_complex_numbers_are_declared_where_there_are_some():
    x = np.ones(3)
    assert COMPLEX not in source(lambda x: x * 2.0, x).text
    for f in (lambda x: x * 1j, lambda x: pa.abs(x * 1j), lambda x: pa.fori_loop(0, 2, lambda i, c: pa.abs(c * 1j), x)):
        assert COMPLEX in source(f, x).text and has_complex(pa.make_ir(f)(x).equations)
    assert not has_complex(pa.make_ir(lambda x: pa.fori_loop(0, 2, lambda i, c: c + 1.0, x))(x).equations)


def test_constants_that_are_not_read_are_no_variables():
    """They are numbers in the text; those that are read come by their place in `constants`."""
    table, number = np.arange(3.0), np.full(3, 7.0)
    program = pa.make_ir(lambda x: x * table + number)(np.ones(3))
    constants = dict(program.constants)
    (k,) = [k for k, x in enumerate(constants.values()) if x.max() == 2]
    (seven,) = [v for v, x in constants.items() if x.max() == 7]
    made = Source(program.equations, program.inputs, program.outputs, constants, {seven: np.float64(7)})
    assert re.findall(r"c\d = constants\[\d\]", made.text) == [f"c{k} = constants[{k}]"] and "7.0" in made.text


def test_addresses_of_functions_that_are_not_libms():
    made = source(lambda x: pa.erfinv(x) + pa.ndtri(x), np.full(3, 0.5))
    assert made.pointers == ["erfinv", "ndtri"] and "struct pointers {" in made.text
    assert source(lambda x: pa.sin(x), np.ones(3)).pointers == []


def test_vars_each_once():
    program = pa.make_ir(lambda x, y: x * y + x * 2.0)(1.0, 2.0)
    x, y = program.inputs
    assert vars_of([x, 2.0, y, x, 3]) == [x, y] and vars_of([]) == []
