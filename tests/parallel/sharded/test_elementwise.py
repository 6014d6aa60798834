"""Elementwise operations on sharded arrays: which stay partial sums, and what they meet."""

import numpy as np
import pytest

import polyad as pa

P = pa.PartitionSpec


@pytest.fixture
def partial():
    return pa.local(np.arange(6.0).reshape(2, 3), P(partial="ranks"))


LINEAR = {
    "negative": lambda x: -x,
    "a multiple": lambda x: 2 * x,
    "a quotient": lambda x: x / 3.0,
    "a sum": lambda x: x + x,
    "a product with an array": lambda x: x * np.array([1.0, 2.0, 3.0]),
    "astype": lambda x: pa.astype(x, dtype=np.float32),
}
OTHERS = {
    "exp": lambda x: pa.exp(x),
    "a square": lambda x: x * x,
    "a number more": lambda x: x + 1.0,
    "its reciprocal": lambda x: 1.0 / (x + 1.0),
    "to integers": lambda x: pa.astype(x, dtype=np.int64),
}


@pytest.mark.parametrize("name", [*LINEAR, *OTHERS])
def test_partial_sums_go_through_what_is_linear(partial, name):
    f = {**LINEAR, **OTHERS}[name]
    y = f(partial)
    assert bool(y.layout.partial) == (name in LINEAR)
    np.testing.assert_allclose(np.asarray(y), f(np.arange(6.0).reshape(2, 3)))


def test_on_several_ranks(mpirun):
    mpirun(
        """
        import numpy as np
        import polyad as pa
        P, n = pa.PartitionSpec, pa.world().size
        x = pa.local(np.ones((2, 3)), P(partial="ranks"))
        y = pa.shard(np.arange(6.0).reshape(2, 3))
        pa.densify("error")
        both = n + np.arange(6.0).reshape(2, 3)
        for z, right in [(3 * x - x, 2 * n), (x + y, both), (pa.exp(-x), np.exp(-n)), (x * x, n * n)]:
            np.testing.assert_allclose(pa.gather(z), np.broadcast_to(right, (2, 3)))
        row = pa.shard(np.arange(3.0))
        np.testing.assert_allclose(pa.gather(y * row), np.arange(6.0).reshape(2, 3) * np.arange(3.0))
        np.testing.assert_allclose(pa.gather(np.add.outer(np.arange(2.0), np.arange(3.0)) - y), [[0, 0, 0], [-2, -2, -2]])
        assert pa.gather(np.where(y > 2, y, 0)).sum() == 12 and (y > 2).dtype == bool
        """,
        3,
    )


def test_axes_of_length_one_and_misfits():
    x = pa.shard(np.ones((1, 4)))
    assert (x + np.ones((3, 1))).shape == (3, 4) and (x + np.float32(1)).dtype == np.float64
    with pytest.raises(ValueError, match="shape mismatch"):
        x + np.ones(3)
