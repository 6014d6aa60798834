"""Derivatives through messages: both ranks take them, in any order of derivatives, against the function on one process."""

import numpy as np
import pytest

import polyad as pa

THROUGH_ALL_RANKS = """
    import numpy as np
    import polyad as pa

    w = pa.world()
    me, n = w.rank, w.size
    x, last = np.arange(3.0) + 1, n - 1

    def part(p):
        if me == 0:
            return pa.send({"a": pa.sin(p * x), "b": [p]}, to=1)
        got = pa.recv({"a": x, "b": [np.float64(0)]}, source=me - 1)
        y = {"a": got["a"] * p, "b": [got["b"][0] + p]}
        return pa.send(y, to=me + 1) if me < last else pa.sum(y["a"]) * y["b"][0] ** 2

    def whole(ps):
        a, b = pa.sin(ps[0] * x), ps[0]
        for k in range(1, n):
            a, b = a * ps[k], b + ps[k]
        return pa.sum(a) * b**2

    ps = np.arange(n) + 1.5
    value, slope = pa.value_and_grad(part)(ps[me])
    np.testing.assert_allclose(slope, pa.grad(whole)(ps)[me], rtol=1e-13)
    assert value == (whole(ps) if me == last else 0)
    second = pa.grad(lambda p: pa.grad(part)(p) ** 2)(ps[me])  # of the sum over the ranks
    np.testing.assert_allclose(second, pa.grad(lambda ps: pa.sum(pa.grad(whole)(ps) ** 2))(ps)[me], rtol=1e-12)
    along = pa.jvp(part, (ps[me],), (1.0,))[1]
    if me == last:
        np.testing.assert_allclose(along, pa.jvp(whole, (ps,), (np.ones(n),))[1], rtol=1e-13)
    along = pa.jvp(pa.grad(part), (ps[me],), (1.0,))[1]
    np.testing.assert_allclose(along, pa.jvp(pa.grad(whole), (ps,), (np.ones(n),))[1][me], rtol=1e-12)

    # what nothing depends on sends zeros back; integers have no derivative
    def unused(p):
        end = pa.send((p, np.arange(2)), to=1) if me == 0 else 0.0
        if me == 1:
            pa.recv((np.float64(0), np.zeros(2, int)), source=0)
        return end + p * p
    np.testing.assert_allclose(pa.grad(unused)(3.0), 6.0)

    def swapped(p):  # messages that cross
        return pa.sum(pa.sendrecv(p * np.full(70_000, 1.0 + me), (me + 1) % n, (me - 1) % n)) * (1.0 + me)
    np.testing.assert_allclose(pa.grad(swapped)(1.0), 70_000.0 * (1 + me) * (1 + (me + 1) % n))
"""


@pytest.mark.parametrize("ranks", [2, 3])
def test_through_all_ranks(mpirun, ranks):
    mpirun(THROUGH_ALL_RANKS, ranks)


def test_a_derivative_on_one_rank_only_is_an_error_on_both(mpirun):
    script = """
    import numpy as np
    import polyad as pa

    me = pa.world().rank
    try:
        if me == 0:
            pa.grad(lambda p: pa.send(p * 2, to=1))(1.0)
        else:
            pa.recv(np.float64(0), source=0)
    except pa.CollectiveMismatch as error:
        assert "a part of a derivative backwards on the rank that sent it, but not here" in str(error), error
    else:
        raise AssertionError("one rank alone")
    # data that no derivative follows is a constant on the other side
    x = np.arange(3.0)
    if me == 0:
        pa.send(x, to=1)
    else:
        np.testing.assert_allclose(pa.grad(lambda p: pa.sum(p * pa.recv(x, source=0)))(2.0), 3.0)
    # another order of messages on the way back: both are followed, but only one rank goes back
    y, back = pa.vjp(lambda p: pa.send(p, to=1) if me == 0 else p * pa.recv(np.float64(0), source=0), 2.0)
    if me == 0:
        try:
            back(np.float64(1.0))
        except pa.CollectiveTimeout as error:
            assert "recv of float64[] from rank 1, tag 0," in str(error) and "rank 1" in str(error), error
        else:
            raise AssertionError("nothing came back")
    """
    finished = mpirun(script, 2, env={"POLYAD_DEADLINE": "2"}, expect_success=False)
    assert "was given up" in str(finished) and "AssertionError" not in str(finished)


def test_where_messages_are_refused():
    for f in (
        pa.vmap(lambda x: pa.send(x, 0)),
        pa.make_ir(lambda x: pa.sum(pa.recv(x, 0))),
        pa.vmap(lambda x: x + pa.recv(np.float64(0), 0)),
    ):
        with pytest.raises(pa.CollectiveError, match="send, recv: they work in plain code, grad, vjp and jvp, not inside"):
            f(np.ones(3))
    with pytest.warns(pa.PerformanceWarning, match="runs eagerly from now on"):
        assert pa.jit(lambda x: pa.sendrecv(x, 0, 0))(np.ones(3)).sum() == 3


def test_alone():
    def loss(x):
        end = pa.send(x**2, to=0)
        return pa.sum(pa.recv(x, source=0) ** 2) + end

    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(pa.grad(loss)(x), 4 * x**3)
    np.testing.assert_allclose(pa.jvp(pa.grad(loss), (x,), (np.ones(2),))[1], 12 * x**2)
    z = np.array([1 + 2j, 3 - 1j])
    np.testing.assert_allclose(pa.grad(lambda z: pa.sum(abs(pa.sendrecv(z, 0, 0)) ** 2))(z), 2 * z.conj())
