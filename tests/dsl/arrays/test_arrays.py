"""Diagonal, Zeros and OneHot: structure is kept where it can be, values are those of the dense form, and every
transformation goes through them."""

import copy
import itertools
import pickle
import subprocess
import sys

import numpy as np
import pytest

import polyad as pa
from polyad.testing import check_array_type

A = np.arange(9.0).reshape(3, 3) / 3 - 1
D = pa.Diagonal(np.array([0.5, -1.0, 2.0]))
E = pa.Diagonal(np.array([1.5, 0.25, -0.5]))
B = pa.Diagonal(np.arange(6.0).reshape(2, 3))
Z = pa.Zeros((3, 3))
H = pa.OneHot(np.array([2, 0, 1]), 3)


@pytest.fixture(autouse=True)
def strict():
    """Nothing becomes dense behind our back; tests that mean it say so."""
    with pa.densify("error"):
        yield


def same(found, expected):
    found = found.dense() if isinstance(found, pa.Container) else found
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)
    assert np.shape(found) == np.shape(expected)


@pytest.mark.parametrize(
    "make",
    [
        lambda rng: pa.Diagonal(rng.standard_normal(3)),
        lambda rng: pa.Diagonal(rng.standard_normal((2, 3))),
        lambda rng: pa.Diagonal(rng.standard_normal(1)),
        lambda rng: pa.Diagonal(rng.standard_normal(3).astype(np.float32)),
        lambda rng: pa.Diagonal(rng.standard_normal(2) + 1j * rng.standard_normal(2)),
        lambda rng: pa.Diagonal(rng.integers(1, 9, 3)),
        lambda rng: pa.Zeros((3, 3)),
        lambda rng: pa.Zeros((2, 3), np.float32),
        lambda rng: pa.Zeros(()),
        lambda rng: pa.OneHot(rng.integers(0, 3, 3), 3),
        lambda rng: pa.OneHot(rng.integers(0, 4, (2, 3)), 4, np.float32),
        lambda rng: pa.OneHot(rng.integers(0, 3, ()), 3),
    ],
)
def test_against_the_dense_form(make):
    check_array_type(make, others=[D, Z, H])


# ---------------------------------------------------------------------- structure


@pytest.mark.parametrize("scalar", [0, 0.0, 1, -2.5, np.nan, np.inf, np.float32(0), np.array(np.nan)])
def test_structure_does_not_depend_on_the_value(scalar):
    """julia#54467: a scalar that happens to be NaN must not destroy the structure."""
    for y in (D * scalar, scalar * D, Z * scalar, scalar * Z):
        assert type(y) in (pa.Diagonal, pa.Zeros)
    assert type(D * scalar) is pa.Diagonal and type(Z / scalar) is pa.Zeros
    with np.errstate(all="ignore"):
        assert type(D / scalar) is pa.Diagonal


def test_zeros_of_the_structure_are_exact():
    bad = np.full((3, 3), np.nan)
    bad[np.arange(3), np.arange(3)] = 1.0
    same(D * bad, np.diag(D.diag))
    same(Z * bad, np.zeros((3, 3)))
    assert type(Z @ bad) is pa.Zeros
    same(H * bad.T, np.where(H.dense() == 1, bad.T, 0.0))


@pytest.mark.parametrize(
    "f",
    [
        lambda: D @ A[:2], lambda: A[:, :2] @ D, lambda: pa.Diagonal(np.ones(1)) @ A, lambda: D @ 2.0,
        lambda: H @ A[:2], lambda: A[:, :2] @ H, lambda: pa.Zeros((2, 2)) @ D,
    ],
)  # fmt: skip
def test_inner_lengths_must_agree(f):
    with pytest.raises(pa.ShapeError):
        f()


@pytest.mark.parametrize("f", [lambda x: x.sum(axis=2), lambda x: x.sum(axis=(0, 0)), lambda x: x.transpose(2, 3)])
@pytest.mark.parametrize("x", [D, Z, H])
def test_axis_out_of_range(f, x):
    with pytest.raises((pa.ShapeError, pa.DensifyError)):
        f(x)


def test_wrong_parts():
    with pytest.raises(pa.ShapeError, match="at least one axis"):
        pa.Diagonal(np.float64(1))
    with pytest.raises(pa.DTypeError, match="positions are integers"):
        pa.OneHot(np.ones(2), 3)
    with pytest.raises(pa.ShapeError, match="negative length"):
        pa.Zeros((2, -1))
    assert pa.Zeros(np.int64(3)).shape == pa.Zeros([3]).shape == pa.Diagonal([1.0, 2.0, 3.0]).diag.shape == (3,)
    with pytest.raises(IndexError, match=r"not in \[0, 3\)"):
        pa.OneHot(np.array([0, 3]), 3)


# ---------------------------------------------------------------------- laws over all pairs
instances = [D, B, Z, pa.Zeros((3,)), H, A, A[0], 2.0, np.float32(3), np.array(4.0)]


@pytest.mark.parametrize("op", [pa.add, pa.multiply, pa.maximum, pa.minimum, pa.equal])
def test_result_type_is_commutative(op):
    """dask#2913, cupy#4118: x + y and y + x of different types."""
    with pa.densify("allow"):
        for x, y in itertools.combinations(instances, 2):
            one, other = op(x, y), op(y, x)
            assert type(one) is type(other), (type(x), type(y))
            same(one, other.dense() if isinstance(other, pa.Container) else other)


@pytest.mark.parametrize("op", [np.add, np.subtract, np.multiply, np.matmul, np.equal, np.divide])
def test_numpys_protocols_never_give_objects(op):
    class Mine(np.ndarray):
        pass

    with pa.densify("allow"), np.errstate(all="ignore"):
        for x in (D, Z, H):
            for y in (A + 0.1, A.view(Mine) + 0.1, np.full((3, 3), 2, np.float32), D):
                for pair in ((x, y), (y, x)):
                    found = op(*pair)
                    assert found.dtype != object
                    expected = op(*[v.dense() if isinstance(v, pa.Container) else np.asarray(v) for v in pair])
                    np.testing.assert_array_equal(found.dense() if isinstance(found, pa.Container) else found, expected)


def test_no_ambiguities():
    """In a process of its own, where no other test has declared a type."""
    script = "import polyad; found = polyad.ambiguities(); assert not found, '\\n'.join(found)"
    result = subprocess.run([sys.executable, "-P", "-c", script], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


# ---------------------------------------------------------------------- transformations
def test_gradients_keep_the_structure():
    f = lambda D: pa.sum((D @ A) ** 2) + pa.sum(np.sin(D)) + pa.sum(D * A)
    g = pa.grad(f)(D)
    assert type(g) is pa.Diagonal
    dense = pa.grad(lambda d: f(pa.Diagonal(d)))(D.diag)
    same(g.diag, dense)
    assert type(pa.hvp(f, D, E)) is pa.Diagonal
    same(pa.hvp(f, D, E).diag, pa.hessian(lambda d: f(pa.Diagonal(d)))(D.diag) @ E.diag)
    y, dy = pa.jvp(lambda D: D @ D, (D,), (E,))
    assert type(y) is type(dy) is pa.Diagonal
    same(dy.diag, 2 * D.diag * E.diag)
    step = pa.tree.map(lambda x, dx: x - 0.1 * dx, D, g)
    same(step.diag, D.diag - 0.1 * dense)


def test_gradient_by_what_is_densified():
    with pa.densify("allow"):
        g = pa.grad(lambda D: pa.sum(np.cos(D) * A))(D)
    assert type(g) is pa.Diagonal
    same(g.diag, -np.sin(D.diag) * np.diag(A))


def test_gradients_of_partners():
    same(pa.grad(lambda W: pa.sum((H @ W) * A))(A), H.dense().T @ A)
    same(pa.grad(lambda W: pa.sum((W @ H) * A))(A), A @ H.dense().T)
    same(pa.grad(lambda W: pa.sum(Z * W))(A), np.zeros((3, 3)))
    pa.check_grads(lambda d, W: pa.sum(pa.sin(pa.Diagonal(d) @ W @ pa.Diagonal(d))), (D.diag, A))
    pa.check_grads(lambda W: pa.sin(H @ W) @ H, (A,))


@pytest.mark.parametrize("x", [Z, H, pa.Diagonal(np.array([1, 2]))])
def test_types_without_floating_leaves_are_refused_by_grad(x):
    with pytest.raises(pa.DTypeError, match=rf"grad.*argument 0 is {type(x).__name__}\(.*no derivative"):
        pa.grad(lambda x: pa.sum(x))(x)


def test_refusal_says_what_to_do():
    with pytest.raises(pa.DTypeError, match=r"Zeros\(float64\[3, 3\]\) without floating leaves, .*give it dense \(x.dense"):
        pa.grad(lambda x: pa.sum(x))(Z)


def test_lanes():
    assert type(pa.vmap(lambda D: D @ D)(B)) is pa.Diagonal
    assert type(pa.vmap(lambda d: pa.Diagonal(d))(B.diag)) is pa.Diagonal
    same(pa.vmap(lambda D, x: D @ x)(B, A[:2]), np.stack([np.diag(d) @ x for d, x in zip(B.diag, A[:2], strict=True)]))
    same(pa.vmap(lambda x: D @ x, in_axes=1, out_axes=1)(A), np.diag(D.diag) @ A)
    g = pa.vmap(pa.grad(lambda D: pa.sum(D @ A)))(B)
    assert type(g) is pa.Diagonal and g.shape == (2, 3, 3)
    g = pa.grad(lambda B: pa.sum(pa.vmap(lambda D: D @ A)(B)))(B)
    assert type(g) is pa.Diagonal
    same(g.diag, np.broadcast_to(A.sum(axis=1), (2, 3)))
    empty = pa.vmap(lambda D: 2 * D)(pa.Diagonal(np.zeros((0, 3))))
    assert type(empty) is pa.Diagonal and empty.shape == (0, 3, 3)
    assert pa.vmap(lambda z: z, in_axes=1)(pa.Zeros((2, 4, 3))).shape == (4, 2, 3)
    assert pa.vmap(lambda z: z, out_axes=1)(pa.Zeros((2, 4, 3))).shape == (4, 2, 3)
    assert pa.vmap(lambda z, x: pa.Zeros((2,)) * x[0])(pa.Zeros((3, 1)), A).shape == (3, 2)
    hot = pa.vmap(lambda i: pa.OneHot(i, 3))(np.array([1, 2]))
    assert type(hot) is pa.OneHot
    same(hot, np.eye(3)[[1, 2]])
    same(pa.vmap(lambda h, W: h @ W, in_axes=(0, None))(H, A), A[[2, 0, 1]])


def test_collectives():
    """A sum over the lanes is leaf by leaf for linear types only; gathered lanes are a batch axis."""
    f = lambda how: pa.vmap(lambda D: how(D, "i"), axis_name="i", out_axes=None)(B)
    assert type(f(pa.psum)) is type(f(pa.pmean)) is type(f(pa.all_gather)) is pa.Diagonal
    same(f(pa.psum), B.dense().sum(axis=0))
    same(f(pa.pmean), B.dense().mean(axis=0))
    same(f(pa.all_gather), B.dense())
    zeros = pa.vmap(lambda z: (pa.psum(z, "i"), pa.all_gather(z, "i")), axis_name="i", out_axes=None)(Z)
    assert [z.shape for z in zeros] == [(3,), (3, 3)]
    hot = lambda H: pa.psum(H, "i")
    with pytest.raises(pa.DensifyError, match="lane_sum has no method for OneHot"):
        pa.vmap(hot, axis_name="i", out_axes=None)(H)
    with pa.densify("allow"):
        same(pa.vmap(hot, axis_name="i", out_axes=None)(H), H.dense().sum(axis=0))
        same(f(pa.pmax), B.dense().max(axis=0))


def test_second_derivatives_of_all_leaves():
    h = pa.hessian(lambda D: pa.sum((D @ D) * A))(D)
    same(pa.tree.leaves(h)[0], np.diag(2 * np.diag(A)))


def test_lanes_split_by_control_flow():
    f = lambda D: D @ D if D[0, 0] > 1 else -D
    same(pa.vmap(f)(B).diag, np.stack([-B.diag[0], B.diag[1] ** 2]))


def test_mapping_an_axis_of_the_structure_is_guarded():
    with pytest.raises(pa.DensifyError, match="mapping axis 1"):
        pa.vmap(lambda row: row, in_axes=1)(D)
    with pa.densify("allow"):
        same(pa.vmap(lambda row: row * 2, in_axes=1)(D), np.diag(D.diag).T * 2)
    with pytest.raises(pa.ShapeError, match="out_axes"):
        pa.vmap(lambda d: pa.Diagonal(d), out_axes=-1)(B.diag)


def test_traces():
    f = lambda D, W: (D @ W, D @ D, {"h": H @ W})
    program = pa.make_ir(f)(D, A)
    for found, expected in zip(pa.tree.leaves(program(D, A)), pa.tree.leaves(f(D, A)), strict=True):
        same(found, expected)
    assert type(program(D, A)[1]) is pa.Diagonal
    assert type(pa.make_ir(pa.grad(lambda D: pa.sum(D @ A)))(D)(D)) is pa.Diagonal


def test_inside_trees():
    f = lambda p: pa.sum(p["layers"][0] @ p["layers"][1]) + pa.sum(p["b"])
    p = {"layers": (D, A), "b": A[0]}
    g = pa.grad(f)(p)
    assert type(g["layers"][0]) is pa.Diagonal
    same(g["layers"][0].diag, A.sum(axis=1))
    lanes = {"layers": (B, np.stack([A, A])), "b": A[:2]}
    assert type(pa.vmap(pa.grad(f))(lanes)["layers"][0]) is pa.Diagonal


def test_vmap_wraps_and_maps_again():
    """pytorch#91437: a type of one's own made between two levels of vmap."""
    f = lambda rows: pa.vmap(lambda D, x: D @ x)(pa.Diagonal(rows), rows)
    same(pa.vmap(f)(np.arange(12.0).reshape(2, 2, 3)), np.arange(12.0).reshape(2, 2, 3) ** 2)


def test_creation_by_example():
    """quax#2: creation by example returns the example's type where that type can hold it."""
    assert type(pa.zeros_like(D)) is pa.Diagonal
    assert type(pa.zeros_like(Z, dtype=np.float32)) is pa.Zeros and pa.zeros_like(Z, dtype=np.float32).dtype == np.float32
    assert pa.zeros_like(D, dtype=np.float32).dtype == np.float32
    assert type(pa.ones_like(D)) is type(pa.zeros_like(H)) is np.ndarray


@pytest.mark.parametrize("x", [D, B, Z, H])
def test_copies_and_text(x):
    for y in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert type(y) is type(x)
        same(y, x.dense())
    assert repr(x).startswith(type(x).__name__)
    assert len(x) == x.shape[0] and x.size == np.prod(x.shape)


def test_truth_of_a_container_is_that_of_its_one_element():
    assert not pa.Zeros((1,)) and not bool(pa.Diagonal(np.zeros(1))) and bool(pa.Diagonal(np.ones(1)))
    with pytest.raises(ValueError, match=r"bool\(\) of a Diagonal of shape \[3, 3\] is ambiguous; use .any\(\) or .all\(\)"):
        bool(D)
