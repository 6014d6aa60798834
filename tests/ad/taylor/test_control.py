"""Taylor series in control flow: of Python, in lanes that split, and by operations."""

import numpy as np

import polyad as pa

close = np.testing.assert_allclose


def test_python_control_flow():
    def f(x):
        y = x
        while y < 10:
            y = y * x
        return y if x > 1.5 else -y

    assert [float(d) for d in pa.derivatives(f, 4)(2.0)] == [16, 32, 48, 48, 24]


def test_lanes_that_split():
    f = lambda x: pa.derivatives(lambda t: t**3 if t > 0 else -t, 2)(x)[2]
    close(pa.vmap(f)(np.array([1.0, -1.0, 2.0])), [6, 0, 12])


def test_control_flow_operations():
    step = lambda c, x: c * pa.sin(c) + x

    def by_program(x):
        final, _ = pa.scan(lambda c, k: (step(c, x), k), x, np.arange(3.0))
        return final

    def by_python(x):
        c = x
        for _ in range(3):
            c = step(c, x)
        return c

    close(pa.derivatives(by_program, 4)(0.5), pa.derivatives(by_python, 4)(0.5))
    traced = pa.make_ir(lambda x: pa.derivatives(by_program, 3)(x))(0.5)
    close(traced(0.5), pa.derivatives(by_python, 3)(0.5))
    branch = lambda x: pa.cond(x > 0, lambda x: x**3, lambda x: -x, x)
    close(pa.vmap(lambda x: pa.derivatives(branch, 2)(x)[2])(np.array([1.0, -1.0])), [6, 0])
