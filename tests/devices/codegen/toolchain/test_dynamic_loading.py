"""cffi's compiled part is used directly; where it shows no FFI, cffi itself is taken."""

import sys
import types

import _cffi_backend
import pytest

from polyad.devices.codegen.toolchain import dynamic_loading as loading


@pytest.mark.parametrize("private", [True, False])
def test_pointers_and_functions(monkeypatch, private):
    if not private:
        rest = types.ModuleType("_cffi_backend")
        vars(rest).update({name: part for name, part in vars(_cffi_backend).items() if name != "FFI"})
        monkeypatch.setitem(sys.modules, "_cffi_backend", rest)
    loading.ffi.cache_clear()
    try:
        found = loading.pointers([16, 32])
        assert [int(loading.ffi().cast("uintptr_t", p)) for p in found] == [16, 32]
        assert isinstance(loading.ffi(), _cffi_backend.FFI) == private
        assert "void *, void *" in str(loading.ffi().typeof(loading.function(64, 2)))
    finally:
        loading.ffi.cache_clear()
