"""`python -m polyad info` and `python -m polyad methods NAME`."""

import subprocess
import sys

import numpy as np
import pytest

from polyad.__main__ import main
from polyad.devices import compilers


def test_info_prints_a_line_each(capsys):
    assert main(["info"]) == 0
    lines = dict(line.split(None, 1) for line in capsys.readouterr().out.splitlines())
    assert list(lines) == ["polyad", "Python", "NumPy", "optree", "devices", "MPI", "launcher", "compiler"]
    assert lines["NumPy"] == np.__version__ and lines["devices"].startswith("cpu:0")
    assert lines["Python"].startswith(sys.version.split()[0])


def test_methods_prints_the_table(capsys):
    assert main(["methods", "matmul"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("matmul: ") and "matmul(HostArray, HostArray)  at numpy.matmul" in out


def test_an_unknown_operation_is_status_2_and_a_suggestion(capsys):
    assert main(["methods", "matmull"]) == 2
    assert "there is no operation 'matmull'; did you mean matmul" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["nothing"], ["methods"]])
def test_unknown_commands_are_status_2(words, capsys):
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 2 and "usage: python -m polyad" in capsys.readouterr().err


def test_as_a_module(tmp_path):
    run = lambda *words: subprocess.run([sys.executable, "-P", "-m", "polyad", *words], cwd=tmp_path, capture_output=True)
    assert run("methods", "sin").returncode == 0
    assert run("methods", "no_such_operation").returncode == 2


@pytest.fixture
def fresh():
    compilers.find_compiler.cache_clear()
    yield
    compilers.find_compiler.cache_clear()


def test_the_compiler_is_cc_before_the_others(fresh, monkeypatch, tmp_path):
    program = tmp_path / "mycc"
    program.write_text("#!/bin/sh\necho mycc 1.0; echo more\n")
    program.chmod(0o755)
    monkeypatch.setenv("CC", f"{program} -m64")
    found = compilers.find_compiler()
    assert found == (str(program), "-m64") and compilers.compiler_version(found) == "mycc 1.0"


def test_no_compiler_at_all(fresh, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("CC", str(tmp_path / "absent"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(compilers.importlib.util, "find_spec", lambda name: None)
    assert compilers.find_compiler() is None
    assert "does not run" in compilers.compiler_version((str(tmp_path / "absent"),))
