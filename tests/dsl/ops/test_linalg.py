"""Linear algebra: hard points, conventions and errors, against NumPy, SciPy, finite differences and loops.

The samples of the cards cover what is regular; the operations on Hermitian matrices are composed here with a map onto them.
"""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polyad as pa
from polyad import linalg, testing


def same(x, y, rtol=1e-10, atol=1e-12):
    np.testing.assert_allclose(x, y, rtol=rtol, atol=atol)


def random(seed, *shape, kind="real"):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if kind == "complex" else x


def regular(seed, n, *lead, kind="real"):
    """Well-conditioned square matrices."""
    return random(seed, *lead, n, n, kind=kind) * 0.3 + 2.0 * np.eye(n)


def adjoint(x):
    return pa.conj(pa.matrix_transpose(x))


kinds = st.sampled_from(["real", "complex"])
seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 4)
few = settings(max_examples=15)


def rebuilt(x):
    w, v = linalg.eigh(x)
    return (v * w) @ adjoint(v)


# --- properties on random matrices -----------------------------------------------------------------------------


@few
@given(seeds, sizes, kinds)
def test_factors_rebuild_their_matrix(seed, n, kind):
    """The derivative of a product of factors is that of the matrix."""
    positive = regular(seed, n, kind=kind)
    positive = positive @ positive.conj().T
    weights = random(seed + 1, n, n, kind=kind)
    weights = weights + weights.conj().T  # Hermitian: then so is the gradient

    def by_cholesky(x, upper=False):
        c = linalg.cholesky(x, upper=upper)
        return adjoint(c) @ c if upper else c @ adjoint(c)

    def by_svd(x):
        u, s, vh = linalg.svd(x)
        return (u * s) @ vh

    def by_qr(x):
        q, r = linalg.qr(x)
        return q @ r

    def by_lu(x):
        p, l, u = linalg.lu(x)  # noqa: E741
        return p @ l @ u

    def by_eig(x):
        w, v = linalg.eig(x)
        return (v * w) @ linalg.inv(v)

    upper = lambda x: by_cholesky(x, upper=True)
    for f in (by_cholesky, upper, rebuilt, by_svd, by_qr, by_lu, by_eig):
        same(f(positive), positive, atol=1e-9)
        found = pa.grad(lambda x, f=f: pa.real(pa.sum(f(x) * weights)))(positive)
        same(found, weights, rtol=1e-6, atol=1e-6)


def hermitian(make):
    """A card of functions of the Hermitian part."""
    return pa.composite(kernel=None, numpy=(), samples=())(make)


@hermitian
def factor(x, /, upper=False):
    return linalg.cholesky(x @ adjoint(x) + 2.0 * np.eye(3), upper=upper)


@hermitian
def spectrum(x, /, UPLO="L"):
    x = (x + adjoint(x)) * 0.5
    w, v = linalg.eigh(x, UPLO=UPLO)
    return w, linalg.eigvalsh(x, UPLO=UPLO), (v * pa.exp(pa.expand_dims(w, -2))) @ adjoint(v)


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("lead", [(), (2,)])
def test_rules_on_hermitian_matrices(kind, lead):
    x = random(5, *lead, 3, 3, kind=kind)
    for upper in (False, True):
        testing.check_rule(factor, x, upper=upper)
    for UPLO in "LU":
        testing.check_rule(spectrum, x, UPLO=UPLO)


def test_one_triangle_is_read():
    x = regular(7, 3)
    x = x @ x.T
    lower, upper = np.tril(x) + np.triu(np.full((3, 3), np.nan), 1), np.triu(x) + np.tril(np.full((3, 3), np.nan), -1)
    same(linalg.cholesky(lower), np.linalg.cholesky(x))
    same(linalg.cholesky(upper, upper=True), np.linalg.cholesky(x).T)
    same(linalg.eigvalsh(lower), np.linalg.eigvalsh(x))
    same(linalg.eigh(upper, UPLO="U")[0], np.linalg.eigvalsh(x))
    for f in (linalg.cholesky, linalg.eigvalsh, lambda x: linalg.eigvalsh(x, UPLO="U")):
        g = pa.grad(lambda x, f=f: pa.sum(f(x) * np.arange(1.0, 4.0)))(x)
        same(g, g.T)


# --- ranks and condition numbers -------------------------------------------------------------------------------


@pytest.mark.parametrize("x", [np.ones((3, 3)), np.eye(2), np.zeros((2, 2)), np.ones((2, 2, 3)), np.zeros(3), np.ones(2)])
def test_matrix_rank_and_cond(x):
    assert np.array_equal(linalg.matrix_rank(x), np.linalg.matrix_rank(x))
    if x.ndim > 1 and np.any(x):
        same(1 / linalg.cond(x), 1 / np.linalg.cond(x))
    if x.ndim == 2 and np.linalg.matrix_rank(x) == x.shape[0]:
        for p in (None, 1, -1, 2, -2, np.inf, "fro"):
            same(linalg.cond(x, p), np.linalg.cond(x, p))


SINGULAR = [
    np.zeros((2, 2)), np.zeros((3, 2)), np.array([[1.0, 2.0], [2.0, 4.0]]), np.ones((2, 2), np.float32),
    np.zeros((2, 2), complex), np.stack([np.eye(2), np.zeros((2, 2))]), np.array([[1.0, 2.0], [3.0, 4.0]]),
    np.array([[1.0, np.nan], [3.0, 4.0]]), np.zeros((2, 2), int),
]  # fmt: skip


@pytest.mark.parametrize("x", SINGULAR)
@pytest.mark.parametrize("p", [None, 2, -2, "fro", 1, -1, np.inf, -np.inf])
def test_cond_of_singular_matrices(x, p):
    """inf, and NaN only where the matrix has one, as NumPy has it; also in programs and lanes."""
    if p not in (None, 2, -2) and x.shape[-1] != x.shape[-2]:
        return
    try:
        expected = np.linalg.cond(x, p)
    except np.linalg.LinAlgError:  # singular values of NaN
        return
    cond = lambda x: linalg.cond(x, p)
    for f in (cond, pa.jit(cond), lambda x: pa.vmap(cond)(x[None])[0]):
        with np.errstate(all="ignore"):
            found = f(x)
        assert found.dtype == expected.dtype
        huge = np.asarray(expected) > 1e6  # of singular values that are rounded
        np.testing.assert_allclose(np.where(huge, 1, found), np.where(huge, 1, expected), rtol=1e-6)
        assert np.all(np.asarray(found)[huge] > 1e6)
    pa.check_grads(cond, (random(30, 3, 3),), order=1)


# --- under every transformation --------------------------------------------------------------------------------

SQUARE = regular(20, 3, 2)
CALLS = {
    "solve": lambda x: np.linalg.solve(x, np.ones((3, 2))),
    "inv": lambda x: np.linalg.inv(x),
    "det": lambda x: np.linalg.det(x),
    "slogdet": lambda x: np.linalg.slogdet(x).logabsdet,
    "cholesky": lambda x: np.linalg.cholesky(x @ np.matrix_transpose(x)),
    "qr": lambda x: np.linalg.qr(x).R,
    "qr-r": lambda x: np.linalg.qr(x, mode="r"),
    "svd": lambda x: np.linalg.svd(x).S,
    "svd-values": lambda x: np.linalg.svd(x, compute_uv=False),
    "svdvals": lambda x: np.linalg.svdvals(x),
    "eigh": lambda x: np.linalg.eigh(x).eigenvalues,
    "eigvalsh": lambda x: np.linalg.eigvalsh(x, UPLO="U"),
    "eig": lambda x: np.sum(np.linalg.eig(x).eigenvalues.real, axis=-1),
    "pinv": lambda x: np.linalg.pinv(x[..., :2]),
    "norm": lambda x: np.linalg.norm(x, "nuc", axis=(-2, -1)),
    "vector_norm": lambda x: np.linalg.vector_norm(x, axis=-1, ord=3),
    "matrix_norm": lambda x: np.linalg.matrix_norm(x, ord=2),
    "cond": lambda x: np.linalg.cond(x),
    "cond-1": lambda x: np.linalg.cond(x, 1),
    "matrix_power": lambda x: np.linalg.matrix_power(x, -2),
    "diagonal": lambda x: np.linalg.diagonal(x, offset=1),
    "trace": lambda x: np.linalg.trace(x),
    "matrix_transpose": lambda x: np.linalg.matrix_transpose(x),
    "matmul": lambda x: np.linalg.matmul(x, x),
    "vecdot": lambda x: np.linalg.vecdot(x, x),
    "cross": lambda x: np.linalg.cross(x, np.arange(3.0)),
    "multi_dot": lambda x: np.linalg.multi_dot([x[0], x[1], np.ones(3)]),
    "outer": lambda x: np.linalg.outer(x[0, 0], x[0, 1]),
    "tensordot": lambda x: np.linalg.tensordot(x, x, axes=((0, 1), (0, 1))),
    "lstsq": lambda x: np.linalg.lstsq(x[0][:, :2], np.arange(3.0))[0],
    "tensorsolve": lambda x: np.linalg.tensorsolve(x[0], np.arange(3.0)),
    "tensorinv": lambda x: np.linalg.tensorinv(x[0], ind=1),
}


@pytest.mark.parametrize("name", CALLS)
def test_numpys_functions_on_followed_values(name):
    f = CALLS[name]
    expected = f(SQUARE)
    same(pa.vjp(f, SQUARE)[0], expected)
    same(pa.jvp(f, (SQUARE,), (SQUARE,))[0], expected)
    same(pa.make_ir(f)(SQUARE)(SQUARE), expected)
    same(pa.vmap(f)(SQUARE[None]), expected[None])
    if name != "eigh" and name != "eigvalsh":  # their derivative is that along symmetric matrices
        pa.check_grads(f, (SQUARE,), order=1)
    rank = pa.vmap(np.linalg.matrix_rank)(SQUARE)
    assert np.array_equal(rank, [3, 3])


@pytest.mark.parametrize("under", [lambda f: pa.vjp(f, SQUARE), lambda f: pa.jvp(f, (SQUARE,), (SQUARE,)), lambda f: pa.vmap(f)(
    SQUARE), lambda f: pa.make_ir(f)(SQUARE), lambda f: f(SQUARE)])  # fmt: skip
def test_results_have_names(under):
    def f(x):
        parts = linalg.eigh(x), linalg.eig(x), linalg.svd(x), linalg.qr(x), linalg.slogdet(x)
        names = [field for part in parts for field in type(part)._fields]
        assert names == ["eigenvalues", "eigenvectors"] * 2 + ["U", "S", "Vh", "Q", "R", "sign", "logabsdet"]
        return parts[0].eigenvalues + parts[2].S

    under(f)


# --- dtypes, sizes, errors -------------------------------------------------------------------------------------

ON_SQUARES = [
    linalg.inv, linalg.det, linalg.slogdet, linalg.adjugate, linalg.cholesky, linalg.eigh, linalg.eigvalsh, linalg.eig,
    linalg.eigvals, linalg.expm,
]  # fmt: skip
ON_ALL = [linalg.qr, linalg.svd, linalg.svdvals, linalg.pinv, linalg.lu]


@pytest.mark.parametrize("op", [*ON_SQUARES, *ON_ALL])
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16", "i4", ">f8"])
def test_dtypes_and_shapes_are_those_of_the_rule(op, dtype):
    x = (np.eye(3) * 2 + np.arange(9).reshape(3, 3) % 2).astype(dtype)
    x = ((x + x.T) / 2).astype(dtype) + np.eye(3, dtype=dtype)
    for value in (x, np.asfortranarray(x), np.stack([x, x])[::-1]):
        y, rule = op(value), pa.eval_shape(op, value)
        for part, aval in zip(pa.tree.leaves(y), rule if isinstance(rule, tuple) else [rule], strict=True):
            assert (part.shape, part.dtype) == (aval.shape, aval.dtype)
    if dtype in ("f4", "c8"):
        g = pa.grad(lambda x: pa.real(sum(pa.sum(part) for part in pa.tree.leaves(op(x)))))(x)
        assert g.dtype == x.dtype


@pytest.mark.parametrize("op", [*ON_SQUARES, *ON_ALL])
def test_matrices_without_elements(op):
    shapes = [(0, 0), (2, 0, 0), (0, 2, 2)] + ([(0, 2), (2, 0)] if op in ON_ALL else [])
    call = (lambda x: op(x, full_matrices=False)) if op is linalg.svd else op
    for shape in shapes:
        x = np.zeros(shape)
        rule = pa.eval_shape(op, x)
        rule = rule if isinstance(rule, tuple) else [rule]
        assert [part.shape for part in pa.tree.leaves(op(x))] == [aval.shape for aval in rule]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            g = pa.grad(lambda x: pa.real(sum(pa.sum(part) for part in pa.tree.leaves(call(x)))))(x)
        assert g.shape == shape
    assert linalg.solve(np.zeros((0, 0)), np.zeros(0)).shape == (0,)
    assert linalg.norm(np.zeros(0)) == linalg.norm(np.zeros((0, 2)), 2) == 0


@pytest.mark.parametrize("op", ON_SQUARES)
def test_shapes_that_do_not_fit(op):
    name = op.__name__
    for x in (np.zeros((2, 3)), np.zeros(3)):
        for call in (op, lambda x: pa.make_ir(op)(x), lambda x: pa.vmap(op)(x[None])):
            with pytest.raises(pa.ShapeError, match=f"{name}.*"):
                call(x)


@pytest.mark.parametrize(
    ("f", "error", "text"),
    [
        (lambda: linalg.solve(np.eye(2), np.ones(3)), pa.ShapeError, r"solve.*\[2, 2\].*\[3\]"),
        (lambda: pa.make_ir(linalg.solve)(np.eye(2), np.ones(3)), pa.ShapeError, "differ in their rows"),
        (lambda: pa.make_ir(linalg.inv)(np.ones((2, 3))), pa.ShapeError, "not square; for other shapes see linalg.lstsq"),
        (lambda: linalg.inv(np.eye(2, dtype=np.float16)), pa.DTypeError, "inv.*float16.*astype"),
        (lambda: pa.make_ir(linalg.inv)(np.eye(2, dtype=np.float16)), pa.DTypeError, "inv: float16.*astype"),
        (lambda: pa.grad(lambda x: pa.sum(linalg.svd(x)[0]))(np.ones((2, 3))), pa.MissingRuleError, "full_matrices=False"),
        (lambda: pa.grad(lambda x: pa.sum(linalg.qr(x, mode="complete")[0]))(np.ones((3, 2))), pa.MissingRuleError, "reduced"),
        (lambda: pa.make_ir(lambda x: linalg.qr(x, mode="raw"))(np.eye(2)), pa.ShapeError, "mode='raw'"),
        (lambda: linalg.norm(np.ones((2, 2, 2)), ord=2), pa.ShapeError, "norm.*give axis"),
        (lambda: linalg.norm(np.ones((2, 2)), axis=(0, 0)), pa.ShapeError, "two different ones"),
        (lambda: linalg.norm(np.ones((2, 2)), axis=2), pa.ShapeError, "axis 2 is out of range"),
        (lambda: linalg.norm(np.ones((2, 2)), ord=3), pa.ShapeError, "ord=3 is no order for matrices"),
        (lambda: linalg.norm(np.ones(2), ord="nuc"), pa.ShapeError, "order for matrices"),
        (lambda: linalg.matrix_norm(np.ones(2)), pa.ShapeError, "matrix_norm.*no matrix"),
        (lambda: linalg.matrix_power(np.eye(2), 0.5), pa.ShapeError, "an integer, not 0.5"),
        (lambda: linalg.multi_dot([np.eye(2), np.eye(3)]), pa.ShapeError, "do not fit each other"),
        (lambda: linalg.multi_dot([np.eye(2)]), pa.ShapeError, "two matrices or more"),
        (lambda: linalg.multi_dot([np.eye(2), np.ones(2), np.eye(2)]), pa.ShapeError, "only the first and the last"),
        (lambda: linalg.tensorsolve(np.ones((2, 3)), np.ones(2)), pa.ShapeError, "no square system"),
        (lambda: linalg.lstsq(np.ones((3, 2)), np.ones(2)), pa.ShapeError, "lstsq: 3 rows"),
        (lambda: linalg.cond(np.zeros((0, 0))), pa.ShapeError, "no elements"),
        (lambda: linalg.solve(np.eye(2), [1.0, 2.0]), pa.MethodError, "list"),
    ],
)  # fmt: skip
def test_errors_name_the_operation(f, error, text):
    with pytest.raises(error, match=text):
        f()


# --- the namespace and Diagonal --------------------------------------------------------------------------------


def test_names_of_the_standard():
    names = """cholesky cross det diagonal eig eigh eigvals eigvalsh inv matmul matrix_norm matrix_power matrix_rank
    matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm"""
    assert set(names.split()) <= set(linalg.__all__) <= set(dir(pa.linalg))
    stack = random(23, 2, 3, 3)
    same(linalg.diagonal(stack, offset=1), np.linalg.diagonal(stack, offset=1))
    same(linalg.trace(stack), np.linalg.trace(stack))


def test_diagonal_keeps_its_structure():
    d, b = pa.Diagonal(np.array([2.0, 4.0])), np.array([[1.0, 2.0], [3.0, 4.0]])
    dense = d.dense()
    for f in (linalg.inv, linalg.cholesky, lambda d: linalg.matrix_power(d, 3), lambda d: linalg.matrix_power(d, -2),
              lambda d: linalg.matrix_power(d, 0), lambda d: linalg.solve(d, d)):  # fmt: skip
        assert type(f(d)) is pa.Diagonal
        same(f(d).dense(), f(dense))
    for f in (linalg.det, linalg.trace, linalg.diagonal, lambda d: linalg.diagonal(d, offset=1), linalg.slogdet,
              lambda d: linalg.solve(d, b), lambda d: linalg.solve(d, b[0]), lambda d: pa.trace(d, offset=-1)):  # fmt: skip
        same(f(d), f(dense))
    g = pa.grad(lambda d: linalg.slogdet(d).logabsdet + pa.sum(linalg.solve(d, b)))(d)
    assert type(g) is pa.Diagonal
    same(g.diag, 1 / d.diag - b.sum(1) / d.diag**2)
    with pytest.raises(pa.ShapeError, match="rows differ"):
        linalg.solve(d, np.ones(3))
    with pytest.raises(np.linalg.LinAlgError):
        linalg.cholesky(-d)


OPS = [(name, op) for name, op in pa.dsl.operations.items() if op.card.home == "linalg" and op.card.samples]
LINALG = [(*named, named[1].card.samples[0]) for named in OPS if named[0] != "matrix_power"]  # its power is known in a trace


@pytest.mark.parametrize(("name", "op", "make"), LINALG, ids=[name for name, *rest in LINALG])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8])
def test_a_trace_takes_the_dtypes_that_eager_operations_take(name, op, make, dtype):
    """Half precision is refused by both or by neither, and results have the same dtypes."""
    args, params = make(np.random.default_rng(7))
    scale = 1 if np.dtype(dtype).kind == "f" else 8  # else matrices of whole numbers are singular
    args = pa.tree.map(lambda x: (x * scale).astype(dtype) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x, args)
    f = lambda *args: pa.tree.leaves(op(*args, **params))
    outcomes = []
    for g in (f, pa.make_ir(f)):
        try:
            outcomes.append([v.dtype for v in (g(*args) if g is f else [v.aval for v in g(*args).outputs])])
        except pa.DTypeError:
            outcomes.append("refused")
    assert outcomes[0] == outcomes[1]
