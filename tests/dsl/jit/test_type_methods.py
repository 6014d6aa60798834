"""What methods of array types read outside is looked at by jit, although no name in the function leads to them."""

import numpy as np
import pytest

import polyad as pa

same = np.testing.assert_array_equal
FACTOR = 2.0
TABLE = {"k": 1.0}


def helper():
    return FACTOR


class Values(pa.Container):
    """What the types here have in common: one leaf."""

    def __init__(self, values):
        self.values = values

    shape = property(lambda self: self.values.shape)
    dtype = property(lambda self: self.values.dtype)


@pa.array_type(leaves=("values",))
class Reads(Values):
    def dense(self):
        return helper() * self.values


@pa.multiply.method
def multiply_reads(x: Reads, y: pa.Array, /):
    return Reads(x.values * y * TABLE["k"])


@pa.array_type(leaves=("values",))
class Plain(Values):
    def dense(self):
        return np.sqrt(self.values) ** 2


OUTSIDE = Reads(np.array([1.0, 3.0]))
USES = {"dense": lambda r: r.dense(), "method": lambda r: (r * np.array([1.0, 2.0])).dense()}


def ways(use):
    """Functions of an array that take it, as an array of the type, through one jitted function."""
    taking, made = pa.jit(use), pa.jit(lambda x: use(Reads(x)))
    among, outside = pa.jit(lambda both: use(both[1])), pa.jit(lambda x: use(OUTSIDE) + 0 * x)
    return {
        "argument": lambda x: taking(Reads(x)), "made inside": made, "outside": outside,
        "in a list": lambda x: among([x, Reads(x)]),
    }  # fmt: skip


@pytest.fixture(autouse=True)
def restored():
    global FACTOR
    FACTOR, TABLE["k"] = 2.0, 1.0
    yield
    FACTOR, TABLE["k"] = 2.0, 1.0


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("way", ["argument", "made inside", "outside", "in a list"])
def test_data_that_methods_read(way, use):
    global FACTOR
    run, x = ways(USES[use])[way], np.array([1.0, 3.0])
    weight = np.array([1.0, 2.0]) if use == "method" else np.ones(2)
    for FACTOR in (2.0, 5.0, 2.0):
        same(run(x), FACTOR * x * weight)
        same(run(x), FACTOR * x * weight)
    if use == "method":
        TABLE["k"] = 3.0
        same(run(x), 6.0 * x * weight)


def test_derivatives_follow():
    global FACTOR
    slope = pa.grad(pa.jit(lambda x: pa.sum((Reads(x) * x).dense())))
    for FACTOR in (2.0, 5.0):
        same(slope(np.array([1.0, 3.0])), FACTOR * np.array([2.0, 6.0]))


def test_variables_of_enclosing_functions():
    k = 2.0

    @pa.array_type(leaves=("values",))
    class Inner(Values):
        def dense(self):
            return k * self.values

    f = pa.jit(lambda r: r.dense())
    same(f(Inner(np.ones(2))), [2.0, 2.0])
    k = 7.0
    same(f(Inner(np.ones(2))), [7.0, 7.0])


def test_a_method_that_is_registered_later():
    @pa.array_type(leaves=("values",))
    class Late(Values):
        def dense(self):
            return self.values

    global FACTOR
    dense, scaled = pa.jit(lambda r: r.dense()), pa.jit(lambda r: (r + 1.0).dense())
    same(dense(Late(np.ones(2))), [1.0, 1.0])

    @pa.add.method
    def add_late(x: Late, y: pa.Array | float, /):
        return Late(x.values + y * FACTOR)

    for FACTOR in (2.0, 5.0):
        same(scaled(Late(np.ones(2))), [1 + FACTOR] * 2)


def test_types_that_read_nothing_cost_nothing():
    f = pa.jit(lambda r: r.dense())
    for x in (np.ones(2), np.zeros(2)):
        same(f(Plain(x)), x)
    assert not f.jitted.changeable
