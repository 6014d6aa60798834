"""Sparse Jacobians and Hessians against dense ones, patterns against the entries that are not zero."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import polyad as pa

rng = np.random.default_rng(5)
x6 = rng.random(6) + 0.1


def nonzero(matrix):
    return np.asarray(matrix) != 0


def covers(pattern, matrix):
    """The pattern has every entry of the matrix that is not zero."""
    matrix = np.asarray(matrix).reshape(pattern.shape)
    assert not (nonzero(matrix) & ~pattern.toarray()).any()


def exact(pattern, matrix):
    assert np.array_equal(pattern.toarray(), nonzero(np.asarray(matrix).reshape(pattern.shape)))


# ---------------------------------------------------------------------- random programs
STEPS = {
    "sin": pa.sin,
    "square": lambda x: x * x,
    "neighbours": lambda x: pa.concatenate([x[1:] * x[:-1], x[:1]]),
    "difference": lambda x: pa.concatenate([x[:1], pa.diff(x)]),
    "roll": lambda x: pa.roll(x, 2),
    "flip": lambda x: x[::-1],
    "cumsum": lambda x: pa.cumsum(x) * 0.3,
    "pick": lambda x: x[np.array([0, 2, 2, 1, 5, 4])],
    "band": lambda x: np.diag(np.arange(1.0, 6.0), 1) @ x,
    "rows": lambda x: pa.reshape(pa.reshape(x, (2, 3)) * pa.sum(pa.reshape(x, (2, 3)), axis=1, keepdims=True), (-1,)),
    "mask": lambda x: x * np.array([1.0, 0, 1, 0, 0, 1]),
    "where": lambda x: pa.where(x > 0.5, x, 2 * x[::-1]),
    "largest": lambda x: pa.maximum(x, x[::-1]),
    "step": lambda x: pa.floor(x) + x,
    "sort": lambda x: pa.ravel(pa.sort(pa.reshape(x, (3, 2)), axis=1)),
    "set": lambda x: pa.index_set(x, x[:2] * x[0], spec=(pa.Slice((3, 5, None)),)),
    "matrix": lambda x: pa.ravel(pa.reshape(x, (2, 3)) @ pa.reshape(x, (3, 2)))[np.array([0, 1, 2, 3, 0, 1])],
    "lanes": lambda x: pa.vmap(lambda a, b: a * pa.exp(-b))(x, pa.roll(x, 1)),
    "slope": lambda x: pa.grad(lambda z: pa.sum(z[1:] * z[:-1] ** 2))(x),
    "constant": lambda x: pa.stop_gradient(x) + 0.1 * x[2],
}
programs = st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=4)


def run(names, x):
    for name in names:
        x = STEPS[name](x)
    return x


@given(names=programs, seed=st.integers(0, 99), mode=st.sampled_from(["auto", "forward", "reverse"]), local=st.booleans())
@settings(max_examples=80, deadline=None)
def test_jacobians_of_random_programs(names, seed, mode, local):
    x = np.random.default_rng(seed).uniform(0.2, 1.3, 6)
    f = lambda x: run(names, x)
    dense = pa.jacrev(f)(x)
    pattern = pa.jacobian_sparsity(f, local=local)(x)
    covers(pattern, dense)
    np.testing.assert_allclose(pa.sparse_jacobian(f, pattern=pattern, mode=mode)(x).toarray(), dense, rtol=1e-9, atol=1e-12)


@given(names=programs, seed=st.integers(0, 99))
@settings(max_examples=50, deadline=None)
def test_hessians_of_random_programs(names, seed):
    x = np.random.default_rng(seed).uniform(0.2, 1.3, 6)
    f = lambda x: pa.sum(pa.sin(run(names, x)))
    dense = pa.hessian(f)(x)
    covers(pa.hessian_sparsity(f)(x), dense)
    np.testing.assert_allclose(pa.sparse_hessian(f)(x).toarray(), dense, rtol=1e-8, atol=1e-10)


@given(names=programs, seed=st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_a_global_pattern_holds_elsewhere(names, seed):
    a, b = np.random.default_rng(seed).uniform(-1, 1, (2, 6))
    f = lambda x: run(names, x)
    covers(pa.jacobian_sparsity(f)(a), pa.jacrev(f)(b))


# ---------------------------------------------------------------------- tightness


def test_operations_of_users():
    @pa.linear(samples=[])
    def shifted(x, /):
        """x moved by one place."""

    @shifted.method
    def shifted_numpy(x: np.ndarray, /):
        return np.concatenate([x[1:], [0.0]])

    @shifted.rule("batch")
    def shifted_batch(size, xs, batched):
        return pa.concatenate([xs[0][:, 1:], np.zeros((size, 1))], axis=1)

    exact(pa.jacobian_sparsity(shifted)(x6), np.eye(6, k=1))

    @pa.linear(samples=[])
    def smoothed(x, /):
        """Means of neighbours: no selection, so its matrix is made."""

    @smoothed.method
    def smoothed_numpy(x: np.ndarray, /):
        return (x[1:] + x[:-1]) / 2

    smoothed.rule("batch")(lambda size, xs, batched: (xs[0][:, 1:] + xs[0][:, :-1]) / 2)
    smoothed.rule("transpose")([lambda ct, y, x: pa.pad(ct / 2, (0, 1)) + pa.pad(ct / 2, (1, 0))])
    exact(pa.jacobian_sparsity(smoothed)(x6), np.eye(5, 6) + np.eye(5, 6, k=1))

    @pa.opaque(samples=[])
    def pairs(x, /):
        """The sum of squares of each row."""

    @pairs.method
    def pairs_numpy(x: np.ndarray, /):
        return np.sum(x**2, axis=-1)

    @pairs.rule("jvp")
    def pairs_jvp(dxs, y, x):
        return 2 * pa.sum(x * dxs[0], axis=-1)

    f = lambda x: pairs(x.reshape(3, 2))
    exact(pa.jacobian_sparsity(f)(x6), pa.jacfwd(f)(x6))  # by its forward rule
    del pairs.card.rules["jvp"]
    assert pa.jacobian_sparsity(f)(x6).nnz == 18  # nothing is known of it
    pairs.rule("vjp")([lambda ct, y, x: 2 * ct[:, None] * x])
    exact(pa.jacobian_sparsity(f)(x6), np.repeat(np.eye(3), 2, axis=1))
    del pairs.card.rules["vjp"]
    pairs.rule("depends")("j->")
    assert pa.jacobian_sparsity(f)(x6).nnz == 6
    pairs.rule("depends")(lambda x: pa.sum(x, axis=-1))
    assert pa.jacobian_sparsity(f)(x6).nnz == 6


def test_functions_with_rules_of_their_own():
    """The pattern is that of the rule, not of what the function computes."""

    @pa.custom_jvp
    def straight(x):
        return pa.floor(x)

    straight.defjvps(lambda dx, y, x: dx * x[::-1])

    @pa.custom_vjp
    def turned(x, k):
        return x[::-1] ** 2 * k

    turned.defvjp(lambda x, k: (turned(x, k), (x, k)), lambda saved, ct: (2 * saved[0] * ct[::-1] * saved[1], None))

    exact(pa.jacobian_sparsity(straight)(x6), np.eye(6))
    f = lambda x: turned(x, 3.0)[:4]
    exact(pa.jacobian_sparsity(f)(x6), pa.jacrev(f)(x6))
    np.testing.assert_allclose(pa.sparse_jacobian(f)(x6).toarray(), pa.jacrev(f)(x6))
    g = lambda x: pa.sum(f(x) * x[:4])
    np.testing.assert_allclose(pa.sparse_hessian(g)(x6).toarray(), pa.hessian(g)(x6))
    reads = lambda x: pa.vmap(lambda a: straight(pa.reshape(a, (1,)))[0] * x[0])(x)
    covers(pa.jacobian_sparsity(reads)(x6), pa.jacfwd(reads)(x6))


# ---------------------------------------------------------------------- the interface
def test_trees_and_mixed_leaves():
    def f(d, k):
        return {"u": d["a"] * d["b"][0], "n": k + 1, "v": pa.sum(d["a"]) + d["b"]}

    d = {"a": rng.random(3), "b": rng.random(2)}
    got = pa.sparse_jacobian(f)(d, 7)
    dense = np.block([[np.eye(3) * d["b"][0], d["a"][:, None], np.zeros((3, 1))], [np.ones((2, 3)), np.eye(2)]])
    assert isinstance(got, sp.csr_array) and got.dtype == np.float64
    np.testing.assert_allclose(got.toarray(), dense)
    both = pa.sparse_jacobian(lambda x, y: x[:2] * y, argnums=(0, 1))(x6, np.ones(2)).toarray()
    np.testing.assert_allclose(both, np.concatenate([np.eye(2, 6), np.diag(x6[:2])], axis=1))
    diagonal = pa.sparse_jacobian(lambda d: d @ np.array([1.0, 2.0]))(pa.Diagonal(np.array([3.0, 4.0])))
    np.testing.assert_allclose(diagonal.toarray(), [[1, 0], [0, 2]])


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_complex_results(mode):
    f = lambda x: [pa.exp(1j * x), x[1:] * x[:-1]]
    e, d = pa.jacfwd(f)(x6)
    np.testing.assert_allclose(pa.sparse_jacobian(f, mode=mode)(x6).toarray(), np.concatenate([e, d]), rtol=1e-12)


def test_single_precision_numbers_and_nothing():
    f32 = pa.sparse_jacobian(lambda x: pa.sin(x[1:]) * x[:-1])(x6.astype(np.float32))
    assert f32.dtype == np.float32 and f32.nnz == 10
    assert pa.sparse_jacobian(lambda x: x**2)(3.0).toarray() == 6.0
    assert pa.sparse_jacobian(lambda x: np.ones(3))(x6).shape == (3, 6)
    assert pa.sparse_jacobian(lambda x: x[:0])(x6).shape == (0, 6)
    assert pa.sparse_jacobian(pa.sum)(np.zeros(0)).shape == (1, 0)
    assert pa.sparse_hessian(pa.sum)(x6).nnz == 0


def test_modes():
    wide, tall = lambda x: pa.sum(x) * x[:2], lambda x: pa.concatenate([x[0] * x, x])
    assert pa.sparse_jacobian(wide).plan(x6).mode == "reverse" and pa.sparse_jacobian(wide).plan(x6).passes == 2
    assert pa.sparse_jacobian(tall).plan(x6).mode == "forward" and pa.sparse_jacobian(tall).plan(x6).passes == 2
    for mode in ("forward", "reverse"):
        np.testing.assert_allclose(pa.sparse_jacobian(wide, mode=mode)(x6).toarray(), pa.jacfwd(wide)(x6))


def test_a_plan_serves_other_inputs():
    f = lambda x, k: pa.sin(x[1:]) * x[:-1] * k
    plan = pa.sparse_jacobian(f).plan(x6, 2.0)
    other = rng.random(6)
    np.testing.assert_allclose(plan(other, 3.0).toarray(), pa.jacfwd(f)(other, 3.0))
    assert repr(plan) == "SparsePlan(sparse_jacobian(<lambda>), 5×6, 10 entries, 2 passes, forward)"
    again = pa.sparse_jacobian(f, pattern=plan.pattern)
    np.testing.assert_allclose(again(other, 3.0).toarray(), pa.jacfwd(f)(other, 3.0))
    kept = pa.sparse_jacobian(lambda x: x * 0.0, pattern=sp.eye_array(6))(x6)
    assert kept.nnz == 6  # entries of the pattern stay, whatever their numbers


def test_values_are_followed():
    f = lambda x: pa.sin(x[1:]) * x[:-1]
    plan = pa.sparse_jacobian(f).plan(x6)
    squares = lambda x: pa.sum(plan.values(x) ** 2)
    np.testing.assert_allclose(pa.grad(squares)(x6), pa.grad(lambda x: pa.sum(pa.jacfwd(f)(x) ** 2))(x6), rtol=1e-10)
    many = rng.random((4, 6))
    np.testing.assert_allclose(pa.vmap(plan.values)(many)[2], plan(many[2]).data, rtol=1e-12)
    curved = pa.sparse_hessian(lambda x: pa.sum(f(x) ** 2)).plan(x6)
    assert pa.jacfwd(curved.values)(x6).shape == (16, 6)


def test_patterns_inside_of_transformations():
    inside = lambda x: pa.sum(x) * pa.jacobian_sparsity(lambda y: x * y)(np.ones(6)).nnz
    np.testing.assert_allclose(pa.grad(inside)(x6), 6 * np.ones(6))
    plan = pa.sparse_jacobian(lambda y: y**3).plan(x6)
    loss = lambda w: pa.sum(pa.sparse_jacobian(lambda y: w * y**2, pattern=np.eye(6)).plan(x6).values(x6))
    np.testing.assert_allclose(pa.grad(loss)(x6), 2 * x6)
    assert plan.passes == 1
    nested = pa.jacobian_sparsity(lambda x: pa.sparse_jacobian(lambda y: y**3).plan(x6).values(x))(x6)
    exact(nested, np.eye(6))


def test_control_flow():
    def f(x):
        y = x
        while pa.sum(y) < 10:
            y = y * 2
        return y if y[0] > y[1] else y[::-1]

    x = np.array([0.3, 0.2, 0.7])
    np.testing.assert_allclose(pa.sparse_jacobian(f)(x).toarray(), pa.jacfwd(f)(x))
    plan = pa.sparse_jacobian(f).plan(x)
    with pytest.raises(pa.SparsityError, match="make a new plan"):
        plan(x[::-1].copy() * np.array([0.1, 1, 1]))
    loop = lambda x: pa.scan(lambda c, a: (c + a, c * a), 0.0, x)[1]
    covers(pa.jacobian_sparsity(loop)(x6), pa.jacfwd(loop)(x6))


@pytest.mark.parametrize("wrap", [pa.jit, lambda f: lambda x: pa.make_ir(f)(x)(x)], ids=["jit", "make_ir"])
def test_programs(wrap):
    functions = [
        lambda x: x[1:] * x[:-1],
        lambda x: pa.scan(lambda c, a: (c + a, c * a), 0.0, x)[1],
        lambda x: pa.cond(x[0] > 0.5, lambda: x**2, lambda: x[::-1]),
        lambda x: pa.while_loop(lambda c: pa.sum(c) < 10, lambda c: c * 2, x),
        lambda x: pa.vmap(lambda a, b: pa.cond(a > b, lambda: a**2, lambda: b))(x, x[::-1]),
    ]
    for f in functions:
        g = wrap(f)
        covers(pa.jacobian_sparsity(g)(x6), pa.jacfwd(f)(x6))
        assert pa.jacobian_sparsity(g)(x6).nnz <= 21
        np.testing.assert_allclose(pa.sparse_jacobian(g)(x6).toarray(), pa.jacfwd(f)(x6))
        h = lambda x, g=g: pa.sum(g(x) ** 2)
        covers(pa.hessian_sparsity(h)(x6), pa.hessian(lambda x, f=f: pa.sum(f(x) ** 2))(x6))


def test_in_place_code():
    def f(u):
        v = u.copy()
        v[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        v[0] = v[-1]
        return v

    exact(pa.jacobian_sparsity(f)(x6), pa.jacfwd(f)(x6))


# ---------------------------------------------------------------------- bad input
def test_wrong_patterns_are_noticed():
    f = lambda x: x[1:] * x[:-1]
    pattern = pa.jacobian_sparsity(f)(x6).toarray()
    for mode in ("forward", "reverse"):
        for place in np.argwhere(pattern):
            wrong = pattern.copy()
            wrong[tuple(place)] = False
            with pytest.raises(pa.SparsityError, match="lacks entries"):
                pa.sparse_jacobian(f, pattern=wrong, mode=mode)(x6)
            pa.sparse_jacobian(f, pattern=wrong, mode=mode, check=False)(x6)
    g = lambda x: pa.sum(f(x) ** 2)
    with pytest.raises(pa.SparsityError, match="lacks entries"):
        pa.sparse_hessian(g, pattern=np.eye(6))(x6)
    with pytest.raises(pa.SparsityError, match="not symmetric"):
        pa.sparse_hessian(g, pattern=np.triu(np.ones((6, 6))))
    more = pa.sparse_jacobian(f, pattern=np.ones((5, 6)))(x6)  # too many entries are only slow
    np.testing.assert_allclose(more.toarray(), pa.jacfwd(f)(x6))


def test_large_and_small_rows_are_both_checked():
    scale = 10.0 ** np.arange(-8, 4, 2)
    f = lambda x: scale * x * x[::-1]
    pattern = pa.jacobian_sparsity(f)(x6).toarray()
    pa.sparse_jacobian(f, pattern=pattern)(x6)
    pattern[0, 0] = False
    with pytest.raises(pa.SparsityError, match=r"rows \(0\)"):
        pa.sparse_jacobian(f, pattern=pattern)(x6)


def test_errors():
    f = lambda x: x * 2
    with pytest.raises(ValueError, match='mode is "forward", "reverse" or "auto"'):
        pa.sparse_jacobian(f, mode="backward")
    with pytest.raises(pa.DTypeError, match="give floating point"):
        pa.sparse_jacobian(f)(np.arange(3))
    with pytest.raises(pa.DTypeError, match="real and imaginary parts"):
        pa.sparse_jacobian(f)(x6 * 1j)
    with pytest.raises(pa.ShapeError, match="for 5 columns"):
        pa.sparse_jacobian(f, pattern=np.ones((6, 5)))(x6)
    with pytest.raises(pa.ShapeError, match="has 5 rows"):
        pa.sparse_jacobian(f, pattern=np.ones((5, 6)))(x6)
    with pytest.raises(pa.ShapeError, match="two axes"):
        pa.sparse_jacobian(f, pattern=np.ones(6))(x6)
    with pytest.raises(pa.ShapeError, match="one real number"):
        pa.sparse_hessian(f)(x6)
    with pytest.raises(pa.StructureError, match="returns a function"):
        pa.jacobian_sparsity(lambda x: lambda y: x)(x6)
    with pytest.raises(pa.ConcreteValueError, match=r"use plan\.values"):
        pa.grad(lambda x: pa.sum(pa.sparse_jacobian(f)(x).data))(x6)
    with pytest.raises(pa.ConcreteValueError, match=r"use plan\.values"):
        pa.vmap(lambda w: pa.sparse_jacobian(lambda x: w * x, pattern=np.eye(6))(x6))(x6)
    kept = []
    pa.jacobian_sparsity(lambda x: kept.append(x) or x)(x6)
    with pytest.raises(pa.LeakedLayerError, match="jacobian_sparsity"):
        kept[0] + 1
    with pytest.raises(MemoryError, match="give `pattern`"):
        pa.jacobian_sparsity(lambda x: pa.sum(x) * x)(np.ones(100_000))
