"""Which arrays travel as NumPy's, and which have a way of their own."""

import array_api_strict
import numpy as np

import polyad as pa
from polyad.devices.carriage import Carriage, carriage_of


def test_what_numpy_has_needs_none():
    for x in (np.ones(2), np.float32(1), 1, 2.0, True, None, [1.0], "text", np.ma.masked_array([1.0]), pa.Diagonal(np.ones(2)),
              np.dtype("f4")):  # fmt: skip
        assert carriage_of(x) is None, x
    seen = []
    pa.grad(lambda x: (seen.append(carriage_of(x)), x)[1])(1.0)
    assert seen == [None]


def test_an_array_comes_back_as_its_librarys():
    x = array_api_strict.ones((2, 3))
    carriage = carriage_of(x)
    assert type(carriage) is Carriage and not carriage.on_device
    a = carriage.host(x)
    assert type(a) is np.ndarray and a.shape == (2, 3)
    back = carriage.like(a * 2, x)
    assert type(back) is type(x) and np.asarray(back).tolist() == (2 * np.ones((2, 3))).tolist()


def test_a_library_without_the_standards_name(monkeypatch):
    """PyTorch's arrays have no __array_namespace__."""
    import sys
    import types

    class Tensor:
        dtype, shape = np.dtype("f8"), (2,)

        def __array__(self, dtype=None, copy=None):
            return np.ones(2)

    Tensor.__module__ = "some_library.tensors"
    assert carriage_of(Tensor()) is None  # nothing could make one again
    made = types.ModuleType("some_library")
    made.asarray = lambda a: Tensor()
    monkeypatch.setitem(sys.modules, "some_library", made)
    assert type(carriage_of(Tensor()).like(np.ones(2), Tensor())) is Tensor
