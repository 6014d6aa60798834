"""What other libraries for many devices have got wrong, on 1, 2 and 3 ranks; and input that does not fit, with an error that is
the same on every rank."""

import pytest

COMMON = """
import gc
import numpy as np
import polyad as pa
from polyad import PartitionSpec as P
from polyad.parallel import CollectiveError, CollectiveMismatch, world

w = world()
rank, ranks = w.rank, w.size
rng = np.random.default_rng(3)
lanes = np.arange(1.0, 6.0)  # lanes that 2 and 3 ranks share unequally
mesh = pa.Mesh("ranks", ranks)

def same(found, right, what):
    assert np.shape(found) == np.shape(right), (what, np.shape(found), np.shape(right))
    np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-12, err_msg=what)

def total(f):
    return lambda *args: pa.sum(pa.sin(f(*args)))
"""

MAPS = (
    COMMON
    + """
over = lambda f, **options: pa.pmap(f, axis_name="i", **options)

# one convention: a loss that is the same in all lanes counts once, whoever of them asks
own = np.arange(1.0, ranks + 1)
loss = lambda scale: over(lambda d: pa.psum(scale * d, "i"), out_axes=None)(own)
same(loss(1.0), own.sum(), "sum"), same(pa.grad(loss)(1.0), own.sum(), "its gradient")
same(over(pa.grad(lambda d: pa.psum(3 * d, "i")))(own), np.full(ranks, 3.0), "its gradient in each lane")
mean = lambda scale: pa.mean(over(lambda d: (scale * d - 1) ** 2)(lanes))
same(pa.grad(mean)(0.5), np.mean(2 * (0.5 * lanes - 1) * lanes), "a mean over unequal parts")
mean = lambda scale: over(lambda d: pa.pmean((scale * d - 1) ** 2, "i"), out_axes=None)(lanes)
same(pa.grad(mean)(0.5), np.mean(2 * (0.5 * lanes - 1) * lanes), "the same in lanes")

# cotangents that lie in memory in another order, or have no memory of their own
x, weights = rng.normal(size=(5, 3)), rng.normal(size=(3, 5))
gathered = over(lambda v: pa.sum(pa.all_gather(v, "i").T * weights))
same(pa.grad(lambda x: pa.sum(gathered(x)))(x), 5 * weights.T, "a transposed cotangent")
gathered = over(lambda v: pa.sum(pa.broadcast_to(pa.all_gather(v, "i")[::2, ::-1], (2, 3, 3))))
same(pa.grad(lambda x: pa.sum(gathered(x)))(x), np.where(np.arange(5) % 2 == 0, 10.0, 0)[:, None] + 0 * x, "strides of 0")
square = rng.normal(size=(5, 5, 2))
same(pa.grad(lambda x: pa.sum(over(lambda v: pa.all_to_all(v, "i"))(x)))(square), np.ones((5, 5, 2)), "all_to_all")

# a rule of the user's, of an argument that all positions have and one that is cut
@pa.custom_vjp
def spread(image, points):
    return pa.sin(image * points)
spread.defvjp(lambda image, points: (spread(image, points), (image, points)),
              lambda saved, ct: (lambda a, p: (pa.sum(ct * p * pa.cos(a * p)), ct * a * pa.cos(a * p)))(*saved))
points = rng.normal(size=6)
cut = lambda image, points: pa.shard_map(spread, mesh, in_specs=(P(), P("ranks")), out_specs=P("ranks"))(image, points)
for order in (lambda f: pa.grad(f, (0, 1)), lambda f: pa.grad(lambda a, p: pa.sum(pa.grad(f, 1)(a, p) ** 2), (0, 1))):
    for found, right in zip(order(total(cut))(0.7, points), order(total(lambda a, p: pa.sin(a * p)))(0.7, points)):
        same(found, right, "a custom rule under shard_map")

# messages stay in the order of the program, also where a compiler may move what it takes for independent
right_of, left_of = [(k, (k + 1) % 5) for k in range(5)], [((k + 1) % 5, k) for k in range(5)]
def crossing(v):
    a = pa.ppermute(v, "i", right_of)
    b = pa.ppermute(2 * v, "i", left_of)
    unused = pa.ppermute(a * 3, "i", left_of)
    return pa.ppermute(b, "i", right_of) - pa.ppermute(a, "i", left_of) + a
expected = lanes + np.roll(lanes, 1)
for f in (over(crossing), pa.jit(over(crossing)), over(pa.jit(crossing))):
    for again in range(3):
        same(f(lanes), expected, "crossing messages")
def chosen(v, s):
    return pa.cond(s > 0, lambda: pa.ppermute(v, "i", right_of), lambda: pa.ppermute(v, "i", left_of) * 2)
for f in (over(chosen, in_axes=(0, None)), pa.jit(over(chosen, in_axes=(0, None)))):
    for s, right in ((1.0, np.roll(lanes, 1)), (-1.0, 2 * np.roll(lanes, -1)), (1.0, np.roll(lanes, 1))):
        same(f(lanes, s), right, "messages in the branches of a choice")

# all elements of a long array, each time
f = pa.jit(over(lambda v: pa.psum(v, "i")))
for size in (37_999, 65_537, 300_001):
    x = rng.normal(size=(ranks, size))
    for again in range(4):
        same(f(x + again), np.broadcast_to((x + again).sum(axis=0), x.shape), "a long sum")

# nothing that is collected at another time on each rank communicates
class Cycle:
    def __init__(self):
        self.kept = (self, pa.Mesh("ranks", ranks), w.split(0, name="a cycle"), over(lambda v: pa.psum(v, "i")))
for step in range(4):
    Cycle()
    if step == rank:
        gc.collect()
    same(over(lambda v: pa.psum(v, "i"))(lanes), np.full(5, 15.0), "after a cycle")

# maps inside maps, and around blocks
three = over(lambda x: pa.pmap(lambda y: pa.pmap(lambda z: (x, z * 1), axis_name="k")(lanes[:2])[0], axis_name="j")(lanes[:3]))
same(three(lanes), np.broadcast_to(lanes[:, None, None], (5, 3, 2)), "a value of the outer map")
sums = lambda x: pa.shard_map(lambda v: pa.psum(v, "ranks") * v, mesh, in_specs=P("ranks"), out_specs=P("ranks"))(x)
whole = lambda x: (x.reshape(ranks, -1).sum(axis=0) * x.reshape(ranks, -1)).reshape(-1)
several = rng.normal(size=(3, 6))
same(pa.vmap(sums)(several), np.stack([whole(x) for x in several]), "a map around")
same(pa.vmap(pa.grad(total(sums)))(several), np.stack([pa.grad(total(whole))(x) for x in several]), "gradients in it")
"""
)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_maps_and_collectives(mpirun, n):
    mpirun(MAPS, n, timeout=120)


MISFITS = (
    COMMON
    + """
wrong = []

def refused(kind, f, *texts):
    try:
        found = f()
    except Exception as error:
        told = f"{type(error).__name__}: {error}"
        if not isinstance(error, kind) or not all(text in told for text in texts):
            wrong.append((kind.__name__, texts, told))
    else:
        told = ""
        wrong.append((kind.__name__, texts, found))
    if not w.agree(told):
        wrong.append(("another error on each rank", kind.__name__, texts, told))

over = lambda f, **options: pa.pmap(f, axis_name="i", **options)
summed = lambda v: pa.psum(v, "i")
tree = {"a": np.ones((1, 2)), "b": np.ones((2, 2))}
refused(pa.ShapeError, lambda: over(lambda t: t)(tree), "argument 0['b'] has 2 lanes", "argument 0['a'] has 1")
refused(pa.ShapeError, lambda: over(lambda x, t: x)(lanes, {"w": np.ones(4)}), "argument 1['w'] has 4 lanes", "0 has 5")
refused(pa.ShapeError, lambda: over(lambda x, y: x)(lanes, y=lanes[:3]), "y", "3 lanes", "argument 0 has 5")
refused(pa.ShapeError, lambda: over(lambda x: x)(2.0), "argument 0 has no axis 0 to map; use in_axes=None")
refused(pa.ShapeError, lambda: over(lambda x, t: x)(lanes, {"s": 3}), "argument 1['s'] has no axis 0 to map; use in_axes=None")
refused(pa.ShapeError, lambda: over(lambda x, y: x, in_axes=(0, 1))(lanes, lanes), "argument 1: axis 1 is out of range")
for collective in (pa.psum, pa.pmean, pa.pmax, pa.pprod, pa.all_gather, pa.psum_scatter, pa.all_to_all, pa.pvary,
                   lambda v, name: pa.ppermute(v, name, []), lambda v, name: pa.pshuffle(v, name, []),
                   lambda v, name: pa.broadcast(v, name, 0), lambda v, name: pa.scan_over_axis(v, name),
                   lambda v, name: pa.axis_index(name), lambda v, name: pa.axis_size(name), lambda v, name: pa.barrier(name)):
    refused(pa.AxisNameError, lambda: over(lambda v: collective(v, "j"))(lanes), "'j'", "bound: 'i'")
    refused(pa.AxisNameError, lambda: over(lambda v: pa.vmap(lambda u: collective(u, "k"), axis_name="j")(lanes))(lanes),
            "'k'", "bound: ", "'i'", "'j'")
refused(pa.AxisNameError, lambda: pa.psum(1.0, "i"), "'i'")

# a value of each lane where one of all is asked for
refused(pa.ShapeError, lambda: over(lambda v: v, out_axes=None)(lanes), "out_axes is None", "differs between lanes")
refused(pa.ShapeError, lambda: over(lambda v: {"a": summed(v), "b": v * 2}, out_axes={"a": None, "b": None})(lanes),
        "out_axes is None", "differs")
refused(pa.ShapeError, lambda: pa.shard_map(lambda v: v, mesh, in_specs=P("ranks"), out_specs=P())(np.ones(6)),
        "the axis 'ranks'")

# a collective that some lanes alone call, on one rank or within one
for bound in (1.5, 3.5, 4.5):
    refused(pa.LaneSplitError, lambda: over(lambda v: summed(v) if v > bound else v)(lanes), "'i'")
    refused(pa.LaneSplitError, lambda: over(lambda v: pa.cond(v > bound, summed, lambda v: v, v))(lanes), "'i'")
    refused(pa.LaneSplitError, lambda: over(pa.jit(lambda v: summed(v) if v > bound else v))(lanes), "'i'")
    refused(pa.LaneSplitError, lambda: pa.jit(over(lambda v: summed(v) if v > bound else v))(lanes), "'i'")
    refused(pa.LaneSplitError, lambda: pa.grad(total(over(lambda v: summed(v) if v > bound else v)))(lanes), "'i'")
    refused(pa.LaneSplitError, lambda: over(lambda v: pa.ppermute(v, "i", [(0, 1)] if v > bound else [(1, 0)]))(lanes),
            "different collectives")

# meshes
other = pa.Mesh("rows", ranks)
x, y = pa.shard(np.ones(6), P("ranks"), mesh), pa.shard(np.ones(6), P("rows"), other)
for f in (lambda: x + y, lambda: x @ y, lambda: pa.concatenate([x, y]), lambda: pa.concatenate([x, y], axis=None),
          lambda: pa.stack([x, y]), lambda: pa.where(x > 0, x, y), lambda: pa.einsum("i,i->", x, y),
          lambda: pa.searchsorted(x, y), lambda: x.at[1:].set(y[1:]), lambda: x.at[1:3].add(y[3:5]),
          lambda: pa.shard(x, P("rows"), other)):
    refused(pa.StructureError, f, "Mesh(ranks=", "Mesh(rows=")
take = pa.shard_map(lambda u, v: u * v, other, in_specs=P("rows"), out_specs=P("rows"))
same(pa.gather(take(2 * x, y)), np.full(6, 2.0), "a map moves its arguments to its own mesh")
refused(pa.StructureError, lambda: pa.Mesh(("a", "b"), (ranks + 1, 1)), "ranks do not fit the shape") if ranks > 1 else None
refused(pa.StructureError, lambda: pa.Mesh(("a", "a"), (ranks, 1)), "a name of its own")

# specs
for make in (lambda spec: pa.shard(np.ones((6, 4)), spec, mesh), lambda spec: pa.local(np.ones((6, 4)), spec, mesh),
             lambda spec: pa.redistribute(pa.shard(np.ones((6, 4)), P("ranks"), mesh), spec)):
    refused(pa.StructureError, lambda: make(P("columns")), "'columns'", "'ranks'")
    refused(pa.StructureError, lambda: make(P("ranks", "ranks")), "'ranks'")
    refused(pa.StructureError, lambda: make(P(None, None, "ranks")), "3 parts", "2 axes")
    refused(pa.StructureError, lambda: make("ranks"), "PartitionSpec")
refused(pa.StructureError, lambda: pa.shard(np.float64(1), P("ranks"), mesh), "0 axes")
maps = lambda ins, outs, x=np.ones(6): pa.shard_map(lambda v: v, mesh, in_specs=ins, out_specs=outs)(x)
refused(pa.StructureError, lambda: maps(P("k"), P("ranks")), "argument 0", "'k'", "'ranks'")
refused(pa.StructureError, lambda: maps(P("ranks"), P("k")), "out_specs", "'k'")
refused(pa.ShapeError, lambda: maps(P("ranks"), P("ranks"), np.ones(7)), "axis 0", "length 7") if ranks > 1 else None
if ranks > 1:  # blocks that do not fit together
    refused(pa.ShapeError, lambda: pa.local(np.ones((2, 3 + rank)), P("ranks"), mesh), "do not fit together")
    refused(pa.ShapeError, lambda: pa.local(np.ones(2, "f4" if rank else "f8"), P("ranks"), mesh), "do not fit together")
same(over(summed)(lanes), np.full(5, 15.0), "the ranks are in step")
assert not wrong, "\\n".join(map(repr, wrong))
"""
)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_what_does_not_fit_is_told_on_every_rank(mpirun, n):
    mpirun(MISFITS, n, timeout=120)


SHARDED = (
    COMMON
    + """
cut = lambda x, *parts: pa.shard(x, P(*parts), mesh)
axes = lambda ndim: [tuple("ranks" if k == axis else None for k in range(ndim)) for axis in range(ndim)]

# a number made of parts is the same everywhere, or there is none
x = cut(np.arange(10.0), "ranks")
for number in (float(x.sum()), float(pa.sum(x)), int(pa.sum(cut(np.arange(10), "ranks"))), complex(x.sum()), x.sum().item()):
    assert number == 45 and w.agree(number), number
assert bool(x.sum() > 44) and not (x.sum() > 45) and np.asarray(x.sum()) == 45 and f"{float(x.mean()):.1f}" == "4.5"
scale = 3.0
addends = lambda s, v: pa.local(s * v, P(partial="ranks"), mesh)
mine = np.arange(3.0) + 10 * rank
every = sum(np.arange(3.0) + 10 * k for k in range(ranks))
same(pa.gather(addends(scale, mine)), scale * every, "a partial sum")
again = lambda s: addends(1.0, pa.redistribute(addends(s, mine), P(partial="ranks")).block)
for f in (again, lambda s: addends(s, mine)):  # out of a partial sum and into one is no operation
    same(pa.gather(f(scale)), scale * every, "there and back")

# reductions over the axis that is cut, whose chunks have other lengths, or none
for n in (0, 1, 2, 3, 5, 10):
    for rows in (n, 2):
        a = rng.normal(size=(n, 3)) if rows == n else rng.normal(size=(2, n))
        for parts in axes(2):
            s = cut(a, *parts)
            same(pa.gather(s), a, "gathered")
            same(pa.gather(pa.redistribute(s, P(*parts[::-1]))), a, "cut the other way")
            same(pa.gather(pa.exp(s)), np.exp(a), "exp")
            same(pa.gather(pa.sum(s, axis=0)), a.sum(axis=0), "sum")
            for axis in (0, 1):
                if a.shape[axis]:
                    same(pa.gather(pa.median(s, axis=axis)), np.median(a, axis=axis), "median")
                    same(pa.gather(pa.max(s, axis=axis)), a.max(axis=axis), "max")
                    same(pa.gather(s - pa.mean(s, axis=axis, keepdims=True)), a - a.mean(axis=axis, keepdims=True), "centred")
                    same(pa.gather(s + pa.mean(s, axis=axis).reshape(-1, 1) if axis else s + pa.mean(s, axis=axis)),
                         a + a.mean(axis=axis, keepdims=True), "reshaped")
            if a.shape[1]:
                one = s[:, 0:1]
                assert one.shape == (a.shape[0], 1), one
                same(pa.gather(one), a[:, 0:1], "one column")
                assert sum(w.gather_objects(one.block.shape[1] if parts[1] else 0)) in (0, 1)
                same(pa.gather(s[:, 0]), a[:, 0], "a column")
                same(pa.gather(s[:, -1:]), a[:, -1:], "the last column")
twos = cut(np.full((3, 3), 2.0), "ranks")
same(pa.gather(pa.median(twos, axis=0)), np.full(3, 2.0), "median of equals")
wide = cut(np.ones((1, 10)), None, "ranks")[:, 0:1]
same(pa.gather(wide), np.ones((1, 1)), "one element")

# arrays without axes, and of one element
for make in (lambda: cut(np.float64(1), "ranks"), lambda: pa.local(np.float64(1), P("ranks"), mesh)):
    try:
        make()
    except pa.StructureError as error:
        assert "1 parts for the 0 axes" in str(error), error
    else:
        raise AssertionError("no StructureError")
same(pa.gather(pa.exp(cut(np.float64(1)))), np.exp(1), "no axes")
same(pa.gather(pa.exp(cut(np.ones(1), "ranks"))), np.exp([1.0]), "more ranks than elements")

# beside plain arrays, numbers and lists; what has a shape that depends on values
plain = rng.normal(size=(5, 3))
s = cut(plain, "ranks")
for f in (lambda x: x + plain, lambda x: plain * x, lambda x: x @ plain.T, lambda x: plain.T @ x, lambda x: x - plain[0],
          lambda x: 2.0 / x, lambda x: pa.where(x > 0, x, plain), lambda x: pa.concatenate([x, plain])):
    same(pa.gather(f(s)), f(plain), "beside plain arrays")
    found, right = (pa.grad(lambda x: pa.sum(f(x) ** 2))(x) for x in (s, plain))
    same(pa.gather(found), right, "its gradient")
with pa.densify("allow"):
    for f in (np.nonzero, lambda x: np.unique(np.asarray(x))):
        for found, right in zip(f(s), f(plain), strict=True):
            same(pa.gather(found), right, "of a shape that depends on values")
"""
)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_sharded_arrays(mpirun, n):
    mpirun(SHARDED, n, timeout=120)


SUITE = """
import os, sys, tempfile
from pathlib import Path
import pytest

tests = Path("test_some.py")
text = '''
from polyad.parallel import world
w = world()

def test_one():
    assert w.rank != 1, "this rank's own"
    w.barrier(label="one")

def test_two():
    assert w.allreduce(1.0, label="two") == w.size
'''
own = Path(tempfile.mkdtemp(dir=Path(__file__).parent))
(own / tests).write_text(text)
sys.exit(pytest.main([str(own / tests), "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(own)]))
"""


def test_a_test_that_fails_on_one_rank_is_shown_and_the_job_ends(mpirun):
    """Not that all hang in a collective that it does not come to."""
    job = mpirun(SUITE, 2, timeout=30, env={"POLYAD_DEADLINE": "5"}, expect_success=False)
    assert "AssertionError: this rank's own" in job.stdout and "CollectiveMismatch" in job.stdout + job.stderr, str(job)
