"""Pipelines: the loss and gradients of the model in one piece, for any number of stages, microbatches and ranks."""

import numpy as np
import pytest

import polyad as pa
from polyad.parallel.pipeline.run import LeafForm, form_of, packed, size_of_message, unpacked

MODEL = """
import numpy as np
import polyad as pa
w = pa.world()
rng = np.random.default_rng(0)
dims = [5, 7, 3, 6, 4]

def layer(k):
    def f(p, x):
        h = x["h"] if k else x
        y = pa.tanh(h @ p["w"] + p["b"])
        return y if k == 3 else {"h": y, "more": pa.sum(y, axis=1).astype(np.float32)}
    return f

stages = [layer(k) for k in range(4)]
params = [{"w": rng.normal(size=(a, b)), "b": rng.normal(size=b)} for a, b in zip(dims, dims[1:])]
x, t = rng.normal(size=(11, 5)), rng.normal(size=(11, 4))
loss = lambda y, t: pa.mean((y - t) ** 2)

def whole(params, x=x, t=t):
    h = x
    for f, p in zip(stages, params):
        h = f(p, h)
    return loss(h, t)

right, slopes = pa.value_and_grad(whole)(params)
"""
CHECK = """
for microbatches in (1, 2, 4, 7, 11) if w.size == 2 else (1, 4, 11):
    for kind in ("gpipe", "1f1b", "interleaved"):
        step = pa.pipeline(stages, loss, microbatches, schedule=kind)
        owner = step.schedule.owner
        mine = [p if owner[k] == w.rank else None for k, p in enumerate(params)]
        for _ in range(2):
            value, found = step(mine, x if owner[0] == w.rank else None, t if owner[3] == w.rank else None)
            assert abs(value - right) < 1e-12
            for k in range(4):
                assert (found[k] is None) == (owner[k] != w.rank)
                for name in found[k] or ():
                    np.testing.assert_allclose(found[k][name], slopes[k][name], atol=1e-12)
        value, _ = step(mine, x[:11], t[:11])  # another batch
        assert abs(value - right) < 1e-12
"""
MESH = """
mesh = pa.Mesh(("data", "stage"), (2, 2))
k = mesh.coordinates[0]
step = pa.pipeline(stages, loss, 2, axis="stage", mesh=mesh)
rows = slice(0, 5) if k == 0 else slice(5, 10)
value, found = step(params, x[rows], t[rows])
along = mesh.along("data")
total = along.allreduce(value) / 2
assert abs(total - whole(params, x[:10], t[:10])) < 1e-12
slopes = pa.grad(lambda p: whole(p, x[:10], t[:10]))(params)
for g, r in zip(found, slopes):
    if g is not None:
        np.testing.assert_allclose(along.allreduce(g["w"]) / 2, r["w"], atol=1e-12)
"""


def test_the_model_in_one_piece(mpirun):
    for ranks in (1, 2, 3):
        mpirun(MODEL + CHECK, ranks)


def test_with_data_parallel_ranks(mpirun):
    mpirun(MODEL + MESH, 4)


def test_a_stage_that_fails_ends_the_job(mpirun):
    script = """
    import numpy as np
    import polyad as pa
    def bad(p, x):
        raise ValueError("boom in a stage")
    step = pa.pipeline([lambda p, x: x * p, bad], lambda y, t: pa.sum(y), 2)
    step([2.0, 1.0], np.ones(4), np.ones(4))
    """
    done = mpirun(script, 2, expect_success=False)
    assert "ValueError: boom in a stage" in done.stderr and "rank 1/2" in done.stderr, str(done)


def test_bad_input():
    step = pa.pipeline([lambda p, x: x * p], lambda y, t: pa.sum(y), 3)
    x = np.ones(4)
    for call, error, text in [
        (lambda: step([1.0, 2.0], x, x), pa.StructureError, "2 parameters for 1 stages"),
        (lambda: step([1.0], x[:2], x[:2]), pa.ShapeError, "2 examples, 2 targets and 3 microbatches"),
        (lambda: step([1.0], x, x[:3]), pa.ShapeError, "4 examples, 3 targets"),
        (lambda: pa.pipeline([lambda p, x: x], None, 0), pa.StructureError, "0 microbatches"),
    ]:
        with pytest.raises(error, match=text):
            call()


def test_integers_are_a_batch_and_no_activation():
    table = np.arange(12.0).reshape(6, 2)
    step = pa.pipeline([lambda p, x: p[x], lambda p, x: x * p], lambda y, t: pa.mean((y - t) ** 2), 2)
    places = np.array([1, 4, 4, 0])
    value, (rows, slope) = step([table, 2.0], places, np.zeros((4, 2)))
    np.testing.assert_allclose(rows, pa.grad(lambda p: pa.mean((p[places] * 2.0) ** 2))(table))
    with pytest.raises(pa.StructureError, match="what stage 0 gives has .*; only floating numbers go on"):
        form_of(places, "what stage 0 gives")


def test_trees_as_bytes():
    value = {"a": np.arange(3.0), "b": [np.ones((2, 0), np.float32), np.full((1, 2), 1j)], "c": np.float32(2.0)}
    form = form_of(value, "a value")
    assert size_of_message(form) == 24 + 0 + 32 + 4 == len(packed(value)) and repr(form["a"]) == "float64[3]"
    again = unpacked(packed(value), form)
    assert form_of(again, "a value") == form and again["b"][1][0, 1] == 1j and again["c"] == 2.0
    assert LeafForm((2,), "<f8") != LeafForm((2,), "<f4")
