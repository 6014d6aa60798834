"""What jitted functions return."""

import numpy as np

import polyad as pa

same = np.testing.assert_array_equal
x3 = np.array([1.0, -2.0, 3.0])
table = {"w": np.ones(3), "on": True}


def test_results():
    f = pa.jit(lambda x, y: (x, x, y["a"], None, 3, x.shape, np.arange(2.0), table["w"]))
    y = {"a": np.ones(2)}
    for _ in range(2):
        a, b, c, nothing, three, shape, made, w = f(x3, y)
        assert a is b and nothing is None and three == 3 and shape == (3,)
        for found, expected in ((a, [1.0, -2.0, 3.0]), (c, np.ones(2)), (made, [0.0, 1.0]), (w, np.ones(3))):
            same(found, expected)
            found[:] = 7  # each call gives its own
