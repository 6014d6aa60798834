"""Values with an axis of lanes, and what is the same in all: reported bugs of other libraries."""

import numpy as np
import pytest

import polyad as pa

pytestmark = pytest.mark.quick


def test_jacobian_of_the_norm_by_rows():  # F2
    x = np.array([[3.0, 4.0, 0.0], [1.0, 0.0, 0.0]])
    norm = lambda r: np.sqrt(np.sum(r * r))
    for jacobian in (pa.jacrev, pa.jacfwd, pa.grad):
        np.testing.assert_allclose(pa.vmap(jacobian(norm))(x), [[0.6, 0.8, 0], [1, 0, 0]])


def test_counter_of_a_fixed_loop_stays_a_number():  # F6
    seen = []

    def f(x):
        for k in range(3):
            seen.append(type(k))
            x = x + k
        return x

    np.testing.assert_array_equal(pa.vmap(f)(np.arange(3)), np.arange(3) + 3)
    assert set(seen) == {int} and len(seen) == 3


@pytest.mark.parametrize(("rows", "columns"), [(3, 4), (3, 3), (4, 4)])
def test_trip_count_of_another_map(rows, columns):  # F8
    def add_ones(x, n):
        for _ in range(int(n)):
            x = x + 1
        return x

    x, n = np.arange(rows, dtype=float), np.arange(columns)
    table = pa.vmap(lambda a: pa.vmap(lambda b: add_ones(a, b))(n))(x)
    np.testing.assert_array_equal(table, x[:, None] + n)
    table = pa.vmap(lambda b: pa.vmap(lambda a: add_ones(a, b))(x), out_axes=1)(n)
    np.testing.assert_array_equal(table, x[:, None] + n)


def test_jacobian_of_stacked_elements():  # F12
    for jacobian in (pa.jacfwd, pa.jacrev):
        found = jacobian(lambda x: pa.array(list(x)))(np.ones((5, 1)))
        np.testing.assert_array_equal(found.reshape(5, 5), np.eye(5))


def test_gradient_of_what_the_lanes_share():  # D12
    y = np.ones((3, 2))

    def loss(z):
        return np.sum(pa.vmap(lambda row: np.log(np.exp(z) + np.exp(np.sum(row) + z)))(y))

    np.testing.assert_allclose(pa.grad(loss)(0.1), 3.0)
    assert pa.grad(loss)(0.1).shape == ()


def test_sizes_are_those_of_the_call():  # F10
    f = pa.vmap(lambda x: x * x.shape[0])
    assert f(np.ones((2, 3))).shape == (2, 3) and f(np.ones((3, 2)))[0, 0] == 2
