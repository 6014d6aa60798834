"""Array types of a stranger, each one file that imports only polyad, under every transformation."""

import ast
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import polyad as pa
from polyad.testing import check_array_type

FOLDER = Path(__file__).parent / "outside"


def load(name):
    """The module of a stranger's file, loaded once; pickle finds its classes."""
    known = f"outside_{name}"
    if known not in sys.modules:
        spec = importlib.util.spec_from_file_location(known, FOLDER / f"{name}.py")
        sys.modules[known] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[known])
    return sys.modules[known]


LowRank = load("low_rank").LowRank
Toeplitz = load("toeplitz").Toeplitz
Sparse = load("sparse").Sparse
Masked = load("masked").Masked
quantity = load("quantity")
Quantity, UnitError = quantity.Quantity, quantity.UnitError
metre, second = quantity.unit(m=1), quantity.unit(s=1)

A = np.arange(9.0).reshape(3, 3) / 3 - 1
L = LowRank(np.array([[1.0], [2.0], [-1.0]]), np.array([[0.5], [0.0], [1.0]]))
T = Toeplitz(np.array([2.0, -1.0, 0.5]))
q = Quantity(np.array([1.0, 2.0, 4.0]), metre)


@pytest.fixture(autouse=True)
def strict():
    with pa.densify("error"):
        yield


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_a_stranger_imports_only_polyad(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            assert {alias.name for alias in node.names} <= {"numpy", "polyad"}
        assert not isinstance(node, ast.ImportFrom)


# ---------------------------------------------------------------------- by the checker
@pytest.mark.parametrize("shapes", [((3, 2), (3, 2)), ((3, 2), (4, 2)), ((2, 3, 1), (2, 3, 1))])
def test_low_rank_against_its_dense_form(shapes):
    make = lambda rng: LowRank(rng.standard_normal(shapes[0]), rng.standard_normal(shapes[1]))
    check_array_type(make, calls=[lambda x: x @ np.ones(x.shape[-1]), lambda x: (x + x).mT, lambda x: -2.0 * x])


@pytest.mark.parametrize("shape", [(3,), (2, 3), (1,)])
def test_toeplitz_against_its_dense_form(shape):
    check_array_type(lambda rng: Toeplitz(rng.standard_normal(shape)), calls=[lambda x: x @ np.ones(shape[-1])])


def test_sparse_against_its_dense_form():
    make = lambda rng: Sparse(rng.standard_normal(4), rng.integers(0, 3, 4), rng.integers(0, 2, 4), 3, 2)
    check_array_type(make, calls=[lambda x: x @ np.ones(2), lambda x: 2.0 * x])


@pytest.mark.parametrize("shape", [(), (3,), (2, 2)])
@pytest.mark.parametrize("unit", [(), metre])
def test_quantity_against_its_values(shape, unit):
    check_array_type(
        lambda rng: Quantity(rng.standard_normal(shape), unit),
        dense=lambda x: x.value,
        refuses=(UnitError, pa.MethodError),
    )


# ---------------------------------------------------------------------- low rank
def test_low_rank_keeps_its_structure():
    for y in (L + L, L @ L, 2 * L, L * 2, -L, L.T, L.mT):
        assert type(y) is LowRank
    np.testing.assert_allclose(L @ A, L.dense() @ A)
    with pytest.raises(pa.DensifyError, match="write the method, or call .dense"):
        np.sin(L)


def test_gradient_by_low_rank_is_a_tangent():
    loss = lambda x: pa.sum((x @ A) ** 2)
    g = pa.grad(loss)(L)
    assert type(g) is pa.Tangent and g.primal_type is LowRank
    by_leaves = pa.grad(lambda u, v: loss(LowRank(u, v)), argnums=(0, 1))(L.u, L.v)
    np.testing.assert_allclose(g.u, by_leaves[0])
    np.testing.assert_allclose(g.v, by_leaves[1])
    np.testing.assert_allclose((g + g).u, 2 * g.u)
    with pytest.raises(AttributeError, match="has no leaf 'w'"):
        g.w
    with pytest.raises(TypeError):
        L + g
    step = pa.tree.map(lambda x, dx: x - 0.01 * dx, L, g)
    assert type(step) is LowRank and loss(step) < loss(L)


def test_tangents_go_back_in():
    """What grad returns is a direction for jvp and hvp, and a cotangent of what vjp returned."""
    loss = lambda x: pa.sum((x @ A) ** 2)
    g = pa.grad(loss)(L)
    _, slope = pa.jvp(loss, (L,), (g,))
    np.testing.assert_allclose(slope, (g.u**2).sum() + (g.v**2).sum())
    curve = pa.hvp(loss, L, g)
    change = lambda t: pa.grad(loss)(pa.tree.map(lambda x, dx: x + t * dx, L, g))
    np.testing.assert_allclose(curve.u, (change(1e-5).u - change(-1e-5).u) / 2e-5, rtol=1e-6)
    y, pullback = pa.vjp(lambda x: 3.0 * x, L)
    assert type(y) is LowRank
    (ct,) = pullback(pa.jvp(lambda x: 3.0 * x, (L,), (g,))[1])
    np.testing.assert_allclose(ct.u, 9 * g.u)


def test_low_rank_lanes_and_traces():
    rows = LowRank(np.stack([L.u, 2 * L.u]), np.stack([L.v, L.v]))
    found = pa.vmap(lambda x, a: x @ a)(rows, np.stack([A, A]))
    np.testing.assert_allclose(found, np.stack([L.dense() @ A, 2 * L.dense() @ A]))
    g = pa.vmap(pa.grad(lambda x: pa.sum(x @ A)))(rows)
    assert type(g) is pa.Tangent and g.u.shape == (2, 3, 1)
    program = pa.make_ir(lambda x: x @ x)(L)
    assert type(program(L)) is LowRank
    np.testing.assert_allclose(program(L).dense(), L.dense() @ L.dense())
    f = lambda p: pa.sum(p["w"][0] @ p["w"][1])
    assert type(pa.grad(f)({"w": (L, A)})["w"][0]) is pa.Tangent


def test_tangents_of_a_linear_type_share_its_integer_leaves():
    """So that they are arrays of the type, and go back into jvp, hvp and a pullback."""
    x = Sparse(np.array([1.0, 2.0]), np.array([0, 1]), np.array([1, 0]), 2, 2)
    loss = lambda x: pa.sum((x @ np.ones(2)) ** 2)
    g = pa.grad(loss)(x)
    np.testing.assert_allclose(g.dense(), [[0.0, 2.0], [4.0, 0.0]])
    np.testing.assert_allclose(pa.jvp(loss, (x,), (g,))[1], (g.values**2).sum())
    np.testing.assert_allclose(pa.hvp(loss, x, g).dense(), 2 * g.dense())
    y, pullback = pa.vjp(lambda x: 3.0 * x, x)
    _, dy = pa.jvp(lambda x: 3.0 * x, (x,), (g,))
    np.testing.assert_allclose(dy.dense(), 3 * g.dense())
    np.testing.assert_allclose(pullback(dy)[0].dense(), 9 * g.dense())


# ---------------------------------------------------------------------- Toeplitz
def test_toeplitz_keeps_its_structure_under_every_function():
    for y in (np.cos(T), np.exp(T), T + 1, 1 / (T + 3), T == T, pa.where(T > 0, T, 0.0), pa.maximum(T, -T), T.T):
        assert type(y) is Toeplitz
    np.testing.assert_allclose((np.cos(T) + 1).dense(), np.cos(T.dense()) + 1)
    g = pa.grad(lambda x: pa.sum(np.exp(x)))(T)
    assert type(g) is Toeplitz
    np.testing.assert_allclose(g.column, np.array([3, 4, 2]) * np.exp(T.column))


def test_two_types_that_both_claim_a_call():
    """Never dense on ambiguity: the error names the method, and combine_rule is the remedy."""
    with pa.densify("allow"), pytest.raises(pa.AmbiguousMethodError, match=r"combine_rule") as error:
        T * pa.Diagonal(np.ones(3))
    assert "Toeplitz" in str(error.value) and "Diagonal" in str(error.value)


def test_ambiguities_of_a_stranger():
    """Those of one's own package with the library, not those with a third one."""
    texts = pa.ambiguities("outside_toeplitz")
    assert any("Toeplitz, Diagonal" in text for text in texts)
    assert not any("Quantity" in text.partition(": ")[0] for text in texts)
    assert not any("outside_" in text for text in pa.ambiguities(pa))


# ---------------------------------------------------------------------- quantities
def test_units():
    assert (q * q).unit == quantity.unit(m=2)
    assert (q / Quantity(2.0, second)).unit == quantity.unit(m=1, s=-1)
    assert (q @ q).unit == quantity.unit(m=2) and (q @ q).value == 21
    assert (q**2).unit == quantity.unit(m=2) and pa.sum(q).unit == q[0].unit == q[None].unit == (2 * q).unit == metre
    assert (np.ones(3) * q).unit == metre and type(np.float64(2) * q) is Quantity
    assert (q > Quantity(1.5, metre)).tolist() == [False, True, True]
    with pytest.raises(UnitError, match="add: units differ"):
        q + Quantity(1.0, second)
    with pytest.raises(UnitError, match="add: units differ"):
        1.0 + q
    with pytest.raises(UnitError, match="sin: units differ"):
        np.sin(q)
    with pytest.raises(pa.MethodError, match="has no dense form"):
        pa.index_set(q, 1.0, spec=(0,))
    with pytest.raises(TypeError, match="'Quantity' and 'str'"):
        q + "1"


def test_gradient_by_a_quantity():
    """d(area)/d(length) has another unit than the length: hence a Tangent, not a Quantity in metres."""
    g = pa.grad(lambda x: pa.sum(x * x).value)(q)
    assert type(g) is pa.Tangent and type(pa.hvp(lambda x: pa.sum(x * x * x).value, q, g)) is pa.Tangent
    np.testing.assert_allclose(g.value, 2 * q.value)
    y, dy = pa.jvp(lambda x: x * x, (q,), (q,))
    assert y.unit == quantity.unit(m=2) and type(dy) is pa.Tangent
    lanes = pa.vmap(lambda x: x * Quantity(2.0, second))(q)
    assert type(lanes) is Quantity and lanes.unit == quantity.unit(m=1, s=1)
    assert pa.make_ir(lambda x: x * x)(q)(q).unit == quantity.unit(m=2)


# ---------------------------------------------------------------------- missing elements
@pytest.mark.parametrize("shape", [(), (2, 3)])
def test_masked_against_its_values(shape):
    """Where nothing is missing it is the array itself."""
    check_array_type(lambda rng: Masked(rng.standard_normal(shape)), dense=lambda x: x.value, refuses=(pa.MethodError,))


def test_missing_elements_take_no_part():
    x = Masked(np.array([[1.0, 2.0, 4.0], [3.0, 5.0, 7.0]]), np.array([[0, 1, 0], [0, 0, 1]], bool))
    assert (x + 1.0).missing.tolist() == x.missing.tolist() and pa.sum(x).value == 13 and pa.max(x).value == 5
    assert pa.mean(x, axis=1).value.tolist() == [2.5, 4.0] and pa.prod(x).value == 60
    g = pa.grad(lambda x: pa.sum(x * x).value)(x)
    assert type(g) is pa.Tangent and g.value.tolist() == [[2.0, 0.0, 8.0], [6.0, 10.0, 0.0]]
    with pytest.raises(pa.MethodError, match="has no dense form"):
        pa.sort(x)
