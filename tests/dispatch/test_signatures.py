"""Methods that no call could reach are refused where they are registered, with what to write instead."""

import numpy as np
import pytest

import polyad as pa

pytestmark = pytest.mark.quick


class Plain:
    """No array type."""


@pa.array_type(leaves=("values",))
class Mine(pa.Container):
    """An array type that nothing is known of yet."""

    def __init__(self, values):
        self.values = values

    shape = property(lambda self: self.values.shape)
    dtype = property(lambda self: self.values.dtype)


def refused(register, method, match):
    with pytest.raises(pa.RegistrationError, match=match):
        register(method)


def test_family_methods_are_for_array_types():
    def unary(op, x: Plain, /, **params): ...
    def mixed(op, x: Plain, y: np.ndarray, /, **params): ...
    def union(op, x: Plain | float, /, **params): ...
    def nothing(op, /, **params): ...
    def many(op, *xs: Plain, **params): ...

    for family in (pa.elementwise_family, pa.reduction_family, pa.linear_family, pa.bilinear_family):
        for method in (unary, mixed, union, nothing, many):
            refused(
                family.method,
                method,
                rf"{family.__name__} serves array types .* {method.__name__} takes .* would never "
                "run; declare the class with @polyad.array_type, or register with each operation, such as @polyad.sin",
            )


def test_family_methods_that_array_types_may_reach():
    class Mixin:
        pass

    class Both(Mixin, Mine):
        pass

    def mixin(op, x: Mixin, /, **params):
        return "mixin"

    pa.elementwise_family.method(mixin)
    assert pa.sin(Both(np.ones(2))) == "mixin"


@pytest.mark.parametrize("write", [lambda f: f, lambda f: f.replace("/, ", "")])
def test_parameters_of_a_family_method_are_not_dispatched_on(write):
    """What follows the / or has a default is a parameter: it was taken for a further array, and the method never ran."""

    class Own(Mine):
        pass

    scope = {"pa": pa, "Own": Own}
    exec(write("def total(op, x: Own, /, axis=None, keepdims=False, **params): return axis"), scope)
    pa.reduction_family.method(scope["total"])
    assert pa.sum(Own(np.ones(2)), axis=0) == 0 and pa.max(Own(np.ones(2))) is None


def test_sequences_are_chosen_by_their_elements():
    def joined(xs: Mine, axis=0): ...
    def listed(xs: list, axis=0): ...

    for op in (pa.concatenate, pa.stack):
        refused(op.method, joined, rf"{op.__name__} is chosen by the types of the elements of its list, which its methods get "
                r"one by one; joined takes one argument, \S*Mine: write `def joined\(\*arrays: \S*Mine, …\)`")  # fmt: skip
        refused(op.method, listed, "write `def listed")


def test_more_arrays_than_a_call_gives():
    def two(x: Mine, y, /): ...
    def optional(x: Mine, y=1, /): ...
    def three(x: Mine, y: Mine, z: Mine, /): ...
    def named(x: Mine, y): ...
    def keyword(x: Mine, /, *, y): ...
    def summed(x: Mine, axis, keepdims, dtype, weights, /): ...
    def weighted(x: Mine, /, weights, axis=None, keepdims=False, dtype=None): ...

    refused(pa.sin.method, two, r"sin takes 1 array argument\(s\), but two declares 2; a call never gives y: write static "
            "parameters after the /")  # fmt: skip
    refused(pa.sin.method, optional, "declares 2; a call never gives y")
    refused(pa.add.method, three, r"add takes 2 array argument\(s\), but three declares 3")
    refused(pa.sin.method, named, r"sin: named needs the parameter\(s\) y, which no call passes; give a default, or leave them")
    refused(pa.sin.method, keyword, r"needs the parameter\(s\) y")
    refused(pa.sum.method, summed, "declares 5; a call never gives axis, keepdims, dtype, weights")
    refused(pa.sum.method, weighted, r"needs the parameter\(s\) weights, which .* \(sum passes axis, dtype, keepdims\)")


def test_rules_of_more_arrays_than_the_operation_has():
    def rule(ct, y, x: Mine, z: Mine, /): ...

    refused(pa.sin.vjp.method, rule, r"sin.vjp takes 1 array argument\(s\), but rule declares 2")
    refused(pa.sin.jvp.method, rule, r"sin.jvp takes 1 array")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"leaves": "value"}, r"leaves is a tuple of names, not text; write leaves=\('value',\)"),
        ({"static": "n"}, r"static is a tuple of names, not text; write static=\('n',\)"),
        ({"leaves": ("value", 1)}, "leaves is a tuple of names of attributes, and 1 is none"),
        ({"leaves": ("a value",)}, "leaves is a tuple of names of attributes, and 'a value' is none"),
        ({"leaves": 3}, "leaves is a tuple of names of attributes, and 3 is none"),
        ({"leaves": None}, "leaves is a tuple of names of attributes, and None is none"),
        ({"leaves": ("value", "value")}, "'value' is named twice; an attribute is a leaf or static, once"),
        ({"leaves": ("value",), "static": ("n", "value")}, "'value' is named twice"),
        ({"static": ("n", "n")}, "'n' is named twice"),
        ({"structure_ndim": -1}, "structure_ndim counts axes, an int of at least 0, not -1"),
        ({"structure_ndim": 2.0}, "structure_ndim counts axes, an int of at least 0, not 2.0"),
        ({"structure_ndim": True}, "structure_ndim counts axes, an int of at least 0, not True"),
        ({"linear": "no"}, "linear is True or False, not 'no'"),
        ({"linear": 1}, "linear is True or False, not 1"),
    ],
)
def test_what_an_array_type_is_declared_with(given, text):
    with pytest.raises(pa.RegistrationError, match=f"^@array_type: {text}"):
        pa.array_type(**given)
