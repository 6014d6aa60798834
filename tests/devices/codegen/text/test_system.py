"""Functions of SciPy that compiled programs call by pointer: they are found in the SciPy installed, and nothing needs them."""

import sys
import types

import numpy as np
import pytest

import polyad as pa
from polyad.devices.codegen.text import system

special = pytest.importorskip("scipy.special")


@pytest.fixture
def asked_again():
    """What was found is forgotten before and after."""
    cached = (system._special_capsules, system.blas_functions)
    for function in cached:
        function.cache_clear()
    yield
    for function in cached:
        function.cache_clear()


def test_all_of_them_are_found(asked_again):
    """Fails where SciPy no longer shows its functions of C: then programs with them run step by step, slower."""
    missing = [name for name in system.SPECIAL_NAMES if not system.special_arity(name)]
    assert not missing, f"SciPy's cython_special has them under other names or types: see SPECIAL in text/system.py: {missing}"
    assert sorted(system.blas_functions()) == sorted(system.GEMM)


@pytest.mark.parametrize("names", [{}, {"__pyx_capi__": {}}], ids=["no table", "an empty table"])
def test_without_them_programs_give_the_same(asked_again, monkeypatch, names):
    for name in ("scipy.special.cython_special", "scipy.linalg.cython_blas"):
        module = types.ModuleType(name)
        vars(module).update(names)
        monkeypatch.setitem(sys.modules, name, module)
    import scipy.special

    monkeypatch.setattr(scipy.special, "cython_special", sys.modules["scipy.special.cython_special"], raising=False)
    monkeypatch.setattr(system, "_cython_blas", lambda: sys.modules["scipy.linalg.cython_blas"])
    x = np.linspace(0.5, 2.0, 7)
    a = np.arange(6.0).reshape(2, 3) / 7
    f = pa.jit(lambda x, a: (pa.digamma(x) * 2.0 + 1.0, pa.sin(a) @ a.T))
    for _ in range(3):
        y, z = f(x, a)
        np.testing.assert_allclose(y, 2 * special.digamma(x) + 1, rtol=1e-14)
        np.testing.assert_allclose(z, np.sin(a) @ a.T, rtol=1e-14)
    assert system.special_arity("digamma") is None and system.blas_functions() == {}
