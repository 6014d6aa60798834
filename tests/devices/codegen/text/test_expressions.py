"""Expressions know what they read and call, and become text by printers only."""

import pytest

from polyad.devices.codegen.text.expressions import Access, Hole, Name, Type, c, call, calls_in, joined, names_in, waits
from polyad.devices.codegen.text.indices import Buffer, Index
from polyad.devices.codegen.text.printer import Printer

X = Buffer("x0", None, (5, 7))
ELEMENT = Access(X, X.at((Index(0, [("i0", 1)]), Index(3))))


def test_what_is_read_and_called():
    value = c("{} * {} + {}", call("sin", ELEMENT), Name("v1"), 2)
    assert names_in(value) == ["x0", "i0", "v1"] and calls_in(value) == {"sin"} and waits(value)
    assert Printer().expression(value) == "sin(x0[7 * i0 + 3]) * v1 + 2"
    assert not waits(call("special_sin", Name("v1"))) and not waits("sin(v1)") and waits(call("tanh_f4", "0"))


def test_templates_are_filled_in_any_order_and_more_than_once():
    pattern = c("{1} < {0} ? {1} : ({2})({0})", Hole(0), Hole(1), Type("float"), calls=frozenset(("float",)))
    value = pattern.filled([call("exp", Name("a")), ELEMENT])
    assert Printer().expression(value) == "x0[7 * i0 + 3] < exp(a) ? x0[7 * i0 + 3] : (float)(exp(a))"
    assert calls_in(value) == {"float", "exp"} and names_in(value).count("x0") == 2
    assert Printer().expression(joined(" + ", [Name("a"), 1, "b[0]"])) == "a + 1 + b[0]"
    with pytest.raises(TypeError, match="without its arguments"):
        Printer().expression(pattern)


@pytest.mark.parametrize("piece", [Name("v"), Type("float"), ELEMENT, c("{} + 1", Name("v")), Index(3)])
def test_what_is_no_text_yet(piece):
    with pytest.raises(TypeError, match="by a printer"):
        f"{piece};"
    with pytest.raises(TypeError, match="by a printer"):
        str(piece)


def test_places_may_change_until_they_are_printed():
    value = c("{} + 1", element := Access(X, Index(0, [("i0", 7), ("i1", 1)])))
    element.place = element.place.without({"i0"})
    assert Printer().expression(value) == "x0[i1] + 1"
