"""A stand-in for CuPy on machines without a GPU: arrays of its own class on two pretended devices.

It is as strict as CuPy: it refuses NumPy arrays, arrays of another than the current device, and conversion to NumPy
except by `get`; writes at repeated positions come in another order than NumPy's; its atomics know CuPy's dtypes only.
"""

import importlib.util
import inspect
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
import scipy.special

spec = importlib.util.spec_from_file_location("polyad_emulation", Path(__file__).with_name("emulation.py"))
emulation = importlib.util.module_from_spec(spec)
spec.loader.exec_module(emulation)

spec = importlib.util.spec_from_file_location("polyad_checking", Path(__file__).with_name("codegen") / "checking.py")
checking = importlib.util.module_from_spec(spec)
spec.loader.exec_module(checking)

DEVICES = 2
current = [0]


class Device:
    def __init__(self, id):
        self.id = id
        self.mem_info = (60, 80)

    def __enter__(self):
        current.append(self.id)
        return self

    def __exit__(self, *error):
        current.pop()

    def __eq__(self, other):
        return self.id == other.id

    def synchronize(self):
        fake.waited.append(self.id)


class ndarray:
    __module__ = "cupy"
    __array_priority__ = 100

    def __init__(self, values, id):
        self._values, self._id = values, id

    device = property(lambda self: Device(self._id))
    shape = property(lambda self: self._values.shape)
    dtype = property(lambda self: self._values.dtype)
    ndim = property(lambda self: self._values.ndim)
    size = property(lambda self: self._values.size)
    strides = property(lambda self: self._values.strides)
    real = property(lambda self: call(np.real, self))
    imag = property(lambda self: call(np.imag, self))

    flags = property(lambda self: self._values.flags)
    base = property(lambda self: self._values.base)

    def get(self):
        return self._values.copy()

    def on_device(self):
        """The values, for a kernel: of the current device, in a row."""
        values = unwrap(self)
        assert values.flags.c_contiguous
        return values

    def __array__(self, *args, **kwargs):
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if any(not isinstance(x, (ndarray, int, float, complex, np.generic)) for x in inputs):
            return NotImplemented
        return call(ufunc, *inputs)

    def astype(self, dtype):
        return call(lambda x: x.astype(dtype), self)

    def reshape(self, *shape):
        return call(lambda x: x.reshape(*shape), self)

    def transpose(self, *axes):
        return ndarray(self._values.transpose(*axes), self._id)

    def __getitem__(self, where):
        if not any(isinstance(part, (ndarray, list)) for part in (where if isinstance(where, tuple) else (where,))):
            return ndarray(np.asarray(self._values[where]), self._id)  # a view: no kernel runs
        return call(lambda x, i: x[i], self, where)

    def __setitem__(self, where, v):
        places = call(lambda x, i: np.arange(x.size).reshape(x.shape)[i], self, where)._values
        v = np.broadcast_to(unwrap(v), places.shape).reshape(-1)
        self._values.reshape(-1)[places.reshape(-1)[::-1]] = v[::-1]

    def __bool__(self):
        return bool(self._values)

    def __int__(self):
        return int(self._values)

    def __neg__(self):
        return call(np.negative, self)


for name, ufunc in {
    "add": np.add,
    "sub": np.subtract,
    "pow": np.power,
    "mul": np.multiply,
    "truediv": np.divide,
    "matmul": np.matmul,
}.items():

    def forward(self, other, ufunc=ufunc):
        return ufunc(self, other) if not isinstance(other, np.ndarray) else call(ufunc, self, other)

    setattr(ndarray, f"__{name}__", forward)
    setattr(ndarray, f"__r{name}__", lambda self, other, ufunc=ufunc: call(ufunc, other, self))
compared = {"gt": np.greater, "lt": np.less, "ge": np.greater_equal, "le": np.less_equal}
for name, ufunc in {**compared, "and": np.bitwise_and, "rshift": np.right_shift}.items():
    setattr(ndarray, f"__{name}__", lambda self, other, ufunc=ufunc: call(ufunc, self, other))


def unwrap(x):
    if isinstance(x, ndarray):
        if x._id != current[-1]:
            raise RuntimeError(f"array on device {x._id}, current device {current[-1]}")
        return x._values
    if isinstance(x, np.ndarray):
        raise TypeError("Unsupported type <class 'numpy.ndarray'>")
    if type(x) in (tuple, list):
        return type(x)(unwrap(part) for part in x)
    return x


def call(function, *args, **params):
    with np.errstate(all="ignore"):
        y = function(*map(unwrap, args), **params)
    if isinstance(y, tuple):
        return tuple([ndarray(np.asarray(part), current[-1]) for part in y])
    return ndarray(np.asarray(y), current[-1])


class Function:
    """A function or ufunc of CuPy's, by NumPy's."""

    def __init__(self, name, numpys):
        self.name, self.numpys = name, numpys
        self.__name__ = name

    def __call__(self, *args, **params):
        return call(self.numpys, *args, **params)

    def at(self, x, where, v):
        if x.dtype.name not in ("int32", "uint32", "uint64", "float32", "float64"):
            raise TypeError("scatter_add only supports int32, float16, float32, float64, uint32, uint64, as data type")
        self.numpys.at(unwrap(x), unwrap(where), unwrap(v))


class Module(types.ModuleType):
    """CuPy, or a module of it (`cupy.fft`), with NumPy's functions."""

    def __init__(self, name, numpys=np):
        super().__init__(name)
        self.numpys = numpys

    def __getattr__(self, name):
        if name.startswith("__") or not hasattr(self.numpys, name):
            raise AttributeError(name)
        found = getattr(self.numpys, name)
        found = Module(f"{self.__name__}.{name}", found) if inspect.ismodule(found) else Function(name, found)
        setattr(self, name, found)
        return found


def asarray(x, dtype=None):
    if isinstance(x, ndarray):
        return ndarray(unwrap(x).astype(dtype or x.dtype, copy=False), current[-1])
    return ndarray(np.array(x, dtype=dtype), current[-1])


def array(x):
    return ndarray(np.array(unwrap(x)), current[-1])


fake = Module("cupy")
fake.ndarray, fake.asarray, fake.array, fake.waited = ndarray, asarray, array, []
fake.RawModule = emulation.RawModule
fake.cuda = types.SimpleNamespace(
    Device=Device,
    runtime=types.SimpleNamespace(getDevice=lambda: current[-1], getDeviceCount=lambda: DEVICES),
    compiler=types.SimpleNamespace(CompileException=emulation.CompileException),
)


@pytest.fixture(scope="module")
def cupy():
    """The stand-in in CuPy's place; the library meets it as it would meet CuPy, and afterwards could meet CuPy
    itself."""
    from polyad.devices import cuda
    from polyad.dispatch import lazy_libraries
    from polyad.dispatch.generic import clear_all

    before = sys.modules.get("cupy")
    sys.modules["cupy"] = fake
    sys.modules["cupyx.scipy.special"] = Module("cupyx.scipy.special", scipy.special)
    sys.modules["cupyx.scipy.linalg"] = Module("cupyx.scipy.linalg", scipy.linalg)
    lazy_libraries["cupy"] = cuda.install
    clear_all()  # what an earlier module has called with these arrays
    yield fake
    lazy_libraries["cupy"] = cuda.install
    del sys.modules["cupyx.scipy.special"], sys.modules["cupyx.scipy.linalg"]
    if before is None:
        del sys.modules["cupy"]
    else:
        sys.modules["cupy"] = before


@pytest.fixture(scope="session", autouse=True)
def checked_statements():
    """Statements are checked after each pass over loops."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        checking.installed(monkeypatch)
        yield
