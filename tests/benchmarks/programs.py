"""Whole programs under `jit` against JAX's jit of the same functions, in the same run."""

import jax
import jax.numpy as jnp
import numpy as np
from functions import chain, hvp, layers, logistic, network, normalized, rosenbrock, ten_rounds
from timing import ratio

import polyad as pa

jax.config.update("jax_enable_x64", True)


def tanh_layer(library):
    """Loss of one example of a layer."""

    def f(w, x, y):
        return library.sum((library.tanh(w @ x) - y) ** 2)

    return f


def lorenz(library, scan, steps):
    """Last state of the Lorenz system after Runge–Kutta steps of the fourth order."""

    def slope(u):
        x, y, z = u[0], u[1], u[2]
        return library.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])

    def step(u, unused):
        h = 0.01
        k1 = slope(u)
        k2 = slope(u + 0.5 * h * k1)
        k3 = slope(u + 0.5 * h * k2)
        k4 = slope(u + h * k3)
        return u + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4), None

    return lambda u: scan(step, u, None, length=steps)[0]


def mixture(library, logsumexp, gammaln):
    """Log-likelihood of a Gaussian mixture with a Wishart prior, as in ADBench: triangles of the inverse factors."""

    def f(alphas, means, log_diagonals, lower, x):
        d = x.shape[1]
        centred = x[:, None, :] - means[None, :, :]
        scaled = library.exp(log_diagonals)[None] * centred + library.einsum("kij,nkj->nki", lower, centred)
        weights = alphas + library.sum(log_diagonals, axis=1)
        terms = weights[None] - 0.5 * library.sum(scaled**2, axis=2)
        mixed = library.sum(logsumexp(terms, axis=1)) - x.shape[0] * logsumexp(alphas, axis=0)
        prior = 0.5 * (library.sum(library.exp(2.0 * log_diagonals)) + library.sum(lower**2)) - library.sum(log_diagonals)
        return mixed - 0.5 * x.shape[0] * d * np.log(2 * np.pi) - prior

    return f


def projection(library):
    """Where a camera (rotation vector, centre, focal length, principal point, two distortions) sees a point: 11 + 3 numbers."""

    def f(camera, point):
        r, c, focal, centre, k = camera[:3], camera[3:6], camera[6], camera[7:9], camera[9:11]
        x = point - c
        theta = library.sqrt(library.sum(r * r))
        cos, sin = library.cos(theta), library.sin(theta)
        w = r / theta
        cross = library.stack([w[1] * x[2] - w[2] * x[1], w[2] * x[0] - w[0] * x[2], w[0] * x[1] - w[1] * x[0]])
        turned = x * cos + cross * sin + w * (library.sum(w * x) * (1.0 - cos))
        p = turned[:2] / turned[2]
        rr = library.sum(p * p)
        return p * (1.0 + k[0] * rr + k[1] * rr * rr) * focal + centre

    return lambda u: f(u[:11], u[11:])


def work():
    """Name, our function, JAX's, arguments, reach."""
    rng = np.random.default_rng(0)
    yield "x + 1, 10 elements", lambda x: x + 1, lambda x: x + 1, (np.linspace(0, 1, 10),), 0.4
    yield "ten rounds of 0.5x+0.1 sin x, 10⁶", ten_rounds(pa), ten_rounds(jnp), (rng.normal(size=(1000, 1000)),), 1 / 6
    ours, theirs = normalized(pa, pa.softmax), normalized(jnp, jax.nn.softmax)
    yield "layer norm + softmax, 2048×1024", ours, theirs, (rng.normal(size=(2048, 1024)),), 0.4
    yield "grad, 50 rounds sin(x)·0.9+0.1", pa.grad(chain(pa)), jax.grad(chain(jnp)), (np.linspace(0, 1, 10),), 0.25
    ours, theirs = pa.grad(network(pa)), jax.grad(network(jnp))
    big = layers(rng, 784, 256, 128, 10), rng.normal(size=(128, 784)), rng.normal(size=(128, 10))
    yield "grad, network 784-256-128-10, batch 128", ours, theirs, big, 1.0
    small = layers(rng, 16, 32, 32, 4), rng.normal(size=(16, 16)), rng.normal(size=(16, 4))
    yield "grad, network 16-32-32-4, batch 16", ours, theirs, small, 0.5
    ours, theirs = hvp(pa.jvp, pa.grad)(rosenbrock(pa)), hvp(jax.jvp, jax.grad)(rosenbrock(jnp))
    yield "Hessian times vector, Rosenbrock n = 1000", ours, theirs, (rng.normal(size=1000), rng.normal(size=1000)), 0.5
    data = rng.normal(size=50) * 0.1, rng.normal(size=(200, 50)), rng.integers(0, 2, 200) * 1.0
    yield "Hessian, logistic loss d = 50, n = 200", pa.hessian(logistic(pa)), jax.hessian(logistic(jnp)), data, 1.0
    examples = rng.normal(size=(20, 30)), rng.normal(size=(256, 30)), rng.normal(size=(256, 20))
    ours = pa.vmap(pa.grad(tanh_layer(pa)), (None, 0, 0))
    theirs = jax.vmap(jax.grad(tanh_layer(jnp)), (None, 0, 0))
    yield "gradient of each example, 256 × (20×30)", ours, theirs, examples, 1.0
    start = (np.array([1.0, 1.0, 20.0]),)
    yield "Lorenz, 1000 steps by scan", lorenz(pa, pa.scan, 1000), lorenz(jnp, jax.lax.scan, 1000), start, 1.0
    ours, theirs = lorenz(pa, pa.scan, 200), lorenz(jnp, jax.lax.scan, 200)
    ours, theirs = [lambda u, f=f, library=library: library.sum(f(u)) for f, library in ((ours, pa), (theirs, jnp))]
    yield "grad, Lorenz, 200 steps by scan", pa.grad(ours), jax.grad(theirs), start, 1.0
    ours = pa.grad(mixture(pa, pa.logsumexp, pa.gammaln), (0, 1, 2, 3))
    theirs = jax.grad(mixture(jnp, jax.nn.logsumexp, jax.scipy.special.gammaln), (0, 1, 2, 3))
    lower = np.tril(rng.normal(size=(25, 10, 10)), -1)
    gmm = rng.normal(size=25), rng.normal(size=(25, 10)), 0.1 * rng.normal(size=(25, 10)), lower, rng.normal(size=(1000, 10))
    yield "grad, Gaussian mixture d = 10, K = 25, n = 1000", ours, theirs, gmm, 1.0
    seen = (rng.normal(size=(2000, 14)) * 0.1 + np.array([0.3, 0.2, 0.1, 0, 0, -5, 500, 100, 100, 0.1, 0.01, 0, 0, 0]),)
    ours, theirs = pa.vmap(pa.jacfwd(projection(pa))), jax.vmap(jax.jacfwd(projection(jnp)))
    yield "bundle adjustment, 2000 Jacobians 2×14", ours, theirs, seen, 0.5


def filtered(library, scan, solve):
    """Log-likelihood of observations by a Kalman filter."""

    def f(a, h, ys):
        def step(carry, y):
            m, s = carry
            m, s = a @ m, a @ s @ a.T + 0.1 * library.eye(4)
            t, r = h @ s @ h.T + 0.1 * library.eye(2), y - h @ m
            gain = solve(t, h @ s).T
            return (m + gain @ r, s - gain @ h @ s), r @ solve(t, r)

        return library.sum(scan(step, (library.zeros(4), library.eye(4)), ys)[1])

    return f


def attention(library, softmax):
    """Attention to what came before."""

    def f(q, k, v):
        seen = library.tril(library.ones((q.shape[-2], q.shape[-2]), dtype=bool))
        return softmax(library.where(seen, q @ library.swapaxes(k, -1, -2) / 6.0, -1e9), axis=-1) @ v

    return f


def leapfrog(library, fori_loop, grad):
    """Steps of a Hamiltonian sampler on a quartic potential."""
    force = grad(lambda q: library.sum(q**4 / 4 + q * q))

    def f(q, p):
        def step(i, state):
            q, p = state
            p = p - 0.05 * force(q)
            q = q + 0.1 * p
            return q, p - 0.05 * force(q)

        return fori_loop(0, 20, step, (q, p))

    return f


def breadth(rng):
    """Programs of the kinds that people write, each to be no slower than JAX's: as `work`."""
    normal = lambda *shape: rng.normal(size=shape)
    ours, theirs = filtered(pa, pa.scan, pa.linalg.solve), filtered(jnp, jax.lax.scan, jnp.linalg.solve)
    system = normal(4, 4) * 0.3, normal(2, 4), normal(100, 2)
    yield "Kalman filter, 100 steps", ours, theirs, system, 1.0
    yield "grad, Kalman filter, 100 steps", pa.grad(ours), jax.grad(theirs), system, 1.0
    heads = normal(4, 64, 32), normal(4, 64, 32), normal(4, 64, 32)
    ours, theirs = attention(pa, pa.softmax), attention(jnp, jax.nn.softmax)
    sums = [lambda *xs, f=f, library=library: library.sum(f(*xs) ** 2) for f, library in ((ours, pa), (theirs, jnp))]
    yield "grad, masked attention 4×64×32", pa.grad(sums[0]), jax.grad(sums[1]), heads, 1.0
    pool = lambda library: lambda x: library.max(library.reshape(x, (8, 8, 16, 2, 16, 2)), (3, 5))
    yield "2×2 max pooling, 8×8×32×32", pool(pa), pool(jnp), (normal(8, 8, 32, 32),), 1.0
    yield "row times matrix, 300", lambda x, a: x @ a, lambda x, a: x @ a, (normal(300), normal(300, 300)), 1.0
    matrices = normal(200, 3, 3) + 3 * np.eye(3)
    yield "200 inverses 3×3", pa.linalg.inv, jnp.linalg.inv, (matrices,), 1.0
    yield "solve, n = 4", pa.linalg.solve, jnp.linalg.solve, (normal(4, 4) + 8 * np.eye(4), normal(4)), 1.0
    logdet = lambda library: lambda a: library.sum(library.log(library.diagonal(library.linalg.cholesky(a))))
    spd = (lambda a: a @ a.T + np.eye(30))(normal(30, 30))
    yield "grad, log-determinant by Cholesky, n = 30", pa.grad(logdet(pa)), jax.grad(logdet(jnp)), (spd,), 1.0
    ours, theirs = leapfrog(pa, pa.fori_loop, pa.grad), leapfrog(jnp, jax.lax.fori_loop, jax.grad)
    yield "20 leapfrog steps, n = 20", ours, theirs, (normal(20), normal(20)), 1.0
    knots = np.sort(normal(50))
    yield "interpolation, 2000 places", pa.interp, jnp.interp, (normal(2000), knots, normal(50)), 1.0
    z = normal(20000) + 1j * normal(20000)
    polar = lambda library: lambda z: library.abs(z) + library.angle(z)
    yield "polar form, 20000 complex numbers", polar(pa), polar(jnp), (z,), 1.0


def compared(ours, theirs, args):
    """(our time, JAX's time) in µs, results equal."""
    mine, compiled, given = pa.jit(ours), jax.jit(theirs), jax.tree.map(jnp.asarray, args)
    mine(*args)  # the second call is compiled whatever the first one was
    results = pa.tree.leaves(mine(*args))
    for a, b in zip(results, jax.tree.leaves(compiled(*given)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)
    return ratio(lambda: mine(*args), lambda: jax.block_until_ready(compiled(*given)), repeat=15)


def rows():
    for name, ours, theirs, args, reach in (*work(), *breadth(np.random.default_rng(0))):
        yield name, "jax.jit", compared(ours, theirs, args), reach
