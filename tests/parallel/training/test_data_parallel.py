"""Data parallel: one batch of all examples, whatever their numbers on the ranks."""

import numpy as np
import pytest

import polyad as pa

SCRIPT = """
import numpy as np
import polyad as pa
from polyad.parallel import Communicator

w, rng = pa.world(), np.random.default_rng(0)
params = {"a": rng.normal(size=(5, 300)), "b": rng.normal(size=300).astype(np.float32), "c": [rng.normal(size=(300, 2)), 0.5],
          "unused": np.ones(4)}
x, t = rng.normal(size=(12, 5)), rng.normal(size=(12, 2))

def net(p, x):
    return pa.tanh(x @ p["a"] + p["b"]) @ p["c"][0] * p["c"][1]

def loss(p, x, t):
    y = net(p, x)
    if w.rank == 1:
        y = y + 0 * pa.sum(p["unused"])  # on one rank only
    return pa.mean((y - t) ** 2)

whole = lambda p: pa.mean((net(p, x) - t) ** 2)
right, slopes = pa.value_and_grad(whole)(params)
cuts = {1: [0, 12], 2: [0, 5, 12], 3: [0, 5, 9, 12]}[w.size]
mine = slice(cuts[w.rank], cuts[w.rank + 1])

def check(found, bound=1e-10):
    value, g = found
    assert abs(value - right) < 1e-10
    for a, b in zip(pa.tree.leaves(g), pa.tree.leaves(slopes)):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7 if np.asarray(b).dtype == np.float32 else 1e-12)
    marks = w.gather_objects([np.asarray(leaf).tobytes() for leaf in pa.tree.leaves(g)])
    assert all(mark == marks[0] for mark in marks)  # bit for bit

sent = []
for name in ("allreduce", "begin_sum", "same"):
    def counted(self, *args, name=name, method=getattr(Communicator, name), **more):
        sent.append(name)
        return method(self, *args, **more)
    setattr(Communicator, name, counted)
for bucket in (25 << 20, 1000):
    step = pa.data_parallel(loss, bucket=bucket)
    check(step(params, x[mine], t[mine]))
    sent.clear()
    check(step(params, x[mine], t[mine]))
    assert w.size == 1 or [name for name in sent if name != "begin_sum"] == ["same", "allreduce", "allreduce"], sent
    assert w.size == 1 or sent.count("begin_sum") == (2 if bucket > 1000 else 4), sent
check(pa.data_parallel(pa.jit(loss))(params, x[mine], t[mine]))
(value, aux), g = pa.data_parallel(lambda p, x, t: (loss(p, x, t), len(x)), has_aux=True)(params, x[mine], t[mine])
assert aux == len(x[mine]) and abs(value - right) < 1e-10
value, _ = pa.data_parallel(loss)(params, x[mine], t[mine], weight=1.0)  # the mean of the ranks' means
assert abs(value - w.allreduce(float(loss(params, x[mine], t[mine]))) / w.size) < 1e-12
cuts = {1: [0, 12], 2: [0, 0, 12], 3: [0, 7, 7, 12]}[w.size]  # a rank without examples
mine = slice(cuts[w.rank], cuts[w.rank + 1])
step = pa.data_parallel(loss)
sent.clear()
check(step(params, x[mine], t[mine]))
def refused(call, text):
    try:
        call()
    except (pa.CollectiveError, pa.ShapeError) as error:
        assert text in str(error), str(error)
    else:
        raise AssertionError(text)

if w.size > 1:  # on all ranks, whichever it is of
    refused(lambda: step(params, *(() if w.rank == 0 else (x, t))), "to count examples")
    refused(lambda: step(params, x, t, weight=0.0), "no rank has an example that counts")
    check(step(params, x[mine], t[mine]))
if w.size > 1:
    try:
        pa.data_parallel(loss)({**params, "unused": np.full(4, float(w.rank))}, x[mine], t[mine])
    except pa.CollectiveError as error:
        assert "parameters [4] (of 5) differ between the ranks: initialise them alike" in str(error), str(error)
    else:
        raise AssertionError("parameters that differ")
"""


def test_one_batch_of_all_examples(mpirun):
    for ranks in (1, 2, 3):
        mpirun(SCRIPT, ranks)


def test_along_an_axis_of_a_mesh(mpirun):
    mpirun(
        """
        import numpy as np
        import polyad as pa
        mesh = pa.Mesh(("data", "model"), (2, 2))
        x = np.arange(4.0)
        row, column = mesh.coordinates
        step = pa.data_parallel(lambda p, x: pa.mean(x * p), axis="data", mesh=mesh)
        value, slope = step(float(column + 1), x[2 * row : 2 * row + 2])
        assert abs(slope - 1.5) < 1e-12 and abs(value - 1.5 * (column + 1)) < 1e-12
        """,
        4,
    )


def test_bad_input():
    step = pa.data_parallel(lambda p, x: pa.sum(p * x))
    with pytest.raises(pa.ShapeError, match=r"a batch without axes to count examples along \(none is given\); give weight="):
        step(1.0)
    assert float(step(1.0, 2.0, weight=1)[0]) == 2.0 and step(np.ones(2), np.ones(2))[1].tolist() == [1.0, 1.0]
