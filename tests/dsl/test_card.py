"""Cards: what a declaration fills in by itself, where users' cards are kept, and what may be said of one."""

import dataclasses

import numpy as np
import pytest

import polyad as pa
from polyad.dsl import operations
from polyad.dsl.card import FACTS, KINDS, RULES, Card, library_name, outside, programs_in

pytestmark = pytest.mark.quick


@pytest.fixture(autouse=True)
def forget_users():
    before = set(outside)
    yield
    for key in set(outside) - before:
        outside.pop(key)


def declared(kind=pa.opaque, name="sin", **facts):
    def prototype(x, /, rate=1.0):
        """A function of x."""

    prototype.__name__ = prototype.__qualname__ = name
    return kind(**facts)(prototype)


def test_a_users_operation_neither_replaces_ours_nor_answers_for_numpys():
    ours, mine = operations["sin"], declared()
    assert operations["sin"] is ours is pa.sin and outside[__name__, "sin"] is mine
    assert (mine.card.kernel, mine.card.numpy) == (None, ()) and (ours.card.kernel, ours.card.numpy) == ("sin", ("sin",))
    assert library_name(ours) == "sin" and library_name(mine) is None
    named = declared(kernel="fft.fft")
    assert named.card.numpy == ("fft.fft",)


def test_names_within_polyad():
    assert [operations[name].card.public for name in ("sin", "fft", "lane_sum", "call")] == ["sin", "fft.fft", "psum", "jit"]
    assert Card("f", "opaque", home="linalg").public == "linalg.f" and Card("f", "opaque", home="a", spelled="b").public == "b"
    assert operations["fft"].card.kernel == "fft.fft"


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "composite"])
def test_what_is_said_of_every_operation_of_a_kind_is_in_its_docstring(kind):
    op = declared(getattr(pa, kind))
    assert op.card.kind == kind and op.__doc__.startswith("A function of x.\n\n    ") and "Raises" in op.__doc__


def test_a_docstring_that_names_errors_stays_as_it_is():
    def own(x, /):
        """A function. Raises KeyError."""

    assert pa.opaque()(own).__doc__ == "A function. Raises KeyError."


def test_what_is_no_fact_and_no_rule_is_named():
    assert set(FACTS) == {f.name for f in dataclasses.fields(Card)} - {"body", "kind", "lowering", "name", "rules"}
    with pytest.raises(pa.RegistrationError, match="a card has no 'partial'"):
        declared(partial=[1])
    with pytest.raises(pa.RegistrationError, match=r"sin: there is no rule 'jpv'; rules are shape, jvp, vjp, .*steps"):
        declared().rule("jpv")
    assert all(rule in RULES for op in operations.values() for rule in op.card.rules)


def test_sequences_of_facts_are_tuples():
    op = declared(pa.elementwise, samples=[lambda rng: 1.0], partials=[1])
    assert type(op.card.samples) is type(op.card.partials) is tuple
    assert declared(pa.bilinear).card.linear == (0, 1) and declared(pa.linear).card.linear is None


def test_what_acts():
    """An operation does so by itself, for some parameters, or by a program among them."""
    printing = pa.make_ir(lambda x: (pa.debug_print("{}", x), x)[1])(1.0)
    silent = pa.make_ir(pa.sin)(1.0)
    plain, always = Card("f", "opaque"), Card("f", "opaque", effect=True)
    asked = Card("f", "opaque", effect=lambda params: params["rate"] > 1)
    assert not plain.acts({"rate": 2}) and always.acts({}) and asked.acts({"rate": 2}) and not asked.acts({"rate": 1})
    for given, right in (
        (printing, True),
        (silent, False),
        ((silent, printing), True),
        ([silent], False),
        ((1, "text"), False),
    ):
        assert bool(plain.acts({"body": given})) is right
    assert programs_in((silent, 3)) == [silent] and programs_in(silent) == [silent] and programs_in(3) == []


def test_a_rule_that_is_given_again_takes_the_place_of_the_first():
    """What calls have found with the first is forgotten."""
    op = declared(pa.elementwise, differentiable=True)
    op.method(lambda x, rate=1.0: x * rate)
    for slope in (2.0, 3.0):
        op.rule("jvp")(lambda dxs, y, x, rate, slope=slope: slope * dxs[0])
        assert pa.derivative(op)(1.0) == slope == pa.grad(op)(1.0)
    assert np.asarray(op(2.0, rate=3.0)) == 6.0
