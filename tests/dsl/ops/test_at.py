"""Every way to write at an index by x.at."""

import numpy as np
import pytest

import polyad as pa

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("index", [1, slice(None, None, 2), np.array([2, 0]), np.array([True, False, True])], ids=str)
@pytest.mark.parametrize(
    ("name", "f"),
    [
        ("set", lambda a, v: 0 * a + v), ("add", np.add), ("subtract", np.subtract), ("multiply", np.multiply),
        ("divide", np.divide), ("power", np.power), ("min", np.minimum), ("max", np.maximum),
    ],
)  # fmt: skip
def test_every_way_to_write(name, f, index):
    x = np.array([0.5, 1.5, 2.5])
    expected = x.copy()
    expected[index] = f(expected[index], 1.2)
    np.testing.assert_allclose(getattr(pa.at(x, index), name)(1.2), expected)
    np.testing.assert_allclose(getattr(pa.at(x)[index], name)(1.2), expected)
    assert x.tolist() == [0.5, 1.5, 2.5]
    pa.check_grads(lambda x, v: getattr(pa.at(x, index), name)(v), (x, 1.2))
    lanes = np.stack([x, 2 * x])
    found = pa.vmap(lambda x: getattr(x.at[index], name)(1.2))(lanes)
    np.testing.assert_allclose(found, [getattr(pa.at(row, index), name)(1.2) for row in lanes])


def test_apply_a_function_at_an_index():
    x = np.array([0.5, 1.5, 2.5])
    np.testing.assert_allclose(pa.at(x, slice(1, None)).apply(np.sin), [0.5, np.sin(1.5), np.sin(2.5)])
    pa.check_grads(lambda x: pa.at(x, slice(1, None)).apply(pa.sin), (x,))
    with pytest.raises(pa.DTypeError, match="cannot be written into"):
        pa.at(np.array([1, 2]), 0).divide(2)
