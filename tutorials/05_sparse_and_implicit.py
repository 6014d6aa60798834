# %% [markdown]
# # Hessians, implicit functions and sparse Jacobians
#
# Three problems whose derivative matrices are large but mostly zero, or stand behind a solver:
#
# 1. a noisy profile, smoothed without blurring its edges: Newton's method with a sparse Hessian;
# 2. bundle adjustment: cameras and points in space from their images, by Levenberg and Marquardt's method with a sparse
#    Jacobian;
# 3. the parameters of a nonlinear boundary value problem, fitted to measurements of its solution: the solver is differentiated
#    by the implicit function theorem, not by going through its iterations.
#
# The functions are plain NumPy. What polyad adds is found from them: `sparse_jacobian` and `sparse_hessian` run the function
# once to see which result depends on which input, colour the columns so that those of one colour share no row, and need one
# derivative pass per colour.

# %%
from pathlib import Path

import matplotlib
import numpy as np
from scipy.optimize import minimize
from scipy.sparse import diags_array
from scipy.sparse.linalg import spsolve

import polyad as pa

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  after the choice of the drawing engine

rng = np.random.default_rng(0)
figure, axes = plt.subplots(2, 3, figsize=(13, 7.5))

# %% [markdown]
# ## 1. Smoothing with edges: a sparse Hessian
#
# The energy pulls the profile `u` towards the data and punishes differences of neighbours, large ones less than a square would.
# Each element meets its neighbours only, so the Hessian has three diagonals. A star colouring reads them off from three
# products with the Hessian, whatever the length of the profile.


# %%
def energy(u, data, weight=0.6, edge=0.01):
    steps = np.diff(u)
    return 0.5 * np.sum((u - data) ** 2) + weight * np.sum(np.sqrt(steps**2 + edge**2))


place = np.linspace(0, 1, 2000)
profile = np.where(place < 0.3, 0.2, np.where(place < 0.6, 1.0, 0.5)) + 0.3 * place
data = profile + 0.1 * rng.normal(size=place.size)

hessian = pa.sparse_hessian(energy).plan(data, data)  # pattern and colours, once
print(hessian)
assert hessian.passes == 3 and hessian.pattern.nnz == 3 * 2000 - 2

u, slope, steps = data, pa.grad(energy), 0
while steps < 30:
    g = slope(u, data)
    if np.linalg.norm(g) < 1e-9:
        break
    change = spsolve(hessian(u, data).tocsc(), g)
    t = 1.0
    while energy(u - t * change, data) > energy(u, data):
        t /= 2
    u, steps = u - t * change, steps + 1
print(f"Newton's method: {steps} steps, |gradient| = {np.linalg.norm(g):.1e}")
assert np.linalg.norm(g) < 1e-9
assert np.mean((u - profile) ** 2) < 0.05 * np.mean((data - profile) ** 2)

few = slice(0, 12)  # on a part of the profile, the dense Hessian says the same
dense = pa.hessian(energy)(u[few], data[few])
assert np.allclose(pa.sparse_hessian(energy)(u[few], data[few]).toarray(), dense)

axes[0, 0].plot(place, data, ".", ms=1, color="0.7", label="data")
axes[0, 0].plot(place, profile, "k", lw=0.8, label="truth")
axes[0, 0].plot(place, u, "C1", label="smoothed")
axes[0, 0].legend()
axes[0, 0].set(title="1. a profile, smoothed", xlabel="place")
axes[1, 0].spy(pa.hessian_sparsity(energy)(u[:40], data[:40]), markersize=3)
axes[1, 0].set(title="its Hessian: 3 colours")

# %% [markdown]
# ## 2. Bundle adjustment: a sparse Jacobian
#
# Cameras look at points; from the images alone, both are to be found. A camera has six numbers, a rotation vector and a
# translation; a point has three. Each observation depends on one camera and one point, and its two coordinates on one of the
# two translations across: a row of the Jacobian has eight entries out of hundreds, and eight passes suffice, however many
# cameras and points there are.


# %%
def rotated(w, p):
    """Points p turned by rotation vectors w (Rodrigues' formula)."""
    angle = np.sqrt(np.sum(w**2, axis=-1, keepdims=True))
    once = np.cross(w, p)
    return p + np.sinc(angle / np.pi) * once + 0.5 * np.sinc(angle / (2 * np.pi)) ** 2 * np.cross(w, once)


def project(cameras, points, seen):
    """Images of the points, shape (observations, 2). seen: numbers of the camera and of the point of each observation."""
    camera, point = cameras[seen[0]], points[seen[1]]
    moved = rotated(camera[:, :3], point) + camera[:, 3:]
    return moved[:, :2] / moved[:, 2:]


def misfit(cameras, points, seen, images):
    return project(cameras, points, seen) - images


angles = np.linspace(-0.6, 0.6, 10)
cameras = np.stack([0.1 * np.sin(3 * angles), angles, 0 * angles, 0 * angles, 0.2 * np.cos(5 * angles), 6 + angles**2], axis=1)
height = rng.uniform(-1, 1, 150)
turn = rng.uniform(0, 2 * np.pi, 150)
points = np.stack([(1.2 - 0.5 * height**2) * np.cos(turn), height, (1.2 - 0.5 * height**2) * np.sin(turn)], axis=1)  # a vase
seen = np.nonzero(rng.random((10, 150)) < 0.7)
noise = 1e-3
images = project(cameras, points, seen) + noise * rng.normal(size=(seen[0].size, 2))

first = cameras + 0.05 * rng.normal(size=cameras.shape), points + 0.2 * rng.normal(size=points.shape)
jacobian = pa.sparse_jacobian(misfit, argnums=(0, 1)).plan(*first, seen, images)
print(jacobian)
assert jacobian.passes == 8 and jacobian.pattern.shape == (2 * seen[0].size, 6 * 10 + 3 * 150)

guess, damping, errors = first, 1e-3, []
for _ in range(40):
    r = np.ravel(misfit(*guess, seen, images))
    errors.append(np.sqrt(np.mean(r**2)))
    matrix = jacobian(*guess, seen, images)
    normal, downhill = (matrix.T @ matrix).tocsc(), -matrix.T @ r
    while True:  # Levenberg and Marquardt: more damping until the step improves
        step = spsolve(normal + damping * diags_array(normal.diagonal() + 1e-9), downhill)
        moved = guess[0] + step[:60].reshape(10, 6), guess[1] + step[60:].reshape(150, 3)
        better = np.sqrt(np.mean(misfit(*moved, seen, images) ** 2)) < errors[-1]
        if better or damping > 1e6:
            break
        damping *= 10
    if not better:
        break
    guess, damping = moved, damping / 10
    if np.linalg.norm(step) < 1e-6:
        break
print(f"bundle adjustment: error {errors[0]:.4f} -> {errors[-1]:.6f} in {len(errors)} steps, noise {noise}")
assert errors[-1] < 1.05 * noise  # below the noise, since there are parameters to fit

# a product with the matrix is the directional derivative: here, all points moved along (1, 1, 1)
along = jacobian(*guess, seen, images) @ np.concatenate([np.zeros(60), np.ones(450)])
direct = pa.jvp(lambda points: misfit(guess[0], points, seen, images), (guess[1],), (np.ones((150, 3)),))[1]
assert np.allclose(along, np.ravel(direct))

axes[0, 1].plot(*first[1][:, :2].T, ".", color="0.8", label="first guess")
axes[0, 1].plot(*points[:, :2].T, "o", mfc="none", color="0.4", label="truth")
axes[0, 1].plot(*guess[1][:, :2].T, ".", color="C1", label="found (in a frame of its own)")
axes[0, 1].legend(fontsize=7)
axes[0, 1].set(title="2. points from ten images", aspect="equal")
axes[1, 1].spy(jacobian.pattern[:400], markersize=0.3, aspect="auto")
axes[1, 1].set(title="its Jacobian (400 rows): 8 colours")

# %% [markdown]
# ## 3. A boundary value problem: the implicit function theorem
#
# A rod is heated in the middle and loses heat by radiation: -u'' + r u⁴ = s(x), with u = 1 at both ends. Newton's method finds
# the temperatures; its Jacobian is sparse again. We measure some temperatures and ask for r and the strength of the heater.
#
# The derivative of the solution needs no derivative of Newton's method. From F(u(θ), θ) = 0 follows du/dθ = -F_u⁻¹ F_θ, hence
# a cotangent c of u gives -(F_u⁻ᵀ c) F_θ: one linear system with the transposed matrix, and one `vjp`. `custom_vjp` says so.

# %%
x = np.linspace(0, 1, 202)
h = x[1] - x[0]
heater = np.exp(-((x[1:-1] - 0.4) ** 2) / 0.01)


def balance(u, theta):
    """What is left of the equation at the inner points; theta: logarithms of r and the strength."""
    r, s = np.exp(theta)
    ends = np.ones(1)
    full = np.concatenate([ends, u, ends])
    return -(full[2:] - 2 * u + full[:-2]) / h**2 + r * u**4 - s * heater


matrix_of = pa.sparse_jacobian(balance).plan(np.ones(200), np.zeros(2))
assert matrix_of.passes == 3


@pa.custom_vjp
def temperatures(theta):
    u = np.ones(200)
    for _ in range(50):
        step = spsolve(matrix_of(u, theta).tocsc(), balance(u, theta))
        u = u - step
        if np.linalg.norm(step) < 1e-12:
            break
    return u


def forward(theta):
    u = temperatures(theta)
    return u, (u, theta)


def backward(saved, ct):
    u, theta = saved
    adjoint = spsolve(matrix_of(u, theta).T.tocsc(), ct)
    _, pull = pa.vjp(lambda t: balance(u, t), theta)
    return (-pull(adjoint)[0],)


temperatures.defvjp(forward, backward)

truth = np.log([0.6, 40.0])
sensors = np.arange(5, 200, 10)
measured = temperatures(truth)[sensors] + 0.002 * rng.normal(size=sensors.size)


def loss(theta):
    return np.sum((temperatures(theta)[sensors] - measured) ** 2)


start = np.zeros(2)
gradient = pa.grad(loss)(start)
numerical = [(loss(start + e) - loss(start - e)) / 2e-5 for e in 1e-5 * np.eye(2)]
assert np.allclose(gradient, numerical, rtol=1e-5)

found = minimize(pa.value_and_grad(loss), start, jac=True, method="BFGS")
print("parameters:", np.exp(found.x).round(3), "truth:", np.exp(truth).round(3))
assert np.allclose(np.exp(found.x), np.exp(truth), rtol=0.05)

axes[0, 2].plot(x[1:-1], temperatures(start), "0.7", label="first guess")
axes[0, 2].plot(x[1:-1], temperatures(found.x), "C1", label="fitted")
axes[0, 2].plot(x[1:-1][sensors], measured, "k.", label="measured")
axes[0, 2].legend()
axes[0, 2].set(title="3. a rod's temperatures, fitted", xlabel="place")

# %% [markdown]
# Where do the parameters show? The columns of du/dθ, by the theorem once more: one sparse matrix and as many right-hand
# sides as there are parameters.

# %%
fitted = temperatures(found.x)
sensitivity = -spsolve(matrix_of(fitted, found.x).tocsc(), pa.jacfwd(balance, argnums=1)(fitted, found.x))
weights = np.zeros(200)
weights[60] = 1.0
assert np.allclose(pa.grad(lambda t: temperatures(t) @ weights)(found.x), sensitivity[60])
for curve, name in zip(sensitivity.T, ("log r", "log s"), strict=True):
    axes[1, 2].plot(x[1:-1], curve, label=name)
axes[1, 2].legend()
axes[1, 2].set(title="how the parameters move it", xlabel="place")

# %%
figure.tight_layout()
figure.savefig(Path(__file__).with_name("05_sparse_and_implicit.png"), dpi=120)
