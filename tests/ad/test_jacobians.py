"""Jacobians and Hessians of trees: their structure, shapes, several arguments, and which mode is chosen."""

import numpy as np
import pytest
from typed_numbers import same

import polyad as pa
from polyad.ad import jacobians

pytestmark = pytest.mark.quick


close = np.testing.assert_allclose


def test_jacobians_of_trees():
    p = {"w": np.arange(6.0).reshape(2, 3), "s": 2.0}
    v = np.array([1.0, 2.0, 3.0])
    f = lambda p: {"h": p["w"] @ v * p["s"], "n": pa.sum(p["w"])}
    for jacobian in (pa.jacfwd, pa.jacrev, pa.jacobian):
        j = jacobian(f)(p)
        right = np.zeros((2, 2, 3))
        right[0, 0], right[1, 1] = 2 * v, 2 * v
        same(j["h"]["w"], right)
        same(j["h"]["s"], p["w"] @ v)
        same(j["n"]["w"], np.ones((2, 3)))
        close(j["n"]["s"], 0)


def several_results(p):
    x, y = p["x"], p["y"]
    return {"product": x**2 * y, "power": (pa.sum(x**3) * y, 3), "turned": pa.exp(x[:, None] * y) * (1 + 2j)}


def test_hessian_of_any_result():
    """As jacfwd of jacrev has it, in shape and structure, and against formulas."""
    near = np.testing.assert_allclose
    x, matrix = np.array([1.0, 2.0]), np.arange(6.0).reshape(3, 2)
    f = lambda x: pa.sin(matrix @ x)
    curved = -np.sin(matrix @ x)[:, None, None] * matrix[:, :, None] * matrix[:, None, :]
    for h in (pa.hessian(f), pa.jit(pa.hessian(f)), pa.hessian(pa.jit(f))):
        near(h(x), curved)
    near(pa.vmap(pa.hessian(f))(np.stack([x, x]))[1], curved)
    near(pa.hessian(f)(x.astype(np.float32)), curved, rtol=1e-4)
    near(pa.hessian(lambda z: z**3)(np.array([1 + 2j, 1j]))[0, 0], [6 + 12j, 0])
    near(pa.hessian(lambda z: z**3)(1 + 2j), 6 + 12j)
    assert pa.hessian(f)(x.astype(np.float32)).dtype == np.float32
    near(pa.hessian(lambda x: lambda y: f(x) * y)(x)(3.0), 3 * curved)
    p = {"x": x, "y": np.array(3.0)}
    found, expected = pa.hessian(several_results)(p), pa.jacfwd(pa.jacrev(several_results))(p)
    assert pa.tree.structure(found) == pa.tree.structure(expected)
    assert found["power"][1] is pa.NoTangent and found["product"]["x"]["y"].shape == (2, 2)
    for a, b in zip(pa.tree.leaves(found), pa.tree.leaves(expected), strict=True):
        if a is not pa.NoTangent:
            near(a, b)
    blocks = pa.hessian(lambda x, y: x * y**2, (0, 1))(x, 3.0)
    near(blocks[0][1], 6 * np.eye(2))
    near(blocks[1][1], 2 * x)
    near(pa.hvp(lambda x: pa.sum(f(x)), x, x), np.sum(curved, axis=0) @ x)


def test_hessian_of_trees_and_several_arguments():
    p = {"a": np.array([1.0, 2.0]), "b": 3.0}
    f = lambda p: pa.sum(p["a"] ** 2) * p["b"]
    h = pa.hessian(f)(p)
    same(h["a"]["a"], 6 * np.eye(2))
    same(h["a"]["b"], 2 * p["a"])
    same(h["b"]["a"], 2 * p["a"])
    assert h["b"]["b"] == 0
    blocks = pa.hessian(lambda x, y: pa.sum(x * x) * y, (0, 1))(p["a"], 3.0)
    same(blocks[0][0], 6 * np.eye(2))
    same(blocks[0][1], 2 * p["a"])
    same(blocks[1][0], 2 * p["a"])
    assert blocks[1][1] == 0


def test_hvp_of_trees():
    p, v = {"a": np.array([1.0, 2.0]), "b": 3.0}, {"a": np.array([1.0, 0.0]), "b": 2.0}
    found = pa.hvp(lambda p: pa.sum(p["a"] ** 2) * p["b"], p, v)
    close(found["a"], [6 + 4, 8])
    close(found["b"], 2)


@pytest.mark.parametrize(("rows", "mode"), [(2, "by_rows"), (5, "by_columns"), (3, "by_columns")])
def test_jacobian_chooses_the_mode(rows, mode, monkeypatch):
    used = []
    for name in ("by_columns", "by_rows"):
        original = getattr(jacobians, name)
        monkeypatch.setattr(jacobians, name, lambda *a, name=name, original=original: used.append(name) or original(*a))
    m = np.arange(rows * 3.0).reshape(rows, 3)
    close(pa.jacobian(lambda x: m @ x)(np.ones(3)), m)
    assert used == [mode]
