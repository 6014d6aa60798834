"""Writes of variables into plain arrays are refused, and `float` of them is answered; likewise of array types' elements."""

import array
import importlib.util
import math
import operator
from operator import setitem
from pathlib import Path

import numpy as np
import pytest

import polyad as pa

pytestmark = pytest.mark.quick


def outside(name):
    path = Path(__file__).parents[2] / "outside" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def at(b, x):
    b[0] = x


def deep(b, x):
    b.reshape(3, 1)[1, -1] = abs(x) if x > 0 else x


def in_loop(b, x):
    for i in range(3):
        b[i] = x


def whole(b, x):
    b[:] = x


def masked(b, x):
    b[b == 0] = x


def adds(b, x):
    b[0] += x


WRITES = {
    "at": at, "deep": deep, "loop": in_loop, "whole": whole, "masked": masked, "adds": adds, "fill": lambda b, x: b.fill(x),
    "flat": lambda b, x: b.flat.__setitem__(0, x), "method": lambda b, x: b.__setitem__(0, x),
    "operator": lambda b, x: operator.setitem(b, 0, x), "setitem": lambda b, x: setitem(b, 0, x),
    "put": lambda b, x: np.put(b, 0, x), "copyto": lambda b, x: np.copyto(b, x),
    "fromiter": lambda b, x: b.__iadd__(np.fromiter([x, x, x], float)), "array": lambda b, x: array.array("d").append(x),
    "complex": lambda b, x: at(b.astype(complex), x), "integers": lambda b, x: at(b.astype(int), x),
    "float32": lambda b, x: at(b.astype(np.float32), x),
}  # fmt: skip


def told(error):
    """The text of an error and of what it comes from: NumPy puts an error of its own before that of `float`."""
    return " ".join(str(e) for e in (error, error.__cause__) if e is not None)


@pytest.mark.parametrize("name", WRITES)
def test_a_write_into_a_plain_array_is_refused(name):
    x, xs = pa.variable(2.0), pa.variable(np.arange(1.0, 4.0))
    for value in (x, x * 3, xs[1]):
        b = np.zeros(3)
        with pytest.raises((pa.PolyadError, ValueError, TypeError)) as found:
            WRITES[name](b, value)
        if name != "flat":  # NumPy has an error of its own there
            assert "polyad.zeros" in told(found.value) or "derivative would be lost" in told(found.value)
        np.testing.assert_array_equal(b, 0)


def test_the_text():
    with pytest.raises(ValueError) as found:
        at(np.zeros(3), pa.variable(2.0))
    text = str(found.value.__cause__)
    assert text.startswith("b[i] = x of a variable of float64[], into a plain array: the derivative would be lost; make an")
    assert "polyad.zeros(shape)" in text and "x.item()" in text
    with pytest.raises(ValueError) as found:
        np.zeros(3).fill(pa.variable(2.0) * 2)
    assert str(found.value.__cause__).startswith("fill(x) of a result of float64[]")


def test_work_arrays_take_them():
    x = pa.variable(2.0)
    b = np.zeros_like(x * np.ones(3))
    b[0] = x * 3
    pa.sum(b * b).backward()
    assert x.grad == 36


@pytest.mark.parametrize("around", ["plain", "grad", "jit", "vmap"])
@pytest.mark.parametrize("kind", ["quantity", "masked"])
def test_elements_of_array_types(kind, around):
    """The number alone is not what the type says; the error says what is, also where NumPy or `math` asks."""
    module = outside(kind)
    make = module.Quantity if kind == "quantity" else module.Masked
    asks = {"math": lambda q: math.sin(q[0]), "float": lambda q: float(q[0]), "write": lambda q: at(np.zeros(3), q[0])}
    for ask in asks.values():
        f = lambda value, ask=ask: (ask(make(value)), pa.sum(value))[1]
        call = {"plain": f, "grad": pa.grad(f), "jit": pa.jit(f), "vmap": pa.vmap(f)}[around]
        with pytest.raises((pa.ConcreteValueError, ValueError)) as found:
            call(np.ones((2, 2)) if around == "vmap" else np.ones(2))
        text = told(found.value)
        assert f"float() of {kind}.{make.__name__}" in text and "np.sin, not math.sin" in text and "x.value" in text


def test_numbers_of_dense_array_types():
    @pa.array_type(leaves=("value",))
    class Half(pa.Container):
        def __init__(self, value):
            self.value = value

        shape, dtype = property(lambda self: self.value.shape), property(lambda self: self.value.dtype)

        def dense(self):
            return self.value / 2

    assert float(Half(np.array(3.0))) == 1.5 and int(Half(np.array(4.0))) == 2
    assert complex(Half(np.array(1j))) == 0.5j
    with pytest.raises(pa.ConcreteValueError, match=r"float\(\) of a Reverse.*np.sin, not math.sin"):
        pa.grad(lambda x: pa.sum(Half(x).value) + math.sin(Half(x)))(3.0)
