"""Declarations have no body that would never run; what such a body is told."""

import pytest

import polyad as pa
from polyad.dispatch.prototypes import check_empty

pytestmark = pytest.mark.quick


def prototype(body, module="somewhere"):
    space = {"__name__": module}
    exec(f"\ndef op(x, /):\n    {body}\n", space)
    return space["op"]


EMPTY = ['"What it is."', "...", "pass", '"What it is."; ...', "return None", "return ...", '"What it is."; return',
         "raise NotImplementedError", "raise NotImplementedError(f'no {x}')"]  # fmt: skip
FULL = ["return x", "return 3", '"What it is."; return "text"', "y = x", "x + 1", "return (lambda: x)", "yield",
        "x[0] = 1", "print(x)", "while True: pass"]  # fmt: skip


@pytest.mark.parametrize("body", EMPTY)
def test_no_body(body):
    check_empty(prototype(body))


@pytest.mark.parametrize("body", FULL)
def test_a_body(body):
    with pytest.raises(pa.RegistrationError, match=r"^op \(<string>:2\): the body of its declaration never runs; leave the "):
        check_empty(prototype(body))


def test_what_else_there_is_to_write():
    with pytest.raises(pa.RegistrationError, match=r"@op\.method above `def op_…` with the types it is for, or dance$"):
        check_empty(prototype("return x"), ", or dance")


def test_who_is_not_asked():
    """The library itself, whose declarations tests look at, and what is written in no Python."""
    check_empty(prototype("return x", "polyad.dsl.ops"))
    check_empty(len)
    with pytest.raises(pa.RegistrationError):
        check_empty(prototype("return x", "polyadic"))
    nameless = prototype("return x")
    nameless.__module__ = None  # as exec(source, {}) makes it
    with pytest.raises(pa.RegistrationError):
        check_empty(nameless)


def test_a_body_of_a_generic_function():
    with pytest.raises(pa.RegistrationError, match=r"op \(.*\): the body .* never runs; .* for all others, `x: object`"):
        pa.generic(prototype("return 3 * x"))
    op = pa.generic(prototype('"For anything."'))

    @op.method
    def op_otherwise(x: object, /):
        return "otherwise"

    assert op(3) == "otherwise"
