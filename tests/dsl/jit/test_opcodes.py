"""What this Python makes of code is known to jit: its instructions by name, and what stands beside them.

These tests fail on a Python that jit cannot read yet. There it runs functions eagerly, which is tested here as well.
"""

import dis
import types
import warnings
from pathlib import Path

import numpy as np
import pytest

import polyad as pa
from polyad.dsl.jit import bytecode, opcodes
from polyad.dsl.jit.opcodes import KNOWN

HERE = Path(__file__).parents[2]
CORPUS = [*(HERE / "dsl").rglob("*.py"), *(HERE / "ad").rglob("*.py"), *HERE.parent.glob("tutorials/*.py")]
WHAT_TO_DO = (
    "This Python has instructions that dsl/jit/opcodes.py does not name: {}. See in Python's `dis` page what each "
    "loads, stores and calls, and what became of the instruction that it takes the place of. One that reads a global, "
    "a variable of an enclosing function or an attribute belongs in LOADS or ATTRIBUTES; one without meaning of its "
    "own in PASSED_OVER; one that calls, imports, formats or jumps is also looked for by name in bytecode.py, "
    "steering.py and ad/styles/stores.py. Then add it, and the forms of tests/dsl/jit/test_bytecode.py must hold. "
    "Until then functions with it run eagerly."
)


def codes_in(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_in(constant)


def test_each_instruction_of_this_python_is_known():
    real = {name for name, number in dis.opmap.items() if number < 256 and not name.startswith("INSTRUMENTED")}
    assert real <= KNOWN, WHAT_TO_DO.format(", ".join(sorted(real - KNOWN)))


def test_each_instruction_that_this_python_makes_of_our_tests_is_known():
    assert len(CORPUS) > 100
    made = set()
    for path in CORPUS:
        for code in codes_in(compile(path.read_text(), str(path), "exec", dont_inherit=True)):
            made.update(code.co_code[::2])
    found = {dis.opname[number] for number in made} - KNOWN
    assert not found, WHAT_TO_DO.format(", ".join(sorted(found)))


def test_instructions_that_read_by_name_are_all_accounted_for():
    """Those that `dis` lists as using a name or a variable of an enclosing function."""
    reading = {dis.opname[number] for number in (*dis.hasname, *dis.hasfree) if number < 256}
    reading = {name for name in reading if not name.startswith(("INSTRUMENTED", "<"))}
    within = {"STORE_NAME", "DELETE_NAME", "IMPORT_FROM", "LOAD_SUPER_ATTR", "MAKE_CELL", "LOAD_CLOSURE", "DELETE_DEREF",
              "COPY_FREE_VARS"}  # what they read is among the names, or read by the functions inside  # fmt: skip
    known = {*opcodes.LOADS, *opcodes.ATTRIBUTES, *opcodes.STORES, *opcodes.IMPORTS, *within}
    assert reading <= known, WHAT_TO_DO.format(", ".join(sorted(reading - known)))


# --- on a Python of which an instruction is not known ----------------------------------------------------------


@pytest.fixture
def newer(monkeypatch):
    """A Python that adds, multiplies and compares by instructions that are not known."""
    monkeypatch.setattr(opcodes, "KNOWN", KNOWN - {"BINARY_OP", "COMPARE_OP"})
    bytecode.facts.cache_clear()
    yield
    bytecode.facts.cache_clear()


scale = 2.0


def scaled(x):
    return x * scale


def inside(x):
    return pa.sum(pa.vmap(lambda v: v * scale)(x))


class Scaled:
    def __init__(self, k):
        self.k = k

    def __call__(self, x):
        return scaled(x) * self.k


@pytest.mark.parametrize("f", [scaled, inside, Scaled(3.0)], ids=["function", "lambda inside", "object"])
def test_code_that_cannot_be_read_runs_eagerly_and_says_so(newer, f):
    global scale
    x, g = np.ones(3), pa.jit(f)
    said = r"eagerly from now on: it is made of instructions of Python 3\.\d+ that .* cannot read \(BINARY_OP\); take"
    with pytest.warns(pa.PerformanceWarning, match=said):
        np.testing.assert_array_equal(g(x), f(x))
    try:
        for value in (3.0, 4.0):  # nothing was frozen
            scale = value
            np.testing.assert_array_equal(g(x), f(x))
    finally:
        scale = 2.0


def test_code_without_it_is_compiled(newer):
    x, g = np.ones(3), pa.jit(lambda x: pa.sum(pa.sin(x)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            assert g(x) == pytest.approx(3 * np.sin(1.0))


def test_methods_of_array_types_that_cannot_be_read(newer):
    from polyad.dsl.jit.type_methods import reading

    @pa.array_type(leaves=("x",))
    class Halved(pa.Container):
        def __init__(self, x):
            self.x = x

        shape = property(lambda self: self.x.shape)
        dtype = property(lambda self: self.x.dtype)

        def half(self):
            return self.x * 0.5

    assert [f.__name__ for f in reading(Halved) if f.__name__ == "half"] == ["half"]


@pytest.mark.parametrize("readable", [True, False])
def test_errors_that_are_caught_without_a_table_of_where(monkeypatch, readable):
    """`exception_entries` of `dis` is not documented: without it a function with a `try` counts as one `try`."""

    class Without:
        def __init__(self, code):
            pass

    if not readable:
        monkeypatch.setattr(dis, "Bytecode", Without)
    bytecode.caught_parts.cache_clear()
    try:

        def f(a, b):
            try:
                return pa.linalg.solve(a, b)
            except pa.LinAlgError:
                return b * 0.0

        g = pa.jit(f)
        b = np.ones(2)
        for a in (2.0 * np.eye(2), np.zeros((2, 2)), 4.0 * np.eye(2), np.zeros((2, 2))):
            np.testing.assert_array_equal(g(a, b), f(a, b))
        assert bool(bytecode.caught_parts(f.__code__)) and not bytecode.caught_parts(scaled.__code__)
    finally:
        bytecode.caught_parts.cache_clear()
