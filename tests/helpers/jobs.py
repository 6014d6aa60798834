"""Jobs started by the launcher within the process of the tests: what they wrote, and how they ended."""

import functools
import io
import os
import textwrap

import pytest

from polyad.parallel.launching import job as jobs
from polyad.parallel.launching import mpiexec
from polyad.parallel.launching.errors import LaunchError


@functools.cache
def launcher(n=2):
    """The launcher of this environment; the test is skipped where there is none, unless MPI is required."""
    try:
        found = mpiexec.find_launcher(n)
    except LaunchError as error:
        found = str(error)
    return found


class Job:
    """run(script, n, …): its status, lines, out and err."""

    def __init__(self, folder, monkeypatch):
        if isinstance(launcher(), str):
            (pytest.fail if os.environ.get("POLYAD_REQUIRE_MPI") == "1" else pytest.skip)(launcher())
        self.folder = folder
        monkeypatch.setattr(jobs, "find_launcher", launcher)
        monkeypatch.setattr(jobs, "MERCY", 1.0)

    def __call__(self, script, n=2, arguments=(), kind="script", timeout=60, **options):
        out, err = io.StringIO(), io.StringIO()
        if kind == "script":
            path = self.folder / "script.py"
            path.write_text(textwrap.dedent(script))
            script = str(path)
        words = [script, *arguments] if isinstance(script, str) else script
        self.status, self.lines = jobs.run_job(kind, words, n, timeout=timeout, out=out, err=err, **options)
        self.out, self.err = out.getvalue(), err.getvalue()
        return self

    def __str__(self):
        return f"status {self.status}: {self.lines}\n--- out\n{self.out}\n--- err\n{self.err}"
