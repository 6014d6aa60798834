"""Statements say what they declare, read, change and call, at any depth."""

from polyad.devices.codegen.text.expressions import Access, Name, c, call
from polyad.devices.codegen.text.indices import Buffer, Index
from polyad.devices.codegen.text.statements import (
    FAULT,
    Array,
    Assign,
    Block,
    Do,
    If,
    Local,
    accesses,
    called,
    changed,
    count,
    declared,
    everything,
    needs,
    reads,
    stored,
)  # fmt: skip

Y = Access(Buffer("y0", None, (9,)), Index(0, [("i", 1)]))
STORE = Assign(Y, call("sin", Name("v")))
LOOP = count("i", 0, Name("n"), [Local("double *", "v", "0"), If(c("{} < 0", Name("v")), [FAULT]), STORE])
GROWN = Do(c("{}++", Name("n")), ("n",))


def test_one_by_one():
    assert reads(STORE) == ["y0", "i", "v"] and stored(STORE) == "y0" and accesses(STORE) == [Y]
    assert stored(FAULT) is None and changed([FAULT]) == {"fault"} and changed([GROWN]) == {"n"} and changed([STORE]) == set()
    assert list(declared([Array("float", "s", 3)])) == [("float", "s", True)]


def test_within_others():
    assert [type(s) for s in everything([LOOP, GROWN])] == [Block, Local, If, Assign, Assign, Do]
    assert reads(LOOP) == ["i", "i", "n", "i", "v", "fault", "y0", "i", "v"]
    assert list(declared([LOOP])) == [("int64_t", "i", False), ("double", "v", True)]
    assert changed([LOOP]) == {"fault"} and called([LOOP]) == {"sin"}


def test_what_the_runtime_has_to_do():
    assert needs([LOOP]) == set()
    assert needs([Block(None, [count("i", 0, 3, [], shared="")])]) == {"threads"}
    assert needs([If("1", [Local("char *", "a", call("taken", 100))])]) == {"memory"}
