"""Meshes: grids of ranks and devices, what of them a map takes, and maps inside maps."""

import numpy as np
import pytest

import polyad as pa
from polyad.parallel.mesh import grid_of_ranks, ranks_for


@pytest.mark.parametrize(
    ("lengths", "ranks", "grid"),
    [((4, 2), 1, (1, 1)), ((4, 2), 2, (2, 1)), ((4, 2), 4, (4, 1)), ((4, 2), 8, (4, 2)), ((2, 3), 3, (1, 3)),
     ((2, 3), 6, (2, 3)), ((3, 4), 2, (1, 2)), ((1, 4), 2, (1, 2)), ((6,), 3, (3,)), ((2, 3), 4, None), ((3,), 2, None)],
)  # fmt: skip
def test_ranks_are_a_grid(lengths, ranks, grid):
    assert grid_of_ranks(lengths, ranks) == grid


def test_on_one_process_all_positions_are_here():
    mesh = pa.Mesh(("data", "model"), (4, 2))
    assert (mesh.shape, mesh.size, mesh.local_size) == ({"data": 4, "model": 2}, 8, 8)
    assert (mesh.ranks, mesh.coordinates, mesh.axis_names) == ((1, 1), (0, 0), ("data", "model"))
    assert mesh == pa.make_mesh((4, 2), ("data", "model")) and hash(mesh) == hash(pa.Mesh(("data", "model"), (4, 2)))
    assert mesh != pa.Mesh(("model", "data"), (2, 4)) and repr(pa.Mesh("i", 3)) == "Mesh(i=3)"


def test_what_a_map_takes():
    mesh = pa.Mesh(("data", "model"), (4, 2))
    assert ranks_for("data") == (pa.world(), "world")
    with mesh:
        assert ranks_for("model")[1] == (mesh, "model") and ranks_for("other")[1] == (mesh, "data")
        with pa.Mesh("i", 2) as inner:
            assert ranks_for("data")[1] == (inner, "i")
        assert ranks_for(None)[1] == (mesh, "data")
    assert ranks_for("data") == (pa.world(), "world")


def test_grids_that_are_none():
    for names, shape in ((("a", "a"), (1, 1)), (("a",), (1, 2)), ((), ()), (("a",), (0,))):
        with pytest.raises(
            pa.StructureError, match="Mesh: names .* give each axis a name of its own and a length of at least 1"
        ):
            pa.Mesh(names, shape)
    with pytest.raises(TypeError):
        pa.Mesh("a", 1.5)


SCRIPT = """
import numpy as np
import polyad as pa
from polyad.parallel import world
from polyad.parallel.mesh import ranks_for

world_, x = world(), np.random.default_rng(0).normal(size=(5, 3))
mesh = pa.Mesh(("data", "model"), {shape})
place = world_.ranks_by_node().index(world_.rank)
assert mesh.coordinates == np.unravel_index(place, mesh.ranks), (mesh.coordinates, place)
assert mesh.along("data").size == mesh.ranks[0] and mesh.along("model").rank == mesh.coordinates[1]
assert pa.Mesh(("data", "model"), {shape}).along("data") is mesh.along("data")  # made once

def close(found, right, what):
    np.testing.assert_allclose(found, right, rtol=1e-12, err_msg=what)

both = lambda M, f, i="data", j="model": lambda x: M(lambda row: M(f, axis_name=j)(row), axis_name=i)(x)
bodies = {{
    "sums": lambda v: pa.psum(v, "model") * v + pa.psum(v * v, "data"),
    "both": lambda v: pa.pmean(v, ("data", "model")) * v,
    "moved": lambda v: pa.pshuffle(v, "data", [4, 0, 1, 2, 3]) * pa.pshuffle(v, "model", [1, 2, 0]),
    "two ways": lambda v: v * 2 if v > 0 else -v,
    "two ways, then a sum": lambda v: pa.psum(v * 2 if v > 0 else -v, "data") + pa.psum(v, "model"),
    "a sum, then two ways": lambda v: pa.psum(v, "model") * (v if v > 0 else 2.0),
    "a sum outside, then two ways": lambda v: pa.psum(v, "data") * (v if v > 0 else 2.0) + pa.psum(v, "model"),
    "two ways, sums in both": lambda v: pa.psum(v, "data") + 1 if v > 0 else pa.psum(v, "data") - 1,
}}
for name, body in bodies.items():
    right = both(pa.vmap, body)(x)
    loss = lambda f: lambda x: pa.sum(pa.sin(f(x)))
    slope = pa.grad(loss(both(pa.vmap, body)))(x)
    with mesh:
        f = both(pa.pmap, body)
        for k in (1, 2):
            close(f(x), right, name)
        close(pa.grad(loss(f))(x), slope, name + ", gradient")
        close(pa.jit(f)(x), right, name + ", jit")
    close(both(pa.pmap, body)(x), right, name + ", over the world")
with mesh:
    for axis in ("data", "model"):
        f = lambda M: M(lambda v: pa.psum(v, axis) * v, axis_name=axis)(x)
        close(f(pa.pmap), f(pa.vmap), axis)
    seen = []
    note = lambda v: [seen.append([w and w[1] for w in [ranks_for(None)[1]]]), v][1]
    both(pa.pmap, note)(x)
    assert seen[0] == [None], seen  # nothing is left

# an error at one position is one of all ranks, and the ranks go on
def failing(v):
    if pa.axis_index("data") == 4 and v == x[4, 2]:
        raise ZeroDivisionError("at one position")
    return v
with mesh:
    for k in (1, 2):
        try:
            both(pa.pmap, failing)(x)
        except (ZeroDivisionError, pa.CollectiveError, pa.LaneSplitError) as error:
            assert "at one position" in str(error), error
        else:
            raise AssertionError("no error")
        close(both(pa.pmap, lambda v: pa.psum(v, ("data", "model")))(x)[0, 0], x.sum(), "afterwards")
try:
    pa.Mesh(("data",), (world_.size + 1,))
except pa.StructureError as error:
    assert f"{{world_.size}} ranks do not fit the shape" in str(error)
"""


def test_maps_inside_maps_take_axes_of_the_mesh(mpirun):
    """Rows, columns, and a grid of ranks."""
    for ranks, shape in ((2, (2, 2)), (2, (1, 2)), (4, (2, 2)), (3, (3, 1))):
        mpirun(SCRIPT.format(shape=shape), ranks, timeout=120)


def test_in_lanes_of_an_inner_map_that_go_different_ways():
    """A collective over the axis around is called once by all of them, though they run again."""
    x = np.random.default_rng(0).normal(size=(3, 4))
    both = lambda f: pa.vmap(lambda row: pa.vmap(f, axis_name="j")(row), axis_name="i")
    twice = np.where(x > 0, 2 * x, -x)
    bodies = {
        "after": (lambda v: pa.psum(v * 2 if v > 0 else -v, "i"), np.broadcast_to(twice.sum(axis=0), x.shape)),
        "before": (lambda v: pa.psum(v, "i") * 2 if v > 0 else pa.psum(v, "i") * -1,
                   x.sum(axis=0) * np.where(x > 0, 2, -1)),
        "between": (lambda v: (lambda s: s + pa.psum(v * 2 if s * v > 0 else v, "i"))(pa.psum(v, "i")),
                    x.sum(axis=0) + np.where(x.sum(axis=0) * x > 0, 2 * x, x).sum(axis=0)),
        "of both": (lambda v: pa.psum(pa.psum(v * 2 if v > 0 else -v, "i"), "j"), np.full(x.shape, twice.sum())),
    }  # fmt: skip
    for name, (body, right) in bodies.items():
        np.testing.assert_allclose(both(body)(x), np.broadcast_to(right, x.shape), rtol=1e-12, err_msg=name)
        pa.check_grads(both(body), (x,), order=1)
