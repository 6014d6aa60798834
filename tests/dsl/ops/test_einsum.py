"""Einstein's sums: NumPy's forms, axes of length one, dtypes, large and empty operands."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polyad as pa

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
