# %% [markdown]
# # Rules of your own
#
# polyad differentiates what is written in its operations. This tutorial is about operations of your own: a formula with its
# partial derivatives, a solver that must not be differentiated step by step, an algorithm with several results, an array type
# with a shorter way. Each rule is a few lines, and then holds everywhere: in both modes, at every order, in `vmap`, in programs
# and compiled code. Rules for whole functions, and for what reverse mode keeps, are in `08_functions_that_know_better.py`.
#
# | what you have | what you write |
# |---|---|
# | an elementwise formula and its partial derivatives | `@elementwise(partials=[…])`, in one line `scalar_rule` |
# | its expression in C, instead of a kernel | `@elementwise(partials=[…], c="…")` |
# | an algorithm on arrays, with one or several results | `@opaque()` and its rules |
# | an array type for which there is a shorter way | `@op.vjp.method`; back to the long one: `opt_out` |

# %%
import math
import time
from pathlib import Path

import matplotlib
import numpy as np

import polyad as pa
from polyad.testing import check_array_type, check_rule

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  after the choice of the drawing engine

rng = np.random.default_rng(0)
figure, axes = plt.subplots(1, 4, figsize=(17, 4))


# %% [markdown]
# A rule is worth as much as its check. `check_grads` compares with finite differences, in both modes, mixed, and to second
# order. What follows from the rule, second derivatives and lanes and compiled code, we hold against each other. For
# operations and array types, `check_rule` and `check_array_type` go through all that theirs say.


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
# ## 1. A card with partials: a fit that forgives
#
# Huber's loss is quadratic for small residuals and straight beyond `width`, so that outliers do not pull the line. Value and
# derivatives are one formula each. A card takes the docstring, one partial derivative for each argument (functions of the
# value y and the arguments), and a method that computes it. Broadcasting, both modes, lanes and traces follow.


# %%
@pa.elementwise(partials=[
    lambda y, r, width: np.clip(r, -width, width),
    lambda y, r, width: np.maximum(np.abs(r) - width, 0.0),
])  # fmt: skip
def huber(r, width, /):
    """Half the square of r up to ±width, from there on straight."""


@huber.method
def huber_numpy(r: pa.HostArray, width: pa.HostArray, /):
    size = np.abs(r)
    return np.where(size <= width, 0.5 * size**2, width * (size - 0.5 * width))


check_rule(huber, np.array([-2.0, 0.3, 1.7]), 0.5)

x = np.linspace(0, 1, 40)
y = 1.0 + 2.0 * x + 0.05 * rng.normal(size=x.size)
y[5::7] += 2.0
away = lambda line: line[0] + line[1] * x - y
robust = lambda line: np.sum(huber(away(line), 0.1))
holds_everywhere(robust, np.array([1.5, 1.5]))
assert abs(pa.grad(huber, argnums=1)(3.0, 0.5) - 2.5) < 1e-12  # by the width, too

line = squares = np.polynomial.polynomial.polyfit(x, y, 1)
for _ in range(800):
    line = line - 0.02 * pa.grad(robust)(line)
assert np.linalg.norm(pa.grad(robust)(line)) < 1e-8
assert np.abs(line - [1.0, 2.0]).max() < 0.1 < np.abs(squares - [1.0, 2.0]).max()

axes[0].plot(x, y, "k.")
axes[0].plot(x, squares[0] + squares[1] * x, "0.6", label="least squares")
axes[0].plot(x, line[0] + line[1] * x, "C1", label="Huber")
axes[0].legend()
axes[0].set(title="1. a line, in spite of outliers")

# %% [markdown]
# With a C expression the card needs no kernel: it is compiled at the first call, broadcasts and promotes as NumPy's functions
# do, and in compiled programs it is a part of their loops. `{0}` and `{1}` are the arrays, and words before a parenthesis are
# functions of C's math library. What is no elementwise expression says its loops by `pa.lowering`.


# %%
@pa.elementwise(partials=[
    lambda y, r, width: width * np.tanh(r / width),
    lambda y, r, width: 2 * y / width - r * np.tanh(r / width),
], c="{1} * {1} * log(cosh({0} / {1}))")  # fmt: skip
def smooth_huber(r, width, /):
    """width² log cosh(r / width): half the square of small r, straight for large ones."""


check_rule(smooth_huber, np.array([-2.0, 0.3, 1.7]), 0.5)
gradient = pa.jit(pa.grad(lambda line: np.sum(smooth_huber(away(line), 0.1))))
smooth_line = squares
for _ in range(800):
    smooth_line = smooth_line - 0.02 * gradient(smooth_line)
assert np.abs(smooth_line - line).max() < 0.05

# %% [markdown]
# ## 2. One line: Kepler's equation
#
# A planet's eccentric anomaly E solves E - e sin E = M. The solver is a loop over Python's floats, and nothing polyad could
# follow; the derivatives stand in every textbook, written with the solution E itself. `scalar_rule` makes an operation of
# them.


# %%
def anomaly(M, e):
    E = M if e < 0.8 else math.pi
    while True:
        step = (E - e * math.sin(E) - M) / (1 - e * math.cos(E))
        E -= step
        if abs(step) < 1e-14 * max(1.0, abs(E)):
            return E


kepler = pa.scalar_rule(anomaly, lambda E, M, e: 1 / (1 - e * np.cos(E)), lambda E, M, e: np.sin(E) / (1 - e * np.cos(E)))


def places(orbit, days):
    """Where the planet is, shape (days, 2). orbit: half the long axis, eccentricity, period in days."""
    a, e, period = orbit
    E = kepler(2 * np.pi * days / period, e)
    return np.stack([a * (np.cos(E) - e), a * np.sqrt(1 - e**2) * np.sin(E)], axis=-1)


days = np.linspace(0, 60, 25)
truth = np.array([1.5, 0.6, 88.0])
seen = places(truth, days) + 0.01 * rng.normal(size=(25, 2))
missed = lambda orbit: np.ravel(places(orbit, days) - seen)
first_guess = np.array([1.3, 0.4, 95.0])
holds_everywhere(lambda orbit: np.sum(missed(orbit) ** 2), first_guess)

orbit = first_guess
for _ in range(10):  # Gauss and Newton: three columns, hence forward mode
    orbit = orbit - np.linalg.lstsq(pa.jacfwd(missed)(orbit), missed(orbit))[0]
assert np.allclose(orbit, truth, rtol=0.02)

year = np.linspace(0, 88, 300)
axes[1].plot(*places(first_guess, year).T, "0.6", label="first guess")
axes[1].plot(*places(orbit, year).T, "C1", label="found")
axes[1].plot(*seen.T, "k.", label="seen")
axes[1].legend()
axes[1].set(title="2. an orbit from 60 days", aspect="equal")

# %% [markdown]
# ## 3. An algorithm with two results: what is in the sample?
#
# A measured spectrum is a mixture of known ones: p ≥ 0, Σp = 1. The nearest such point is found by sorting; it is v minus a
# level, cut off at zero. `opaque` is a card about which nothing is known but what you say: here that the results have these
# shapes, how tangents go through (a tuple for the two results; the reverse rule is its transpose), and that lanes may just
# come along as axes before the last.


# %%
@pa.opaque()
def simplex(v, /):
    """The nearest point without negative entries and of sum 1, along the last axis, and the level subtracted from v for it."""


@simplex.method
def simplex_numpy(v: pa.HostArray, /):
    falling = -np.sort(-v, axis=-1)
    level = np.max((np.cumsum(falling, axis=-1) - 1) / np.arange(1, v.shape[-1] + 1), axis=-1)
    return np.maximum(v - level[..., None], 0), level


@simplex.rule("shape")
def simplex_shape(v):
    return pa.Aval(v.shape, v.dtype), pa.Aval(v.shape[:-1], v.dtype)


@simplex.rule("jvp")
def simplex_jvp(tangents, y, v):
    (dv,), (p, _) = tangents, y
    inside = np.astype(p > 0, dv.dtype)
    dlevel = np.sum(inside * dv, axis=-1) / np.sum(inside, axis=-1)
    return inside * (dv - dlevel[..., None]), dlevel


@simplex.rule("batch")
def simplex_batch(size, xs, batched):
    return simplex(*xs)


check_rule(simplex, rng.normal(size=(2, 5)))

channels = np.linspace(0, 1, 60)
library = np.exp(-((channels[:, None] - np.linspace(0.1, 0.9, 6)) ** 2) / 0.02)
share = np.array([0.0, 0.55, 0.0, 0.0, 0.35, 0.1])
spectrum = library @ share + 0.02 * rng.normal(size=60)


def unmixed(spectrum, steps=100):
    """Shares of the substances: gradient steps, each followed by the projection."""
    p = np.ones(6) / 6
    for _ in range(steps):
        p, level = simplex(p - 0.05 * (library.T @ (library @ p - spectrum)))
    return p, level


holds_everywhere(lambda v: np.sum((library @ simplex(v)[0]) ** 2) + simplex(v)[1] ** 2, rng.normal(size=6))
shares, _ = unmixed(spectrum)
assert np.abs(shares - share).max() < 0.05
influence = pa.jacrev(lambda s: unmixed(s)[0])(spectrum)  # how each channel acts on each share
assert np.abs(np.sum(influence, axis=0)).max() < 1e-12  # the sum stays 1
assert np.allclose(pa.vmap(unmixed)(np.stack([spectrum, 2 * spectrum]))[0][0], shares)

axes[2].plot(channels, spectrum, "k.", ms=3, label="measured")
for k, p in enumerate(shares):
    axes[2].fill_between(channels, p * library[:, k], alpha=0.4)
axes[2].plot(channels, influence[1], "C1", label="influence on the second share")
axes[2].legend(fontsize=7)
axes[2].set(title="3. a mixture taken apart")

# %% [markdown]
# ## 4. An array type and its rule: what conducts where?
#
# A rod is heated; -(k u')' = s is a tridiagonal system for the temperatures u. The type is a class with its diagonals, and a
# method of `solve`: elimination, a number at a time. That alone can be differentiated, step by step. But the derivative of a
# solution is another solution: for uᵀ-cotangents c, w = A⁻ᵀ c is the one of the right-hand side, and -w uᵀ that of A, of
# which a tridiagonal matrix has three diagonals. A rule that names the type makes of each such call one step.


# %%
@pa.array_type(leaves=("lower", "main", "upper"), structure_ndim=2, linear=True)
class Tridiagonal(pa.Container):
    """A matrix of three diagonals: `main` of length n, `lower` and `upper` of length n - 1."""

    def __init__(self, lower, main, upper):
        self.lower, self.main, self.upper = lower, main, upper

    shape = property(lambda self: (*self.main.shape, self.main.shape[-1]))
    dtype = property(lambda self: self.main.dtype)
    T = property(lambda self: Tridiagonal(self.upper, self.main, self.lower))

    def dense(self):
        return pa.diag(self.lower, k=-1) + pa.diag(self.main) + pa.diag(self.upper, k=1)


@pa.linalg.solve.method
def solve_tridiagonal(a: Tridiagonal, b: pa.Array, /):
    pivot, ratios, x = a.main[0], [], [b[0] / a.main[0]]
    for i in range(1, len(b)):
        ratios.append(a.upper[i - 1] / pivot)
        pivot = a.main[i] - a.lower[i - 1] * ratios[-1]
        x.append((b[i] - a.lower[i - 1] * x[-1]) / pivot)
    for i in reversed(range(len(ratios))):
        x[i] = x[i] - ratios[i] * x[i + 1]
    return pa.stack(x)


@pa.linalg.solve.vjp.method
def solve_vjp_tridiagonal(ct, x, a: Tridiagonal, b: pa.Array, /):
    w = pa.linalg.solve(a.T, ct)
    along = lambda rows: rows if rows.ndim == 1 else np.sum(rows, axis=1)  # b may have several columns
    return Tridiagonal(-along(w[1:] * x[:-1]), -along(w * x), -along(w[:-1] * x[1:])), w


check_array_type(lambda rng: Tridiagonal(rng.normal(size=3), 4 + rng.uniform(size=4), rng.normal(size=3)))

n = 30
middles = (np.arange(n + 1) + 0.5) / (n + 1)
points = np.arange(1, n + 1) / (n + 1)


def rod(log_k):
    k = np.exp(log_k) * (n + 1) ** 2
    return Tridiagonal(-k[1:-1], k[:-1] + k[1:], -k[1:-1])


def temperatures(log_k, heating):
    return pa.linalg.solve(rod(log_k), heating)


heatings = np.stack([np.exp(-((points - c) ** 2) / 0.01) for c in (0.2, 0.5, 0.8)])
conducts = np.log(1.0 - 0.7 * np.exp(-((middles - 0.65) ** 2) / 0.01))  # a weak place
measured = pa.vmap(temperatures, in_axes=(None, 0))(conducts, heatings) + 1e-4 * rng.normal(size=(3, n))


def misfit(log_k):
    away = pa.vmap(temperatures, in_axes=(None, 0))(log_k, heatings) - measured
    return np.sum(away**2) + 1e-6 * np.sum(np.diff(log_k) ** 2)


flat = np.zeros(n + 1)
holds_everywhere(lambda log_k: np.sum(temperatures(log_k, heatings[0]) ** 2), conducts)
matrix_slope = pa.grad(lambda a: np.sum(pa.linalg.solve(a, heatings[0])))(rod(flat))
assert type(matrix_slope) is Tridiagonal  # the cotangent of a Tridiagonal is one
print("the rule:", pa.which(pa.linalg.solve.vjp, Tridiagonal, np.ndarray))

log_k, damping = flat, 1e-4
for _ in range(12):  # Newton's method, damped
    change = np.linalg.solve(pa.hessian(misfit)(log_k) + damping * np.eye(n + 1), pa.grad(misfit)(log_k))
    if misfit(log_k - change) < misfit(log_k):
        log_k, damping = log_k - change, damping / 4
    else:
        damping *= 16
assert np.abs(log_k - conducts).max() < 0.4 and misfit(log_k) < 1e-2 * misfit(flat)

axes[3].plot(middles, np.exp(conducts), "k", lw=0.8, label="truth")
axes[3].plot(middles, np.exp(log_k), "C1", label="found")
axes[3].legend()
axes[3].set(title="4. where the rod conducts badly", xlabel="place")


# %% [markdown]
# `opt_out` is the way back: no rule for these types, the method itself is differentiated. The numbers are the same.


# %%
def fastest(f, times=5):
    """Seconds of the fastest of several calls."""
    took = []
    for _ in range(times):
        start = time.perf_counter()
        f()
        took.append(time.perf_counter() - start)
    return min(took)


one_heating = lambda log_k: np.sum(temperatures(log_k, heatings[0]) ** 2)
with_rule = pa.grad(one_heating)(conducts), fastest(lambda: pa.grad(one_heating)(conducts))
pa.opt_out(pa.linalg.solve, Tridiagonal, pa.Array)
without = pa.grad(one_heating)(conducts), fastest(lambda: pa.grad(one_heating)(conducts))
assert np.allclose(with_rule[0], without[0])
print(f"gradient of a solution: {1e3 * with_rule[1]:.2f} ms by the rule, {1e3 * without[1]:.2f} ms through the elimination")

# %%
figure.tight_layout()
figure.savefig(Path(__file__).with_name("03_rules_of_your_own.png"), dpi=120)
print(f"a rod found by rules of your own, to {np.abs(log_k - conducts).max():.2f} in log k")
