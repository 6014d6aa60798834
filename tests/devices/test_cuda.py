"""CuPy's kernels, on a stand-in for CuPy: installation when first met, placement under layers, transfer, errors."""

import importlib.util
import inspect
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import polyad as pa
from polyad.devices import Device, available_devices, device, device_of, memory, synchronize, to_device
from polyad.dispatch import lazy_libraries
from polyad.dsl import operations


def on(ordinal, x):
    return to_device(x, f"cuda:{ordinal}")


def host(x):
    return pa.tree.map(lambda leaf: to_device(leaf, "cpu"), x)


@pytest.fixture(autouse=True)
def _stand_in(cupy):
    return cupy


def test_installed_by_the_first_array(cupy):
    lazy_libraries.setdefault("cupy", None)
    assert "cupy" in lazy_libraries
    from polyad.devices import cuda

    lazy_libraries["cupy"] = cuda.install
    x = cupy.asarray([0.0, 1.0])
    y = pa.sin(x)
    assert isinstance(y, cupy.ndarray) and "cupy" not in lazy_libraries
    np.testing.assert_allclose(y.get(), np.sin([0.0, 1.0]))


def all_samples():
    for name, op in operations.items():
        if op.__module__.startswith("polyad.") and name != "to_device":
            for i, make in enumerate(op.card.samples):
                yield pytest.param(op, make, id=f"{name}-{i}")


@pytest.mark.parametrize(("op", "make"), list(all_samples()))
def test_every_operation_as_on_the_host(cupy, op, make):
    args, params = make(np.random.default_rng(5))
    move = lambda x: on(1, x) if isinstance(x, np.ndarray) else x  # device 1 is not the current one
    moved = pa.tree.map(move, args)
    expected, found = op(*args, **params), op(*moved, **params)
    several = isinstance(expected, tuple)
    for y, reference in zip(found, expected, strict=True) if several else [(found, expected)]:
        assert type(y) is type(reference) or isinstance(y, cupy.ndarray)
        if isinstance(y, cupy.ndarray):
            assert device_of(y) == "cuda:1"
            assert y.dtype == reference.dtype
        np.testing.assert_allclose(host(y), reference, rtol=1e-13)


def test_what_the_host_has_a_kernel_for_the_device_has(cupy):
    pa.sin(cupy.asarray(1.0))
    on_host = lambda op: any(pa.HostArray in (*m.types, m.varargs) for m in op.generic.methods)
    on_cuda = lambda op: any(m.kind is pa.CUDA or pa.Array in (*m.types, m.varargs) for m in op.generic.methods)
    ours = {
        name: op
        for name, op in operations.items()
        if op.__module__.startswith("polyad.dsl.") and op.card.body is None  # where there is a body, a kernel is but faster
    }
    without = [name for name, op in ours.items() if on_host(op) and not on_cuda(op)]
    assert without == [], "list the exception in devices/cuda.py"


def test_numbers_mix_and_stay_on_the_host_alone(cupy):
    x = on(0, np.arange(3.0))
    for number in (2, 2.0, np.float64(2.0), True):
        for y in (pa.multiply(x, number), pa.multiply(number, x)):
            assert isinstance(y, cupy.ndarray)
    assert isinstance(pa.add(1.0, 2), np.generic) and isinstance(pa.sin(np.float32(1)), np.generic)
    assert isinstance(pa.where(True, 1.0, np.float64(2)), (np.generic, np.ndarray))
    assert isinstance(pa.add(np.ones(2), 1.0), np.ndarray)
    assert pa.ambiguities("polyad.dsl") == []


def test_mixing_names_both_devices_and_the_remedy(cupy):
    x = on(0, np.arange(3.0))
    with pytest.raises(pa.DeviceMismatchError, match=r"add: .*ndarray.* on cuda:0 and ndarray.* on cpu.*polyad\.to_device"):
        pa.add(x, np.ones(3))
    with pytest.raises(pa.DeviceMismatchError, match="cuda:0 and .* on cuda:1"):
        pa.add(x, on(1, np.ones(3)))
    with pytest.raises(pa.DeviceMismatchError, match="concatenate"):
        pa.concatenate([x, np.ones(3)])
    with pytest.raises(pa.DeviceMismatchError, match="index"):
        pa.getitem(x, np.array([0, 1]))
    with pytest.raises(pa.DeviceMismatchError, match="matmul"):
        pa.grad(lambda v: pa.sum(v @ np.ones((3, 3))))(x)
    with pytest.raises(pa.DeviceMismatchError, match="cuda:0"):
        pa.vmap(pa.multiply)(x, np.ones(3))


def test_which_shows_the_kernel(cupy):
    pa.sin(cupy.asarray(1.0))
    assert inspect.unwrap(pa.which(pa.add, cupy.ndarray, float)) is cupy.add
    assert [m for m in pa.methods(pa.add) if m.kind is pa.CUDA][-1].where.endswith("add")


# ---------------------------------------------------------------------- layers
def network(params, x):
    hidden = pa.tanh(x @ params["w"] + params["b"])
    hidden = pa.where(hidden > 0.1, hidden, 0.1 * hidden)
    return pa.mean((pa.sum(hidden, axis=-1) - 1.0) ** 2) + 0.1 * pa.max(params["w"])


def network_inputs():
    rng = np.random.default_rng(0)
    return {"w": rng.normal(size=(3, 4)), "b": rng.normal(size=4)}, rng.normal(size=(5, 3))


def same(found, expected, where="cuda:1"):
    for x, y in zip(pa.tree.leaves(found), pa.tree.leaves(expected), strict=True):
        assert device_of(x) == where
        np.testing.assert_allclose(to_device(x, "cpu"), y, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    "transform",
    [
        lambda f, p, x: f(p, x),
        lambda f, p, x: pa.grad(f)(p, x),
        lambda f, p, x: pa.jvp(f, (p, x), (p, x)),
        lambda f, p, x: pa.vmap(lambda row: f(p, row))(x),
        lambda f, p, x: pa.vmap(pa.grad(f), in_axes=(None, 0))(p, x),
        lambda f, p, x: pa.hvp(lambda w: f(w, x), p, p),
        lambda f, p, x: pa.jacfwd(lambda v: f(p, v))(x),
        lambda f, p, x: pa.jacrev(lambda v: pa.tanh(v @ p["w"]))(x),
        lambda f, p, x: pa.hessian(lambda b: f({**p, "b": b}, x))(p["b"]),
        lambda f, p, x: pa.make_ir(f)(p, x)(p, x),
        lambda f, p, x: pa.make_ir(pa.grad(f))(p, x)(p, x),
        lambda f, p, x: pa.grad(lambda v: pa.sum(v[1:] * v[:-1]) + v[0, 0] + pa.sum(pa.take(v, [0, 0, 2], axis=1)))(x),
        lambda f, p, x: pa.grad(lambda v: pa.sum(pa.at(v, ([0, 0], [1, 1])).set(2 * v[:2, 0]) ** 2))(x),
        lambda f, p, x: pa.vmap(lambda r: pa.at(r, [1, 1]).add(2.0) * pa.prod(r))(x),
        lambda f, p, x: pa.vmap(lambda r, i: r[i], axis_name="i")(x, pa.getitem(x, (slice(None), 0)).astype(int) * 0),
        lambda f, p, x: pa.vmap(lambda r: r[pa.axis_index("i") % 3] + pa.psum(r, "i"), axis_name="i")(x),
        lambda f, p, x: pa.vmap(lambda r: pa.sum(r) if r[0] > 0 else pa.prod(r))(x),
        lambda f, p, x: pa.vmap(lambda r: r[0] if r[0] > 0 else 0.0)(x),
        lambda f, p, x: pa.getitem(x, pa.greater(x, 0)),
        lambda f, p, x: pa.asarray([[x, 2 * x], [x, x]]),
        lambda f, p, x: pa.grad(lambda s: pa.sum(s * x))(2.0) * x,
        lambda f, p, x: pa.jvp(lambda s: pa.sum(pa.sin(s + x)), (2.0,), (1.0,)),
        lambda f, p, x: pa.vjp(lambda v: pa.sum(pa.sin(v)), x)[1](2.0),
        lambda f, p, x: pa.hessian(lambda v: pa.sum(pa.sin(v) * 3.0) + 1.0)(x),
        lambda f, p, x: pa.vmap(lambda s: pa.sum(s + x[0]))(pa.sum(x, axis=1)),
    ],
)
def test_transformations_stay_on_the_device(cupy, transform):
    p, x = network_inputs()
    with cupy.cuda.Device(1):  # for the operators that the functions above use on plain arrays
        found = transform(network, on(1, p), on(1, x))
    same(found, transform(network, p, x))


def test_python_branches_on_device_values():
    x = on(0, np.arange(3.0))
    f = lambda v: pa.sum(v) if pa.sum(v) > 1 else pa.prod(v)
    same(pa.grad(f)(x), np.ones(3), "cuda:0")


def test_numpy_and_operators_of_the_library_follow_layers(cupy):
    x, w = on(0, np.arange(3.0)), on(0, np.ones(3))
    same(pa.grad(lambda v: np.sum(np.sin(v) * w))(x), np.cos(np.arange(3.0)), "cuda:0")
    same(pa.grad(lambda v: pa.sum(w * v))(x), np.ones(3), "cuda:0")


def test_writes_at_repeated_positions_like_numpy():
    for dtype in (np.float64, np.float32, np.int64, np.int16, np.complex128):
        x = np.zeros((4, 2), dtype)
        v = np.arange(6).reshape(3, 2).astype(dtype)
        for write in ("set", "add"):
            expected = getattr(pa.at(x, [2, 2, 0]), write)(v)
            found = getattr(pa.at(on(1, x), [2, 2, 0]), write)(on(1, v))
            assert found.dtype == dtype
            same(found, expected)


def test_errors_are_explained(cupy):
    x = on(1, np.ones((2, 3)))
    with pytest.raises(
        pa.ShapeError, match=r"add\(.*ndarray\(float64\[2, 3\]\), .*ndarray\(float64\[2, 2\]\)\): .*check the shapes"
    ):
        pa.add(x, on(1, np.ones((2, 2))))


# ---------------------------------------------------------------------- devices
def test_transfer_is_linear_and_its_transpose_moves_back(cupy):
    x = np.arange(3.0)
    f = lambda v: pa.sum(pa.sin(to_device(v, "cuda:1")) * on(1, np.arange(3.0)))
    same(pa.grad(f)(x), np.cos(x) * x, "cpu:0")
    y, dy = pa.jvp(lambda v: to_device(v, "cuda:1"), (x,), (x,))
    same((y, dy), (x, x))
    same(pa.vmap(lambda v: to_device(2 * v, "cuda:0"))(x), 2 * x, "cuda:0")
    g = lambda v: pa.sum(to_device(to_device(v, "cuda:0") ** 2, "cuda:1"))
    same(pa.grad(lambda v: pa.sum(to_device(pa.grad(g)(v), "cuda:1")))(x), 2 * np.ones(3), "cpu:0")
    program = pa.make_ir(lambda v: to_device(v, Device(pa.CUDA, 1)) * 2.0)(x)
    assert "to_device device='cuda:1'" in str(program)
    same(program(x), 2 * x)


def test_trees_and_numbers():
    tree = {"w": np.ones(2), "rate": 0.1, "scale": np.float64(3), "inner": [(np.ones(1), None)]}
    moved = to_device(tree, "cuda:1")
    assert moved["rate"] == 0.1 and device_of(moved["scale"]) == device_of(moved["inner"][0][0]) == "cuda:1"
    assert to_device(moved["w"], "cuda:1") is moved["w"]
    assert isinstance(to_device(moved, "cpu")["w"], np.ndarray)


def test_containers_move_by_their_leaves():
    moved = to_device(pa.Diagonal(np.arange(3.0)), "cuda:1")
    assert isinstance(moved, pa.Diagonal) and device_of(moved) == "cuda:1"
    same(moved @ on(1, np.ones(3)), np.arange(3.0))


def test_creation_on_a_named_device(cupy):
    x = pa.zeros(2, device="cuda:1")
    made = [
        x, pa.ones(2, device=x.device), pa.full_like(np.ones(2), 3.0, device="cuda:1"), pa.eye(2, device=Device("cuda:1")),
        pa.asarray([1.0], device="cuda:1"), pa.asarray(np.ones(2), device="cuda:1"), pa.zeros_like(x),
        pa.astype(np.ones(2), np.float32, device="cuda:1"),
    ]  # fmt: skip
    assert {device_of(y) for y in made} == {Device(pa.CUDA, 1)}
    seen = []
    slope = pa.grad(lambda u: seen.append(u.device) or pa.sum(pa.astype(u, np.float32, device="cuda:1") ** 2))(np.ones(2))
    assert isinstance(slope, np.ndarray) and slope.dtype == float and slope.tolist() == [2.0, 2.0]
    pa.grad(lambda u: seen.append(u.device) or pa.sum(u.to_device("cpu")))(x)
    assert seen == ["cpu", "cuda:1"]
    with device("cuda:1"):
        assert pa.__array_namespace_info__().default_device() == "cuda:1"
    assert {"cpu", "cuda:1"} <= set(pa.__array_namespace_info__().devices())


def test_creation_on_a_device(cupy):
    with device("cuda:1") as where:
        assert where == "cuda:1"
        made = [
            pa.zeros(2),
            pa.ones((2, 2)),
            pa.full(2, 3.0),
            pa.arange(3),
            pa.linspace(0, 1),
            pa.eye(2),
            pa.asarray([1.0, 2.0]),
        ]
        assert {device_of(x) for x in made} == {Device(pa.CUDA, 1)}
        assert isinstance(pa.zeros_like(np.ones(2)), np.ndarray)
        with device("cpu"):
            assert isinstance(pa.zeros(2), np.ndarray)
        assert device_of(pa.empty(2)) == "cuda:1"
        same(pa.grad(lambda v: pa.sum(v[0] * v))(np.arange(3.0)), np.array([3.0, 0.0, 0.0]), "cpu:0")
    assert isinstance(pa.zeros(2), np.ndarray)
    assert device_of(pa.zeros_like(on(1, np.ones(2)))) == "cuda:1"
    assert pa.zeros_like(on(1, np.ones(2)), dtype=np.float32).dtype == np.float32


def test_available_and_their_figures(cupy):
    assert [d for d in available_devices() if d.kind in (pa.CPU, pa.CUDA)] == ["cpu:0", "cuda:0", "cuda:1"]
    assert memory("cuda:1") == (60, 80)
    synchronize("cuda:1")
    synchronize()
    assert cupy.waited == [1, 0, 1]
    with pytest.raises(pa.devices.DeviceError, match=r"no device cuda:7 here; available are cpu:0, cuda:0, cuda:1.*"):
        to_device(np.ones(2), "cuda:7")


# ---------------------------------------------------------------------- CuPy itself
def python(text):
    result = subprocess.run([sys.executable, "-P", "-c", textwrap.dedent(text)], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_import_does_not_import_cupy():
    python("import sys, polyad; polyad.sin(1.0); assert 'cupy' not in sys.modules")


@pytest.mark.skipif(importlib.util.find_spec("cupy") is None, reason="CuPy is not installed")
def test_kernels_are_registered_for_cupys_own_arrays():
    python("""
        import inspect, cupy, polyad as pa
        assert inspect.unwrap(pa.which(pa.add, cupy.ndarray, float)) is cupy.add
        assert inspect.unwrap(pa.which(pa.sin, cupy.ndarray)) is cupy.sin
        assert float(pa.add(1.0, 2.0)) == 3.0 and pa.ambiguities("polyad.dsl") == []
        assert pa.available_devices()[0] == "cpu:0"
    """)
