"""A stranger's library with devices: array_api_strict, whose arrays lie on pretended devices and refuse to leave them.

The first part is the plug-in, as somebody else would write it against the public names; the tests follow. `np.asarray`
of an array on device1 or device2 raises, so that nothing here can have passed over the host unseen.
"""

import array_api_strict as xp
import numpy as np
import pytest

import polyad as pa
from polyad.devices import (
    Device,
    available_devices,
    device,
    device_of,
    install_kernels,
    operand,
    place,
    register_devices,
    to_device,
)
from polyad.dispatch import DeviceKind
from polyad.dsl.array_libraries import creator, host_copy

pytestmark = pytest.mark.quick


# ---------------------------------------------------------------------- the plug-in
class Strict(DeviceKind):
    """The pretended devices: strict:0 is the library's CPU_DEVICE, strict:1 its device1, strict:2 its device2."""


PLACES = [xp.Device("CPU_DEVICE"), xp.Device("device1"), xp.Device("device2")]
StrictArray = type(xp.zeros(1))
Operand = operand(StrictArray)


def own_dtype(dtype):
    return None if dtype is None else getattr(xp, np.dtype(dtype).name)


class Creator:
    """Creation functions on one device, for dtypes given as NumPy's."""

    def __init__(self, where):
        self.where = where

    def __getattr__(self, name):
        function = getattr(xp, name)
        return lambda *args, dtype=None, **params: function(*args, dtype=own_dtype(dtype), device=self.where, **params)

    def asarray(self, values, dtype=None):
        return xp.asarray(np.asarray(values, dtype), device=self.where)


@creator.method
def creator_like(x: StrictArray, /):
    return Creator(x.device)


@creator.method
def creator_on(where: Device[Strict], /):
    return Creator(PLACES[where.ordinal])


@host_copy.method
def strict_to_host(x: StrictArray, /):
    return np.asarray(x.to_device(PLACES[0]))


@place.method
def host_to_strict(x: np.ndarray, where: Device[Strict], /):
    return Creator(PLACES[where.ordinal]).asarray(x)


register_devices(Strict, lambda: len(PLACES))
pa.register_device_of(StrictArray, lambda x: Device(Strict, PLACES.index(x.device)))

NAMES = {
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
    "arctan2": "atan2", "concatenate": "concat", "conjugate": "conj", "power": "pow", "transpose": "permute_dims",
    "rint": "round",
}  # fmt: skip


def plain_numbers(kernel):
    """The library takes Python's numbers only, and no arithmetic of booleans with floating numbers."""

    def run(*args, **params):
        args = [x.item() if isinstance(x, np.generic) else x for x in args]
        if any(isinstance(x, float) or isinstance(x, StrictArray) and x.dtype in (xp.float32, xp.float64) for x in args):
            floating = next((x.dtype for x in args if isinstance(x, StrictArray) and x.dtype != xp.bool), xp.float64)
            if kernel.__name__.startswith(("add", "multiply", "divide", "subtract")):
                args = [xp.astype(x, floating) if isinstance(x, StrictArray) and x.dtype == xp.bool else x for x in args]
        return kernel(*args, **params)

    return run


def index_add(x, v, *arrays, spec):
    y = xp.asarray(x, copy=True)
    where = pa.dsl.ops.indexing.join_index(spec, arrays)
    y[where] = y[where] + v
    return y


def index_set(x, v, *arrays, spec):
    y = xp.asarray(x, copy=True)
    y[pa.dsl.ops.indexing.join_index(spec, arrays)] = v
    return y


EXCEPTIONS = {
    "astype": lambda x, dtype, copy=True, device=None: xp.astype(x, own_dtype(dtype), copy=copy),
    "reshape": lambda x, shape, copy=None: xp.reshape(x, shape if isinstance(shape, tuple) else (shape,), copy=copy),
    "transpose": lambda x, axes=None: xp.permute_dims(x, axes or tuple(reversed(range(x.ndim)))),
    "stop_gradient": lambda x: x,
    "index": lambda x, *arrays, spec: x[pa.dsl.ops.indexing.join_index(spec, arrays)],
    "index_set": index_set,
    "index_add": index_add,
    "sum": lambda x, axis=None, dtype=None, keepdims=False: xp.sum(x, axis=axis, dtype=own_dtype(dtype), keepdims=keepdims),
}
missing = install_kernels(xp, Operand, EXCEPTIONS, names=NAMES, around=plain_numbers)


# ---------------------------------------------------------------------- the tests
def on(n, x):
    return to_device(x, f"strict:{n}")


def same(found, expected, n=1):
    for x, y in zip(pa.tree.leaves(found), pa.tree.leaves(expected), strict=True):
        assert isinstance(x, StrictArray) and x.device == PLACES[n]
        np.testing.assert_allclose(host_copy(x), y, rtol=1e-6 if n == 2 else 1e-12, atol=1e-14)


def loss(params, x, t):
    # functions, not operators, where a plain array stands on the left: this library's operators raise for other classes
    hidden = pa.tanh(pa.matmul(x, params["w"]) + params["b"])
    hidden = pa.where(hidden > 0.0, hidden, 0.1 * hidden)
    score = pa.exp(hidden) / pa.sum(pa.exp(hidden), axis=-1, keepdims=True)
    return -pa.mean(pa.sum(pa.multiply(t, pa.log(score)), axis=-1)) + 0.1 * pa.max(params["w"])


def inputs():
    rng = np.random.default_rng(3)
    return {"w": rng.normal(size=(3, 4)), "b": rng.normal(size=4)}, rng.normal(size=(5, 3)), np.eye(4)[[0, 1, 2, 3, 0]]


def test_these_devices_refuse_the_host():
    with pytest.raises(RuntimeError):
        np.asarray(on(1, np.ones(2)))
    assert {"strict:0", "strict:1", "strict:2"} <= set(available_devices())


@pytest.mark.parametrize(
    "transform",
    [
        lambda p, x, t: loss(p, x, t),
        lambda p, x, t: pa.grad(loss)(p, x, t),
        lambda p, x, t: pa.value_and_grad(loss, argnums=1)(p, x, t),
        lambda p, x, t: pa.jvp(loss, (p, x, t), (p, x, t)),
        lambda p, x, t: pa.vmap(loss, in_axes=(None, 0, 0))(p, x, t),
        lambda p, x, t: pa.vmap(pa.grad(loss), in_axes=(None, 0, 0))(p, x, t),
        lambda p, x, t: pa.jacrev(lambda v: pa.sin(v @ p["w"]))(x),
        lambda p, x, t: pa.hvp(lambda q: loss(q, x, t), p, p),
        lambda p, x, t: pa.make_ir(pa.grad(loss))(p, x, t)(p, x, t),
        lambda p, x, t: pa.grad(lambda v: pa.sum(v[1:, :] * v[:-1, :]) + v[0, 0])(x),
        lambda p, x, t: pa.jacfwd(lambda v: v[1:] * v[0])(p["b"]),
        lambda p, x, t: pa.prod(p["b"]),
        lambda p, x, t: pa.grad(lambda v: pa.prod(v) if pa.sum(v) > 0 else pa.sum(v))(p["b"]),
        lambda p, x, t: pa.getitem(p["b"], [0, 2, 2]),
        lambda p, x, t: pa.grad(lambda v: pa.sum(pa.concatenate([v, 2 * v]) ** 2))(p["b"]),
    ],
)
def test_transformations_stay_on_the_device(transform):
    moved = [on(1, a) for a in inputs()]
    same(transform(*moved), transform(*inputs()))


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_sparse_derivatives_stay_on_the_device(mode):
    """Patterns are found on the host, numbers are computed where the argument lies."""
    f = lambda x: pa.sin(x[1:]) * x[:-1] + pa.sum(x[:2])
    x = np.linspace(0.1, 0.9, 6)
    plan = pa.sparse_jacobian(f, mode=mode).plan(on(1, x))
    assert type(plan.values(on(1, x))) is StrictArray
    np.testing.assert_allclose(plan(on(1, x)).toarray(), pa.jacfwd(f)(x))
    h = pa.sparse_hessian(lambda x: pa.sum(f(x) ** 2))(on(1, x))
    np.testing.assert_allclose(h.toarray(), pa.hessian(lambda x: pa.sum(f(x) ** 2))(x))


def test_training_on_a_device_of_32_bit():
    p, x, t = [pa.tree.map(lambda a: on(2, a.astype(np.float32)), tree) for tree in inputs()]
    before = host_copy(loss(p, x, t))
    for _ in range(20):
        p = pa.tree.map(lambda a, g: a - 0.5 * g, p, pa.grad(loss)(p, x, t))
    assert {(device_of(a), a.dtype) for a in pa.tree.leaves(p)} == {(Device(Strict, 2), xp.float32)}
    assert host_copy(loss(p, x, t)) < before


def test_arrays_like_another_are_made_beside_it():
    x = on(1, np.ones((2, 3), np.float32))
    for made in (pa.zeros_like(x), pa.ones_like(x), pa.full_like(x, 2.0), pa.zeros_like(x, shape=(4,))):
        assert made.device == PLACES[1] and made.dtype == xp.float32
    inside = []
    pa.grad(lambda v: pa.sum(inside.append(pa.zeros_like(v)) or v))(x)
    assert str(inside[0].device) == "strict:1" and inside[0].shape == (2, 3)
    assert isinstance(pa.zeros_like(2.0), np.float64)
    with device("strict:2"):
        assert pa.arange(3).device == PLACES[2] and pa.zeros_like(x).device == PLACES[1]


def test_devices_do_not_mix():
    x, y = on(1, np.ones(2)), on(2, np.ones(2))
    for call in (lambda: pa.add(x, y), lambda: pa.grad(lambda v: pa.sum(v * y))(x), lambda: pa.concatenate([x, y])):
        with pytest.raises(pa.DeviceMismatchError, match=r"strict:1 and .* on strict:2; move one with polyad\.to_device"):
            call()
    with pytest.raises(pa.DeviceMismatchError, match=r"multiply: .*strict:1 and ndarray\(float64\[2\]\) on cpu"):
        pa.multiply(x, np.ones(2))
    same(pa.add(x, to_device(y, device_of(x))), 2 * np.ones(2))


def test_transfer_under_derivatives():
    x = np.arange(3.0)
    f = lambda v: pa.sum(to_device(pa.sin(to_device(v, "strict:1")), "strict:0") * on(0, x))
    np.testing.assert_allclose(pa.grad(f)(x), np.cos(x) * x)
    assert isinstance(pa.grad(f)(x), np.ndarray)
    same(pa.grad(lambda v: pa.sum(to_device(v, "strict:0") ** 2))(on(1, x)), 2 * x)


def test_calls_of_others_are_as_before():
    assert isinstance(pa.add(1.0, 2.0), np.float64) and isinstance(pa.sin(np.ones(2)), np.ndarray)
    assert pa.ambiguities("polyad.dsl") == []
    assert "lane_sum" in missing and "sin" not in missing


# ---------------------------------------------------------------------- kernels for one kind of device
class Toy(DeviceKind):
    """A kind of device that does not exist."""


class Fast(DeviceKind):
    """Another."""


class ToyArray:
    """One class of arrays for both kinds."""

    def __init__(self, value, kind):
        self.value, self.kind = value, kind
        self.shape, self.dtype = value.shape, value.dtype


pa.Array.register(ToyArray)
pa.register_device_of(ToyArray, lambda x: Device(x.kind))


@pa.cos.method(pa.On[Toy])
def cos_toy(x: ToyArray, /):
    return ToyArray(np.cos(x.value), Toy)


@pa.cos.method(pa.On[Fast])
def cos_fast(x: ToyArray, /):
    return ToyArray(np.cos(x.value) + 1, Fast)


@pa.sinh.method(pa.On[Fast])
def sinh_fast(x: ToyArray, /):
    return x


def test_the_kind_of_device_chooses_among_kernels_of_one_type():
    x = np.zeros(1)
    assert pa.cos(ToyArray(x, Toy)).value == 1 and pa.cos(ToyArray(x, Fast)).value == 2
    with pytest.raises(pa.MethodError, match=r"only for On\[Fast\]"):
        pa.sinh(ToyArray(x, Toy))
    with pytest.raises(pa.MethodError, match="sin"):
        pa.sin(ToyArray(x, Toy))
