"""What counts as an array, by class, for annotations and for `isinstance`."""

import numpy as np
import pytest

import polyad as pa
from polyad.dispatch import Array, HostArray

pytestmark = pytest.mark.quick


def test_what_is_an_array():
    for x in (1, 2.0, True, 1j, np.float32(1), np.ones(2), pa.Diagonal(np.ones(2))):
        assert isinstance(x, Array)
        assert isinstance(x, HostArray) is not isinstance(x, pa.Container)
    for x in ("a", None, [1.0], (1.0,), object()):
        assert not isinstance(x, Array) and not isinstance(x, HostArray)


def test_array_as_annotation():
    @pa.generic
    def kind_of(x, /): ...

    @kind_of.method
    def kind_of_array(x: Array):
        return "array"

    @kind_of.method
    def kind_of_host(x: HostArray):
        return "host"

    seen = []
    pa.grad(lambda x: seen.append(kind_of(x)) or x)(1.0)
    assert [*seen, kind_of(1), kind_of(pa.Diagonal(np.ones(2)))] == ["array", "host", "array"]
    with pytest.raises(pa.MethodError):
        kind_of("text")
