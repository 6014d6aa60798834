"""Every operation of the language on sharded arrays, in all kinds of layouts, on several ranks and meshes; and how a layout is
chosen."""

from pathlib import Path

import numpy as np
import pytest

import polyad as pa
from polyad.parallel.sharded.propagate import Pattern, planned

HELPERS = str(Path(__file__).parents[2] / "helpers")
SWEEP = f"""
import sys
sys.path.insert(0, {HELPERS!r})
import numpy as np
import polyad as pa
from sharded_cases import check_derivatives, check_values

ranks = pa.world().size
mesh = pa.Mesh(*MESH)
assert check_values(None, mesh, 1, VALUES) > 250
if DERIVATIVES:
    assert check_derivatives(None, mesh, 1, DERIVATIVES) > 100
"""


@pytest.mark.slow
@pytest.mark.parametrize(("ranks", "mesh", "values", "derivatives"), [
    (2, ("i", 2), 1, 0), (3, ("i", 3), 2, 1), (4, (("a", "b"), (2, 2)), 1, 0),
])  # fmt: skip
def test_every_operation(mpirun, ranks, mesh, values, derivatives):
    """values, derivatives: of each operation so many samples."""
    script = SWEEP.replace("MESH", repr(mesh)).replace("VALUES", str(values)).replace("DERIVATIVES", str(derivatives))
    mpirun(script, ranks, timeout=240)


def test_every_operation_on_one_rank():
    from sharded_cases import check_values

    assert check_values(None, pa.Mesh(("a", "b"), (2, 2)), 1) > 400


def test_the_layout_that_moves_the_fewest_bytes(mpirun):
    mpirun(
        """
        import numpy as np
        import polyad as pa
        from polyad.parallel import Communicator

        P, moved = pa.PartitionSpec, []
        for name in ("allgatherv", "swap", "allreduce", "reduce_scatterv", "bcast"):
            def counted(self, x, *args, name=name, method=getattr(Communicator, name), **more):
                moved.append(name)
                return method(self, x, *args, **more)
            setattr(Communicator, name, counted)

        def moves(f, *xs):
            moved.clear()
            y = f(*xs)
            return moved.copy(), y

        mesh = pa.Mesh("i", 2)
        tall, wide = np.ones((40, 6)), np.ones((6, 40))
        rows, columns = pa.shard(tall, P("i"), mesh), pa.shard(wide, P(None, "i"), mesh)
        small = np.ones((6, 3))
        done, y = moves(lambda x, w: x @ w, rows, small)
        assert done == [] and y.spec == P("i", None)
        done, y = moves(lambda x, w: x @ w, columns, rows)  # the axis that is summed over is cut in both
        assert done == [] and y.spec == P(None, None, partial="i")
        assert moves(pa.gather, y)[0] == ["allreduce"]
        assert moves(pa.gather, y)[0] == []  # it is added up once
        done, y = moves(lambda x, w: x @ w, rows, pa.shard(small, P("i"), mesh))  # the small one is gathered
        assert done == ["allgatherv"] and y.spec == P("i", None)
        done, y = moves(lambda x, y: x + y, rows, pa.shard(np.ones(6), P("i"), mesh))
        assert done == ["allgatherv"] and y.spec == P("i", None)
        done, y = moves(lambda x: pa.redistribute(x @ rows, P("i")), columns)
        assert done == ["reduce_scatterv"] and y.spec == P("i", None)
        done, y = moves(lambda x: pa.sum(x * x), rows)
        assert done == ["allreduce"] and y == 240.0
        done, y = moves(lambda x: pa.max(pa.exp(x) + 1, axis=1), rows)
        assert done == [] and y.spec == P("i")
        done, y = moves(lambda x: pa.argsort(x, axis=0), rows)  # cut along the other axis
        assert done == ["swap"] and y.spec == P(None, "i")
        """,
        2,
    )


def test_a_plan_is_made_once():
    mesh = pa.Mesh("i", 2)
    x = pa.shard(np.ones((4, 2)), pa.PartitionSpec("i"), mesh)
    pattern = Pattern(((0, 1),), (0, 1))
    plan = planned(pattern, (x.layout,), (8,), (4, 2), "sin")
    assert planned(pattern, (x.layout,), (8,), (4, 2), "sin") is plan and plan.bytes == 0
    assert plan.layouts[0] == x.layout and plan.cuts[0][0] == ("i",)
