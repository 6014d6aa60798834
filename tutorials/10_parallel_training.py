# %% [markdown]
# # Training on many ranks: data, tensor, optimiser state, pipeline
#
# One network of three layers, trained in four ways of sharing the work. Each gives the numbers of one process, which are
# worked out beside it and compared.
#
#     python tutorials/10_parallel_training.py
#     python -m polyad run -n 2 tutorials/10_parallel_training.py

# %%
import numpy as np

import polyad as pa

P, w = pa.PartitionSpec, pa.world()
rng = np.random.default_rng(0)  # the same on every rank
x = rng.normal(size=(48, 6))
target = np.sin(x @ rng.normal(size=(6, 3)))
SIZES = [6, 16, 12, 3]
start = [{"w": rng.normal(size=(a, b)) / np.sqrt(a), "b": np.zeros(b)} for a, b in zip(SIZES, SIZES[1:])]
STEPS, RATE = 20, 0.3


def say(text):
    if w.rank == 0:
        print(text)


def layer(p, h):
    return pa.tanh(h @ p["w"] + p["b"])


def last_layer(p, h):
    return h @ p["w"] + p["b"]


def loss_of(y, target):
    return pa.mean((y - target) ** 2)


def loss(params, x, target):
    for p in params[:-1]:
        x = layer(p, x)
    return loss_of(last_layer(params[-1], x), target)


def descend(p, g):
    return p - RATE * g


params, alone = start, []
for _ in range(STEPS):
    value, slopes = pa.value_and_grad(loss)(params, x, target)
    alone.append(float(value))
    params = pa.tree.map(descend, params, slopes)
trained = params
say(f"one process: {alone[0]:.4f} -> {alone[-1]:.4f}")


def same(found, right, what):
    for a, b in zip(pa.tree.leaves(pa.gather(found)), pa.tree.leaves(right), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12, err_msg=what)


# %% [markdown]
# ## Data parallel
#
# Each rank reads its own examples. `data_parallel` gives the loss and the gradients of all of them, on every rank; the
# gradients travel in buckets while the rest of them are still computed. Ranks may have different numbers of examples.

# %%
mine = slice(*[len(x) * k // w.size for k in (w.rank, w.rank + 1)])
step = pa.data_parallel(loss)
params, values = start, []
for _ in range(STEPS):
    value, slopes = step(params, x[mine], target[mine])
    values.append(float(value))
    params = pa.tree.map(descend, params, slopes)
same(params, trained, "data parallel")
np.testing.assert_allclose(values, alone, atol=1e-12)
say("data parallel: the same")

# %% [markdown]
# ## Tensor parallel
#
# A layer too large for one rank is cut. The first matrix is cut by columns and the second by rows (Shoeybi et al. 2019): what
# lies between them is cut as well, and there is one sum over the ranks for both. Nothing of that is in the loss: its
# parameters are Sharded arrays, and each operation takes the layout that moves the fewest bytes.

# %%
layouts = [{"w": P(None, "ranks"), "b": P("ranks")}, {"w": P("ranks"), "b": P()}, {"w": P(), "b": P()}]
params = pa.shard(start, layouts)
for _ in range(STEPS):
    slopes = pa.grad(loss)(params, x, target)
    params = pa.tree.map(descend, params, slopes)
same(params, trained, "tensor parallel")
assert params[0]["w"].block.shape[1] <= -(-SIZES[1] // w.size) and params[0]["w"].spec == P(None, "ranks")
say("tensor parallel: the same. What a pass of it moves:")
say(pa.explain_sharding(loss, params, x, target).splitlines()[-1])

# %% [markdown]
# ## Optimiser state in parts (ZeRO)
#
# Adam keeps two numbers for each parameter, which all ranks would hold alike. Here each rank keeps those of its own part of
# one long vector (Rajbhandari et al. 2020): the gradients are cut, each rank moves its part of the parameters, and the whole
# vector is gathered for the next pass. A rank's share of the state falls as 1/ranks.


# %%
def adam(p, g, m, v, k, rate=0.02):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return p - rate * (m / (1 - 0.9**k)) / (pa.sqrt(v / (1 - 0.999**k)) + 1e-8), m, v


def ravelled(tree):
    return pa.concatenate([pa.ravel(leaf) for leaf in pa.tree.leaves(tree)])


def unravelled(vector):
    leaves, structure = pa.tree.flatten(start)
    ends = np.cumsum([leaf.size for leaf in leaves])
    return pa.tree.unflatten(structure, [vector[e - x.size : e].reshape(x.shape) for e, x in zip(ends, leaves, strict=True)])


flat = ravelled(start)
whole, state = flat, (np.zeros_like(flat), np.zeros_like(flat))
for k in range(1, STEPS + 1):
    whole, *state = adam(whole, pa.grad(lambda p: loss(unravelled(p), x, target))(whole), *state, k)

part = pa.shard(flat)
with pa.default_sharding(P("ranks")):
    moments = pa.zeros(flat.size), pa.zeros(flat.size)
for k in range(1, STEPS + 1):
    _, slope = step(unravelled(pa.gather(part)), x[mine], target[mine])
    part, *moments = adam(part, pa.shard(ravelled(slope)), *moments, k)
np.testing.assert_allclose(pa.gather(part), whole, atol=1e-9)
kept = sum(m.block.nbytes for m in moments)
assert kept <= 2 * 8 * -(-flat.size // w.size)
say(f"ZeRO: the same; {kept} bytes of state on this rank, {2 * flat.nbytes} in all")

# %% [markdown]
# ## Pipeline
#
# The layers lie on different ranks. A batch goes through in small parts, so that the second layer works on the first part
# while the first layer works on the second. The schedule is made once, from numbers alone, and can be looked at.

# %%
pipe = pa.pipeline([layer, layer, last_layer], loss_of, microbatches=4)
owner = pipe.schedule.owner
params = [p if owner[k] == w.rank else None for k, p in enumerate(start)]  # a rank has its own stages only
for _ in range(STEPS):
    value, slopes = pipe(params, x, target)
    params = [None if p is None else pa.tree.map(descend, p, g) for p, g in zip(params, slopes, strict=True)]
for k, p in enumerate(params):
    if p is not None:
        same(p, trained[k], "pipeline")
say("pipeline: the same")
say(str(pipe.schedule))

# %% [markdown]
# ## Kept for later
#
# `pa.save_checkpoint(folder, tree)` writes what each rank has, and `pa.load_checkpoint` reads it on another number of ranks.
