"""Slopes in the tails, where functions come near to a constant: as precise as anywhere, in every mode."""

import numpy as np
import pytest

import polyad as pa


def test_erfcx_far_out():
    x = np.array([10.0, 49.9, 50.1, 1e4, 1e8])
    t = 1 / x**2
    series = -t / np.sqrt(np.pi) * (1 - 1.5 * t + 3.75 * t**2 - 105 / 8 * t**3 + 945 / 16 * t**4)
    np.testing.assert_allclose(pa.grad(lambda x: pa.sum(pa.erfcx(x)))(x)[1:], series[1:], rtol=1e-11)


TAILS = [  # function, point, order of the derivative, what mpmath says
    (pa.tanh, 20.0, 1, 1.699341702116635e-17), (pa.tanh, 20.0, 2, -3.39868340423327e-17),
    (pa.expm1, -40.0, 1, 4.248354255291589e-18), (pa.softplus, 37.4, 2, 5.719872877313072e-17),
    (pa.log_sigmoid, -37.4, 2, -5.719872877313072e-17), (pa.log_ndtr, -1e4, 2, -0.9999999900000006),
    (pa.log_ndtr, -1e5, 2, -0.9999999999), (pa.arcsinh, 1e200, 1, 1e-200), (pa.arctan, 1e155, 1, 1e-310),
    (lambda y: pa.arctan2(y, 1e-170), 1e-170, 1, 5e169), (lambda a: pa.log(pa.gammaincc(a, 50.0)), 0.5, 1, 5.894964573471229),
    (lambda a: pa.log(pa.gammaincc(a, 50.0)), 3.0, 1, 3.009622694241999),
]  # fmt: skip


@pytest.mark.parametrize(("f", "x", "order", "expected"), TAILS)
def test_slopes_in_the_tails_in_every_mode(f, x, order, expected):
    modes = {"reverse": pa.grad, "forward": pa.jacfwd}
    for name, mode in modes.items():
        g = f
        for _ in range(order):
            g = mode(g)
        for run in (g, pa.jit(g)):
            np.testing.assert_allclose(float(run(np.float64(x))), expected, rtol=1e-13, err_msg=name)
    np.testing.assert_allclose(float(pa.derivatives(f, order)(x)[order]), expected, rtol=1e-13)
