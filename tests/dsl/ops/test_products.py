"""Products over chosen axes: NumPy's forms of einsum, hard shapes, and the errors."""

import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polyad as pa
from polyad.dispatch import MethodError, ShapeError

pytestmark = pytest.mark.quick


# ---------------------------------------------------------------------- the others
@given(st.integers(0, 3), st.integers(0, 3), st.data())
def test_tensordot_inner_kron_are_numpys(n, m, data):
    rng = np.random.default_rng(n + 5 * m)
    x, y = rng.standard_normal((2, 3, 4)[:n]), rng.standard_normal((4, 3, 2)[:m])
    np.testing.assert_allclose(pa.kron(x, y), np.kron(x, y))
    pairs = [(a, b) for a in range(n) for b in range(m) if x.shape[a] == y.shape[b]]
    chosen = data.draw(st.lists(st.sampled_from(pairs), unique_by=(lambda p: p[0], lambda p: p[1]))) if pairs else []
    axes = tuple(zip(*chosen, strict=True)) if chosen else ((), ())
    np.testing.assert_allclose(pa.tensordot(x, y, axes=axes), np.tensordot(x, y, axes), rtol=1e-12, atol=1e-12)
    if n and m and x.shape[-1] == y.shape[-1]:
        np.testing.assert_allclose(pa.inner.card.body(x, y), np.inner(x, y), rtol=1e-12, atol=1e-12)


def test_numpys_products_on_followed_values(rng):
    x, y = rng.standard_normal((2, 3)), rng.standard_normal((2, 3))
    calls = [
        lambda v: np.tensordot(v, y), lambda v: np.tensordot(v, y, axes=([1], [1])), lambda v: np.inner(v, y),
        lambda v: np.kron(v, y), lambda v: np.cross(v, y), lambda v: np.vdot(v, y),
        lambda v: np.linalg.tensordot(v, y, axes=2), lambda v: np.linalg.cross(v, y),
        lambda v: np.cross(v.T, y, axisa=0, axisc=0), lambda v: np.linalg.vecdot(v, y), lambda v: np.vecdot(v, y),
    ]  # fmt: skip
    if hasattr(np, "vecmat"):  # of NumPy 2.2
        calls += [lambda v: np.matvec(y, v[0]), lambda v: np.vecmat(v[0, :2], y)]
    for f in calls:
        np.testing.assert_allclose(pa.jvp(f, (x,), (x,))[0], f(x), rtol=1e-12, err_msg=inspect.getsource(f))


def test_vdot_and_vecmat_conjugate_the_first():
    z = np.array([1.0 + 2.0j, 3.0])
    assert pa.vdot(z, z) == np.vdot(z, z) == 14
    matrix = np.array([[1.0, 1j], [0.0, 2.0]])
    np.testing.assert_allclose(pa.vecmat(z, matrix), z.conj() @ matrix)
    np.testing.assert_allclose(pa.matvec(matrix, z), matrix @ z)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda x: pa.einsum("ij", x), ShapeError, "einsum: 'ij': 'ij' names 2 axes of an operand that has 1"),
        (lambda x: pa.einsum("i,i", x), ShapeError, "names 2 operands, but there are 1"),
        (lambda x: pa.einsum("i->ii", x), ShapeError, "names an axis of the result twice"),
        (lambda x: pa.einsum("i->k", x), ShapeError, "the result's axis 'k' is in no operand"),
        (lambda x: pa.einsum("...->", x), ShapeError, "the result needs '...' too"),
        (lambda x: pa.einsum("i,i", x, np.ones(2)), ShapeError, "the axis 'i' has length 3 and, in .*, 2"),
        (lambda x: pa.einsum("ii", np.ones((3, 1))), ShapeError, "different lengths"),
        (lambda x: pa.einsum("i1", x), ShapeError, "subscripts are letters"),
        (lambda x: pa.einsum("i"), ShapeError, "no operands"),
        (lambda x: pa.einsum(x, x + 0.5), ShapeError, "give the subscripts as a string first"),
        (lambda x: pa.einsum("i,i", x, [1.0, 2.0, 3.0]), MethodError, "contract"),
        (lambda x: pa.tensordot(x, np.ones((2, 2)), axes=1), ShapeError, "tensordot: the paired axes 1"),
        (lambda x: pa.tensordot(x, x, axes=2), ShapeError, "do not have as many axes"),
        (lambda x: pa.tensordot(x, x, axes=((0, 0), (0, 0))), ShapeError, "each once"),
        (lambda x: pa.tensordot(x, x, axes="ab c"), ShapeError, "axes is 'ab c'"),
        (lambda x: pa.inner.card.body(x, np.ones(2)), ShapeError, "inner: the last axes"),
        (lambda x: pa.inner(x, np.ones(2)), ShapeError, "inner"),
        (lambda x: pa.cross(x, np.ones(2)), ShapeError, "cross: axis 0 of .* is not of length 3"),
        (lambda x: pa.vdot(x, np.ones(2)), ShapeError, "vdot: .* differ in their number of elements"),
        (lambda x: pa.matvec(x, x), ShapeError, "matvec: .* at least 2 and 1 axes"),
    ],
)
def test_errors(call, kind, text):
    for x in (np.ones(3), np.arange(3)):
        with pytest.raises(kind, match=text):
            call(x)
