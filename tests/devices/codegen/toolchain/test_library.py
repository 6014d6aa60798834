"""Libraries of compiled programs: found, built anew, or done without; and no compiler at all."""

import warnings

import numpy as np
import pytest

import polyad as pa
from polyad.devices import compilers
from polyad.devices.codegen.toolchain import library
from polyad.devices.codegen.toolchain.cache import Cache

pytestmark = pytest.mark.optimized


def f(x):
    return pa.sum(pa.sin(x) * 2.0, axis=0)


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """No program loaded, none on disk, no warning given; what serves all programs is there."""
    if compilers.find_compiler() is not None:
        library.load("int nothing;", [])
        library.functions(compilers.find_compiler())
    monkeypatch.setattr(library, "_loaded", {})
    monkeypatch.setattr(library, "_state", library._state | {"warned": (), "flags": {}, "cache": Cache(tmp_path / "cache")})
    compilers.find_compiler.cache_clear()
    yield library._state["cache"]
    compilers.find_compiler.cache_clear()


def same_as_eager(cpu):
    x = np.random.default_rng(0).normal(size=(3, 4))
    run = pa.compile_program(pa.make_ir(f)(x), cpu)
    np.testing.assert_allclose(run(x)[0], f(x), rtol=1e-14)


def test_a_corrupted_library_is_built_anew(fresh, cpu, monkeypatch):
    same_as_eager(cpu)
    (path,) = fresh.path.glob("*.so")
    before = path.read_bytes()
    path.unlink()  # the loaded file itself must not change
    path.write_bytes(before[:1000])
    monkeypatch.setattr(library, "_loaded", {})
    same_as_eager(cpu)
    assert len(path.read_bytes()) > 2000


def test_the_second_process_compiles_nothing(fresh, cpu, monkeypatch):
    same_as_eager(cpu)
    monkeypatch.setattr(library, "_loaded", {})
    monkeypatch.setattr(library, "compile_c", lambda *a: pytest.fail("compiled again"))
    same_as_eager(cpu)


def test_without_a_compiler_operations_run_one_by_one(fresh, cpu, monkeypatch):
    monkeypatch.setattr(library, "find_compiler", lambda: None)
    with pytest.warns(RuntimeWarning, match="operation by operation.*gcc"):
        same_as_eager(cpu)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same_as_eager(cpu)  # no second warning


def test_a_compiler_that_fails(fresh, cpu, monkeypatch, tmp_path):
    program_ = tmp_path / "badcc"
    program_.write_text("#!/bin/sh\necho broken >&2; exit 1\n")
    program_.chmod(0o755)
    monkeypatch.setenv("CC", str(program_))
    compilers.find_compiler.cache_clear()
    with pytest.warns(RuntimeWarning, match="badcc does not compile: .*broken"):
        same_as_eager(cpu)


def test_a_compiler_without_threads_and_vector_functions(fresh, cpu, monkeypatch, tmp_path):
    program_ = tmp_path / "plaincc"
    program_.write_text('#!/bin/sh\nfor a in "$@"; do case $a in -fopenmp|-lmvec) exit 1;; esac; done\nexec gcc "$@"\n')
    program_.chmod(0o755)
    monkeypatch.setenv("CC", str(program_))
    compilers.find_compiler.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same_as_eager(cpu)
