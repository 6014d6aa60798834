"""Containers in containers, and containers without leaves, under every transformation: as a loop over the lanes does it."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import polyad as pa

FOLDER = Path(__file__).parents[2] / "outside"


def load(name):
    """The module of a stranger's file, loaded once."""
    known = f"outside_{name}"
    if known not in sys.modules:
        spec = importlib.util.spec_from_file_location(known, FOLDER / f"{name}.py")
        sys.modules[known] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[known])
    return sys.modules[known]


Masked = load("masked").Masked
quantity = load("quantity")
Quantity, metre = quantity.Quantity, quantity.unit(m=1)


@pytest.fixture(autouse=True)
def strict():
    with pa.densify("error"):
        yield


x = np.arange(24.0).reshape(2, 4, 3) / 7 - 1
gone = np.arange(24).reshape(2, 4, 3) % 5 == 1


def plain(y):
    """A result as plain arrays, with NaN where an element is missing; its types as a text."""
    if isinstance(y, Quantity):
        return *plain(y.value)[:1], f"Quantity{y.unit}({plain(y.value)[1]})"
    if isinstance(y, Masked):
        value, kind = plain(y.value)
        return np.where(y.missing, np.nan, value), f"Masked({kind})"
    if isinstance(y, pa.Diagonal):
        return plain(y.diag)[0], f"Diagonal({plain(y.diag)[1]})"
    if isinstance(y, pa.Zeros):
        return np.zeros(y.shape), "Zeros"
    return np.asarray(y), "array"


def same(found, expected):
    (a, kind), (b, wanted) = plain(found), plain(expected)
    assert kind == wanted and a.shape == b.shape
    np.testing.assert_allclose(a, b, rtol=1e-12)


def looped(f, q, axis=0):
    """The results of a loop over the lanes, by plain arrays."""
    at = (slice(None),) * axis
    rows = [plain(f(q[(*at, k)])) for k in range(q.shape[axis])]
    return np.stack([row for row, _ in rows]), rows[0][1]


def agrees(found, rows):
    a, kind = plain(found)
    assert kind == rows[1] and a.dtype == rows[0].dtype
    np.testing.assert_allclose(a, rows[0], rtol=1e-6 if a.dtype == np.float32 else 1e-12)


NESTED = {
    "Quantity(Masked)": Quantity(Masked(x, gone), metre),
    "Masked(Quantity)": Masked(Quantity(x, metre), gone),
    "Quantity(Masked(Quantity))": Quantity(Masked(Quantity(x, metre), gone), metre),
    "Quantity(Masked(Masked))": Quantity(Masked(Masked(x, gone), x > 1), metre),
    "Quantity(Quantity(Masked))": Quantity(Quantity(Masked(x, gone), metre), metre),
    "float32": Quantity(Masked(x.astype(np.float32), gone), metre),
    "complex": Quantity(Masked(x + 1j, gone), metre),
    "int": Quantity(Masked((x * 7).astype(int), gone), metre),
}
DEFINED = {
    "sum": lambda q: pa.sum(q * q),
    "sum along": lambda q: pa.sum(q, axis=-1),
    "mean": lambda q: pa.mean(q.value if isinstance(q, Quantity) else q, axis=0),
    "index": lambda q: q[..., 1] + q[..., 2],
    "transpose": lambda q: q.T,
    "itself": lambda q: q,
}


@pytest.mark.parametrize("name", NESTED)
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_lanes_of_containers_in_containers(name, axis):
    """The inner type's own methods run in each lane, whichever axis is mapped."""
    q = NESTED[name]
    for what, f in DEFINED.items():
        if "Masked(Quantity" in name and what in ("sum", "sum along", "mean"):
            continue  # there is no zero of all units to take the place of a missing element
        agrees(pa.vmap(f, in_axes=axis)(q), looped(f, q, axis % 3))


@pytest.mark.parametrize("name", NESTED)
def test_places_of_the_lanes(name):
    q = NESTED[name]
    for axis in (0, 1, 2, -1):
        found = pa.vmap(lambda q: q * 2.0, in_axes=1, out_axes=axis)(q)
        a, kind = plain(found)
        rows, wanted = looped(lambda q: q * 2.0, q, 1)
        assert kind == wanted
        np.testing.assert_allclose(a, np.moveaxis(rows, 0, axis), rtol=1e-6)


def under(transform):
    """A function of a container under a transformation that does not change its value."""
    return {
        "jit": pa.jit,
        "make_ir": lambda f: lambda q: pa.make_ir(f)(q)(q),
        "vmap vmap": lambda f: lambda q: pa.vmap(pa.vmap(f))(q),
        "jit vmap": lambda f: pa.jit(pa.vmap(f)),
        "vmap jit": lambda f: pa.vmap(pa.jit(f)),
        "pmap": lambda f: pa.pmap(f),
        "map": lambda f: lambda q: pa.map(f, q),
        "jit map": lambda f: pa.jit(lambda q: pa.map(f, q)),
        "vmap map": lambda f: pa.vmap(lambda q: pa.map(f, q)),
        "scan": lambda f: lambda q: pa.scan(lambda c, row: (c + 1, f(row)), 0, q)[1],
        "vmap cond": lambda f: pa.vmap(lambda q: pa.cond(np.bool_(True), f, lambda q: f(q), q)),
        "vmap if": lambda f: pa.vmap(lambda q: f(q) if array_of(q)[0, 0] < 0 else f(q * 1.0)),
        "checkpoint": lambda f: pa.checkpoint(f),
        "vmap checkpoint": lambda f: pa.vmap(pa.checkpoint(f)),
    }[transform]


def array_of(q):
    """The numbers at the bottom."""
    while isinstance(q, (Quantity, Masked, pa.Tangent)):
        q = q.value
    return q


@pytest.mark.parametrize(
    "transform",
    ["jit", "make_ir", "vmap vmap", "jit vmap", "vmap jit", "pmap", "map", "jit map", "vmap map", "scan", "vmap cond",
     "vmap if", "checkpoint", "vmap checkpoint"],
)  # fmt: skip
@pytest.mark.parametrize("name", ["Quantity(Masked)", "Quantity(Masked(Masked))"])
def test_values_under_transformations(name, transform):
    q, f = NESTED[name], DEFINED["sum"]
    if transform in ("jit", "make_ir", "checkpoint"):
        same(under(transform)(f)(q), f(q))
    elif transform in ("vmap vmap", "vmap map"):
        rows = [looped(f, q[k]) for k in range(2)]
        agrees(under(transform)(f)(q), (np.stack([a for a, _ in rows]), rows[0][1]))
    else:
        agrees(under(transform)(f)(q), looped(f, q))


def loss(q):
    """A number that missing elements take no part in."""
    y = pa.sum(q * q * q)
    while not isinstance(y, Masked):
        y = y.value
    return array_of(y.filled(0.0))


@pytest.mark.parametrize("name", ["Quantity(Masked)", "Quantity(Quantity(Masked))"])
def test_derivatives_of_containers_in_containers(name):
    """Tangents of the types inside, too; 3x² where the element is there, 0 where it is missing."""
    q = NESTED[name]
    expected = np.where(gone, 0.0, 3 * x**2)
    kinds = []
    for g in (pa.grad(loss)(q), pa.vmap(pa.grad(loss))(q), pa.jit(pa.grad(loss))(q), pa.grad(pa.checkpoint(loss))(q),
              pa.grad(lambda q: pa.sum(pa.vmap(loss)(q)))(q), pa.grad(lambda q: pa.sum(pa.map(loss, q)))(q),
              pa.vmap(pa.jit(pa.grad(loss)))(q)):  # fmt: skip
        kinds.append(repr(pa.tree.map(lambda leaf: 0, g)))
        np.testing.assert_allclose(array_of(g), expected, rtol=1e-12)
    assert len(set(kinds)) == 1 and kinds[0].count("Tangent") == kinds[0].count("[")
    g = pa.grad(loss)(q)
    np.testing.assert_allclose(array_of(g + g), 2 * expected, rtol=1e-12)
    assert pa.jvp(loss, (q,), (g,))[1] == pytest.approx((expected**2).sum())
    np.testing.assert_allclose(array_of(pa.hvp(loss, q, g)), np.where(gone, 0, 6 * x) * expected, rtol=1e-12)
    lanes = pa.vmap(lambda q: pa.jvp(loss, (q,), (pa.grad(loss)(q),))[1])(q)
    np.testing.assert_allclose(lanes, (expected**2).sum(axis=(1, 2)), rtol=1e-12)
    with pa.Tape() as tape:
        followed = tape.watch(q)
        y = loss(followed)
    np.testing.assert_allclose(array_of(tape.gradient(y, followed)), expected, rtol=1e-12)


def test_custom_rules_see_containers_in_containers():
    q = NESTED["Quantity(Masked)"]

    @pa.custom_vjp
    def twice(q):
        return loss(q)

    twice.defvjp(lambda q: (loss(q), q), lambda q, ct: (pa.Tangent(Quantity, [pa.Tangent(
        Masked, [ct * array_of(q) * 0 + 5.0, pa.NoTangent])], [q.unit]),))  # fmt: skip
    np.testing.assert_allclose(array_of(pa.grad(twice)(q)), np.full(x.shape, 5.0))
    np.testing.assert_allclose(array_of(pa.vmap(pa.grad(twice))(q)), np.full(x.shape, 5.0))


# ---------------------------------------------------------------------- structures inside
D = pa.Diagonal(x)  # (2, 4, 3, 3)


@pytest.mark.parametrize("axis", [0, 1])
def test_a_structure_inside_keeps_its_batch_axes(axis):
    q = Quantity(D, metre)
    f = lambda q: q @ q
    found = pa.vmap(f, in_axes=axis)(q)
    assert type(found.value) is pa.Diagonal and found.unit == quantity.unit(m=2)
    np.testing.assert_allclose(found.value.diag, np.moveaxis(x, axis, 0) ** 2)


def test_an_axis_that_the_inner_structure_spans_becomes_dense_guarded():
    q = Quantity(D, metre)
    with pytest.raises(pa.DensifyError, match="mapping axis -1"):
        pa.vmap(lambda q: q, in_axes=-1)(q)
    with pytest.raises(pa.DensifyError, match="out_axes 3"):
        pa.vmap(lambda q: q, out_axes=3)(q)
    with pa.densify("allow"):
        found = pa.vmap(lambda q: q * 2.0, in_axes=-1)(q)
        np.testing.assert_allclose(found.value, np.moveaxis(D.dense(), -1, 0) * 2)
        found = pa.vmap(lambda q: q * 2.0, out_axes=3)(q)
        np.testing.assert_allclose(found.value, np.moveaxis(D.dense(), 0, 3) * 2)


def test_one_hot_and_zeros_inside():
    q = Quantity(pa.OneHot(np.array([[0, 2], [1, 1]]), 3), metre)
    found = pa.vmap(lambda q: q @ np.arange(3.0))(q)
    np.testing.assert_allclose(found.value, [[0, 2], [1, 1]])
    z = Quantity(pa.Zeros((2, 3)), metre)
    found = pa.vmap(lambda z: z + Quantity(np.ones(3), metre))(z)
    np.testing.assert_allclose(found.value, np.ones((2, 3)))
    assert pa.vmap(lambda z: z * 2.0)(z).value.shape == (2, 3)


def test_collectives_of_containers_in_containers():
    found = pa.vmap(lambda d: pa.psum(pa.Diagonal(pa.Diagonal(d)), "i"), axis_name="i", out_axes=None)(x)
    np.testing.assert_allclose(found.diag.diag, x.sum(axis=0))
    q = NESTED["Quantity(Masked)"]
    same(pa.vmap(lambda q: pa.all_gather(q, "i"), axis_name="i", out_axes=None)(q), q)
    with pytest.raises(pa.MethodError, match="lane_sum.*\n(.*\n)*.*no dense form"):
        pa.vmap(lambda q: pa.psum(pa.Diagonal(q), "i"), axis_name="i")(q)


def test_no_lanes():
    q = Quantity(Masked(np.zeros((0, 3)), np.zeros((0, 3), bool)), metre)
    assert pa.vmap(lambda q: q * 2.0)(q).shape == (0, 3)
    assert pa.vmap(lambda q: q, out_axes=-1)(q).shape == (3, 0)
    assert pa.vmap(lambda v: pa.Diagonal(pa.Zeros((3,))))(np.zeros((0, 2))).shape == (0, 3, 3)


# ---------------------------------------------------------------------- containers without mapped leaves
RESULTS = {
    "Zeros": lambda v: pa.Zeros((3,)),
    "Zeros float32": lambda v: pa.Zeros((3, 1), np.float32),
    "Diagonal(Zeros)": lambda v: pa.Diagonal(pa.Zeros((3,))),
    "Quantity(Zeros)": lambda v: Quantity(pa.Zeros((3,)), metre),
    "constant Diagonal": lambda v: pa.Diagonal(np.arange(3.0)),
    "constant OneHot": lambda v: pa.OneHot(1, 3),
    "in a tree": lambda v: {"z": (pa.Zeros((3,)), v), "d": pa.Diagonal(pa.Zeros((2,)))},
}


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("maker", ["vmap", "map", "jit map", "jit vmap", "scan", "reverse scan", "vmap map", "pmap", "split"])
def test_results_without_mapped_leaves_are_stacked(name, maker):
    f = RESULTS[name]
    over = {
        "vmap": pa.vmap, "pmap": pa.pmap, "map": lambda f: lambda v: pa.map(f, v), "jit map": lambda f: pa.jit(
            lambda v: pa.map(f, v)), "jit vmap": lambda f: pa.jit(pa.vmap(f)),
        "scan": lambda f: lambda v: pa.scan(lambda c, v: (c + v, f(v)), 0.0, v)[1],
        "reverse scan": lambda f: lambda v: pa.scan(lambda c, v: (c + v, f(v)), 0.0, v, reverse=True)[1],
        "vmap map": lambda f: lambda v: pa.vmap(lambda v: pa.map(f, v))(v[None]),
        "split": lambda f: pa.vmap(lambda v: f(v) if v > 0 else f(v)),
    }[maker]  # fmt: skip
    v = np.array([-1.0, 2.0])
    found, one = over(f)(v), f(1.0)
    extra = (1, 2) if maker == "vmap map" else (2,)
    kind = lambda y: [type(u) for u in pa.tree.leaves(y, lambda u: isinstance(u, pa.Container))]
    containers = lambda y: [u for u in pa.tree.leaves(y, lambda u: isinstance(u, pa.Container)) if isinstance(u, pa.Container)]
    assert kind(found)[:1] == kind(one)[:1]
    for y, u in zip(containers(found), containers(one), strict=True):
        assert y.shape == (*extra, *u.shape) and y.dtype == u.dtype
        y, u = (getattr(c, "value", c) for c in (y, u))
        np.testing.assert_array_equal(y.dense(), np.broadcast_to(u.dense(), y.shape))


def test_inputs_of_a_scan_are_rows():
    total = lambda z: pa.scan(lambda c, row: (c + pa.sum(row @ np.ones((3, 2))), row), 0.0, z)
    for run in (total, pa.jit(total)):
        last, rows = run(pa.Zeros((2, 3)))
        assert last == 0.0 and type(rows) is pa.Zeros and rows.shape == (2, 3)
        last, rows = run(pa.Diagonal(np.arange(6.0).reshape(2, 3)))
        assert last == 30.0 and type(rows) is pa.Diagonal and rows.shape == (2, 3, 3)
        with pytest.raises(pa.DensifyError, match="scan: a step along axis 0 has no method"):
            run(pa.Diagonal(np.arange(3.0)))
        with pa.densify("allow"):
            last, rows = run(pa.Diagonal(np.arange(3.0)))
            assert last == 6.0
            np.testing.assert_array_equal(rows, np.diag(np.arange(3.0)))


@pytest.mark.parametrize("jacobian", [pa.jacfwd, pa.jacrev, pa.jacobian])
def test_jacobians_of_constants_without_leaves(jacobian):
    v = np.ones(2)
    found = jacobian(lambda v: pa.Zeros((3,)))(v)
    assert type(found) is pa.Zeros and found.shape == (3, 2)
    found = jacobian(lambda v: (v, {"z": pa.Zeros((3, 1), np.float32)}))(np.ones((2, 2), np.float32))
    assert found[1]["z"].shape == (3, 1, 2, 2) and found[1]["z"].dtype == np.float32
    np.testing.assert_array_equal(found[0], np.eye(4, dtype=np.float32).reshape(2, 2, 2, 2))
    found = jacobian(lambda v, w: pa.Zeros((3,)), argnums=(0, 1))(v, np.ones((4, 1)))
    assert [z.shape for z in found] == [(3, 2), (3, 4, 1)]
    found = jacobian(lambda p: (pa.Zeros((3,)), p["a"]))({"a": v})
    assert found[0]["a"].shape == (3, 2)
    assert jacobian(lambda v: pa.Zeros((3,), int))(v) is pa.NoTangent
    assert pa.jit(jacobian(lambda v: pa.Zeros((3,))))(v).shape == (3, 2)
    lanes = pa.vmap(jacobian(lambda v: pa.Zeros((3,))))(np.ones((5, 2)))
    assert lanes.shape == (5, 3, 2)


def test_associative_scan_along_a_batch_axis_or_dense():
    B = pa.Diagonal(np.arange(1.0, 7.0).reshape(2, 3))
    found = pa.associative_scan(pa.matmul, B)
    assert type(found) is pa.Diagonal
    np.testing.assert_allclose(found.diag, np.cumprod(B.diag, axis=0))
    q = NESTED["Quantity(Masked)"]
    agrees(pa.associative_scan(pa.add, q), (np.stack([plain(q[0])[0], plain(q[0] + q[1])[0]]), plain(q)[1]))
    for x, axis in ((pa.Diagonal(np.arange(1.0, 4.0)), 0), (B, 1), (B, -1), (pa.OneHot(np.array([0, 2]), 3), 1),
                    (pa.Zeros((4, 3)), 0)):  # fmt: skip
        with pytest.raises(pa.DensifyError, match="associative_scan: axis"):
            pa.associative_scan(pa.add, x, axis=axis)
        with pa.densify("allow"):
            np.testing.assert_allclose(pa.associative_scan(pa.add, x, axis=axis), np.cumsum(x.dense(), axis=axis))
    with pytest.raises(pa.DensifyError, match=r"associative_scan: axis 2: \S*Quantity of shape .* has no dense form"):
        pa.associative_scan(pa.add, Quantity(B, metre), axis=2)
