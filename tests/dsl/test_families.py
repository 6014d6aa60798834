"""Claims on families: what can be claimed, for which types, and what the method must take."""

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


@pytest.mark.parametrize("function", [np.sin, pa.psum, len, "elementwise", pa.vmap])
def test_a_claim_on_what_is_no_operation(function):
    with pytest.raises(pa.RegistrationError, match=r"^claim: .+ is no family of operations; it takes one of "
                       "elementwise_family, reduction_family, linear_family, bilinear_family$"):  # fmt: skip
        pa.claim(function, Mine)
    with pytest.raises(pa.RegistrationError, match="is no family"):
        pa.combine_rule(Mine, pa.Diagonal, function)


def test_a_claim_on_one_operation():
    with pytest.raises(pa.RegistrationError, match="claim: sin is no family of operations; write @sin.method for one"):
        pa.claim(pa.sin, Mine)


@pytest.mark.parametrize("types", [(), (Plain,), (np.ndarray,), (Mine, float), (Mine | pa.Diagonal,), ("Mine",)])
def test_claims_are_for_array_types(types):
    with pytest.raises(pa.RegistrationError, match=r"claim: families serve array types \(polyad.Container\) only, not "):
        pa.claim(pa.elementwise_family, *types)


def test_claims_take_what_they_are_given():
    def single(op, x, /, **params): ...
    def bare(op, *xs): ...
    def neither(op, x, /): ...

    for method, lacking in ((single, r"\*xs"), (bare, r"\*\*params"), (neither, r"\*xs and \*\*params")):
        refused(
            pa.claim(pa.elementwise_family, Mine),
            method,
            rf"^claim: {method.__name__} does not take {lacking}, but it stands "
            rf"for every operation of elementwise_family, .*; write `def {method.__name__}\(op, \*xs, \*\*params\)`$",
        )

    def reduced(op, x: Mine, /): ...

    refused(pa.reduction_family.method, reduced, "^reduction_family hands over the parameters .* reduced takes none; add")
