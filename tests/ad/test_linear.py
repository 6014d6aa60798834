"""linearize, linear_transpose and gvp: against jvp, vjp and formulas, by counts of operations, and where they refuse."""

import numpy as np
import pytest

import polyad as pa
from polyad.dsl import operations

pytestmark = pytest.mark.quick

close = np.testing.assert_allclose
X, A = np.array([0.3, 0.5, -0.2]), np.arange(9.0).reshape(3, 3)


def same(found, expected):
    pa.tree.map(lambda a, b: close(a, b) if a is not pa.NoTangent else b is pa.NoTangent or 1 / 0, found, expected)


PROGRAMS = {
    "products": lambda x: pa.sin(A @ x) * x,
    "branch": lambda x: pa.sum(x) ** 2 if x[0] > 0 else x[1],
    "loop": lambda x: x * x[0] ** sum(1 for _ in range(3) if x[1] > 0),
    "numpy": lambda x: np.sort(x) * np.max(x) + np.linalg.norm(x),
    "solve": lambda x: pa.linalg.solve(A + np.diag(x + 9), x),
    "eigenvalues": lambda x: pa.linalg.eigvalsh(pa.outer(x, x) + A + A.T),
    "tree": lambda x: {"a": (x, x[0]), "n": 3, "constant": np.ones(2), "number": 2.0},
    "in place": lambda x: _written(x),
    "lanes": lambda x: pa.vmap(lambda s: s**3 if s > 0 else s)(x),
    "composite": lambda x: pa.var(x) * pa.softmax(x),
    "nothing": lambda x: np.ones(3),
    "complex": lambda x: pa.abs(x * (1 + 2j)) * pa.fft.fft(x),
}


def _written(x):
    y = pa.zeros(3)
    y[0] = x[1]
    y[1:] += x[:2] * x[2]
    return y


@pytest.mark.parametrize("name", PROGRAMS)
def test_is_jvp(name):
    f = PROGRAMS[name]
    y, f_jvp = pa.linearize(f, X)
    same(y, f(X))
    for dx in (np.ones(3), X, np.zeros(3)):
        same(f_jvp(dx), pa.jvp(f, (X,), (dx,))[1])


def test_work_is_done_once():
    calls = []

    def f(x):
        calls.append("f")
        return pa.sum(pa.exp(pa.sin(A @ x)) * x)

    _, f_jvp = pa.linearize(f, X)
    for k in range(3):
        f_jvp(X * k)
    assert calls == ["f"]
    done = [e.op.__name__ for e in f_jvp.program.equations]
    assert not {"sin", "cos", "exp"} & set(done), "values are computed once, not at each call"
    assert done.count("matmul") == 1 and len(done) <= 8


def test_only_the_linear_part_runs(monkeypatch):
    """Counted where they run, not where they are recorded."""
    _, f_jvp = pa.linearize(lambda x: pa.exp(pa.sin(x)) * 2.0, X)
    ran = []
    sin = operations["sin"].generic
    monkeypatch.setitem(sin.namespace, "__kernel", lambda x: ran.append("sin") or np.sin(x))
    f_jvp(X)
    assert not ran


def test_program_is_linear_and_shown():
    _, f_jvp = pa.linearize(lambda x: x**3 + pa.exp(x), X)
    text = str(f_jvp.program)
    assert text.startswith("linearize(<lambda>)(a: float64[3])") and text in repr(f_jvp)
    back = pa.linear_transpose(f_jvp, X)
    close(back(np.ones(3))[0], 3 * X**2 + np.exp(X))


def test_arguments():
    f = lambda p, n, z: p["x"] ** n * z
    y, f_jvp = pa.linearize(f, {"x": 2.0, "k": 4}, 3, 1j)
    dp = {"x": 1.0, "k": pa.NoTangent}
    close([y, f_jvp(dp, pa.NoTangent, 0j), f_jvp(dp, 0, pa.NoTangent)], [8j, 12j, 12j])
    close(f_jvp({"x": 0.0, "k": 0}, pa.NoTangent, 1.0), 8)


def test_aux():
    y, f_jvp, aux = pa.linearize(lambda x: (x * x, {"half": x / 2, "text": 3}), 3.0, has_aux=True)
    assert (y, f_jvp(1.0), aux) == (9, 6, {"half": 1.5, "text": 3})


def test_structures():
    y, f_jvp = pa.linearize(lambda d: d @ d, pa.Diagonal(X))
    out = f_jvp(pa.Diagonal(np.ones(3)))
    assert isinstance(out, pa.Diagonal)
    close(out.dense(), np.diag(2 * X))


def test_single_precision_and_memory():
    x = X.astype(np.float32)
    _, f_jvp = pa.linearize(lambda x: x * 2.0, x)
    assert f_jvp(x).dtype == np.float32
    _, identity = pa.linearize(lambda x: (x, x), X)
    given = np.ones(3)
    one, two = identity(given)
    one[0] = 7
    assert given[0] == 1 and two[0] == 1


# ---------------------------------------------------------------------- nesting
cube = lambda x: pa.sum(x**3) if x[0] > 0 else pa.sum(x * x)
slope = lambda x: pa.linearize(cube, x)[1](np.ones(3))


def test_inside_other_transformations():
    rows = np.stack([X, -X, 2 * X])
    close(pa.vmap(slope)(rows), [slope(x) for x in rows])  # lanes split
    close(pa.grad(slope)(X), 6 * X)
    close(pa.grad(slope)(-X), [2, 2, 2])
    close(pa.jvp(slope, (X,), (X,))[1], 6 * X @ X)
    close(pa.derivatives(lambda t: slope(X * t), 1)(1.0)[1], 6 * X @ X)
    program = pa.make_ir(lambda x: pa.linearize(lambda x: pa.sum(x**3), x)[1](np.ones(3)))(X)
    close(program(2 * X), np.sum(3 * (2 * X) ** 2))
    close(pa.linearize(slope, X)[1](X), 6 * X @ X)
    close(pa.hessian(slope)(X), 6 * np.eye(3))
    total = lambda x: pa.vmap(lambda s: s * pa.psum(s**2, "i"), axis_name="i")(x)
    close(pa.linearize(total, X)[1](np.ones(3)), pa.jvp(total, (X,), (np.ones(3),))[1])
    inner = lambda s: pa.linearize(lambda s: s * pa.psum(s**2, "i"), s)[1](1.0)
    close(pa.vmap(inner, axis_name="i")(X), pa.jvp(total, (X,), (np.ones(3),))[1])


def test_transformations_of_the_linear_part():
    _, f_jvp = pa.linearize(lambda x: pa.sin(A @ x), X)
    jacobian = pa.jacfwd(lambda x: pa.sin(A @ x))(X)
    close(pa.vmap(f_jvp, out_axes=-1)(np.eye(3)), jacobian)
    close(pa.vjp(f_jvp, X)[1](np.ones(3))[0], np.ones(3) @ jacobian)
    close(pa.jacrev(f_jvp)(X), jacobian)
    close(pa.make_ir(f_jvp)(X)(X), jacobian @ X)


def test_result_that_is_a_function():
    y, f_jvp = pa.linearize(lambda x: lambda t: x * t, 2.0)(5.0)
    assert (y, f_jvp(1.0)) == (10, 5)


def test_kept_beyond_its_surroundings():
    kept = []
    pa.grad(lambda x: kept.append(pa.linearize(lambda y: y * x, 1.0)[1]) or x)(2.0)
    with pytest.raises(pa.LeakedLayerError, match="grad"):
        kept[0](1.0)


# ---------------------------------------------------------------------- Gauss and Newton
def test_gvp():
    model, loss = (lambda w: pa.tanh(A @ w) * w), (lambda z: pa.sum(pa.exp(z) * z))
    jacobian, curvature = pa.jacfwd(model)(X), pa.hessian(loss)(model(X))
    close(pa.gvp(loss, model, X, A[1]), jacobian.T @ curvature @ jacobian @ A[1])
    whole = pa.vmap(lambda v: pa.gvp(loss, model, X, v))(np.eye(3))
    close(whole, jacobian.T @ curvature @ jacobian)
    linear = lambda w: A @ w
    close(pa.gvp(loss, linear, X, X), pa.hvp(lambda w: loss(linear(w)), X, X))


def test_gvp_of_trees():
    model = lambda p: {"y": pa.tanh(A @ p["w"]) + p["b"], "r": p["w"] ** 2}
    loss = lambda z: pa.sum(z["y"] ** 2) + pa.sum(pa.exp(z["r"]))
    p, v = {"w": X, "b": 0.5}, {"w": A[1], "b": 2.0}
    flat = lambda u: {"w": u[:3], "b": u[3]}
    u, s = np.append(X, 0.5), np.append(A[1], 2.0)
    found, right = pa.gvp(loss, model, p, v), _by_matrix(loss, model, flat, u, s)
    close(found["w"], right[:3])
    close(found["b"], right[3])


def _by_matrix(loss, model, flat, u, s):
    out = lambda u: pa.concatenate([model(flat(u))["y"], model(flat(u))["r"]])
    split = lambda z: {"y": z[:3], "r": z[3:]}
    jacobian, curvature = pa.jacfwd(out)(u), pa.hessian(lambda z: loss(split(z)))(out(u))
    return jacobian.T @ curvature @ jacobian @ s


def test_gvp_evaluates_the_model_once():
    calls = []
    pa.gvp(lambda z: pa.sum(z**2), lambda x: calls.append(1) or pa.exp(x), X, X)
    assert calls == [1]
