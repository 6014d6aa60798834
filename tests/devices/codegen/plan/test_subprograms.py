"""Programs within operations are compiled as they are after the passes, with their constants in a row."""

from types import SimpleNamespace

import numpy as np
import pytest

import polyad as pa
from polyad.devices.codegen.plan.subprograms import constants_within, in_row, literals_among, simple
from polyad.devices.codegen.text.scalars import Unsupported
from polyad.dsl.avals import Aval
from polyad.dsl.ir.pass_selection import using
from polyad.dsl.ir.programs import Var

pytestmark = pytest.mark.quick

X, TABLE, ROW = np.arange(3.0), np.arange(9.0).reshape(3, 3), np.array([1.0, 5.0, 2.0])


def held(program):
    """An equation whose operation runs a program."""
    return SimpleNamespace(params={"axis": 0, "f": program})


def test_constants_at_all_depths():
    inner, outer = (pa.make_ir(lambda c, k=k: k * c + k)(X) for k in (ROW, ROW + 1))
    outer.equations[0].params = {**outer.equations[0].params, "inside": inner}
    found = constants_within([held(outer), held(outer)])
    assert sorted(x.tolist() for x in found.values()) == [ROW.tolist(), (ROW + 1).tolist()]
    assert all(v.aval.shape == x.shape and v.aval.dtype == x.dtype for v, x in found.items())
    assert constants_within(pa.make_ir(lambda x: x * TABLE)(X).equations) == {}  # those around are the program's own


def test_of_another_library():
    class Foreign:
        shape, dtype = ROW.shape, ROW.dtype

    program = pa.make_ir(lambda c: c * ROW)(X)
    made = simple(program)
    made.constants = [(v, Foreign()) for v, _ in made.constants]
    with pytest.raises(Unsupported, match="a constant of another library"):
        constants_within([held(program)])


def test_passes_are_made_once_for_each_choice():
    p = pa.make_ir(lambda c: c * 1.0 + 2.0)(X)
    assert simple(p) is simple(p) and len(simple(p).equations) < len(p.equations)
    with using(()):
        other = simple(p)
        assert other is simple(p)
    assert other is not simple(p)


@pytest.mark.parametrize("x", [
    np.asfortranarray(TABLE), TABLE[::-1], TABLE.astype(">d"), np.broadcast_to(ROW, (3, 3)), np.array(5, ">i4"),
])  # fmt: skip
def test_constants_lie_in_a_row(x):
    y = in_row(Var(Aval(x.shape, x.dtype.newbyteorder("="))), x)
    assert y.flags.c_contiguous and y.dtype.isnative and y.shape == x.shape
    np.testing.assert_array_equal(y, x)


def test_those_that_are_one_number():
    var = lambda x: Var(Aval(x.shape, x.dtype))
    constants = {var(x): x for x in (np.full((2, 3), 4.0), ROW, np.array(7), np.array([0.0, -0.0]), np.zeros(0))}
    found = {v: x for v, x in literals_among(constants).items()}
    assert [float(x) for x in found.values()] == [4.0, 7.0]
    assert [v.aval.shape for v in found] == [(2, 3), ()]
