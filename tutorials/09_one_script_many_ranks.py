# %% [markdown]
# # One script, many ranks
#
# A plate is cut into blocks, one at each position of a grid of processes. Heat flows between neighbours, so each step a block
# needs the edges of the blocks beside it: a halo exchange. The same script runs on one process, where all positions are
# simulated, and on 2, 4 or 8 ranks; the numbers are the same, and so is the gradient through all the messages.
#
#     python tutorials/09_one_script_many_ranks.py
#     python -m polyad run -n 4 tutorials/09_one_script_many_ranks.py

# %%
from pathlib import Path

import matplotlib
import numpy as np

import polyad as pa

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  after the choice of the drawing engine

P, N, STEPS, RATE = pa.PartitionSpec, 48, 60, 0.2
mesh = pa.Mesh(("rows", "columns"), (4, 2))  # 4 x 2 positions of 12 x 24 points each, on as many ranks as there are
if pa.world().rank == 0:
    print(f"{mesh} on a grid of {mesh.ranks} ranks, {mesh.local_size} positions on each")

# %% [markdown]
# ## A step of one block
#
# `halo` asks both neighbours along an axis for the strips beside this block; outside of the plate it is cold. The rest is
# NumPy as anybody writes it.


# %%
def step(u):
    wide = pa.halo(pa.halo(u, "rows", axis=0), "columns", axis=1)
    around = wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]
    return u + RATE * (around - 4 * u)


def flow(u):
    return pa.fori_loop(0, STEPS, lambda k, u: step(u), u)


heat = pa.shard_map(flow, mesh, in_specs=P("rows", "columns"), out_specs=P("rows", "columns"))

# %% [markdown]
# ## The same on one array, to compare with


# %%
def heat_of_the_whole(u):
    for _ in range(STEPS):
        wide = np.pad(u, 1)
        u = u + RATE * (wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:] - 4 * u)
    return u


place = np.linspace(-1, 1, N)
x, y = np.meshgrid(place, place, indexing="ij")
start = np.exp(-20 * ((x + 0.4) ** 2 + (y - 0.1) ** 2)) + 0.5 * (np.abs(x - 0.5) + np.abs(y) < 0.3)

end, right = heat(start), heat_of_the_whole(start)
np.testing.assert_allclose(end, right, rtol=1e-12, atol=1e-15)

# %% [markdown]
# ## Where must the plate have been warm, for this corner to be warm now?
#
# The derivative of the heat in a corner by the heat at the start. Backwards the messages go the other way: the cotangents of
# the strips are sent back to the blocks that they came from.

# %%
corner = (x > 0.5) & (y > 0.5)
slope = pa.grad(lambda u: pa.sum(heat(u) * corner))(start)
np.testing.assert_allclose(slope, pa.grad(lambda u: pa.sum(heat_of_the_whole(u) * corner))(start), rtol=1e-12, atol=1e-15)
if pa.world().rank == 0:
    print(f"heat in the corner: {np.sum(end * corner):.12f}; slopes add up to {np.sum(slope):.12f}")

# %% [markdown]
# ## A picture, by one rank

# %%
if pa.world().rank == 0:
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
    for ax, (title, values) in zip(
        axes, {"start": start, f"after {STEPS} steps": end, "slope of the corner's heat": slope}.items()
    ):
        ax.imshow(values, cmap="magma")
        ax.set_title(title)
        ax.set_axis_off()
    figure.savefig(Path(__file__).with_name("09_one_script_many_ranks.png"), dpi=80)
