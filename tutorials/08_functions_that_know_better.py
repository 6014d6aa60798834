# %% [markdown]
# # Functions that know better
#
# `03_rules_of_your_own.py` gives operations and array types their rules. Here whole Python functions have theirs: a formula
# that overflows as it is written, a fixed point, a function without a useful slope. The rest is about the way back itself: a
# simulation that does not fit into memory, gradients that explode.
#
# | what you have | what you write |
# |---|---|
# | a Python function whose derivative you know better | `custom_jvp` (forward), `custom_vjp` (reverse) |
# | too little memory | `checkpoint` |
# | a gradient to be looked at or changed on its way | `grad_hook` |

# %%
import math
import tracemalloc
from pathlib import Path

import matplotlib
import numpy as np

import polyad as pa

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  after the choice of the drawing engine

rng = np.random.default_rng(0)
figure, axes = plt.subplots(1, 4, figsize=(17, 4))


# %% [markdown]
# A rule is worth as much as its check. `check_grads` compares with finite differences, in both modes, mixed, and to second
# order. What follows from the rule, second derivatives and lanes and compiled code, we hold against each other.


# %%
def holds_everywhere(f, x):
    """The derivative of f, a function of one array that returns one number, is right alone and under every transformation."""
    pa.check_grads(f, (x,))
    slope, near = pa.grad(f), np.stack([x, 1.01 * x, 0.97 * x])
    for g in (f, slope):
        np.testing.assert_allclose(pa.vmap(g)(near), np.stack([g(v) for v in near]), rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(pa.jit(g)(x), g(x), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(pa.hessian(f)(x), pa.jacrev(pa.jacfwd(f))(x), rtol=1e-7, atol=1e-9)


# %% [markdown]
# ## 1. A function that knows better: log(1 + exp x)
#
# At x = 800 this overflows as it is written: the value is infinite, and the derivative, (1/∞) · ∞, is lost. The value has a
# stable form; the derivative is the logistic function, which a `custom_jvp` says. One rule, for both modes.


# %%
def plain(x):
    return np.log(1 + np.exp(x))


@pa.custom_jvp
def log1pexp(x):
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))


@log1pexp.defjvp
def log1pexp_jvp(primals, tangents):
    (x,), (dx,) = primals, tangents
    return log1pexp(x), dx * (0.5 + 0.5 * np.tanh(0.5 * x))


holds_everywhere(lambda x: np.sum(log1pexp(x)), np.array([-40.0, -1.0, 0.0, 2.0]))
wide = np.linspace(-1000, 1000, 401)
with np.errstate(over="ignore", invalid="ignore"):
    unstable = pa.vmap(pa.grad(plain))(wide)
stable = pa.vmap(pa.grad(log1pexp))(wide)
assert unstable[-1] != 1.0 and stable[-1] == 1.0 and stable[0] == 0.0
assert pa.hessian(log1pexp)(0.0) == 0.25

axes[0].plot(wide, unstable, "C0", lw=4, label="log(1 + exp x) as written")
axes[0].plot(wide, stable, "C1", label="with its rule")
axes[0].legend()
axes[0].set(title="1. slopes: lost from x = 710 on", xlabel="x")

# %% [markdown]
# ## 2. A fixed point, without its iterations
#
# A small net at rest: x = tanh(W x + b). By the implicit function theorem, a cotangent c of x goes back by one linear system:
# u = s (I - (s W)ᵀ)⁻¹ c with the slopes s = 1 - x², whatever found x. `custom_vjp` has two parts: `forward` returns the value
# and what is to be kept, `backward` takes that and the cotangent. In forward mode, backward is transposed; for second
# derivatives it is differentiated itself, and meets `at_rest` there again.


# %%
@pa.custom_vjp
def at_rest(W, b):
    x = np.zeros_like(b)
    for _ in range(100):
        x = np.tanh(W @ x + b)
    return x


def at_rest_forward(W, b):
    x = at_rest(W, b)
    return x, (x, W)


def at_rest_backward(saved, ct):
    x, W = saved
    slopes = 1 - x**2
    u = slopes * np.linalg.solve(np.eye(len(x)) - (slopes[:, None] * W).T, ct)
    return u[:, None] * x, u


at_rest.defvjp(at_rest_forward, at_rest_backward)

W = 0.2 * rng.normal(size=(8, 8))
wanted = 0.5 * np.sin(np.arange(8))
unrest = lambda b: np.sum((at_rest(W, b) - wanted) ** 2)
holds_everywhere(unrest, rng.normal(size=8))
pa.check_grads(at_rest, (W, wanted))  # by both arguments

b = np.zeros(8)
for _ in range(10):  # Newton's method for the b at which the net rests where we want it
    b = b - np.linalg.solve(pa.jacobian(at_rest, argnums=1)(W, b), at_rest(W, b) - wanted)
assert np.allclose(at_rest(W, b), wanted)

# %% [markdown]
# ## 3. Slopes where there are none: heights in four bits
#
# A curve is to be drawn by overlapping bumps whose heights are multiples of 1/8. `round` is flat, so its derivative says
# nothing. The straight-through rule hands the cotangent on as if nothing had been rounded: a lie that trains. `check_grads`
# knows it for one.


# %%
@pa.custom_vjp
def rounded(heights):
    return np.round(8 * heights) / 8


rounded.defvjp(lambda heights: (rounded(heights), None), lambda saved, ct: (ct,))

at = np.linspace(0, 1, 200)
bumps = np.exp(-((at[:, None] - np.linspace(0, 1, 21)) ** 2) / 0.005)
curve = np.sin(7 * at) * np.exp(-at) + 0.5 * at
error = lambda heights: np.mean((bumps @ rounded(heights) - curve) ** 2)

try:
    pa.check_grads(rounded, (np.array([0.3, 0.4]),), order=1)
except AssertionError as caught:
    print("as it should:", caught)
else:
    raise AssertionError("check_grads did not notice")

exact = np.linalg.lstsq(bumps, curve, rcond=1e-3)[0]
heights = best = exact
for _ in range(300):
    heights = heights - 0.3 * pa.grad(error)(heights)
    best = min(best, heights, key=error)
errors = pa.vmap(error)(np.stack([exact, best]))
assert errors[1] < 0.5 * errors[0]
assert np.allclose(pa.jit(pa.grad(error))(exact), pa.grad(error)(exact))
assert np.allclose(pa.hessian(error)(exact), 2 / at.size * bumps.T @ bumps)  # as if nothing had been rounded
print(f"mean square error: {errors[0]:.1e} rounded, {errors[1]:.1e} trained")

axes[1].plot(at, curve, "k", lw=0.8, label="curve")
axes[1].plot(at, bumps @ rounded(exact), "C0", label="rounded")
axes[1].plot(at, bumps @ rounded(best), "C1", label="trained")
axes[1].legend()
axes[1].set(title="3. heights are multiples of 1/8")

# %% [markdown]
# ## 4. Memory: what a checkpoint forgets
#
# Reverse mode keeps what each step of a simulation computed. `checkpoint` keeps what goes into a function instead, and
# computes its inside again on the way back: once for blocks of √n steps, log n times for halves of halves. The gradient is
# the same; we measure the memory it takes.


# %%
def flow(u):
    """One step of Burgers' equation on a ring."""
    left, right = np.roll(u, 1), np.roll(u, -1)
    return u - 0.2 * u * (right - left) + 0.2 * (right - 2 * u + left)


def straight(u, steps):
    for _ in range(steps):
        u = flow(u)
    return u


def in_blocks(u, steps):
    size = math.isqrt(steps)
    block = pa.checkpoint(lambda u: straight(u, size))
    for _ in range(steps // size):
        u = block(u)
    return straight(u, steps % size)


def in_halves(u, steps):
    if steps <= 4:
        return straight(u, steps)
    for part in (steps // 2, steps - steps // 2):
        u = pa.checkpoint(lambda u, part=part: in_halves(u, part))(u)
    return u


def gradient_and_memory(run, u, steps):
    """The gradient of the last state's energy by the first one, and the most memory it took, in arrays like u."""
    energy = pa.grad(lambda u: np.sum(run(u, steps) ** 2))
    tracemalloc.start()
    slope = energy(u)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return slope, most / u.nbytes


ring = np.linspace(0, 1, 5000, endpoint=False)
wave = 1 + np.exp(-((ring - 0.3) ** 2) / 0.01)
lengths = [16, 36, 64]
memory, slopes = {}, []
for run in (straight, in_blocks, in_halves):
    found = [gradient_and_memory(run, wave, steps) for steps in lengths]
    memory[run] = [arrays for _, arrays in found]
    slopes.append(found[-1][0])
    holds_everywhere(lambda u, run=run: np.sum(run(u, 9) ** 2), wave[::500])
assert np.allclose(slopes[1], slopes[0]) and np.allclose(slopes[2], slopes[0])
assert memory[in_halves][-1] < memory[in_blocks][-1] < 0.2 * memory[straight][-1]

for run, arrays in memory.items():
    axes[2].plot(lengths, arrays, "o-", label=run.__name__.replace("_", " "))
axes[2].legend()
axes[2].set(title="4. memory of a gradient", xlabel="steps", ylabel="arrays", yscale="log")

# %% [markdown]
# ## 5. A look at the way back: gradients that explode
#
# Lorenz' weather: the derivative of the state by an earlier one grows exponentially, so the gradient of a long forecast is
# enormous and useless for descent. `grad_hook` is x itself; on the way back it gets the cotangent. The first hook looks, the
# second clips it to length 1 at each step.


# %%
def weather(rho, steps, hook=lambda ct: None):
    """States after each step, from a fixed start."""
    change = lambda s: np.stack([10 * (s[1] - s[0]), s[0] * (rho - s[2]) - s[1], s[0] * s[1] - 8 / 3 * s[2]])
    state, states = np.array([1.0, 2.0, 20.0]), []
    for _ in range(steps):
        half = state + 0.01 * change(state)
        state = pa.grad_hook(state + 0.02 * change(half), hook)
        states.append(state)
    return np.stack(states)


record = weather(28.0, 1000)
wrong = lambda rho, steps, hook=lambda ct: None: np.mean((weather(rho, steps, hook) - record[:steps]) ** 2)
holds_everywhere(lambda rho: wrong(rho[0], 10), np.array([26.0]))

sizes = []
exploded = pa.grad(wrong)(26.0, 1000, lambda ct: sizes.append(np.linalg.norm(ct)))
assert len(sizes) == 1000 and sizes[-1] > 1e6 * sizes[0]


def clip(ct):
    return ct / np.maximum(1.0, np.linalg.norm(ct))


tame = pa.grad(wrong)(26.0, 1000, clip)
assert abs(tame) < 1e-3 * abs(exploded)
lanes = pa.vmap(lambda rho: pa.grad(wrong)(rho, 100, clip))(np.array([26.0, 27.0]))  # a hook sees a lane at a time
assert np.allclose(lanes, [pa.grad(wrong)(rho, 100, clip) for rho in (26.0, 27.0)])
assert np.allclose(pa.jit(lambda rho: pa.grad(wrong)(rho, 10, clip))(26.0), pa.grad(wrong)(26.0, 10, clip))

axes[3].semilogy(np.arange(1000, 0, -1) * 0.02, sizes)
axes[3].axhline(1.0, color="C1", label="clipped to 1")
axes[3].legend()
axes[3].set(title="5. length of the cotangent of the state", xlabel="time")

# %%
figure.tight_layout()
figure.savefig(Path(__file__).with_name("08_functions_that_know_better.png"), dpi=120)
print(f"the gradient of a long forecast: {exploded:.1e} as it is, {tame:.1e} clipped")
