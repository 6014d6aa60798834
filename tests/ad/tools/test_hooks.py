"""`grad_hook`: cotangents seen, changed and refused, once per walk, under every transformation."""

import numpy as np
import pytest

import polyad as pa

pytestmark = pytest.mark.quick

x = np.array([3.0, -4.0])
rows = np.array([[3.0, -4.0], [0.1, 0.2], [0.0, 2.0]])


def unit(ct):
    """Clipped to norm 1."""
    return ct / np.maximum(1.0, np.sqrt(np.sum(ct**2)))


def clipped(x):
    return pa.sum(pa.grad_hook(x, unit) ** 2)


def test_value_is_the_same_and_apart():
    y = pa.grad_hook(x, unit)
    assert y is not x and np.array_equal(y, x)
    assert pa.grad_hook(2, unit) == 2


def test_sees_the_cotangent_once():
    seen = []
    g = pa.grad(lambda x: pa.sum(pa.grad_hook(x, seen.append) ** 2))(x)
    assert np.array_equal(g, 2 * x) and len(seen) == 1 and np.array_equal(seen[0], 2 * x)
    seen[0][:] = 0.0  # its own: nothing else changes
    assert np.array_equal(g, 2 * x)


@pytest.mark.parametrize("factor", [np.nan, np.inf])
def test_once_where_the_gradient_is_nan(factor):
    """A walk that loses something is repeated with care; hooks see one walk."""
    seen = []
    with np.errstate(invalid="ignore"):
        pa.grad(lambda x: pa.sum(pa.grad_hook(x, seen.append) * factor * 0.0))(x)
    assert len(seen) == 1


def test_not_called_for_what_does_not_matter():
    seen = []
    pa.grad(lambda x: (pa.grad_hook(x, seen.append), pa.sum(x))[1])(x)
    assert seen == []


def test_replaces_and_writes_in_place():
    def halved(ct):
        ct *= 0.5

    f = lambda x: pa.sum(pa.grad_hook(x, halved) ** 3)
    assert np.allclose(pa.grad(f)(x), 1.5 * x**2)
    assert np.allclose(pa.vmap(pa.grad(f))(rows), 1.5 * rows**2)
    assert np.allclose(pa.jacrev(pa.grad(f))(x), np.diag(3.0 * x))


def test_in_place_reaches_no_other_path():
    def zeroed(ct):
        ct[...] = 0.0

    g = pa.grad(lambda x, y: pa.sum(pa.grad_hook(x, zeroed) + y), (0, 1))(x, x)
    assert np.array_equal(g[0], np.zeros(2)) and np.array_equal(g[1], np.ones(2))


def test_lanes_inside_and_outside_of_the_derivative():
    loop = np.stack([pa.grad(clipped)(row) for row in rows])
    assert np.allclose(pa.vmap(pa.grad(clipped))(rows), loop)
    assert np.allclose(pa.grad(lambda rows: pa.sum(pa.vmap(clipped)(rows)))(rows), loop)
    nested = lambda r: pa.sum(pa.vmap(pa.vmap(clipped))(r))
    assert np.allclose(pa.grad(nested)(np.stack([rows, rows])), np.stack([loop, loop]))
    assert pa.vmap(pa.grad(clipped))(rows[:0]).shape == (0, 2)


def test_hook_with_python_control_flow_in_lanes():
    signed = lambda x: pa.sum(pa.grad_hook(x, lambda ct: ct if ct.sum() > 0 else -ct) ** 2)
    loop = np.stack([pa.grad(signed)(row) for row in rows])
    assert np.allclose(pa.grad(lambda rows: pa.sum(pa.vmap(signed)(rows)))(rows), loop)


def test_forward_mode_passes_tangents():
    assert pa.jvp(clipped, (x,), (x,))[1] == pa.jvp(lambda x: pa.sum(x**2), (x,), (x,))[1]


def test_higher_order_follows_the_hook():
    squared = lambda x: pa.grad_hook(x, lambda ct: ct**2) ** 2  # slope (2x)² = 4x²
    assert pa.grad(squared)(3.0) == 36.0
    assert np.isclose(pa.grad(pa.grad(squared))(3.0), 24.0)
    assert np.isclose(pa.derivative(pa.grad(squared))(3.0), 24.0)


def test_nested_hooks_run_from_the_outside_in():
    order = []
    log = lambda name: lambda ct: order.append(name)
    pa.grad(lambda x: pa.grad_hook(pa.grad_hook(x, log("inner")) * 2, log("outer")))(1.0)
    assert order == ["outer", "inner"]


def test_traced():
    program = pa.make_ir(clipped)(x)
    assert [e.op.__name__ for e in program.equations][0] == "grad_hook" and "f=unit" in str(program)
    assert np.allclose(pa.grad(program)(x), pa.grad(clipped)(x))
    assert np.allclose(pa.make_ir(pa.grad(clipped))(x)(x), pa.grad(clipped)(x))


def test_trees_see_one_norm():
    def together(cts):
        assert cts["n"] is pa.NoTangent
        norm = pa.sqrt(sum(pa.sum(cts[k] ** 2) for k in ("w", "b")))
        return {**cts, "w": cts["w"] / norm, "b": cts["b"] / norm}

    def loss(w, b):
        p = pa.grad_hook({"w": w, "b": b, "n": 3}, together)
        assert p["n"] == 3
        return pa.sum(p["w"] ** 2) + 3.0 * p["b"]

    gw, gb = pa.grad(loss, (0, 1))(x, 2.0)
    assert np.isclose(np.sum(gw**2) + gb**2, 1.0) and np.allclose(gw / gb, 2 * x / 3.0)
    loop = [pa.grad(loss, (0, 1))(row, 2.0) for row in rows]
    inside = pa.vmap(pa.grad(loss, (0, 1)), (0, None))(rows, 2.0)
    outside = pa.grad(lambda w, b: pa.sum(pa.vmap(loss, (0, None))(w, b)), (0, 1))(rows, 2.0)
    assert np.allclose(inside[0], [g for g, _ in loop]) and np.allclose(outside[0], [g for g, _ in loop])
    assert np.isclose(outside[1], sum(g for _, g in loop))


def test_tree_without_a_cotangent_for_some():
    seen = []
    pa.grad(lambda a, b: pa.sum(pa.grad_hook((a, b), seen.append)[0]), (0, 1))(x, x)
    assert np.array_equal(seen[0][0], np.ones(2)) and np.array_equal(seen[0][1], np.zeros(2))


def test_container():
    seen = []
    f = lambda d: pa.sum(pa.grad_hook(d, lambda ct: (seen.append(ct), ct * 2.0)[1]) @ np.ones(2))
    g = pa.grad(f)(pa.Diagonal(x))
    assert type(seen[0]) is pa.Diagonal and type(g) is pa.Diagonal and np.array_equal(g.diag, [2.0, 2.0])


def test_integers_and_complex():
    assert np.array_equal(pa.grad_hook(np.arange(3), unit), np.arange(3))
    z = np.array([1 + 2j, 3.0])
    g = pa.grad(lambda z: pa.sum(pa.abs(pa.grad_hook(z, lambda ct: 2 * ct)) ** 2))(z)
    assert np.allclose(g, 4 * np.conj(z))


def test_kept_in_the_arguments_dtype():
    g = pa.grad(lambda x: pa.sum(pa.grad_hook(x, lambda ct: ct.astype(np.float64))))(x.astype(np.float32))
    assert g.dtype == np.float32


def short(ct):
    return ct[:1]


@pytest.mark.parametrize("run", [
    pa.grad(lambda x: pa.sum(pa.grad_hook(x, short))),
    lambda x: pa.vmap(pa.grad(lambda x: pa.sum(pa.grad_hook(x, short))))(np.stack([x, x])),
    pa.grad(lambda x: pa.sum(pa.vmap(lambda x: pa.grad_hook(x, short))(pa.stack([x, x])))),
    pa.grad(lambda x: pa.sum(pa.grad_hook([x], lambda cts: [short(cts[0])])[0])),
])  # fmt: skip
def test_wrong_shape(run):
    with pytest.raises(pa.ShapeError, match=r"grad_hook\(.*\): the cotangent that it returned.* shape \[1\].*\[2\]"):
        run(x)


def test_wrong_values():
    with pytest.raises(pa.DTypeError, match=r"grad_hook\(<lambda>\)"):
        pa.grad(lambda x: pa.sum(pa.grad_hook(x, lambda ct: "text")))(x)
    with pytest.raises(pa.DTypeError, match="real part"):
        pa.grad(lambda x: pa.sum(pa.grad_hook(x, lambda ct: ct * 1j)))(x)
    with pytest.raises(pa.MethodError, match="no tree of arrays"):
        pa.grad_hook("text", unit)
    with pytest.raises(pa.StructureError, match="grad_hook"):
        pa.grad(lambda x: pa.sum(pa.grad_hook([x], lambda cts: {"a": cts[0]})[0]))(x)


def test_errors_of_the_hook_come_through():
    def broken(ct):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        pa.grad(lambda x: pa.sum(pa.grad_hook(x, broken)))(x)
