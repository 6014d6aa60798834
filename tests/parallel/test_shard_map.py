"""`shard_map`: what positions of a mesh do with their blocks, as NumPy does with whole arrays, on any number of ranks."""

import numpy as np
import pytest

import polyad as pa
from polyad import PartitionSpec as P

SCRIPT = """
import numpy as np
import polyad as pa
from polyad import PartitionSpec as P

rng = np.random.default_rng(0)
a, b, v = rng.normal(size=(8, 8)), rng.normal(size=(8, 3)), rng.normal(size=8)
d, m = {shape}
mesh = pa.Mesh(("data", "model"), (d, m))
blocks = a.reshape(d, 8 // d, m, 8 // m)
here = lambda f, ins, outs: pa.shard_map(f, mesh, in_specs=ins, out_specs=outs)

def close(found, right, what):
    np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-12, err_msg=what)

# values, jit, derivatives of both arguments
product = here(lambda a, b: pa.psum(a @ b, "model"), (P("data", "model"), P("model")), P("data"))
loss = lambda f: lambda a, b: pa.sum(pa.sin(f(a, b)))
for f in (product, pa.jit(product)):
    for k in (1, 2):
        close(f(a, b), a @ b, "product")
    found, right = (pa.grad(loss(g), argnums=(0, 1))(a, b) for g in (f, pa.matmul))
    close(found[0], right[0], "gradient"), close(found[1], right[1], "gradient of the other")
tangents = (rng.normal(size=a.shape), rng.normal(size=b.shape))
slopes = [lambda a, b, g=g: pa.grad(loss(g))(a, b) for g in (product, pa.matmul)]
close(*[pa.jvp(s, (a, b), tangents)[1] for s in slopes], "second derivative")
close(pa.vmap(product, in_axes=(0, None))(np.stack([a, 2 * a]), b), np.stack([a @ b, 2 * a @ b]), "a map around")

# where blocks lie
close(here(lambda x: x, P(("data", "model")), P(("data", "model")))(v), v, "both axes")
close(here(lambda x: x, P(("model", "data")), P(("model", "data")))(v), v, "both axes, the other way")
index = here(lambda x: 0 * x + pa.axis_index(("data", "model")), P(("data", "model")), P(("data", "model")))
close(index(v), np.repeat(np.arange(d * m), 8 // (d * m)), "numbers")
close(here(lambda x: pa.all_gather(x, ("data", "model"), tiled=True), P(("data", "model")), P())(a), a, "whole")
close(here(lambda x: x.T, P("data", "model"), P("model", "data"))(a), a.T, "transposed")
close(here(lambda x: pa.all_to_all(x, "data", 1, 0, tiled=True), P("data"), P(None, "data"))(a), a, "cut along another axis")
if 8 // d % d == 0:
    scattered = here(lambda x: pa.psum_scatter(x, "data", tiled=True), P("data"), P("data"))
    close(scattered(a), a.reshape(d, 8 // d, 8).sum(axis=0), "sums")
tree = here(lambda t: {{"s": pa.pmean(t["a"], "data"), "o": t["a"] * t["k"]}}, ({{"a": P(None, "data"), "k": P()}},),
            {{"s": P(), "o": P(None, "data")}})({{"a": a, "k": 2.0}})
close(tree["o"], 2 * a, "trees"), close(tree["s"], a.reshape(8, d, 8 // d).mean(axis=1), "trees")

# a ring, and a halo: neighbours of each block, with its gradient
ring = [(k, (k + 1) % d) for k in range(d)]
close(here(lambda x: pa.ppermute(x, "data", ring), P("data"), P("data"))(v), np.roll(v, 8 // d), "ring")
def smooth(x):
    left, right = pa.ppermute(x[-1:], "data", ring), pa.ppermute(x[:1], "data", [(b, a) for a, b in ring])
    x = pa.concatenate([left, x, right])
    return x[2:] - 2 * x[1:-1] + x[:-2]
halo, whole = here(smooth, P("data"), P("data")), lambda x: pa.roll(x, -1) - 2 * x + pa.roll(x, 1)
close(halo(v), whole(v), "halo")
close(*[pa.grad(lambda x: pa.sum(pa.sin(f(x))))(v) for f in (halo, whole)], "gradient of a halo")

# positions that go different ways, also of a loss that is the same everywhere
signs = np.where(blocks.sum(axis=(1, 3), keepdims=True) > 0, 2.0, -3.0)
branch = lambda x: x * 2.0 if pa.sum(x) > 0 else x * -3.0
for name, (f, spec, right) in {{
    "alone": (branch, P("data", "model"), (blocks * signs).reshape(8, 8)),
    "data": (lambda x: pa.psum(branch(x), "data"), P(None, "model"), (blocks * signs).sum(axis=0).reshape(8 // d, 8)),
    "model": (lambda x: pa.psum(branch(x), "model"), P("data"), (blocks * signs).sum(axis=2).reshape(8, 8 // m)),
    "all": (lambda x: pa.psum(pa.sum(branch(x)), ("data", "model")), P(), (blocks * signs).sum()),
}}.items():
    f = here(f, P("data", "model"), spec)
    close(f(a), right, name)
    weights = rng.normal(size=np.shape(right))
    slope = pa.grad(lambda a: pa.sum(f(a) * weights))(a)
    wide = np.broadcast_to(weights, np.shape(right))
    axes = {{"alone": lambda w: w.reshape(blocks.shape), "data": lambda w: w.reshape(1, 8 // d, m, 8 // m),
            "model": lambda w: w.reshape(d, 8 // d, 1, 8 // m), "all": lambda w: w}}[name]
    close(slope, (signs * axes(wide) + 0 * blocks).reshape(8, 8), name + ", gradient")
"""


def test_the_same_on_any_number_of_ranks(mpirun):
    """1 x 4 = 2 x 2 = 4 x 1 positions; some of them on one rank."""
    exec(compile(SCRIPT.format(shape=(2, 2)), "shard_map", "exec"), {})
    for ranks, shape in ((2, (2, 2)), (2, (1, 4)), (2, (4, 1)), (4, (2, 2)), (4, (4, 2))):
        mpirun(SCRIPT.format(shape=shape), ranks, timeout=120)


MESH = pa.Mesh(("i", "j"), (2, 3))
X = np.ones((6, 6))


def over(f, ins, outs, *args, mesh=MESH):
    return pa.shard_map(f, mesh, in_specs=ins, out_specs=outs)(*args)


def test_what_does_not_fit():
    same = lambda x: x
    wrong = [
        (lambda: over(same, P("i"), P("i"), X[:5]), pa.ShapeError,
         r"shard_map\(<lambda>\): argument 0: axis 0 of .* length 5, which cannot be cut into 2 equal blocks along 'i'; pad"),
        (lambda: over(same, P(("i", "j")), P(), X[:4]), pa.ShapeError, "into 6 equal blocks along 'i', 'j'"),
        (lambda: over(same, ({"w": P("k")},), P(), {"w": X}), pa.StructureError,
         r"argument 0\['w'\]: PartitionSpec\('k'\) names 'k'; the axes of the mesh are 'i', 'j'"),
        (lambda: over(same, P("i", "i"), P(), X), pa.StructureError, "names 'i' twice"),
        (lambda: over(same, P(None, None, "i"), P(), X), pa.StructureError, "has 3 parts for the 2 axes of"),
        (lambda: over(same, P("i"), P(), X), pa.ShapeError, "lanes of the axis 'i' .or a spec that does not name it"),
        (lambda: over(lambda x: pa.sum(x), P("i"), P("i"), X), pa.StructureError, "1 parts for the 0 axes of a result"),
        (lambda: over(same, P(), P("k"), X), pa.StructureError, "out_specs: .* names 'k'"),
        (lambda: over(same, P(), {"a": P()}, X), pa.StructureError, "out_specs"),
        (lambda: over(same, (P(), P()), P(), X), pa.StructureError, "in_specs"),
        (lambda: over(same, "i", P(), X), pa.StructureError, "has the spec 'i'; give a PartitionSpec"),
        (lambda: over(same, P("i"), P(), pa.Diagonal(np.ones(4))), pa.StructureError, "cannot be cut into blocks"),
        (lambda: over(same, P(), P(), X, mesh=None), pa.StructureError, "there is no mesh here"),
    ]  # fmt: skip
    for call, kind, text in wrong:
        with pytest.raises(kind, match=text):
            call()


def test_specs():
    assert P("i") == P(("i",)) == P(["i"]) and hash(P("i", None)) == hash(P("i", ())) and P("i") != P(None, "i")
    assert repr(P("i", None, ("i", "j"))) == "PartitionSpec('i', None, ('i', 'j'))" and P(None, ("i", "j")).names == ("i", "j")


def test_array_types_and_functions_are_given_whole():
    d = pa.Diagonal(np.arange(1.0, 4))
    np.testing.assert_array_equal(over(lambda d, x: x @ d.dense(), (P(), P("i")), P("i"), d, X[:, :3]), X[:, :3] * d.diag)
    with MESH:
        f = pa.shard_map(lambda x, n: x * n, in_specs=(P("i", "j"), P()), out_specs=P("i", "j"))
        np.testing.assert_array_equal(f(X, 3), 3 * X)
