"""Calls of compiled functions: layouts, numbers, what is refused, results that share no memory."""

import numpy as np
import pytest

import polyad as pa

rng = np.random.default_rng(3)


def test_inputs_of_every_layout():
    f = lambda x: pa.sin(x) + 1.0
    x = rng.normal(size=(6, 8))
    program = pa.make_ir(f)(x)
    call = pa.compile_program(program, pa.devices.Device("cpu"))
    odd = np.frombuffer(b"0" + x.tobytes(), np.uint8)[1:].view(np.float64).reshape(6, 8)
    assert not odd.flags.aligned
    frozen = x.copy()
    frozen.flags.writeable = False
    wide = np.zeros((12, 16))
    wide[::2, ::2] = x
    for given_ in (x, np.asfortranarray(x), wide[::2, ::2], odd, frozen, x.astype(">f8"), x[::-1][::-1]):
        np.testing.assert_allclose(call(given_)[0], np.sin(x) + 1.0, rtol=1e-13)


def test_numbers_are_scalars():
    program = pa.make_ir(lambda x, y: (x * y, x + 1))(2.0, np.float32(3.0))
    results = pa.compile_program(program, pa.devices.Device("cpu"))(2.0, np.float32(3.0))
    assert [type(r) for r in results] == [np.float32, np.float64] and results == [6.0, 3.0]


def test_other_shapes_and_dtypes_are_refused():
    call = pa.compile_program(pa.make_ir(lambda x: x + 1.0)(np.ones(3)), pa.devices.Device("cpu"))
    for wrong in (np.ones(4), np.ones((1, 3)), np.ones(3, np.complex128)):
        with pytest.raises(TypeError, match="float64"):
            call(wrong)


def test_results_share_no_memory():
    constant, x = np.arange(3.0), np.ones(3)
    program = pa.make_ir(lambda x: (x, constant, x + 1, pa.reshape(x, shape=(3, 1)), x))(x)
    first, second, third, fourth, fifth = pa.compile_program(program, pa.devices.Device("cpu"))(x)
    results = [first, second, third, fourth, fifth]
    for i, a in enumerate(results):
        assert not np.shares_memory(a, x) and not np.shares_memory(a, constant)
        assert not any(np.shares_memory(a, b) for b in results[i + 1 :])


def test_subclasses_and_lists_are_taken_as_arrays():
    class Mine(np.ndarray):
        pass

    x = rng.normal(size=3)
    call = pa.compile_program(pa.make_ir(lambda x: x * 2.0)(x), pa.devices.Device("cpu"))
    for given_ in (x.view(Mine), list(x), x.astype(x.dtype.newbyteorder())):
        assert type(call(given_)[0]) is np.ndarray
        np.testing.assert_array_equal(call(given_)[0], x * 2.0)
