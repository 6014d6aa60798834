"""From one layout to another: steps, their bytes, and the same array at the end."""

import pytest

import polyad as pa
from polyad.parallel.sharded.layout import Layout
from polyad.parallel.sharded.steps import cost, shown_bytes, steps_between

P = pa.PartitionSpec


def test_steps_of_one_rank_cost_nothing():
    mesh = pa.Mesh(("a", "b"), (2, 2))
    kinds = lambda one, other: [s.kind for s in steps_between(Layout(mesh, (4, 4), one), Layout(mesh, (4, 4), other), 8)]
    assert kinds(P("a"), P("a")) == [] and kinds(P("a"), P(None, "a")) == ["resplit"] and kinds(P("a"), P()) == ["gather"]
    assert kinds(P(), P("b")) == ["split"] and kinds(P(partial="a"), P()) == ["sum"] and kinds(P(), P(partial="a")) == ["keep"]
    assert kinds(P(partial="a"), P(None, "a")) == ["scatter"] and kinds(P("a", "b"), P("b", "a")) == [
        "gather",
        "gather",
        "split",
        "split",
    ]
    assert (
        kinds(P(("a", "b")), P(None, ("a", "b"))) == ["resplit"]
        and cost(Layout(mesh, (4,), P("a")), Layout(mesh, (4,)), 8) == 0
    )


@pytest.mark.parametrize(("count", "text"), [(0, "0 bytes"), (1023, "1023 bytes"), (1536, "1.5 KiB"), (3 << 30, "3.0 GiB")])
def test_bytes_as_text(count, text):
    assert shown_bytes(count) == text


def test_every_pair_of_layouts(mpirun):
    script = """
    import itertools
    import sys
    sys.path.insert(0, HELPERS)
    import numpy as np
    import polyad as pa
    from polyad.parallel import Communicator
    from polyad.parallel.sharded.steps import steps_between
    from sharded_cases import placed, specs_of

    P, ranks, me = pa.PartitionSpec, pa.world().size, pa.world().rank
    mesh = pa.Mesh(("a", "b"), {2: (1, 2), 3: (3, 1), 4: (2, 2)}[ranks])
    sent = [0]
    def counted(self, parts, *args, method=Communicator.swap, **more):
        sent[0] += sum(x.nbytes for x in parts.values())
        return method(self, parts, *args, **more)
    Communicator.swap = counted
    for shape in ((5, 7), (0, 3), (8, 4)) if ranks == 4 else ((5, 7), (1, 2)):
        x = np.random.default_rng(3).normal(size=shape)
        for one, other in itertools.product([P(), *specs_of(x, mesh)[1:]], repeat=2):
            a = placed(x, one, mesh)
            b = pa.redistribute(a, other)
            assert b.spec.parts == P(*other.parts, *[None] * (2 - len(other.parts))).parts, (one, other, b.spec)
            assert b.block.shape == b.layout.block_shape
            np.testing.assert_allclose(pa.gather(b), x, rtol=1e-12, atol=1e-14)
    x = pa.shard(np.ones((8, 4)), P(("a", "b")), mesh)  # to the other axis: each rank sends what another has, once
    sent[0] = 0
    y = pa.redistribute(x, P(None, ("a", "b")))
    (step,) = steps_between(x.layout, y.layout, 8)
    stays = x.block[:, y.start[1] : y.start[1] + y.block.shape[1]].nbytes
    assert pa.world().allreduce(float(sent[0] + stays)) == 8 * 4 * 8
    assert abs(step.bytes * ranks - 8 * 4 * 8 * (ranks - 1) / ranks) < 1e-9
    assert "chunks of axis 0 become chunks of axis 1" in str(step)
    """
    import pathlib

    script = script.replace("HELPERS", repr(str(pathlib.Path(__file__).parents[2] / "helpers")))
    for ranks in (2, 3, 4):
        mpirun(script, ranks)
