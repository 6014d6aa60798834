"""Windows of an array are NumPy's, and added up where they overlap."""

import numpy as np
import pytest

import polyad as pa


def test_sliding_window_view_is_numpys(rng):
    x = rng.standard_normal((3, 4, 5))
    view = np.lib.stride_tricks.sliding_window_view
    for window, axis in ((2, 1), ((2, 3), (0, 2)), ((1, 2, 3), None), ((2, 2), (1, 1)), ((2, 2), (2, 0))):
        np.testing.assert_array_equal(pa.sliding_window_view(x, window, axis=axis), view(x, window, axis))
    smooth = lambda v: np.sum(view(v, 3).mean(axis=-1) ** 2)
    pa.check_grads(smooth, (x[0, 0],), order=2)
    with pytest.raises(ValueError, match="read-only"):
        pa.sliding_windows(np.ones(4), window=2)[0] = 1.0


def test_overlapping_windows_add_up(rng):
    counts = pa.overlap_add(pa.sliding_windows(np.ones(6), window=3, strides=2), space=(6,), strides=2)
    assert counts.tolist() == [1, 1, 2, 1, 1, 0]
