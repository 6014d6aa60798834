"""What values are the roots of: kept apart, ended where a value becomes another, and the values themselves unchanged."""

import numpy as np

import polyad as pa

norm = pa.linalg.norm


close = lambda x, y, **bounds: np.testing.assert_allclose(x, y, **{"rtol": 1e-12, "atol": 1e-13, **bounds})


def test_different_roots_are_not_taken_for_one():
    """The product of the norms of two vectors has no second derivative where both are 0; elsewhere it is the usual one."""
    a, b = np.array([0.3, 0.4]), np.array([0.3, 0.4])  # equal, but not the same
    f = lambda a, b: norm(a) * norm(b)
    for mode in (pa.jacrev, pa.jacfwd):
        close(mode(f, (0, 1))(a, b), (a, a))
    shifted = lambda x: norm(x + a) * norm(x - a)
    for g in (shifted, pa.jit(shifted)):
        for mode in (pa.jacrev, pa.jacfwd):
            close(mode(g)(np.zeros(2)), [0, 0])
    close(pa.grad(lambda x: norm(x[0]) * norm(x[1]))(np.stack([a, b])), np.stack([a, a]))
    large = np.full(5000, 0.01)
    close(pa.grad(lambda x: norm(x + large) * norm(x - large))(np.zeros(5000)), np.zeros(5000))
    close(pa.hvp(lambda x: norm(x) * norm(x), np.zeros(5000), large), 2 * large)
    outside = [a, b]
    g = pa.jit(pa.jacfwd(lambda x: norm(x + outside[0]) * norm(x - outside[1])))
    close(g(np.zeros(2)), [0, 0])


def test_values_stay_what_they_are():
    x = np.random.default_rng(0).standard_normal(7)
    for f in (lambda x: norm(x) ** 2, lambda x: norm(x) * norm(x), lambda x: pa.square(-norm(x) / 3)):
        assert pa.value_and_grad(f)(x)[0] == f(x) == pa.jvp(f, (x,), (x,))[0]
    with np.errstate(invalid="ignore"):
        assert np.isnan(pa.value_and_grad(lambda x: pa.sqrt(x) ** 2)(-1.0)[0])


def test_a_value_that_becomes_another_is_no_root():
    def f(x):
        r = norm(x)
        r += x[0]
        return r**2

    x = np.array([0.3, 0.4])
    close(pa.grad(f)(x), pa.grad(lambda x: (norm(x) + x[0]) ** 2)(x))
