# %% [markdown]
# # Handwritten digits on every processor
#
# A small network learns to read the 1797 handwritten digits that scikit-learn ships. The work is data parallel: each
# step cuts a batch into six shards, `pmap` runs the same function on every shard, spread over the processes of the
# job, and `psum` adds the shards' losses and gradients. The numbers are the same on one process or many.
#
#     python tutorials/01_digits.py                    one process
#     mpiexec -n 2 python tutorials/01_digits.py       two

# %%
from pathlib import Path

import matplotlib
import numpy as np
from sklearn.datasets import load_digits
from tqdm import tqdm

import polyad as pa

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  after the choice of the drawing engine

SHARDS, BATCH, EPOCHS, RATE = 6, 300, 20, 0.01
rank, ranks = pa.world().rank, pa.world().size

# %% [markdown]
# ## The data: 8×8 grey images, every process reads them all

# %%
rng = np.random.default_rng(0)
digits = load_digits()
order = rng.permutation(len(digits.target))
images, labels = digits.data[order] / 16.0, digits.target[order]
train_x, train_y, test_x, test_y = images[:1500], labels[:1500], images[1500:], labels[1500:]

# %% [markdown]
# ## The network, in plain NumPy
#
# Parameters are a dictionary; any nesting of lists, dictionaries, tuples and dataclasses would do. `OneHot` is an
# array type: multiplying by it picks the right entries without ever filling in the zeros.

# %%
params = {
    "hidden": {"w": rng.normal(size=(64, 48)) / 8.0, "b": np.zeros(48)},
    "out": {"w": rng.normal(size=(48, 10)) / 7.0, "b": np.zeros(10)},
}


def log_probabilities(params, x):
    h = np.tanh(x @ params["hidden"]["w"] + params["hidden"]["b"])
    logits = h @ params["out"]["w"] + params["out"]["b"]
    logits = logits - np.max(logits, axis=-1, keepdims=True)
    return logits - np.log(np.sum(np.exp(logits), axis=-1, keepdims=True))


def loss(params, x, y):
    """Mean negative log-likelihood of a shard, weighted so that the shards' losses add up to the batch's."""
    return -np.sum(pa.OneHot(y, 10) * log_probabilities(params, x)) / BATCH


# %% [markdown]
# ## One step: every shard its gradient, `psum` their sum
#
# The parameters are the same for all shards (`in_axes=None`), images and labels are mapped over their first axis. What
# comes out of `psum` is the same everywhere, so `out_axes=None` returns it once.


# %%
def shard_gradient(params, x, y):
    return pa.psum(pa.value_and_grad(loss)(params, x, y), "shards")


batch_gradient = pa.pmap(shard_gradient, axis_name="shards", in_axes=(None, 0, 0), out_axes=None)


def adam(params, gradient, state, step):
    """One step of Adam (Kingma and Ba, 2015), leaf by leaf."""
    mean, square = state
    mean = pa.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, gradient)
    square = pa.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, square, gradient)
    scale = RATE * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
    params = pa.tree.map(lambda p, m, s: p - scale * m / (np.sqrt(s) + 1e-8), params, mean, square)
    return params, (mean, square)


# %%
zeros = pa.tree.map(np.zeros_like, params)
state, losses = (zeros, zeros), []
epochs = tqdm(range(EPOCHS), desc=f"training on {ranks} process(es)", disable=rank != 0, mininterval=1.0)
for epoch in epochs:
    shuffled = np.random.default_rng(epoch + 1).permutation(len(train_x)).reshape(-1, SHARDS, BATCH // SHARDS)
    for shards in shuffled:
        value, gradient = batch_gradient(params, train_x[shards], train_y[shards])
        losses.append(float(value))
        params, state = adam(params, gradient, state, len(losses))
    epochs.set_postfix(loss=f"{losses[-1]:.4f}", refresh=False)

# %% [markdown]
# ## How well it reads digits it has not seen

# %%
guesses = np.argmax(log_probabilities(params, test_x), axis=-1)
accuracy = float(np.mean(guesses == test_y))
if rank == 0:
    figure, axes = plt.subplots(figsize=(6, 4))
    axes.semilogy(losses)
    axes.set(xlabel="step", ylabel="loss (nats per image)", title=f"Digits: test accuracy {accuracy:.1%}")
    figure.tight_layout()
    figure.savefig(Path(__file__).with_name("01_digits_loss.png"), dpi=120)
    for step in (0, 9, 49, len(losses) - 1):
        print(f"loss after step {step + 1:3d}: {losses[step]:.12f}")
    print(f"test accuracy: {accuracy:.4f} on {len(test_y)} images")

assert accuracy >= 0.95, f"the network reads only {accuracy:.1%} of the digits"
