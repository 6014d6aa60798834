"""Which arguments a rule mentions, on this version of Python; where its code is not understood nothing is left out."""

import dis
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import polyad as pa
from polyad.ad.rules import reads
from polyad.ad.rules.residuals import leaner

LONG = np.linspace(0.5, 1.5, 20_000)


def several_lines(ct, y, x, *, axis=None, **params):
    def inside():
        return x

    for part in ct:
        y = part
    return inside, y


class Stored:
    def __init__(self, ct, y, x):
        self.x = x


@pytest.mark.parametrize(("function", "names"), reads.SAMPLES)
def test_samples(function, names):
    assert reads.mentioned(function) == [name in names for name in "abcde"]


def test_functions_of_several_lines():
    assert reads.mentioned(several_lines) == [True, True, True]
    assert reads.mentioned(Stored.__init__) == [True, False, False, True]
    assert reads.mentioned(np.sin) is None
    assert reads.understood()


ASK = "import runpy, sys; m = runpy.run_path(sys.argv[1]); print(sys.version.split('.')[1], m['understood']())"


@pytest.mark.parametrize("minor", [11, 12, 13, 14])
def test_other_versions_of_python(minor):
    """Those that are there: as programs of their name, or where pyenv has them."""
    found = [shutil.which(f"python3.{minor}"), *Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python")]
    ask = lambda python: subprocess.run([python, "-c", ASK, reads.__file__], capture_output=True, text=True, timeout=60)
    said = [ask(python) for python in found if python]
    answers = {done.stdout.strip() for done in said if done.stdout or "pyenv" not in done.stderr}
    if not answers:
        pytest.skip(f"Python 3.{minor} is not there")
    assert answers == {f"{minor} True"}


class Unknown:
    """An instruction of a version of Python to come, that names two variables by numbers."""

    opcode, argval = dis.haslocal[0], 18


@pytest.mark.parametrize("code", [[Unknown()], []])
def test_code_that_is_not_understood(code, monkeypatch, peak):
    """Rules are then given all that there was: the derivatives stay right, and take the memory that they take."""
    f = lambda x: pa.sum(pa.exp(pa.sin(x * 2.0 + 1.0) * 3.0))
    slope, memory = pa.grad(f)(LONG), peak(pa.grad(f), LONG)
    known = leaner(pa.sin.generic, [0], 1)((LONG,), np.sin(LONG))
    assert known[0][0] is LONG
    assert not np.isfinite(known[1]).any()
    monkeypatch.setattr(reads.dis, "get_instructions", lambda code_of: code)
    reads.understood.cache_clear()
    for op in (pa.sin, pa.exp, pa.multiply, pa.add):
        op.generic.clear()
    try:
        assert not reads.understood()
        y = np.sin(LONG)
        (x,), kept = leaner(pa.sin.generic, [0], 1)((LONG,), y)
        assert x is LONG
        assert kept is y
        np.testing.assert_array_equal(pa.grad(f)(LONG), slope)
        assert peak(pa.grad(f), LONG) > memory + 1
    finally:
        monkeypatch.undo()
        reads.understood.cache_clear()
        for op in (pa.sin, pa.exp, pa.multiply, pa.add):
            op.generic.clear()
