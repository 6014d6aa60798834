"""send, recv, sendrecv, isend and irecv: what arrives, in which order, and what is said when ranks do not fit."""

import numpy as np
import pytest

import polyad as pa


def test_alone():
    for x in (np.arange(6).reshape(2, 3), np.float16([1, 2]), np.zeros((0, 3)), np.array(True), np.asfortranarray(np.eye(3))):
        got = pa.sendrecv(x, 0, 0)
        assert got.dtype == x.dtype and got.shape == x.shape and np.array_equal(got, x)
    tree = {"a": [np.ones(2), np.arange(3)], "b": (np.zeros((2, 2)), None, np.float32(4))}
    got = pa.sendrecv(tree, 0, 0, 7)
    assert pa.tree.structure(got) == pa.tree.structure(tree)
    assert all(map(np.array_equal, pa.tree.leaves(got), pa.tree.leaves(tree)))
    first, second = pa.irecv(np.zeros(2), 0), pa.irecv(np.zeros(2), 0)
    assert not second.test() and "under way" in repr(first)
    x = np.ones(2)
    sending = pa.isend(x, 0)
    x[:] = 5  # its own copy is on the way
    pa.isend(x, 0)
    assert np.array_equal(second.wait(), [5, 5]) and np.array_equal(first.wait(), [1, 1]) and first.test()
    assert sending.wait() is None and "complete" in repr(first) and np.array_equal(first.wait(), [1, 1])


def test_bad_input():
    for call, kind, text in [
        (lambda: pa.send(1.0, 1), ValueError, "send: to is rank 1, but the ranks are 0 … 0"),
        (lambda: pa.recv(1.0, -1), ValueError, "recv: source is rank -1"),
        (lambda: pa.send(1.0, 0, tag=10_000), ValueError, "send: tag 10000 is not one of 0 … 9999"),
        (lambda: pa.isend(np.array(["a"]), 0), TypeError, "isend: dtype <U1 cannot be sent"),
        (lambda: pa.recv(np.zeros(3), 0), pa.CollectiveTimeout, r"recv of float64\[3\] from rank 0, tag 0, at test_calls.py:"),
    ]:
        with pytest.raises(kind, match=text):
            call()


def test_a_form_that_does_not_fit(mpirun):
    script = """
    import numpy as np
    import polyad as pa

    me = pa.world().rank
    for sent, wanted, text in [
        (np.zeros(3), np.zeros(4), "float64[3] was sent at script.py:"),
        (np.zeros(3), np.zeros(3, np.float32), "float64[3] was sent"),
        ([np.zeros(2), np.zeros(1)], np.zeros(3), "a tree of 1 arrays (float64[3]) was sent"),
        ({"a": np.zeros(2)}, {"b": np.zeros(2)}, "a tree of"),
    ]:
        try:
            if me == 0:
                pa.send(sent, to=1)
                pa.recv(np.zeros(1), source=1)  # hears of it
            else:
                pa.recv(wanted, source=0)
        except pa.CollectiveMismatch as error:
            assert text in str(error) and ("rank 1 refuses" in str(error)) == (me == 0), str(error)
        else:
            raise AssertionError("fits")
    # both go on
    if me == 0:
        pa.send(1.0, to=1)
    else:
        assert pa.recv(0.0, source=0) == 1
    assert pa.world().allreduce(1.0) == 2
    """
    mpirun(script, 2)


def test_requests_on_several_ranks(mpirun):
    script = """
    import numpy as np
    import polyad as pa

    w = pa.world()
    me, n = w.rank, w.size
    big = np.arange(300_000.0) + me
    coming = [pa.irecv(big, r, tag) for tag in (1, 0) for r in range(n)]
    for tag in (0, 1):
        for r in range(n):
            x = big + tag
            request = pa.isend(x, r, tag)
            x[:] = -1
    got = [request.wait() for request in reversed(coming)][::-1]
    for k, x in enumerate(got):
        np.testing.assert_array_equal(x, np.arange(300_000.0) + k % n + (1 - k // n))
    part = w.split(me % 2 if n > 2 else 0, key=-me)
    ring = pa.sendrecv(np.array(me), (part.rank + 1) % part.size, (part.rank - 1) % part.size, comm=part)
    assert ring == part.ranks[(part.rank - 1) % part.size]
    assert w.allreduce(1) == n
    """
    for ranks in (2, 3):
        mpirun(script, ranks)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("if me == 0: pa.send(np.ones(3), to=1)", "never received: send of float64[3] to rank 1, tag 0, at script.py:6"),
        ("if me == 0: pa.irecv(np.ones(3), 1)", "never waited for: irecv of float64[3] from rank 1, tag 0, at script.py:6"),
        (
            "if me == 0: pa.recv(np.ones(3), 1)",
            "recv of float64[3] from rank 1, tag 0, at script.py:6: not complete within 1 s",
        ),
    ],
)
def test_what_has_no_counterpart(mpirun, body, text):
    script = f"""
    import numpy as np
    import polyad as pa

    me = pa.world().rank
    {body}
    """
    finished = mpirun(script, 2, env={"POLYAD_DEADLINE": "1"}, expect_success=False)
    assert text in str(finished)
