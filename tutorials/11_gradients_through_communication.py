# %% [markdown]
# # Gradients through communication
#
# A message is an operation like any other, and has a derivative: what goes forwards over the ranks comes back over them. This
# page looks at the pairs, checks each by the one test that decides, and ends with attention over a ring of ranks.
#
#     python tutorials/11_gradients_through_communication.py
#     python -m polyad run -n 3 tutorials/11_gradients_through_communication.py

# %%
import numpy as np

import polyad as pa

w, LANES = pa.world(), 6
rng = np.random.default_rng(0)


def say(text):
    if w.rank == 0:
        print(text)


# %% [markdown]
# ## Varying and invariant
#
# Within a map a value is *varying* (each lane has its own) or *invariant* (all lanes have the same one). `psum` makes an
# invariant value of varying ones, and its transpose takes one cotangent back to each lane: no message. An invariant value
# that meets varying ones becomes varying (`pvary`), and its transpose is a sum over the lanes. So no gradient is counted once
# for each rank:


# %%
def loss(weight, x):
    each = lambda v: pa.psum(pa.sin(weight * v), "i")
    return pa.pmap(each, axis_name="i", out_axes=None)(x)


x = rng.normal(size=LANES)
by_weight, by_x = pa.grad(loss, (0, 1))(2.0, x)
np.testing.assert_allclose(by_weight, np.sum(x * np.cos(2 * x)))
np.testing.assert_allclose(by_x, 2 * np.cos(2 * x))
say("the gradient of a sum over lanes is that of the sum")

# %% [markdown]
# ## Pairs
#
# The adjoint test: for a linear f with transpose f', <f(x), y> = <x, f'(y)> for any x and y. It fails for each of the
# mistakes that are easily made (a sum too many, one too few, a shift the wrong way).

# %%
RING = [(k, (k + 1) % LANES) for k in range(LANES)]
PAIRS = {
    "psum           <-> pvary": (lambda v: pa.psum(v, "i"), (4,)),
    "all_gather     <-> psum_scatter": (lambda v: pa.all_gather(v, "i"), (4,)),
    "psum_scatter   <-> all_gather": (lambda v: pa.psum_scatter(v, "i"), (LANES, 4)),
    "all_to_all     <-> all_to_all": (lambda v: pa.all_to_all(v, "i", 0, 0), (LANES, 4)),
    "ppermute       <-> ppermute back": (lambda v: pa.ppermute(v, "i", RING), (4,)),
    "broadcast      <-> a sum, on the root": (lambda v: pa.broadcast(v, "i", root=2), (4,)),
    "scan_over_axis <-> the scan backwards": (lambda v: pa.scan_over_axis(v, "i"), (4,)),
    "halo           <-> strips added back": (lambda v: pa.halo(v, "i"), (4,)),
}
for name, (collective, shape) in PAIRS.items():
    f = pa.pmap(collective, axis_name="i")
    v = rng.normal(size=(LANES, *shape))
    y, pull = pa.vjp(f, v)
    ct = rng.normal(size=y.shape)
    np.testing.assert_allclose(np.sum(y * ct), np.sum(v * pull(ct)[0]), rtol=1e-12)
    say(f"  {name}")

# %% [markdown]
# ## Attention over a ring
#
# A sequence too long for one rank: each lane has a part of the queries, keys and values. Keys and values go round the ring by
# `ppermute`, and each lane keeps, for its queries, the largest score so far, the sum of the weights and the weighted sum of
# the values (Milakov and Gimelshein 2018; Liu et al. 2023), so that no lane ever holds a whole row of scores.


# %%
def ring_attention(q, k, v):
    most = pa.full(q.shape[:1], -np.inf)
    weights, total = pa.zeros(q.shape[:1]), pa.zeros_like(v)
    for _ in range(LANES):
        scores = q @ k.T / np.sqrt(q.shape[1])
        larger = pa.maximum(most, pa.max(scores, axis=1))
        fade, parts = pa.exp(most - larger), pa.exp(scores - larger[:, None])
        weights = weights * fade + pa.sum(parts, axis=1)
        total = total * fade[:, None] + parts @ v
        most = larger
        k, v = pa.ppermute((k, v), "i", RING)
    return total / weights[:, None]


def attention(q, k, v):
    scores = q @ k.T / np.sqrt(q.shape[1])
    return pa.softmax(scores, axis=1) @ v


PART, WIDTH = 5, 8
q, k, v = (rng.normal(size=(LANES, PART, WIDTH)) for _ in range(3))
whole = [a.reshape(LANES * PART, WIDTH) for a in (q, k, v)]
over_ranks = pa.pmap(ring_attention, axis_name="i")
np.testing.assert_allclose(over_ranks(q, k, v).reshape(-1, WIDTH), attention(*whole), atol=1e-12)
slopes = pa.grad(lambda *a: pa.sum(pa.sin(over_ranks(*a))), (0, 1, 2))(q, k, v)
right = pa.grad(lambda *a: pa.sum(pa.sin(attention(*a))), (0, 1, 2))(*whole)
for a, b in zip(slopes, right, strict=True):
    np.testing.assert_allclose(a.reshape(-1, WIDTH), b, atol=1e-10)
say("attention over a ring, and its gradient: those of the whole sequence")
