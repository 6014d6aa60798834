# %% [markdown]
# # Sharded linear algebra
#
# Arrays that are larger than one process lie in blocks on many. Programs are written as if they did not: a matrix product,
# least squares, a Poisson equation by conjugate gradients, and the derivative of its solution. Each is compared with NumPy
# and SciPy, and says what it moves.
#
#     python tutorials/12_sharded_linear_algebra.py
#     python -m polyad run -n 4 tutorials/12_sharded_linear_algebra.py

# %%
import numpy as np
import scipy.sparse
import scipy.sparse.linalg

import polyad as pa

P, w = pa.PartitionSpec, pa.world()
rng = np.random.default_rng(0)


def say(text):
    if w.rank == 0:
        print(text)


# %% [markdown]
# ## A product
#
# Rows of the first factor are cut, and the second is small: nothing moves. If both are cut along the axis that is summed
# over, each rank has an addend of the whole, which is added up where it is used. `explain_sharding` runs on shapes alone, and
# tells.

# %%
a, b = rng.normal(size=(400, 60)), rng.normal(size=(60, 20))
rows, small = pa.shard(a, P("ranks")), pa.shard(b, P())
np.testing.assert_allclose(pa.gather(rows @ small), a @ b)
say(pa.explain_sharding(lambda x, y: x @ y, rows, small))
gram = rows.T @ rows
assert gram.spec == P(None, None, partial="ranks")
np.testing.assert_allclose(pa.gather(gram), a.T @ a)
say(pa.explain_sharding(lambda x: pa.redistribute(x.T @ x, P("ranks")), rows))

# %% [markdown]
# ## Least squares
#
# Many rows, few columns: the normal equations are small, and a sum over the rows is all that the ranks have to tell each
# other.

# %%
y = a @ rng.normal(size=60) + 0.1 * rng.normal(size=400)
observed = pa.shard(y)


def fitted(rows, observed):
    gram, right = pa.gather(rows.T @ rows), pa.gather(rows.T @ observed)
    return pa.linalg.solve(gram, right)


np.testing.assert_allclose(fitted(rows, observed), np.linalg.lstsq(a, y)[0], atol=1e-10)
slope = pa.grad(lambda observed: pa.sum(fitted(rows, observed) ** 2))(observed)
np.testing.assert_allclose(pa.gather(slope), 2 * np.linalg.pinv(a).T @ np.linalg.lstsq(a, y)[0], atol=1e-10)
say(f"least squares and its gradient: each rank has {rows.block.shape[0]} of {len(a)} rows")

# %% [markdown]
# ## Poisson's equation
#
# The unknowns are a plate, cut by rows. The difference star is written with slices; those that reach over an edge between
# ranks bring the row that is missing, and nothing else. Conjugate gradients (Hestenes and Stiefel 1952) are plain Python:
# `float` of a sum is the same number on every rank, so that all of them stop at the same step.

# %%
N = 40


def minus_laplace(u):
    wide = np.pad(u, 1)
    return 4 * u - wide[:-2, 1:-1] - wide[2:, 1:-1] - wide[1:-1, :-2] - wide[1:-1, 2:]


def conjugate_gradients(apply, right, tolerance=1e-12):
    x, r = 0 * right, right
    p, rho, steps = r, float(pa.sum(r * r)), 0
    while rho > tolerance**2:
        q = apply(p)
        alpha = rho / float(pa.sum(p * q))
        x, r = x + alpha * p, r - alpha * q
        before, rho = rho, float(pa.sum(r * r))
        p, steps = r + (rho / before) * p, steps + 1
    return x, steps


source = np.zeros((N, N))
source[N // 3, N // 2] = 1.0
line = scipy.sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(N, N))
matrix = scipy.sparse.kronsum(line, line).tocsc()
right = scipy.sparse.linalg.spsolve(matrix, source.ravel()).reshape(N, N)
plate, steps = conjugate_gradients(minus_laplace, pa.shard(source))
np.testing.assert_allclose(pa.gather(plate), right, atol=1e-10)
assert plate.block.shape[0] <= -(-N // w.size)
say(f"Poisson's equation: {steps} steps, {plate.block.nbytes} bytes of each vector on this rank of {8 * N * N}")

# %% [markdown]
# ## The derivative of a solution
#
# By the implicit function theorem it is another solution, with the cotangent on the right: the matrix is symmetric. The rule
# takes Sharded arrays like any other.


# %%
@pa.custom_vjp
def solved(right):
    return conjugate_gradients(minus_laplace, right)[0]


solved.defvjp(lambda right: (solved(right), None), lambda kept, ct: (conjugate_gradients(minus_laplace, ct)[0],))
place = np.cos(np.arange(N * N)).reshape(N, N)
gradient = pa.grad(lambda source: pa.sum(solved(source) * place))(pa.shard(source))
np.testing.assert_allclose(pa.gather(gradient), scipy.sparse.linalg.spsolve(matrix, place.ravel()).reshape(N, N), atol=1e-9)
say("and its derivative: the same")
