"""Numbers that are equal with their kind: what derivatives give is of the type, dtype and shape that NumPy's would be."""

import numpy as np


def same(found, expected):
    """Equal in type of value (NumPy scalar or array), dtype, shape and numbers."""
    assert isinstance(found, np.ndarray) == isinstance(expected, np.ndarray), (type(found), type(expected))
    found_array, expected_array = np.asarray(found), np.asarray(expected)
    assert found_array.dtype == expected_array.dtype and found_array.shape == expected_array.shape
    np.testing.assert_allclose(found_array, expected_array, rtol=1e-6)
