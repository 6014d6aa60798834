"""Passes made of rules: which steps a rule sees, what is known of values there, and which numbers count as which."""

import numpy as np
import pytest

import polyad as pa
from polyad.dsl.ir.passes.rewrite_rules import Rules, again, equals, fits
from polyad.dsl.ir.programs import check, evaluate

pytestmark = pytest.mark.quick

X = np.array([0.5, -1.5])


def names(program):
    return [e.op.__name__ for e in program.equations]


def test_a_rule_sees_its_operations_alone():
    seen, rules = [], Rules()

    @rules.rule("sin", "cos")
    def note(e, context):
        seen.append(e.op.__name__)

    program = pa.make_ir(lambda x: pa.tanh(pa.sin(pa.cos(x))))(X)
    assert names(rules(program)) == names(program) and seen == ["cos", "sin"]


def test_an_operation_of_somebody_else_with_such_a_name_is_not_meant(forget_users):
    @pa.elementwise(kernel=None, differentiable=False)
    def sin(x, /):
        """Not the library's."""

    sin.method(lambda x: x * 2)
    sin.rule("shape")(lambda x: x)
    rules = Rules()
    rules.rule("sin")(lambda e, context: e.inputs[0])
    assert names(rules(pa.make_ir(lambda x: sin(x))(X))) == ["sin"] and names(rules(pa.make_ir(pa.sin)(X))) == []


@pytest.fixture
def forget_users():
    from polyad.dsl.card import outside

    before = set(outside)
    yield
    for key in set(outside) - before:
        outside.pop(key)


def test_what_rules_have_made_is_known_to_the_next():
    """exp(-(-x)) by two rules: the second sees the step that the first has put in place."""
    rules = Rules()

    @rules.rule("negative")
    def double(e, context):
        inner = context.made_by(e.inputs[0], "negative")
        return inner.inputs[0] if inner else None

    @rules.rule("square")
    def product(e, context):
        return again(e, "multiply", e.inputs[0], e.inputs[0])

    @rules.rule("exp")
    def of_product(e, context):
        assert context.made_by(e.inputs[0], "multiply") and not context.made_by(e.inputs[0], "square")

    program = pa.make_ir(lambda x: pa.exp(pa.square(pa.negative(-x))))(X)
    better = rules(program)
    check(better)
    assert [n for n in names(better) if n != "negative"] == ["multiply", "exp"]
    np.testing.assert_array_equal(evaluate(better, [X])[0], np.exp(X * X))


def test_values_of_atoms():
    values, rules = [], Rules()
    rules.rule("add")(lambda e, context: values.append(context.value(e.inputs[1])))
    for other in (2.0, np.full(2, 3.0), np.array([1.0, 2.0])):
        rules(pa.make_ir(lambda x, other=other: pa.add(x, other))(X))
    rules(pa.make_ir(lambda x: pa.add(x, pa.sin(x)))(X))
    assert values == [2.0, 3.0, None, None]


@pytest.mark.parametrize(("value", "number", "right"), [
    (0.0, 0.0, True), (-0.0, 0.0, False), (0.0, -0.0, False), (-0.0, -0.0, True), (1, 1.0, True), (np.float32(1), 1.0, True),
    (1.0 + 0j, 1.0, True), (1.0 + 1j, 1.0, False), (True, 1.0, False), (np.True_, 1.0, False), (None, 0.0, False),
    (np.nan, np.nan, False), (-1.0, -1.0, True), (2.0, 1.0, False),
])  # fmt: skip
def test_a_number_is_meant_with_its_sign(value, number, right):
    assert bool(equals(value, number)) is right


def test_a_result_can_be_a_value_of_its_own_shape_and_dtype():
    wide = pa.make_ir(lambda x: x * np.ones((3, 2)))(X).equations[0]
    plain = pa.make_ir(lambda x: x * 2.0)(X).equations[0]
    cast = pa.make_ir(lambda x: pa.astype(x, np.float32))(X).equations[0]
    assert fits(plain, plain.inputs[0]) and not fits(plain, 2.0)
    assert not fits(wide, wide.inputs[0]) and not fits(cast, cast.inputs[0])
