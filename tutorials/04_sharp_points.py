# %% [markdown]
# # Sharp points and conventions
#
# Where a function has a kink, an infinite slope or a hole, calculus gives no derivative, and programs give NaN. This tutorial
# visits the points where it matters in practice: kinks, distances of coinciding points, branches that were not taken, products
# with zeros, equal eigenvalues, and gradients of complex numbers. Every convention is a row of `conventions.md`.

# %%
from pathlib import Path

import matplotlib
import numpy as np

import polyad as pa

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  after the choice of the drawing engine

rng = np.random.default_rng(0)
figure, ((kinks, springs, entropies), (products, spectra, phases)) = plt.subplots(2, 3, figsize=(13, 7.5))

# %% [markdown]
# ## 1. Kinks
#
# At a kink the derivative is a choice. `abs` has slope 0 at 0; equal arguments of `maximum` share, half each. `relu` and
# `maximum(x, 0)` are the same function, with different choices at the one point where there is one: 0 and ½.

# %%
x = np.linspace(-1, 1, 201)
for f, label in ((pa.abs, "abs"), (pa.relu, "relu"), (lambda x: pa.maximum(x, 0.0), "maximum(x, 0)")):
    slope = pa.vmap(pa.grad(f))(x)
    kinks.plot(x, slope, label=f"{label}: {slope[100]:g} at 0", drawstyle="steps-mid", alpha=0.7)
    kinks.plot(0, slope[100], "k.")
kinks.legend(loc="center right", fontsize=8)
kinks.set(title="slopes at a kink", xlabel="x")

# the shares add up to what one argument would get: a maximum of equal numbers has one unit of derivative to give
assert np.array_equal(pa.grad(pa.max)(np.array([2.0, 2.0, 1.0, 2.0])), [1 / 3, 1 / 3, 0, 1 / 3])
# forward and reverse mode make the same choice, so that a Jacobian does not depend on how it was computed
kinked = lambda x: pa.clip(pa.sort(x) * pa.sign(x), -1.0, 1.0)
assert np.array_equal(pa.jacfwd(kinked)(np.array([1.0, -2.0, 0.0])), pa.jacrev(kinked)(np.array([1.0, -2.0, 0.0])))

# %% [markdown]
# ## 2. Distances of points that coincide
#
# Springs between points: the energy is a function of distances, and the slope of a distance at 0 is not defined. As 0 it is of
# use: two points in the same place exert no force, and the others are pulled as they should be. NaN in one place ruins all.


# %%
def energy(points, rest=0.5):
    distance = np.sqrt(np.sum((points[:, None] - points[None, :]) ** 2, axis=-1))  # each point's distance to itself is 0
    return np.sum((distance - rest) ** 2) / 2


points = rng.normal(size=(12, 2))
points[1] = points[0]  # two in one place
force = -pa.grad(energy)(points)
assert np.all(np.isfinite(force)) and np.allclose(force[0], force[1])
step = np.zeros_like(points)
step[5, 0] = 1e-6
assert np.isclose(force[5, 0], (energy(points - step) - energy(points + step)) / 2e-6)

path = [points]
for _ in range(60):
    path.append(path[-1] - 0.02 * pa.grad(energy)(path[-1]))
path = np.array(path)
assert energy(path[-1]) < 0.3 * energy(points)
springs.plot(path[:, :, 0], path[:, :, 1], linewidth=1)
springs.plot(*path[-1].T, "k.")
springs.set(title="springs at rest; two began in one place")

# %% [markdown]
# ## 3. The branch that was not taken
#
# `where` computes both branches. The derivative must not care what the other one is: its cotangent is zero, and zero it stays,
# even if it meets an infinite slope or a NaN on its way. So the entropy of a distribution with empty cells can be written as it
# is defined, without the usual second `where` inside.


# %%
def entropy(p):
    return -np.sum(np.where(p > 0, p * np.log(p), 0.0))


def energy_of_cells(p):
    return np.sum(p * np.arange(6.0))


p = np.array([0.5, 0.25, 0.25, 0.0, 0.0, 0.0])
with np.errstate(divide="ignore", invalid="ignore"):  # NumPy warns of log(0), as it does without derivatives
    pull = pa.grad(entropy)(p)
    curvature = pa.hessian(entropy)(p)
assert np.allclose(pull[:3], -np.log(p[:3]) - 1) and np.array_equal(pull[3:], [0, 0, 0])
assert np.allclose(np.diag(curvature)[:3], -1 / p[:3]) and np.all(np.isfinite(curvature))
# one operation says the same, and warns of nothing
assert np.allclose(pa.grad(lambda p: -pa.sum(pa.xlogy(p, p)))(p), pull)

# the free energy's minimum is Boltzmann's distribution, found from the logits; cells with -inf stay empty
free = lambda logits: energy_of_cells(pa.softmax(logits)) + pa.sum(pa.xlogy(pa.softmax(logits), pa.softmax(logits)))
logits = np.array([0.0, 0.0, 0.0, 0.0, 0.0, -np.inf])
for _ in range(200):
    logits = logits - 2.0 * pa.grad(free)(logits)
found, right = pa.softmax(logits), np.exp(-np.arange(5.0)) / np.sum(np.exp(-np.arange(5.0)))
assert np.allclose(found[:5], right, atol=1e-3) and found[5] == 0
entropies.bar(np.arange(6), found, label="found")
entropies.plot(np.arange(5), right, "ko", label="Boltzmann")
entropies.legend()
entropies.set(title="least free energy, one cell closed", xlabel="cell")

# %% [markdown]
# ## 4. Products with zeros
#
# The derivative of a product by one factor is the product of the others. Dividing the product by the factor is faster to write
# and wrong at zero. `prod` and `cumprod` divide by nothing, to second order too.

# %%
survival = lambda hazard: np.cumprod(1 - hazard)  # the chance to live through each of some years
hazard = np.array([0.1, 0.3, 1.0, 0.2, 0.4])  # nobody lives through the third
by_hazard = pa.jacobian(survival)(hazard)
assert np.isclose(by_hazard[2, 2], -0.9 * 0.7) and np.isclose(by_hazard[4, 2], -0.9 * 0.7 * 0.8 * 0.6)
assert np.allclose(pa.hessian(lambda h: survival(h)[-1])(hazard)[2, 3], 0.9 * 0.7 * 0.6)
products.imshow(by_hazard, cmap="RdBu", vmin=-1, vmax=1)
products.set(title="survival of year i by the hazard of year j", xlabel="j", ylabel="i")

# %% [markdown]
# ## 5. Equal eigenvalues
#
# Where eigenvalues cross, each one has a kink, but sums over those that meet have none. Derivatives of `eigh` are finite there:
# right for such sums, and one side of the kink for each eigenvalue alone.


# %%
def levels(t):
    matrix = np.array([[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 0.0]])
    return np.linalg.eigvalsh(t * matrix + np.diag([0.0, 0.0, 0.5]))


ts = np.linspace(-1, 1, 101)
slopes = pa.vmap(pa.jacfwd(levels))(ts)
assert np.all(np.isfinite(slopes)) and np.allclose(np.sum(slopes, axis=1), 0)
spectra.plot(ts, pa.vmap(levels)(ts))
spectra.plot(ts, slopes, ":")
spectra.set(title="levels and their slopes (dotted)", xlabel="t")

# %% [markdown]
# ## 6. Complex numbers
#
# The gradient of a real function of z = x + iy is ∂f/∂x - i ∂f/∂y; one descends along its conjugate. Phase retrieval: find a
# signal from the absolute values of its Fourier transform, where `abs` has its sharp point at 0.


# %%
def loss(z, measured):
    return np.mean((np.abs(np.fft.fft(z, 64)) - measured) ** 2)


signal = rng.normal(size=16) + 1j * rng.normal(size=16)
measured = np.abs(np.fft.fft(signal, 64))
z, losses = np.zeros(16, complex), []
assert np.array_equal(pa.grad(loss)(z, measured), z)  # at 0 all is symmetric: slope 0, not NaN
z = signal + 0.5 * (rng.normal(size=16) + 1j * rng.normal(size=16))
for _ in range(300):
    value, gradient = pa.value_and_grad(loss)(z, measured)
    losses.append(value)
    z = z - 0.2 * np.conj(gradient)
assert losses[-1] < 1e-2 * losses[0]
step = 1e-6j
numerical = (loss(z + step * np.eye(16)[3], measured) - loss(z - step * np.eye(16)[3], measured)) / 2e-6
assert np.isclose(-pa.grad(loss)(z, measured)[3].imag, numerical, atol=1e-8)
# of a holomorphic function, the Jacobian is its complex derivative
assert np.isclose(pa.derivative(lambda z: pa.exp(z) * z)(1 + 2j), np.exp(1 + 2j) * (2 + 2j))
phases.semilogy(losses)
phases.set(title="phase retrieval", xlabel="step", ylabel="loss")

# %%
figure.tight_layout()
figure.savefig(Path(__file__).with_name("04_sharp_points.png"), dpi=100)
print("finite where a finite derivative exists, and the same choice in every mode where none does")
