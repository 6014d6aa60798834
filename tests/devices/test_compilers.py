"""Finding a C compiler, by the environment first, and what its command says."""

import sys

import pytest

from polyad.devices import compilers


@pytest.fixture
def found(monkeypatch):
    """found(programs, CC): what is found where these programs and no others are."""

    def find(programs, cc="", wheel=False):
        monkeypatch.setenv("CC", cc)
        monkeypatch.setattr(compilers.shutil, "which", lambda word: word if word in programs else None)
        monkeypatch.setattr(compilers.importlib.util, "find_spec", lambda name: object() if wheel else None)
        compilers.find_compiler.cache_clear()
        return compilers.find_compiler()

    yield find
    compilers.find_compiler.cache_clear()


def test_the_first_there_is(found):
    assert found({"gcc", "clang"}) == ("gcc",) and found({"clang"}) == ("clang",) and found(()) is None
    assert found({"gcc", "icx"}, cc="icx -x 'a b'") == ("icx", "-x", "a b")
    assert found({"gcc"}, cc="missing") == ("gcc",)
    assert found((), wheel=True) == (sys.executable, "-m", "ziglang", "cc") and found({"gcc"}, wheel=True) == ("gcc",)


def test_versions_of_what_does_not_run(tmp_path):
    assert compilers.compiler_version((str(tmp_path / "none"),)).startswith("does not run: ")
    assert compilers.compiler_version((sys.executable, "-c", "raise SystemExit(3)")) == "says nothing and ends with 3"
    assert compilers.compiler_version((sys.executable, "-c", "print('one\\ntwo')")) == "one"


@pytest.mark.parametrize(("said", "clang"), [("gcc (Debian) 12", False), ("clang version 17", True)])
def test_every_set_of_options_keeps_to_ieee(monkeypatch, said, clang):
    monkeypatch.setattr(compilers, "compiler_version", lambda words: said)
    sets = compilers.flag_sets(("cc",))
    for flags in sets:
        assert {"-ffp-contract=off", "-shared", "-fPIC"} <= set(flags) and "-ffast-math" not in flags
        assert ("-fno-builtin-sin" in flags) == (not clang)
    assert any("-DPOOL" in flags for flags in sets) == (not clang)
    assert not {"-fopenmp", "-march=native", "-mcpu=native", "-lmvec"} & set(sets[-1])  # the last one is for any compiler


def test_libraries_come_after_the_source():
    line = compilers.command_line(("cc", "-x"), ("-O3", "-lm", "-g"), "a.c", "a.so")
    assert line == ["cc", "-x", "-O3", "-g", "a.c", "-o", "a.so", "-lm"]


def test_complaints_are_handed_on(tmp_path):
    run = lambda code: compilers.compile_c((sys.executable, "-c", code), (), tmp_path / "a.c", tmp_path / "a.so")
    assert run("import sys; sys.exit('no such thing')") == "no such thing"
    assert run("raise SystemExit(4)") == "ends with 4" and run("pass") == "it made no file"
    assert run(f"open({str(tmp_path / 'a.so')!r}, 'w')") is None
    assert "none" in compilers.compile_c((str(tmp_path / "none"),), (), "a.c", "a.so")
