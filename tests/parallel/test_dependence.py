"""Sparsity patterns, and the sparse derivatives made from them, of functions that are mapped over the ranks."""

SPARSE = """
import numpy as np
import polyad as pa
from polyad import all_gather, pmap, pmean, psum, vmap
from polyad.parallel import world

cases = {
    "elementwise": lambda M, x: M(np.sin)(x),
    "two": lambda M, x: M(lambda a, b: np.sin(a) * b)(x, x[::-1]),
    "rows": lambda M, x: M(lambda r: r * r[::-1])(pa.stack([x, 2 * x], axis=1)),
    "sum": lambda M, x: M(lambda v: v * psum(v * v, "i"), axis_name="i")(x),
    "one sum": lambda M, x: M(lambda v: psum(v * v, "i"), axis_name="i", out_axes=None)(x),
    "mean": lambda M, x: M(lambda v: v - pmean(v, "i"), axis_name="i")(x),
    "gather": lambda M, x: M(lambda v: all_gather(v, "i") * v, axis_name="i")(x),
    "constant in some lanes": lambda M, x: M(lambda v: v * v if v > 1.5 else 1.0)(x),
    "constant in some sums": lambda M, x: M(lambda v: v * psum(v * v if v > 1.5 else 1.0, "i"), axis_name="i")(x),
    "closure": lambda M, x: M(lambda v: v * x[0])(x),
    "whole": lambda M, x: M(lambda v, w: v * w[:1], in_axes=(0, None))(x, x),
    "same in all lanes": lambda M, x: M(lambda v, w: w * w, in_axes=(0, None), out_axes=None)(x, x),
    "lanes around": lambda M, x: vmap(lambda s: M(lambda v: v * s)(x))(np.array([1.0, 2.0])),
}
for n in {2: (1, 3), 3: (2,)}[world().size]:  # fewer lanes than ranks, and more
    x = np.arange(1.0, n + 1)
    for name, case in cases.items():
        f, g = (lambda x, M=M: case(M, x) for M in (pmap, vmap))
        squares = [lambda x, f=f: pa.sum(f(x) ** 2) for f in (f, g)]
        right = pa.jacrev(g)(x).reshape(-1, n)
        for found in (pa.sparse_jacobian(f)(x).toarray(), pa.jacobian(f)(x).reshape(-1, n)):
            np.testing.assert_allclose(found, right, atol=1e-12, err_msg=f"{name} {n}")
        np.testing.assert_allclose(pa.sparse_hessian(squares[0])(x).toarray(), pa.hessian(squares[1])(x), atol=1e-12)
        patterns = [(pa.jacobian_sparsity, f, g, local) for local in (False, True)]
        for pattern, of, like, local in [*patterns, (pa.hessian_sparsity, *squares, False)]:
            found, right = (pattern(h, local=local)(x).toarray() for h in (of, like))  # no entry more than on one process
            assert np.array_equal(found, right), (name, n, local, pattern, found, right)

# where some lanes give a constant, other kinds of values follow it all the same
flat = pmap(lambda v: psum(v * v if v > 1.5 else 1.0, "i") * v, axis_name="i")
like = vmap(lambda v: psum(v * v if v > 1.5 else 1.0, "i") * v, axis_name="i")
x = np.array([1.0, 2.0, 3.0])
for found, right in zip(*[pa.derivatives(lambda t: f(t * x), 3)(1.0) for f in (flat, like)]):
    np.testing.assert_allclose(found, right)
"""


def test_patterns_and_sparse_derivatives_are_those_of_one_process_on_every_rank(mpirun):
    for ranks in (2, 3):
        mpirun(SPARSE, ranks)
