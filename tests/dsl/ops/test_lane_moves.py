"""What lanes get of others: trees, several names, and calls that do not fit. test_lane_collectives.py has the values."""

import numpy as np
import pytest

import polyad as pa

close = np.testing.assert_allclose
X = np.arange(12.0).reshape(2, 3, 2)  # two lanes of i, three of j
IJ = ("i", "j")


def over(f, *args, **options):
    return pa.vmap(f, axis_name="i", **options)(*args)


def grid(f, x=X):
    """f in the lanes of two maps, one in the other."""
    return pa.vmap(lambda row: pa.vmap(f, axis_name="j")(row), axis_name="i")(x)


def along_one(f, x=X):
    """The same of one map over all lanes, numbered in order."""
    return pa.vmap(f, axis_name="i")(x.reshape(6, *x.shape[2:]))


WIDE = np.arange(6 * 12.0).reshape(2, 3, 6, 2)
SEVERAL = {
    "all_gather": (lambda names: lambda x: pa.all_gather(x, names), X),
    "all_gather tiled": (lambda names: lambda x: pa.all_gather(x, names, tiled=True), X),
    "psum_scatter": (lambda names: lambda x: pa.psum_scatter(x, names), WIDE),
    "psum_scatter tiled": (lambda names: lambda x: pa.psum_scatter(x, names, tiled=True), WIDE),
    "all_to_all": (lambda names: lambda x: pa.all_to_all(x, names, 0, 1), WIDE),
    "all_to_all tiled": (lambda names: lambda x: pa.all_to_all(x, names, 0, 1, tiled=True), WIDE),
    "ppermute": (lambda names: lambda x: pa.ppermute(x, names, [(0, 5), (5, 2), (3, 3)]), X),
    "pshuffle": (lambda names: lambda x: pa.pshuffle(x, names, [5, 3, 1, 0, 2, 4]), X),
    "broadcast": (lambda names: lambda x: pa.broadcast(x, names, 4), X),
    "sums": (lambda names: lambda x: pa.scan_over_axis(x, names), X),
    "largest": (lambda names: lambda x: pa.scan_over_axis(x, names, "max", reverse=True), X),
    "index": (lambda names: lambda x: x + pa.axis_index(names) * pa.axis_size(names), X),
    "reductions": (lambda names: lambda x: pa.psum(x, names) + pa.pmax(x, names) * pa.pmin(x, names) + pa.pmean(x, names), X),
    "product": (lambda names: lambda x: pa.pprod(x + 1, names), X),
}  # fmt: skip


def test_several_names_are_one_axis(each):
    def check(body, x):
        right = along_one(body("i"), x)
        close(grid(body(IJ), x).reshape(right.shape), right)
        wide = np.random.default_rng(1).normal(size=right.shape)
        slope = lambda f: pa.grad(lambda x: pa.sum(f(x).reshape(right.shape) * wide))(x)
        close(slope(lambda x: grid(body(IJ), x)), slope(lambda x: along_one(body("i"), x)), rtol=1e-12)

    each(SEVERAL, check)


def test_an_inner_axis_alone():
    close(grid(lambda x: pa.pshuffle(x, "j", [1, 2, 0])), X[:, [1, 2, 0]])
    close(grid(lambda x: pa.broadcast(x, "i", 1)), np.stack([X[1]] * 2))
    close(grid(lambda x: pa.scan_over_axis(x, "i")), np.cumsum(X, axis=0))


def test_trees():
    t = {"a": X[0], "b": (np.arange(3), 2.0)}
    axes = ({"a": 0, "b": (0, None)},)
    names = {
        "all_gather": lambda t: pa.all_gather(t, "i"), "broadcast": lambda t: pa.broadcast(t, "i", 1),
        "ppermute": lambda t: pa.ppermute(t, "i", [(0, 1)]), "pshuffle": lambda t: pa.pshuffle(t, "i", [1, 2, 0]),
        "scan_over_axis": lambda t: pa.scan_over_axis(t, "i"),
    }  # fmt: skip
    for f in names.values():
        found = over(f, t, in_axes=axes)
        close(found["a"], over(f, t["a"]))
        np.testing.assert_array_equal(found["b"][0], over(f, t["b"][0]))
        assert found["b"][0].dtype.kind == "i"
        close(found["b"][1], over(lambda x, f=f: f(2.0) + 0 * x, np.zeros(3)) if f is not names["all_gather"] else 2)


def test_what_does_not_fit():
    x = np.ones((3, 4))
    with pytest.raises(
        pa.ShapeError, match=r"psum_scatter: axis 0 of .*\[4\]\) has length 4; it must be 3, a part for each lane"
    ):
        over(lambda x: pa.psum_scatter(x, "i"), x)
    with pytest.raises(pa.ShapeError, match="all_to_all: axis 0 .* it must be a multiple of the 3 lanes"):
        over(lambda x: pa.all_to_all(x, "i", tiled=True), x)
    with pytest.raises(pa.AxisError, match="psum_scatter: scatter_dimension"):
        over(lambda x: pa.psum_scatter(x, "i", scatter_dimension=2), x)
    with pytest.raises(pa.AxisError, match="all_gather: axis"):
        over(lambda x: pa.all_gather(x, "i", axis=2), x)
    for perm in ([(0, 3)], [(-1, 0)], [(0, 1), (0, 2)], [(0, 1), (2, 1)]):
        with pytest.raises(
            pa.StructureError, match=r"ppermute: the pair \(.*\) of perm does not fit.* from 0 to 2, each at most"
        ):
            over(lambda x, perm=perm: pa.ppermute(x, "i", perm), x)
    for perm in ([0, 1], [0, 1, 1], [1, 2, 3]):
        with pytest.raises(pa.StructureError, match="pshuffle: perm has to hold each number from 0 to 2 once"):
            over(lambda x, perm=perm: pa.pshuffle(x, "i", perm), x)
    with pytest.raises(pa.StructureError, match="broadcast: root is lane 3, but the lanes are 0 to 2"):
        over(lambda x: pa.broadcast(x, "i", 3), x)
    with pytest.raises(pa.StructureError, match="scan_over_axis: operation 'mean' is not one of 'sum', 'prod', 'max', 'min'"):
        over(lambda x: pa.scan_over_axis(x, "i", "mean"), x)
    for f in (pa.psum_scatter, pa.all_to_all, pa.axis_index, pa.barrier, lambda x, name: pa.ppermute(x, name, [])):
        with pytest.raises(pa.AxisNameError, match=r"no axis named 'k' here \(bound: 'i'\)"):
            over(lambda x, f=f: f(x, "k") if f not in (pa.axis_index, pa.barrier) else f("k"), x)


def test_lanes_that_call_other_ways():
    """Another root or permutation is another collective."""
    with pytest.raises(pa.LaneSplitError, match=r"different collectives: broadcast\[0\] of float64\[\] and broadcast\[1\]"):
        over(lambda x: pa.broadcast(x, "i", 0 if x > 0 else 1), np.array([1.0, -1.0]))
    with pytest.raises(pa.LaneSplitError, match="only lanes .* take"):
        over(lambda x: pa.ppermute(x, "i", [(0, 1)]) if x > 0 else x, np.array([1.0, -1.0]))
