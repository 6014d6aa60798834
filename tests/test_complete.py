"""Nothing is half done: each operation has each rule or says why not, samples, a docstring and a public name."""

import inspect
import re
from functools import reduce

import numpy as np

import polyad as pa
from polyad.ad.rules.from_cards import jvp_rule, vjp_rule
from polyad.dispatch import all_generics
from polyad.dsl import operations
from polyad.dsl.layers.batch_rules import batch_rule


def internal(op):
    """What users call by another name: the parts of collectives, behind psum, all_gather and their kin."""
    return op.card.collective or op.card.spelled or "neutral" in op.card.rules


def each_card(check):
    """A test that makes the check for every card."""
    return lambda each: each({name: (op,) for name, op in operations.items()}, check)


def excused(card, rule):
    """Whether the card says why it has no such rule."""
    reason = card.no_rule.get(rule)
    assert reason is None or len(reason.split()) > 2, f"{card.name}: no_rule[{rule!r}] should say why"
    return reason is not None


@each_card
def test_derivatives(op):
    card = op.card
    if not card.differentiable or card.body is not None:
        return
    if not excused(card, "jvp"):
        assert callable(jvp_rule(op.generic))
    if not excused(card, "vjp"):
        rules = [vjp_rule(op.generic, i) for i in range(len(op.generic.arrays))]
        assert all(rules) or callable(jvp_rule(op.generic)), "reverse rule, or forward rule to be transposed"


@each_card
def test_lanes_and_shapes(op):
    card = op.card
    if card.body is None:
        assert excused(card, "batch") or batch_rule(op.generic).__qualname__.split(".")[0] != "_loop_rule"
        assert excused(card, "shape") or "shape" in card.rules or card.kind in ("elementwise", "reduction")


@each_card
def test_kernel(op):
    card = op.card
    if card.body is not None or internal(op) or excused(card, "kernel"):
        return
    hosts = [m for m in op.generic.methods if np.ndarray in m.types or any(issubclass(np.ndarray, t) for t in m.types)
             or (m.varargs and issubclass(np.ndarray, m.varargs))]  # fmt: skip
    own = card.kind == "elementwise" and card.c is not None  # its C is its kernel
    assert hosts or own, f"{card.name} has no kernel for NumPy arrays"


@each_card
def test_samples(op):
    if not internal(op) and not excused(op.card, "samples"):
        assert op.card.samples, "samples, from which the tests are generated"


@each_card
def test_docstring(op):
    text = inspect.getdoc(op) or ""
    assert len(text.split()) > 3 and text.split("\n\n")[0].endswith((".", ":")), text
    assert internal(op) or "Raises" in text and re.search(r"\b(shapes?|ax[ie]s|dtypes?|arrays?)\b", text), text


@each_card
def test_public_name(op):
    name = op.card.public
    found = reduce(lambda found, part: getattr(found, part, None), name.split("."), pa)
    assert found is op or internal(op), f"{name} is neither exported by polyad nor internal"


@each_card
def test_no_rule_names_rules(op):
    known = {"jvp", "vjp", "batch", "shape", "kernel", "samples", "transpose"}
    assert set(op.card.no_rule) <= known


def test_no_ambiguities():
    assert not pa.ambiguities(pa)  # of polyad alone: other tests declare types of their own


def test_public_names_have_docstrings():
    lacking = {name for name in pa.__all__ if not inspect.getdoc(getattr(pa, name))}
    assert lacking <= {"newaxis"}  # None, whose text is Python's


def test_every_generic_function_of_ours_has_a_docstring():
    for generic in all_generics():
        if (generic.prototype.__module__ or "").startswith("polyad."):  # None: made in a namespace without a name
            assert inspect.getdoc(generic.function), generic.name
