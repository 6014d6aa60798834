"""Fixtures for every test: a seeded generator, and programs run under mpiexec."""

import functools
import gc
import importlib.metadata
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import hypothesis
import numpy as np
import pytest

# No deadline: the first call of a generic or a compiled function is much slower than the rest.
hypothesis.settings.register_profile("local", deadline=None)
# Where the same examples are tried each time, fifty of them; by hand a hundred others at each run.
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, max_examples=50)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture
def rng():
    """A generator with the same seed in every test, so that no test depends on which ones ran before it."""
    return np.random.default_rng(20)


@pytest.fixture
def calls():
    """calls(f): how many Python functions a call of f enters. It stands for time, and is the same on a busy machine."""

    def count(f):
        entered, before = [0], sys.getprofile()

        def profile(frame, event, argument):
            entered[0] += event == "call"

        sys.setprofile(profile)
        try:
            f()
        finally:
            sys.setprofile(before)
        return entered[0]

    return count


@pytest.fixture
def each():
    """each(cases, check): check(*arguments) for each name and arguments of a dict, and at the end all that went wrong. For
    many short checks: a test by itself takes pytest some milliseconds."""

    def run(cases, check):
        assert cases, "there is nothing to check"
        errors = []
        for name, arguments in cases.items():
            try:
                check(*arguments)
            except Exception as error:
                error.add_note(f"in {name}")
                errors.append(error)
        if errors:
            raise ExceptionGroup(f"{len(errors)} of {len(cases)} fail: {', '.join(e.__notes__[-1] for e in errors)}", errors)

    return run


@pytest.fixture(autouse=True)
def arrays_stay_as_they_are():
    """Derivatives check that the arrays they keep do not change."""
    import polyad

    with polyad.debug_mutation():
        yield


def pytest_configure(config):
    """Compiled code is kept for one run, whose processes share it, unless the environment says where."""
    if not hasattr(config, "workerinput") and "POLYAD_CACHE_DIR" not in os.environ:
        os.environ["POLYAD_CACHE_DIR"] = tempfile.mkdtemp(prefix="polyad-tests-")
        config.add_cleanup(functools.partial(shutil.rmtree, os.environ["POLYAD_CACHE_DIR"], ignore_errors=True))
        config.add_cleanup(lambda: os.environ.pop("POLYAD_CACHE_DIR"))


def pytest_collection_finish():
    """What was collected lives to the end: without it each garbage collection takes a fraction of the time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def optimization(request):
    """Programs are compiled with -O1, which also makes vectors of loops and takes half the time; in modules with the mark
    `optimized`, and in processes that tests start, as users have it; in those with the mark `unoptimized` with -O0, which
    takes a third of the time of -O1."""
    from polyad.devices import compilers

    before, marked = compilers.STRICT, request.node.get_closest_marker
    level = "-O0" if marked("unoptimized") else os.environ.get("POLYAD_TESTS_OPTIMIZE", "-O1")
    if marked("optimized") is None:
        compilers.STRICT = tuple(level if flag == "-O3" else flag for flag in before)
    yield
    compilers.STRICT = before


def pytest_report_header():
    versions = (f"{name} {importlib.metadata.version(name)}" for name in ("numpy", "optree"))
    return [", ".join(versions), f"MPI: {find_mpi()[1]}"]


def pytest_collection_modifyitems(items):
    for item in items:
        if "mpirun" in getattr(item, "fixturenames", ()):
            item.add_marker("mpi")
    # The longest first, else one process is still at the last of them when the others have nothing left to do.
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


# --- programs under mpiexec ------------------------------------------------------------------------------------

ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",  # else every rank takes every core
    # Open MPI refuses root and more ranks than cores unless told; MPICH does not read these.
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}

RANKS = Path(__file__).with_name("ranks.py")


@dataclass
class Finished:
    """How a program under mpiexec ended. `done` holds the ranks that reached its end."""

    returncode: int
    stdout: str
    stderr: str
    done: list[int]
    timed_out: bool

    def __str__(self):
        end = f"exit status {self.returncode}{' (timed out)' if self.timed_out else ''}, ranks done: {self.done}"
        return f"{end}\n--- stdout\n{self.stdout}\n--- stderr\n{self.stderr}"


@pytest.fixture
def mpirun(tmp_path, nurseries):
    """Run a script (its text, or a Path) on n ranks: `mpirun(script, n, timeout=60, env=None, expect_success=True)`.

    A run past `timeout` seconds fails the test. Otherwise the run must succeed on every rank, or, with
    `expect_success=False`, end with a status other than 0. The ranks are forked from processes that have imported the package
    (ranks.py); where it matters how a rank starts, `fresh=True` has each be a process from its beginning.
    """
    mpiexec, what = find_mpi()
    if mpiexec is None:
        give_up = pytest.fail if os.environ.get("POLYAD_REQUIRE_MPI") == "1" else pytest.skip
        give_up(f"MPI: {what}")

    def run(script, n, timeout=60, env=None, expect_success=True, fresh=False):
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        if not isinstance(script, Path):
            text, script = textwrap.dedent(script), folder / "script.py"
            script.write_text(text)
        sockets = None if fresh or "MPICH" not in what else nurseries(n)
        start = ["run"] if sockets is None else ["stand-in", sockets]
        python = [sys.executable] if sockets is None else [sys.executable, "-I", "-S"]
        command = [mpiexec, "-n", str(n), *python, str(RANKS), *start, str(script.resolve())]
        finished = execute(command, folder, timeout, env or {})
        assert not finished.timed_out, str(finished)
        if expect_success:
            assert finished.returncode == 0 and finished.done == list(range(n)), str(finished)
        else:
            assert finished.returncode != 0, str(finished)
        return finished

    return run


@pytest.fixture(scope="session")
def nurseries():
    """function(n) that sees to it that n ranks can be forked, and says where; None if they cannot be here."""
    folder, started = Path(tempfile.mkdtemp(prefix="polyad-")), []  # short: the path of a socket has at most 107 bytes

    def start(n):
        if not (hasattr(os, "fork") and hasattr(os, "pidfd_open")):
            return None
        while len(started) < n:
            with socket.socket(socket.AF_UNIX) as listening:
                listening.bind(str(folder / str(len(started))))
                listening.listen()
                command = [sys.executable, str(RANKS), "nursery", str(listening.fileno())]
                env = {**os.environ, **ENVIRONMENT}
                started.append(subprocess.Popen(command, stdin=subprocess.PIPE, env=env, pass_fds=[listening.fileno()]))
        return str(folder)

    yield start
    for process in started:
        process.stdin.close()  # its sign to end
        process.wait(10)
    shutil.rmtree(folder)


@functools.cache
def find_mpi():
    """(path of mpiexec, version of the library), or (None, why there is none)."""
    beside = Path(sys.executable).with_name("mpiexec")
    mpiexec = str(beside) if beside.exists() else shutil.which("mpiexec")
    if mpiexec is None:
        return None, f"no mpiexec beside {sys.executable} or on PATH"
    # In a process of its own, and without starting MPI there (Open MPI leaves shared memory behind such a process).
    ask = "import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI; print(MPI.Get_library_version())"
    answer = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, timeout=60)
    if answer.returncode != 0:
        return None, answer.stderr.strip().splitlines()[-1]
    return mpiexec, answer.stdout.partition("\n")[0].strip("\0")


def execute(command, folder, timeout, env):
    """Run `command`; afterwards nothing that it started is left, neither processes nor shared memory."""
    mark = uuid.uuid4().hex
    before = shared_segments()
    start = time.monotonic()
    # Files, not pipes: a rank left over would hold a pipe open. timeout(1): it outlives an interrupted pytest.
    with open(folder / "stdout", "w+") as out, open(folder / "stderr", "w+") as err:
        process = subprocess.Popen(
            ["timeout", "--kill-after=5", str(timeout), *command],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env={**os.environ, **ENVIRONMENT, **env, "POLYAD_MPIRUN": mark},
            start_new_session=True,
        )
        try:
            returncode = process.wait(timeout + 15)
        finally:
            kill_group(process.pid)
            process.wait()
            kill_marked(mark)
            remove_segments(shared_segments() - before)
        timed_out = time.monotonic() - start >= timeout
    stdout, stderr = ((folder / name).read_text(errors="replace") for name in ("stdout", "stderr"))
    # Not anchored at the line's start: another rank may have written an unfinished line before.
    done = sorted(int(rank) for rank in re.findall(r"DONE (\d+)\n", stdout))
    return Finished(returncode, stdout, stderr, done, timed_out)


def kill_group(pgid):
    with suppress(ProcessLookupError):
        os.killpg(pgid, signal.SIGKILL)


def kill_marked(mark):
    """End what left the process group: MPICH gives each rank a session of its own. Known by their environment."""
    deadline = time.monotonic() + 5
    while (pids := with_text("environ", f"POLYAD_MPIRUN={mark}")) and time.monotonic() < deadline:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def shared_segments():
    return {path for kind in ("mpich_shm_*", "sm_segment.*") for path in Path("/dev/shm").glob(kind)}


def remove_segments(segments):
    """Remove those of ours that no process has open; a job running beside this one keeps its own."""
    for path in segments:
        with suppress(FileNotFoundError):
            if path.stat().st_uid == os.getuid() and not with_text("maps", str(path)):
                path.unlink()


def with_text(kind, text):
    """Ids of the processes in whose /proc/<id>/<kind> the text occurs."""
    pids = []
    for path in Path("/proc").glob(f"[0-9]*/{kind}"):
        try:
            if text.encode() in path.read_bytes():
                pids.append(int(path.parent.name))
        except OSError:  # ended meanwhile, or another user's
            pass
    return pids
