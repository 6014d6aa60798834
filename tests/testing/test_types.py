"""`check_array_type` catches planted faults of array types and of their methods, and names what is wrong."""

import itertools

import numpy as np
import pytest

import polyad as pa
from polyad.dsl import operations
from polyad.testing import check_array_type

x, y = np.array([0.3, 1.2, -0.7]), np.array([[1.0, 2.0, 0.5], [0.1, -1.0, 3.0]])


numbers = itertools.count()


@pytest.fixture(autouse=True)
def forget():
    """Operations declared here are gone afterwards."""
    before = dict(operations)
    yield
    for name in set(operations) - set(before):
        del operations[name]


def scaled_type(**faults):
    """A type `factor * values` along its last axis, with what `faults` replaces: methods, leaves, linear,
    structure_ndim."""

    class Scaled(pa.Container):
        def __init__(self, values, factor):
            self.values, self.factor = values, factor

        shape = property(lambda self: self.values.shape)
        dtype = property(lambda self: self.values.dtype)

        def dense(self):
            return self.values * self.factor[..., None]

    for name in ("shape", "dtype", "dense"):
        if name in faults:
            setattr(Scaled, name, faults[name])
    declaration = {"leaves": ("values", "factor"), "structure_ndim": 1, "linear": False}
    Scaled.__qualname__ = f"Scaled{next(numbers)}"
    globals()[Scaled.__qualname__] = Scaled  # where pickle looks
    pa.array_type(**{key: faults.get(key, default) for key, default in declaration.items()})(Scaled)

    negate = faults.get("negate", lambda x: Scaled(-x.values, x.factor))
    pa.negative.generic.add(negate, (Scaled,))
    total = faults.get("total", lambda x, axis, dtype, keepdims: NotImplemented)
    pa.sum.generic.add(lambda x, axis=None, dtype=None, keepdims=False: total(x, axis, dtype, keepdims), (Scaled,))
    times = faults.get("times", lambda x, y: Scaled(x.values, x.factor * y) if not np.ndim(y) else NotImplemented)
    pa.multiply.generic.add(lambda x, y: times(x, y), (Scaled, pa.HostArray))
    if "times_left" in faults:
        pa.multiply.generic.add(faults["times_left"], (pa.HostArray, Scaled))
    else:
        pa.multiply.generic.add(lambda x, y: times(y, x), (pa.HostArray, Scaled))
    return Scaled


def check(cls):
    """Checked as a user would; its class is made in a function, so pickle needs it by name."""
    with pa.densify("allow"):
        check_array_type(lambda rng: cls(rng.standard_normal(4), rng.standard_normal(())))


def replaced(x, **parts):
    made = object.__new__(type(x))
    made.__dict__.update({**vars(x), **parts})
    return made


def test_a_right_type_passes():
    check(scaled_type())


@pytest.mark.parametrize(
    ("faults", "message"),
    [
        ({"leaves": ("values",)}, "leaves and static parts: factor is lost"),
        ({"shape": property(lambda self: (*self.values.shape, 1))}, "shape and dtype: shape is"),
        ({"dtype": np.dtype("float32")}, "shape and dtype: dtype is float32"),
        ({"linear": True}, "linear=True: "),
        ({"negate": lambda x: x}, r"negative\(Scaled"),
        ({"negate": lambda x: -x.values}, r"negative\(Scaled"),
        ({"negate": lambda x: pa.reshape(-x.dense(), shape=(1, -1))}, r"negative\(Scaled.*shape is \(1, 4\)"),
        ({"negate": lambda x: pa.astype(-x.dense(), dtype=np.float32)}, r"negative\(Scaled.*float32"),
        ({"negate": lambda x: -pa.stop_gradient(x.dense())}, r"negative\(Scaled.*\).*: forward mode: "),
        ({"times": lambda x, y: replaced(x, values=x.values * y, factor=x.factor * y)}, r"multiply\("),
        ({"times_left": lambda x, y: x * y.dense()}, "multiply of Scaled.* and float, in both orders: gives "),
        ({"total": lambda x, axis, dtype, keepdims: pa.sum(x.values) * x.factor.sum()}, r"sum\(Scaled"),
        ({"negate": lambda x: -x.dense() if not x.values.shape[1:] and type(x.values) is np.ndarray else x.dense()},
         r"negative\(Scaled.*\).*: (trace|vmap)"),
        ({"dense": lambda self: self.values * self.factor}, "vmap over a batch axis|negative"),
        ({"dense": lambda self: self.values * self.factor.sum()}, "the dense form of a batch of instances: "),
    ],
)  # fmt: skip
def test_wrong_types_are_caught(faults, message):
    with pytest.raises(AssertionError, match=message):
        check(scaled_type(**faults))


def test_a_container_that_hides_its_array():
    class Hidden(pa.Container):
        shape, dtype = (2,), np.dtype(float)

        def __init__(self, values):
            self.values = values

        def dense(self):
            return self.values

    pa.array_type(leaves=())(Hidden)
    with pytest.raises(AssertionError, match="Hidden: leaves and static parts: values is lost"):
        check_array_type(lambda rng: Hidden(rng.standard_normal(2)))


def diagonal_type(structure_ndim=2, **methods):
    """A type of diagonal matrices with these methods of operations: name -> function."""

    class Own(pa.Container):
        def __init__(self, diag):
            self.diag = diag

        shape = property(lambda self: (*self.diag.shape, self.diag.shape[-1]))
        dtype = property(lambda self: self.diag.dtype)

        def dense(self):
            return pa.Diagonal(self.diag).dense()

    Own.__qualname__ = f"Own{next(numbers)}"
    globals()[Own.__qualname__] = Own
    pa.array_type(leaves=("diag",), linear=True, structure_ndim=structure_ndim)(Own)
    for name, method in methods.items():
        op = operations.get(name) or getattr(pa.linalg, name)
        method.__annotations__ = dict.fromkeys(list(method.__code__.co_varnames)[: len(op.generic.arrays)], Own)
        op.method(method)
    return Own


def check_diagonal(shape=(3,), **faults):
    cls = diagonal_type(**faults)
    check_array_type(lambda rng: cls(rng.standard_normal(shape) + 2.0))


def sum_over_both(x, /, axis=None, dtype=None, keepdims=False):
    if axis is not None or dtype is not None or x.ndim > 2:
        return NotImplemented
    y = pa.sum(x.diag)
    return pa.reshape(y, shape=(1, 1)) if keepdims else y


def sum_without_keepdims(x, /, axis=None, dtype=None, keepdims=False):
    return NotImplemented if axis is not None or dtype is not None or x.ndim > 2 else pa.sum(x.diag)


def mean_without_keepdims(x, /, axis=None, dtype=None, keepdims=False):
    return NotImplemented if axis is not None or dtype is not None else pa.sum(x.diag) / x.size


def sum_over_pairs(x, /, axis=None, dtype=None, keepdims=False):
    """Of axes given as a tuple it takes the first alone."""
    return pa.sum(x.dense(), axis=axis[0] if isinstance(axis, tuple) else axis, dtype=dtype, keepdims=keepdims)


def slogdet_of_batches(x, /):
    return pa.linalg.SlogdetResult(pa.prod(pa.sign(x.diag), axis=-1), pa.sum(pa.log(pa.abs(x.diag)), axis=-1))


def slogdet_of_one(x, /):
    return pa.linalg.SlogdetResult(pa.prod(pa.sign(x.diag)), pa.sum(pa.log(pa.abs(x.diag))))


def trace_of_one(x, /, offset=0, axis1=0, axis2=1, dtype=None):
    return NotImplemented if offset or dtype is not None or (axis1, axis2) != (0, 1) else pa.sum(x.diag)


def negative_in_place(x, /):
    y = pa.negative(x.diag)
    if type(x.diag) is np.ndarray:
        x.diag[:] = y
    return type(x)(y)


def add_into_the_second(x, y, /):
    if type(y.diag) is np.ndarray and type(x.diag) is np.ndarray and x.diag.shape == y.diag.shape:
        y.diag += x.diag
        return type(x)(y.diag.copy())
    return type(x)(x.diag + y.diag)


def test_right_methods_pass():
    check_diagonal(sum=sum_over_both, slogdet=slogdet_of_batches)
    check_diagonal((2, 3), slogdet=slogdet_of_batches)


@pytest.mark.parametrize(
    ("faults", "message"),
    [
        ({"sum": sum_without_keepdims}, r"^Own: sum\(Own, axis=None, keepdims=True\), method sum_without_keepdims: "
         r"the result's shape is \(\), not \(1, 1\)"),
        ({"mean": mean_without_keepdims}, r"mean\(.*keepdims=True\), method mean_without_keepdims: the result's shape"),
        ({"sum": sum_over_pairs}, r"sum\(Own, axis=\(0, 1\), keepdims=True\), method sum_over_pairs: the result's shape"),
        ({"slogdet": slogdet_of_one}, r"a batch of instances: slogdet\(Own\), method slogdet_of_one: "),
        ({"trace": trace_of_one}, r"a batch of instances: trace\(Own\), method trace_of_one: "),
        ({"negative": negative_in_place}, r"negative\(Own\), method negative_in_place: writes into its argument"),
        ({"add": add_into_the_second}, r"add\(Own, Own\), method add_into_the_second: writes into its argument"),
        ({"structure_ndim": 1}, r"structure_ndim=1, vmap over axis 0 of shape \[3, 3\]: "),
        ({"structure_ndim": 0}, r"structure_ndim=0, vmap over axis 0 of shape \[3, 3\]: "),
        ({"structure_ndim": 1, "shape": (2, 3)}, r"structure_ndim=1, vmap over axis 1 of shape \[2, 3, 3\]: "),
    ],
)  # fmt: skip
def test_mistakes_of_methods_are_found_and_named(faults, message):
    with pytest.raises(AssertionError, match=message):
        check_diagonal(**faults)


def _ignoring(name, **fixed):
    """A method of an operation that has these parameters as they are given here, whatever the call says."""
    op = operations[name]
    signature = ", ".join([*op.generic.arrays, "/", *[f"{k}={k}_" for k in op.generic.params]])
    space = {f"{k}_": op.generic.signature.parameters[k].default for k in op.generic.params}
    space["run"] = lambda x, params: op(x.dense(), **{**params, **fixed})
    given = ", ".join(f"{k!r}: {k}" for k in op.generic.params)
    exec(f"def method({signature}):\n    return run({op.generic.arrays[0]}, {{{given}}})", space)
    return space["method"]


@pytest.mark.parametrize(
    ("name", "fixed"),
    [
        ("roll", {"shift": 2}), ("roll", {"axis": None}), ("clip", {"max": None}),
        ("sort", {"axis": -1}), ("sort", {"descending": False}),
        ("std", {"ddof": 0}), ("std", {"axis": None}), ("round", {"decimals": 0}),
        ("sum", {"dtype": None}), ("sum", {"keepdims": False}), ("cumsum", {"axis": None}), ("cumsum", {"dtype": None}),
        ("trace", {"offset": 0}), ("diagonal", {"offset": 0}), ("repeat", {"repeats": 1}), ("flip", {"axis": None}),
        ("argsort", {"descending": False}), ("diff", {"n": 1}), ("max", {"axis": None}), ("mean", {"dtype": None}),
        ("tril", {"k": 0}), ("logsumexp", {"axis": None}), ("softmax", {"axis": -1}),
    ],
)  # fmt: skip
def test_parameters_that_a_method_ignores_are_found(name, fixed):
    with pytest.raises(AssertionError, match=rf"^Own: {name}\(Own, .*{next(iter(fixed))}="):
        check_diagonal((3,), **{name: _ignoring(name, **fixed)})
