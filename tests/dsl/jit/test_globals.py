"""Globals, variables of enclosing functions, and objects with state that a function reads."""

import numpy as np

import polyad as pa

same = np.testing.assert_array_equal
x3 = np.array([1.0, -2.0, 3.0])
rate = 2.0
table = {"w": np.ones(3), "on": True}


def test_globals():
    global rate, table
    f = pa.jit(lambda x: x * rate * table["w"] if table["on"] else x)
    try:
        same(f(x3), x3 * 2)
        rate = 3.0
        same(f(x3), x3 * 3)
        table["w"] = np.full(3, 5.0)
        same(f(x3), x3 * 15)
        table["w"][0] = 1.0
        same(f(x3), x3 * np.array([3.0, 15.0, 15.0]))
        table = {"w": np.zeros(3), "on": True}
        same(f(x3), x3 * 0)
        table["on"] = False
        same(f(x3), x3)
        assert len(f.jitted.trees) == 3  # arrays are looked up, numbers are part of the program
    finally:
        rate, table = 2.0, {"w": np.ones(3), "on": True}


def test_variables_of_enclosing_functions():
    w, power, seen = np.ones(3), 2, []

    @pa.jit
    def f(x):
        return x**power * w

    same(f(x3), x3**2)
    w, power = np.full(3, 2.0), 3
    same(f(x3), x3**3 * 2)
    later = pa.jit(lambda x: helper(x) + 1)

    def helper(x):
        return x * 3

    same(later(x3), x3 * 3 + 1)

    def helper(x):  # noqa: F811
        return x * power

    same(later(x3), x3 * 3 + 1)
    power = 4
    same(later(x3), x3 * 4 + 1)
    keeps = pa.jit(lambda x: (pa.io_callback(seen.append, None, x), x)[1])
    for _ in range(3):
        keeps(x3)
    assert len(seen) == 3 and len(keeps.jitted.trees) == 1  # what is only written to is no part of the key


class Dense:
    def __init__(self, w):
        self.w, self.gain = w, 1.0

    def __call__(self, x):
        return x @ self.w * self.gain

    @property
    def double(self):
        return self.gain * 2


class Model:
    unit = 1.0

    def __init__(self):
        self.layers, self.bias = [Dense(np.eye(3)), Dense(np.eye(3) * 2)], np.zeros(3)

    @pa.jit
    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x + self.bias * self.unit + self.layers[0].double

    @pa.jit
    @staticmethod
    def helper(x):
        return x + 1

    @pa.jit
    @classmethod
    def unity(cls, x):
        return x * cls.unit


def test_methods_and_objects_with_state():
    model, other = Model(), Model()
    expected = lambda m, x: (
        x @ m.layers[0].w @ m.layers[1].w * m.layers[0].gain * m.layers[1].gain + m.bias + 2 * m.layers[0].gain
    )
    check = lambda m: same(m(x3), expected(m, x3))
    check(model)
    model.bias = np.ones(3)
    check(model)
    model.layers[1].gain = 3.0
    check(model)
    model.layers[0].w = np.full((3, 3), 0.5)
    check(model)
    model.layers[0].w[0, 0] = 7.0
    check(model)
    check(other)
    check(model)
    model.layers.append(Dense(np.eye(3)))
    check(model)
    same(model.helper(x3), x3 + 1)
    same(Model.unity(x3), x3)
    bound = pa.jit(other.layers[1].__call__)
    same(bound(x3), 2 * x3)
    other.layers[1].gain = 5.0
    same(bound(x3), 10 * x3)


close = np.testing.assert_allclose


def test_training_does_not_trace_again():
    class Net:
        def __init__(self):
            self.params = {"w": np.ones(3), "b": np.float64(0.0) * np.ones(1)}

        @pa.jit
        def loss(self, x):
            return pa.sum((self.params["w"] * x + self.params["b"]) ** 2)

    net, losses = Net(), []
    for _ in range(12):
        losses.append(net.loss(x3))
        net.params = {"w": net.params["w"] * 0.5, "b": net.params["b"] + 0.0}
    close(losses, [14 * 0.25**k for k in range(12)])
    (tree,) = Net.loss.jitted.trees
    assert tree.traces <= 3 and tree.calls == 12  # twice to see that nothing else comes of other arrays
