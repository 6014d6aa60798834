"""What the namespace says of itself is so: default dtypes and devices are those of new arrays, kinds those of `isdtype`."""

import numpy as np
import pytest

import polyad as pa

INFO = pa.__array_namespace_info__()


def test_defaults_are_those_of_new_arrays():
    default = INFO.default_dtypes()
    assert default["real floating"] == pa.zeros(2).dtype == pa.asarray([1.0]).dtype
    assert default["complex floating"] == pa.asarray([1j]).dtype
    assert default["integral"] == pa.arange(3).dtype == pa.asarray([1]).dtype
    assert default["indexing"] == pa.argmax(np.ones(2)).dtype == pa.nonzero(np.ones(2))[0].dtype
    default.clear()  # a copy
    assert INFO.default_dtypes()


def test_dtypes_by_kind():
    every = INFO.dtypes()
    assert {name: np.dtype(name) for name in every} == every and len(every) == 13
    for kind in ("bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric"):
        assert set(INFO.dtypes(kind=kind)) == {name for name in every if pa.isdtype(name, kind)}
    assert set(INFO.dtypes(kind=("bool", "real floating"))) == {"bool", "float32", "float64"}
    with pytest.raises(pa.DTypeError, match="dtypes: 3 is no kind; kinds are 'bool'"):
        INFO.dtypes(kind=3)


def test_devices():
    assert INFO.default_device() in INFO.devices() and "cpu" in INFO.devices()
    with pa.device("cpu"):
        assert INFO.default_device() == "cpu"


def test_capabilities_are_so():
    found = INFO.capabilities()
    x = np.arange(4.0)
    assert found["boolean indexing"] and pa.grad(lambda x: pa.sum(x[x > 1.5] ** 2))(x).tolist() == [0, 0, 4, 6]
    assert found["data-dependent shapes"] and pa.unique(np.array([2, 1, 2])).shape == (2,)
    assert pa.zeros((1,) * found["max dimensions"]).ndim == 64
    with pytest.raises(ValueError, match="dim"):
        np.zeros((1,) * (found["max dimensions"] + 1))
    found.clear()  # a copy
    assert INFO.capabilities()
