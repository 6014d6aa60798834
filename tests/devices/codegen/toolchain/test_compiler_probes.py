"""What compilers get wrong: choices between complex numbers in loops, and the trial that decides about an option."""

import ctypes

import numpy as np
import pytest

import polyad as pa
from polyad.devices import compilers
from polyad.devices.codegen.text.helper_functions import HELPERS
from polyad.devices.codegen.toolchain import compiler_probes, library
from polyad.devices.codegen.toolchain.cache import Cache

pytestmark = pytest.mark.optimized

WORDS = compilers.find_compiler()
compiled = pytest.mark.skipif(WORDS is None, reason="no compiler")
OLD = "static inline T NAME(T a, T p) { T zero = 0; return a == zero ? zero : p; }"


def numbers(rng, dtype, n):
    """Small whole numbers with zeros among them, as a product of which is exact."""
    parts = rng.integers(-3, 4, (2, n)) * (rng.random(n) < 0.7)
    return (parts[0] + 1j * parts[1]).astype(dtype)


@compiled
@pytest.mark.parametrize("dtype", ["F", "D"])
@pytest.mark.parametrize("n", [1, 2, 8, 33, 100_000])
def test_slopes_of_products(dtype, n):
    rng = np.random.default_rng(n)
    z, w, c = (numbers(rng, dtype, n) for _ in range(3))
    by_z, by_w = pa.jit(pa.grad(lambda z, w: pa.real(pa.sum(c * (z * w))), (0, 1)))(z, w)
    np.testing.assert_array_equal(by_z, c * w)
    np.testing.assert_array_equal(by_w, c * z)


CHOICES = {
    "where": lambda a, b, c: (np.where(a == b, b * c, a * c), np.where(a == b, b * a, c * c)),
    "where not": lambda a, b, c: (np.where(a != 0, b * c, a), np.where(a != 0, b * a, c)),
    "both": lambda a, b, c: (np.where(np.logical_and(a, b), b * c, a), np.where(np.logical_and(a, b), a, b * c)),
    "either": lambda a, b, c: (np.where(np.logical_or(a, b), b * c, a), np.where(np.logical_or(a, b), a, b * c)),
    "one": lambda a, b, c: (np.where(np.logical_xor(a, b), b * c, a), np.where(np.logical_xor(a, b), a, b * c)),
    "truth": lambda a, b, c: (np.where(a.astype(bool), b * c, a), np.where(a.astype(bool), c, b * c)),
    "not": lambda a, b, c: (np.where(np.logical_not(a), b * c, a), np.where(np.logical_not(a), c, b * c)),
    "extrema": lambda a, b, c: (np.maximum(a, b) * c, np.minimum(a, b) * c, np.fmax(a, b), np.fmin(a, b)),
}


@compiled
@pytest.mark.parametrize("dtype", ["f", "d", "F", "D"])
def test_choices_made_twice(dtype):
    rng = np.random.default_rng(0)
    args = [numbers(rng, "D", 33).real.astype(dtype) if dtype in "fd" else numbers(rng, dtype, 33) for _ in range(3)]
    found = pa.jit(lambda *xs: {name: f(*xs) for name, f in CHOICES.items()})(*args)
    for name, f in CHOICES.items():
        for a, b in zip(found[name], f(*args), strict=True):
            np.testing.assert_array_equal(a, b, err_msg=name)


# ---------------------------------------------------------------------- the trial
def wrong(flags, folder):
    """What the probe says of these options."""
    source, target = folder / "probe.c", folder / f"probe{len(flags)}.so"
    source.write_text(compiler_probes.text())
    assert compilers.compile_c(WORDS, flags, source, target) is None
    return ctypes.CDLL(str(target)).wrong()


@compiled
def test_a_form_that_is_not_safe_is_found(tmp_path, monkeypatch):
    flags = compilers.flag_sets(WORDS)[-1]
    assert wrong(flags, tmp_path) == 0
    monkeypatch.setitem(HELPERS, ("unless_zero", "c"), "static inline T NAME(T a, T p) { T q = p; __imag__ q = 0; return q; }")
    assert wrong((*flags, "-O2"), tmp_path) == 1


@pytest.mark.skipif("(Debian 12.2" not in compilers.compiler_version(WORDS or ("none",)), reason="a mistake of gcc 12")
def test_what_gcc_12_gets_wrong(tmp_path, monkeypatch):
    flags = compilers.flag_sets(WORDS)[0]
    monkeypatch.setitem(HELPERS, ("unless_zero", "c"), OLD)
    assert wrong(compiler_probes.without(flags), tmp_path) == 0
    if " avx " in compilers.processor():
        assert wrong(flags, tmp_path) == 1


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """As in a new process, with an empty directory of libraries."""
    monkeypatch.setitem(library._state, "cache", Cache(tmp_path))
    monkeypatch.setattr(compiler_probes, "_known", {})
    monkeypatch.setattr(library, "_loaded", {})
    return library.cache()


TEXT = "int number(void) { return 7; }"


@compiled
def test_a_compiler_is_tried_once_and_noted(fresh, monkeypatch):
    library.load(TEXT, [])
    assert compiler_probes.verdict(WORDS, fresh) is True and [f.read_text() for f in fresh.path.glob("*.note")] == ["right"]
    compiler_probes._known.clear()
    monkeypatch.setattr(compiler_probes, "_tried", None)  # not called again
    library._loaded.clear()
    library.load(TEXT, [])
    library.load(TEXT + " ", [])


@compiled
@pytest.mark.parametrize("said, noted", [(1, ["wrong"]), (None, [])])
def test_the_option_goes_where_a_compiler_is_wrong(fresh, monkeypatch, said, noted):
    used = []
    monkeypatch.setattr(library, "key_of", lambda text, words, flags: used.append(flags) or str(abs(hash((text, flags)))))
    monkeypatch.setattr(compiler_probes, "_tried", lambda words, cache: said)
    library.load(TEXT, [])
    assert not set(used[-1]) & set(compiler_probes.RISKY) and [f.read_text() for f in fresh.path.glob("*.note")] == noted
    library.load(TEXT + " ", [])
    assert not set(used[-1]) & set(compiler_probes.RISKY)


@compiled
def test_a_library_on_the_disk_waits_for_the_trial(fresh, monkeypatch):
    library.load(TEXT, [])
    for note in fresh.path.glob("*.note"):
        note.unlink()
    compiler_probes._known.clear()
    library._loaded.clear()
    library.load(TEXT, [])
    assert len(list(fresh.path.glob("*.note"))) == 1


def test_these_programs_are_compiled_as_users_have_them():
    assert "-O3" in compilers.flag_sets(("gcc",))[0]
