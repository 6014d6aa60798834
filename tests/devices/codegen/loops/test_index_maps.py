"""Operations that only move elements: each element of the result is the one that NumPy puts there."""

import numpy as np
import pytest

import polyad as pa
from polyad.devices.codegen.loops.index_maps import aliases, mapped, moves_elements
from polyad.devices.codegen.text.indices import Index, aligned, points
from polyad.devices.codegen.text.scalars import Unsupported

X = np.arange(24.0).reshape(2, 3, 4)
ROWS, LAST = np.array([1, 0, 1]), np.array([[3], [-1]])
CASES = {
    "transpose": (lambda x: np.transpose(x), X),
    "transpose axes": (lambda x: np.transpose(x, (1, -1, 0)), X),
    "transpose of one": (lambda x: np.transpose(x, (1, 0)), X[0, :1]),
    "broadcast": (lambda x: np.broadcast_to(x, (5, 2, 3, 4)), X),
    "broadcast of ones": (lambda x: np.broadcast_to(x, (2, 3, 4)), X[:, :1, :1]),
    "axes of one": (lambda x: np.reshape(x, (1, 2, 3, 1, 4, 1)), X),
    "axes of one go": (lambda x: np.reshape(x, (3,)), X[:1, :, :1]),
    "number": (lambda x: x[1, -1, 0], X),
    "slices": (lambda x: x[::-1, 1:, -3::2], X),
    "slices beyond": (lambda x: x[5:, :-9, 2:1], X),
    "new axes": (lambda x: x[None, :, None, ..., 1, None], X),
    "ellipsis between": (lambda x: x[1, ..., ::2], X),
    "arrays": (lambda x, i: x[i], X, ROWS),
    "arrays apart": (lambda x, i, j: x[i[:2, None], :, j], X, ROWS, LAST),
    "arrays beside": (lambda x, i, j: x[:, i[None], j], X, ROWS, LAST),
    "array and number": (lambda x, i: x[i, :, -2], X, ROWS),
    "array, new axis, slice": (lambda x, i: x[None, i, 1:, None], X, ROWS),
    "arrays of one axis of length 1": (lambda x, i: x[:, i, ::-1], X[:, :1], np.zeros(3, int)),
}


class Body:
    """In the place of what writes code: values themselves."""

    def __init__(self, values):
        self.values = values

    def value(self, v, idx):
        return self.values[v][tuple(i.const for i in idx)]

    def operand(self, v, idx, dtype):
        return self.value(v, aligned(idx, v.aval.shape))

    def position(self, v, idx, n):
        place = int(self.value(v, idx))
        assert -n <= place < n
        return Index(place % n)


def steps(f, *args):
    """(equation, body, result) of each step of a function."""
    program = pa.make_ir(f)(*args)
    values = dict(zip(program.inputs, args, strict=True))
    for e in program.equations:
        values[e.outputs[0]] = e.op(*[values[v] for v in e.inputs], **e.params)
        yield e, Body(values), values[e.outputs[0]]
    np.testing.assert_array_equal(values[program.outputs[0]], f(*args))


@pytest.mark.parametrize("name", CASES)
def test_each_element(name):
    moved = 0
    for e, body, result in steps(*CASES[name]):
        place = mapped(e)
        if place is None:  # index arrays are computed themselves
            continue
        moved += 1
        found = [place(body, e, p) for p in points(result.shape)]
        np.testing.assert_array_equal(np.reshape(found, result.shape), result)
    assert moved


@pytest.mark.parametrize("shape", [(24,), (4, 6), (3, 1, 8), (2, 12, 1)])
def test_other_shapes_are_the_same_memory(shape):
    ((e, body, _),) = steps(lambda x: np.reshape(x, shape), X)
    assert moves_elements(e) and aliases(e) and mapped(e) is None


def test_an_index_array_into_nothing_is_left_to_the_operation():
    ((e, body, _),) = steps(lambda x, i: x[i], X[:0], ROWS[:0])
    with pytest.raises(Unsupported, match="without elements"):
        mapped(e)(body, e, points((1, 3, 4))[0])
