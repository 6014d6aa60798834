"""Products over chosen axes: NumPy's forms of einsum, hard shapes, and the errors."""

import inspect
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polyad as pa
from polyad.dispatch import MethodError, ShapeError

pytestmark = pytest.mark.quick

LENGTHS = dict(zip("abcde", (2, 3, 1, 4, 2), strict=True))
BODY = pa.contract.card.body


@st.composite
def subscripts(draw):
    """Subscripts of one to four operands, with diagonals, sums and axes under an ellipsis."""
    letters = st.lists(st.sampled_from("abcde"), max_size=3).map("".join)
    terms = draw(st.lists(letters, min_size=1, max_size=4))
    dotted = draw(st.booleans())
    terms = ["..." + t if dotted and draw(st.booleans()) else t for t in terms]
    used = sorted(set("".join(terms)) - {"."})
    output = "".join(draw(st.permutations(used))[: draw(st.integers(0, len(used)))])
    return ",".join(terms), "->" + ("..." if any("." in t for t in terms) else "") + output


def operands(terms, rng):
    """Arrays for the terms; now and then an axis of length 1 where the others are longer."""
    for term in terms.split(","):
        dots, letters = "..." in term, term.replace("...", "")
        shape = [LENGTHS[a] if letters.count(a) > 1 or rng.random() < 0.8 else 1 for a in letters]
        hidden = [[], [3], [2, 3], [1, 3]][rng.integers(4)] if dots else []
        yield rng.integers(-3, 4, (*hidden, *shape)).astype(float)


@given(subscripts(), st.integers(0, 9), st.sampled_from(["auto", "greedy", "optimal", False, True]))
def test_einsum_is_numpys(spec, seed, optimize):
    terms, output = spec
    xs = list(operands(terms, np.random.default_rng(seed)))
    for text in (terms + output, terms):
        expected = np.einsum(text, *xs)
        found = BODY(*xs, subscripts=text, optimize=optimize)
        np.testing.assert_array_equal(found, expected)
        assert np.shape(found) == np.shape(expected)
        np.testing.assert_array_equal(pa.einsum(text, *xs, optimize=optimize), expected)


@given(subscripts(), st.integers(0, 9))
def test_einsum_gradients_have_their_arguments_shapes_and_values(spec, seed):
    terms, output = spec
    rng = np.random.default_rng(seed)
    xs = list(operands(terms, rng))
    weights = rng.standard_normal(np.shape(np.einsum(terms + output, *xs)))
    f = lambda *v: pa.sum(pa.multiply(pa.einsum(terms + output, *v), weights))
    for k, g in enumerate(pa.vjp(f, *xs)[1](1.0)):
        dx = rng.standard_normal(xs[k].shape)
        assert g.shape == xs[k].shape
        linear = np.sum(weights * np.einsum(terms + output, *xs[:k], dx, *xs[k + 1 :]))
        np.testing.assert_allclose(np.sum(g * dx), linear, rtol=1e-10, atol=1e-10)


def test_an_axis_of_length_one_meets_a_longer_one():
    x, y = np.array([1.0, 3.0]), np.array([2.0])
    assert pa.einsum("i,i", x, y) == 8.0
    g, h = pa.vjp(lambda x, y: pa.einsum("i,i", x, y), x, y)[1](1.0)
    np.testing.assert_array_equal(g, [2.0, 2.0])
    np.testing.assert_array_equal(h, [4.0])


def test_lists_of_axes(rng):
    x, y = rng.standard_normal((2, 3)), rng.standard_normal((4, 3))
    for args in ((x, [0, 1], y, [2, 1]), (x, [0, 1], y, [2, 1], [2, 0]), (x, [1, 0]), (x, [..., 0], y, [..., 0], [...])):
        if args[-1] == [...]:
            args = (x, [..., 0], x, [..., 0], [...])
        np.testing.assert_allclose(pa.einsum(*args), np.einsum(*args), rtol=1e-13)
    np.testing.assert_allclose(pa.grad(lambda v: np.sum(np.einsum(v, [0, 1], y, [2, 1], [2, 0])))(x), np.ones((2, 4)) @ y)


def test_numpys_einsum_on_followed_values(rng):
    x, y, z = rng.standard_normal((2, 3)), rng.standard_normal((3, 4)), rng.standard_normal((4, 2))
    f = lambda v: np.einsum("ij,jk,ki->", v, y, z, optimize=True)
    np.testing.assert_allclose(pa.grad(f)(x), (y @ z).T, rtol=1e-12)
    assert pa.grad(lambda v: np.einsum("i,i", v, [2.0]))(np.ones(2)).tolist() == [2.0, 2.0]
    path = ["einsum_path", (0, 1), (0, 1)]
    np.testing.assert_allclose(pa.grad(lambda v: np.einsum("ij,jk,ki->", v, y, z, optimize=path))(x), (y @ z).T, rtol=1e-12)
    lanes = rng.standard_normal((5, 2, 3))
    np.testing.assert_allclose(
        pa.vmap(lambda v: np.einsum("ij,jk->ki", v, y))(lanes), np.einsum("bij,jk->bki", lanes, y), rtol=1e-12
    )


def test_einsum_as_a_program_and_second_order(rng):
    x = rng.standard_normal((3, 3))
    f = lambda v: pa.einsum("ij,jk,ki->", v, v, v)
    program = pa.make_ir(f)(x)
    np.testing.assert_allclose(program(x), np.trace(x @ x @ x), rtol=1e-12)
    assert "matmul" in program.code
    pa.check_grads(f, (x,), order=2)


@pytest.mark.parametrize("dtype", ["int8", "bool", "float32", "complex64", "float16"])
def test_einsum_keeps_dtypes_as_numpy(dtype):
    x = np.ones((2, 2), dtype)
    for text, xs in (("ij->", (x,)), ("ij,jk", (x, x)), ("ii", (x,)), ("ij,jk,kl->", (x, x, x))):
        expected = np.einsum(text, *xs)
        for found in (pa.einsum(text, *xs), BODY(*xs, subscripts=text)):
            assert found.dtype == expected.dtype and np.array_equal(found, expected), text


def test_large_einsum_goes_by_matrix_products(rng):
    x, y = rng.standard_normal((8, 40, 60)), rng.standard_normal((30, 60, 8))
    np.testing.assert_allclose(pa.einsum("bij,kjb->bki", x, y), np.einsum("bij,kjb->bki", x, y), rtol=1e-10, atol=1e-12)
    x, y = rng.standard_normal((400, 500)), rng.standard_normal((500, 300))
    np.testing.assert_allclose(pa.einsum("ij,jk", x, y), x @ y)


def test_empty_operands():
    assert pa.einsum("ij,jk->ik", np.ones((2, 0)), np.ones((0, 3))).tolist() == [[0.0] * 3] * 2
    assert pa.einsum("ij,jk->ik", np.ones((0, 2)), np.ones((2, 3))).shape == (0, 3)
    assert pa.tensordot(np.ones((2, 0)), np.ones((0, 3)), axes=1).tolist() == [[0.0] * 3] * 2


def test_opt_einsum_is_imported_for_three_large_operands_only():
    program = """
        import sys, numpy as np, polyad as pa
        x = np.ones((30, 30))
        pa.einsum("ij,jk", x, x)
        assert "opt_einsum" not in sys.modules
        pa.einsum("ij,jk,kl", x, x, x)
        assert "opt_einsum" in sys.modules
    """
    subprocess.run([sys.executable, "-P", "-c", textwrap.dedent(program)], check=True)


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
