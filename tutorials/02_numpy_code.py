# %% [markdown]
# # NumPy code, differentiated
#
# Three programs written with NumPy alone: a curve fit, a heat equation that updates its state in place, and a principal
# component analysis. None of them knows of polyad. We take their derivatives, map them over many inputs, and ask for second
# derivatives, without changing a line.

# %%
from pathlib import Path

import matplotlib
import numpy as np

import polyad as pa

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  after the choice of the drawing engine

rng = np.random.default_rng(0)
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4))

# %% [markdown]
# ## 1. A fit by least squares
#
# `fit` solves the normal equations; `loss` measures how badly the fitted polynomial does on other points. How does that
# change with each measurement? `grad` answers for all at once, and `vmap` does it for many data sets.


# %%
def design(x, degree):
    return np.stack([x**k for k in range(degree + 1)], axis=-1)


def fit(x, y, degree=3):
    a = design(x, degree)
    return np.linalg.solve(a.T @ a, a.T @ y)


def loss(y, x, x_new, y_new):
    return np.mean((design(x_new, 3) @ fit(x, y) - y_new) ** 2)


x, x_new = np.linspace(-1, 1, 30), np.linspace(-0.9, 0.9, 17)
truth = lambda x: np.sin(3 * x)
y = truth(x) + 0.1 * rng.normal(size=x.size)
influence = pa.grad(loss)(y, x, x_new, truth(x_new))

step = 1e-6 * np.eye(x.size)[7]
numerical = (loss(y + step, x, x_new, truth(x_new)) - loss(y - step, x, x_new, truth(x_new))) / 2e-6
assert abs(influence[7] - numerical) < 1e-8

many = truth(x) + 0.1 * rng.normal(size=(100, x.size))
influences = pa.vmap(pa.grad(loss), in_axes=(0, None, None, None))(many, x, x_new, truth(x_new))
assert influences.shape == (100, 30)

curvature = pa.hessian(loss)(y, x, x_new, truth(x_new))  # the fit is linear in y, so the loss is quadratic in it
assert np.allclose(curvature, curvature.T) and np.linalg.eigvalsh(curvature).min() > -1e-12

left.bar(x, influence, width=0.05)
left.set(title="fit: influence of each measurement", xlabel="x")

# %% [markdown]
# ## 2. A heat equation, in place
#
# The state starts as a copy and is overwritten step after step, as one writes it in NumPy. Which source would have given the
# temperatures that were measured at the end? The gradient by the initial state, through all in-place updates, finds it.


# %%
def diffuse(u0, conductivity, steps=60):
    u = u0.copy()
    for _ in range(steps):
        u[1:-1] += conductivity * (u[2:] - 2 * u[1:-1] + u[:-2])
        u[0], u[-1] = u[1], u[-2]
    return u


def misfit(u0, measured):
    return np.sum((diffuse(u0, 0.3) - measured) ** 2)


source = np.exp(-((np.linspace(0, 1, 50) - 0.35) ** 2) / 0.003)
measured = diffuse(source, 0.3)
guess, step = np.zeros(50), np.zeros(50)
for _ in range(100):  # with momentum (Polyak, 1964)
    step = 0.9 * step - 0.5 * pa.grad(misfit)(guess, measured)
    guess = guess + step
assert misfit(guess, measured) < 1e-3 * misfit(np.zeros(50), measured)

# by the conductivity, one number, forward mode carries the whole state along. The buffer that is written to is a copy of
# `u0`, so `u0` is followed too, with a zero tangent: a plain array cannot hold followed numbers (NumPy's `u[0] = x` would
# have to drop the derivative; it is an error that says so)
final, rate = pa.jvp(diffuse, (source, 0.3), (np.zeros(50), 1.0))
assert np.allclose(rate, (diffuse(source, 0.3 + 1e-6) - diffuse(source, 0.3 - 1e-6)) / 2e-6, atol=1e-7)
states = pa.vmap(diffuse)(np.tile(source, (3, 1)), np.array([0.1, 0.2, 0.3]))
assert np.allclose(states[1], diffuse(source, 0.2))
# the misfit is quadratic in the source: its Hessian tells which details of the source the measurement cannot see
details = np.linalg.eigvalsh(pa.hessian(misfit)(guess, measured))
assert details[0] > -1e-12 and details[-1] > 1 and np.sum(details < 1e-3) > 20

middle.plot(source, label="source")
middle.plot(measured, label="measured")
middle.plot(guess, "--", label="found")
middle.legend()
middle.set(title="heat: the source, found by its gradient", xlabel="place")

# %% [markdown]
# ## 3. Principal components
#
# How much of the variance lies in the first component, and how does that change when a point moves? The derivative goes through
# the eigenvectors of the covariance.


# %%
def explained(points, weights):
    centred = (points - points.mean(axis=0)) * weights
    values, vectors = np.linalg.eigh(centred.T @ centred / len(points))
    first = centred @ vectors[:, -1]
    return np.sum(first**2) / np.sum(centred**2)


points = rng.normal(size=(40, 3)) @ np.diag([2.0, 1.0, 0.5]) + np.array([1.0, 0.0, -1.0])
weights = np.ones(3)
push = pa.grad(explained)(points, weights)
step = np.zeros_like(points)
step[5, 1] = 1e-5
assert abs(push[5, 1] - (explained(points + step, weights) - explained(points - step, weights)) / 2e-5) < 1e-8
without = pa.vmap(explained, in_axes=(None, 0))(points, np.ones((3, 3)) - np.eye(3))  # leave out one axis at a time
assert np.allclose(without, [explained(points, w) for w in np.ones((3, 3)) - np.eye(3)])
bend = pa.hessian(explained, argnums=1)(points, weights)
assert np.allclose(bend, bend.T)
assert np.allclose(bend @ weights, -pa.grad(explained, argnums=1)(points, weights))  # scaling all weights changes nothing

right.quiver(points[:, 0], points[:, 1], push[:, 0], push[:, 1], scale=0.3, width=0.004)
right.scatter(points[:, 0], points[:, 1], s=8)
right.set(title="PCA: where to move points for a flatter cloud")

# %%
figure.tight_layout()
figure.savefig(Path(__file__).with_name("02_numpy_code.png"), dpi=120)
print("a fit, a heat equation and a principal component analysis, differentiated")
