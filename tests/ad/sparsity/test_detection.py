"""Patterns that are found are tight: of stencils, sums, least squares, constants, sorting and solving."""

import numpy as np
import scipy.sparse as sp

import polyad as pa

rng = np.random.default_rng(5)


x6 = rng.random(6) + 0.1


def nonzero(matrix):
    return np.asarray(matrix) != 0


def exact(pattern, matrix):
    assert np.array_equal(pattern.toarray(), nonzero(np.asarray(matrix).reshape(pattern.shape)))


def test_stencils():
    line = pa.jacobian_sparsity(lambda u: u[2:] - 2 * u[1:-1] + u[:-2] + pa.exp(u[1:-1]))(np.ones(9))
    assert np.array_equal(line.toarray(), sp.diags_array([1.0, 1.0, 1.0], offsets=[0, 1, 2], shape=(7, 9)).toarray() > 0)

    def plane(u):
        v = pa.pad(u, 1)
        return 4 * u - v[2:, 1:-1] - v[:-2, 1:-1] - v[1:-1, 2:] - v[1:-1, :-2]

    exact(pa.jacobian_sparsity(plane)(np.ones((4, 5))), pa.jacfwd(plane)(np.ones((4, 5))))


def test_rosenbrock():
    f = lambda x: pa.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    x = rng.random(12)
    plan = pa.sparse_hessian(f).plan(x)
    exact(plan.pattern, pa.hessian(f)(x))
    assert plan.passes == 3 and plan.mode == "symmetric"
    np.testing.assert_allclose(plan(x).toarray(), pa.hessian(f)(x), rtol=1e-12)


def test_what_enters_linearly_has_no_second_derivative():
    f = lambda x: pa.sum(x[:3]) * 2 + x[3] * x[4] + pa.sum(np.ones((2, 6)) @ x) + x[5]
    exact(pa.hessian_sparsity(f)(x6), pa.hessian(f)(x6))
    assert pa.hessian_sparsity(f)(x6).nnz == 2


def test_bundle_adjustment():
    """Each residual depends on its camera's parameters and its point's coordinates."""
    cameras, points = rng.random((3, 6)), rng.random((5, 3))
    of_camera, of_point = np.repeat(np.arange(3), 5), np.tile(np.arange(5), 3)

    def residuals(cameras, points):
        def project(camera, point):
            moved = point + pa.cross(camera[:3], point) + camera[3:]
            return moved[:2] / (moved[2] + 2.0)

        return pa.vmap(project)(cameras[of_camera], points[of_point])

    plan = pa.sparse_jacobian(residuals, argnums=(0, 1)).plan(cameras, points)
    expected = np.zeros((30, 33), bool)
    for k, (c, p) in enumerate(zip(of_camera, of_point)):
        expected[2 * k : 2 * k + 2, 6 * c : 6 * c + 6] = True
        expected[2 * k : 2 * k + 2, 18 + 3 * p : 21 + 3 * p] = True
    assert not (plan.pattern.toarray() & ~expected).any() and plan.passes <= 9
    blocks = pa.jacrev(residuals, argnums=(0, 1))(cameras, points)
    dense = np.concatenate([np.reshape(b, (30, -1)) for b in blocks], axis=1)
    np.testing.assert_allclose(plan(cameras, points).toarray(), dense, rtol=1e-12)


def test_constants_with_zeros():
    matrix = np.tril(np.ones((4, 6)), -1)
    exact(pa.jacobian_sparsity(lambda x: matrix @ x)(x6), matrix)
    exact(pa.jacobian_sparsity(lambda x: (x.reshape(2, 3) @ np.diag([1.0, 0, 2])).ravel())(x6), np.diag([1.0, 0, 1, 1, 0, 1]))
    stack = np.eye(3) * np.array([1.0, 2.0])[:, None, None]
    f = lambda x: stack @ x.reshape(3, 2)
    exact(pa.jacobian_sparsity(f)(x6), pa.jacfwd(f)(x6))
    exact(pa.jacobian_sparsity(lambda x: x * np.array([1.0, 0, 1, 0, 0, 1]))(x6), np.diag([1.0, 0, 1, 0, 0, 1]))
    assert pa.jacobian_sparsity(lambda x: pa.floor(x) + pa.sign(x) + pa.stop_gradient(x))(x6).nnz == 0


def test_rows_of_sorting_and_of_solving():
    assert pa.jacobian_sparsity(lambda x: pa.sort(x.reshape(2, 3), axis=1))(x6).nnz == 18
    assert pa.jacobian_sparsity(lambda x: pa.sort(x.reshape(2, 3), axis=1), local=True)(x6).nnz == 6
    system = np.ones((3, 3)) + 2 * np.eye(3)
    assert pa.jacobian_sparsity(lambda x: pa.linalg.solve(system, x.reshape(3, 2)))(x6).nnz == 18
    assert pa.jacobian_sparsity(lambda x: pa.linalg.inv(x.reshape(6, 1, 1)))(x6).nnz == 6
    assert pa.jacobian_sparsity(lambda x: pa.fft.fft(x.reshape(2, 3), axis=0))(x6).nnz == 12
    assert pa.jacobian_sparsity(pa.cumprod)(x6).nnz == 21


def test_global_and_local():
    f = lambda x: pa.where(x > 0.5, x, x[::-1] ** 2)
    x = np.array([0.1, 0.9, 0.2, 0.8])
    assert pa.jacobian_sparsity(f)(x).nnz == 8
    exact(pa.jacobian_sparsity(f, local=True)(x), pa.jacfwd(f)(x))
    assert pa.jacobian_sparsity(pa.max)(x).nnz == 4 and pa.jacobian_sparsity(pa.max, local=True)(x).nnz == 1
