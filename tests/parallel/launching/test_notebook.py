"""The magic %%polyad: a cell of a notebook as a script on several ranks."""

import sys

import pytest
from jobs import Job

import polyad as pa


class IPython:
    """What of an interactive shell is asked for."""

    def register_magic_function(self, function, magic_kind, magic_name):
        self.known = {magic_kind: {magic_name: function}}


@pytest.fixture
def magic():
    shell = IPython()
    pa.load_ipython_extension(shell)
    return shell.known["cell"]["polyad"]


@pytest.mark.mpi
def test_a_cell_is_a_script(magic, tmp_path, monkeypatch, capsys):
    Job(tmp_path, monkeypatch)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "beside_the_notebook.py").write_text("value = 'ä'")
    flags = {name: getattr(sys.flags, name) for name in dir(sys.flags) if not name.startswith("_")}
    monkeypatch.setattr("sys.flags", type("flags", (), {**flags, "safe_path": False}))
    magic("-n 2 'an argument'", "import sys, beside_the_notebook as b\nprint(b.value, __name__, sys.argv[1:])")
    out = capsys.readouterr().out.splitlines()
    assert sorted(out) == [f"[rank {k}] ä __main__ ['an argument']" for k in range(2)]
    with pytest.raises(pa.LaunchError, match="ranks 0, 1 raised ValueError: boom|rank . raised ValueError: boom"):
        magic("--ranks 2", "raise ValueError('boom')")
    assert 'cell.py", line 1, in <module>' in capsys.readouterr().err


@pytest.mark.parametrize("line", ["", "-n", "-n 0", "-n 2 --what"])
def test_words_that_are_not_understood(magic, line):
    with pytest.raises(ValueError, match=r"%%polyad -n RANKS \[--timeout SECONDS\]"):
        magic(line, "pass")
