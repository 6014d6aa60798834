"""`python -m polyad run`: what its words mean."""

import pytest

from polyad.__main__ import main
from polyad.parallel.launching import command
from polyad.parallel.launching.errors import LaunchError
from polyad.parallel.launching.job import Outcome

pytestmark = pytest.mark.quick


@pytest.fixture
def asked(monkeypatch):
    calls = []
    monkeypatch.setattr(command, "run_job", lambda *words, **options: (calls.append((*words, options)), Outcome(3, ["why"]))[1])
    return calls


@pytest.mark.parametrize(
    ("words", "meaning"),
    [
        ("-n 4 script.py -n 5 --timeout x", ("script", ["script.py", "-n", "5", "--timeout", "x"], 4)),
        ("-n 2 -m a.module -x --help", ("module", ["a.module", "-x", "--help"], 2)),
        ("--ranks 2 -- ./program -m y", ("command", ["./program", "-m", "y"], 2)),
        ("--ranks=3 script.py -- -m", ("script", ["script.py", "--", "-m"], 3)),
        ("-n2 script.py", ("script", ["script.py"], 2)),
    ],
)
def test_words(asked, words, meaning, capsys):
    assert main(["run", *words.split()]) == 3
    assert asked == [(*meaning, {"timeout": None, "tags": True})] and capsys.readouterr().err == "polyad run: why\n"


def test_options(asked):
    main(["run", "--timeout", "2.5", "-n", "2", "--no-tags", "s.py"])
    assert asked[0][-1] == {"timeout": 2.5, "tags": False}


@pytest.mark.parametrize(
    "words", ["", "-n 2", "script.py", "-n 0 s.py", "-n x s.py", "-n 2 --timeout -1 s.py", "-n 2 --what s.py", "-n"]
)
def test_what_is_not_understood_is_status_2(asked, words, capsys):
    with pytest.raises(SystemExit) as end:
        main(["run", *words.split()])
    assert end.value.code == 2 and "usage: python -m polyad run -n RANKS" in capsys.readouterr().err and not asked


def test_what_cannot_be_started_is_status_1(monkeypatch, capsys):
    def refuse(*words, **options):
        raise LaunchError("no mpiexec")

    monkeypatch.setattr(command, "run_job", refuse)
    assert main(["run", "-n", "2", "s.py"]) == 1 and capsys.readouterr().err == "polyad run: no mpiexec\n"


def test_help(capsys):
    with pytest.raises(SystemExit) as end:
        main(["run", "--help"])
    assert end.value.code == 0 and "OMP_NUM_THREADS is cores / ranks" in " ".join(capsys.readouterr().out.split())
