"""What Python asks of values in use beyond a function: numbers are answered, and nothing without a record."""

import math

import numpy as np
import pytest

import polyad as pa

pytestmark = pytest.mark.quick


def test_numbers_are_answered():
    x = pa.variable(2.0)
    y = x * 3
    losses, table, b = [], {}, np.zeros(3)
    losses.append(float(y))
    table[float(y)] = int(y)
    table["loss"] = y  # a dict keeps the value itself
    b[0] = float(y)
    b[1] = y.item()
    b[int(x)] = float(y if y > 0 else x)
    b.fill(float(y))
    b.fill(max(float(y), 1.0))
    losses.append(math.floor(float(y)) + [float(y)][0])
    assert losses == [6.0, 12.0] and table == {6.0: 6, "loss": y} and b.tolist() == [6.0] * 3
    assert complex(y) == 6 and type(complex(y)) is complex and type(int(y)) is int and f"{y:.1f}" == "6.0"
    with pytest.raises(TypeError):
        float(pa.variable(np.arange(3.0)))


def test_without_record():
    x, b = pa.variable(2.0), np.zeros(3)
    with pa.no_grad():
        b[0] = x
        b[1:] = x * 3
    assert b.tolist() == [2.0, 6.0, 6.0]
