"""Jobs of `python -m polyad run`: exit status 0 only if every rank came to its end, and the rank that did not is named."""

import mmap
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from jobs import Job

from polyad.parallel import rank_process
from polyad.parallel.launching import job as jobs
from polyad.parallel.launching import leftovers

pytestmark = pytest.mark.mpi
RANK = 'import os, signal, sys, time\nrank = int(os.environ["POLYAD_RUN_RANK"].split()[0])\n'


@pytest.fixture
def job(tmp_path, monkeypatch):
    return Job(tmp_path, monkeypatch)


def test_every_rank_comes_to_its_end(job):
    job(RANK + 'print("rank", rank, sys.argv[1:], sys.path[0], __name__, __file__)', 3, ["a", "--b"])
    path = str(job.folder)
    shown = f"['a', '--b'] {sys.path[0] if sys.flags.safe_path else path} __main__ {path}/script.py"
    assert job.status == 0 and job.lines == [] and job.err == "", str(job)
    if not sys.flags.safe_path:
        assert sorted(job.out.splitlines()) == [f"[rank {k}] rank {k} {shown}" for k in range(3)]


FAULTS = {
    "raise ValueError('boom')": (1, "rank 1 raised ValueError: boom"),
    "raise KeyError": (1, "rank 1 raised KeyError"),
    "raise KeyboardInterrupt": (130, "rank 1 raised KeyboardInterrupt"),
    "sys.exit(3)": (3, "rank 1 ended with exit status 3"),
    "sys.exit('no')": (1, "rank 1 ended with exit status 1"),
    "os._exit(0)": (1, "rank 1 left without coming to the end of the program"),
    "os._exit(7)": (7, "rank 1 left without coming to the end of the program"),
    "os.kill(os.getpid(), signal.SIGKILL)": (9, "rank 1 left without coming to the end of the program"),
    "os.kill(os.getpid(), signal.SIGSEGV)": (11, "rank 1 left without coming to the end of the program"),
    "os.execv('/bin/true', ['true'])": (1, "rank 1 left without coming to the end of the program"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_rank_that_fails_is_named(job, fault):
    """The others would run on for a while: MPICH's mpiexec alone ends with status 0 where a rank leaves by os._exit(0)."""
    status, said = FAULTS[fault]
    job(RANK + f"if rank == 1: {fault}\ntime.sleep(0.3)")
    if "SIGKILL" in fault:  # as launchers end the others: where both are gone at once, both are named
        assert any(line.startswith(said) for line in job.lines), str(job)
    else:
        assert job.lines and job.lines[0].startswith(said) and len(job.lines) == 1, str(job)
    assert job.status in ((status,) if "MPICH" in job_library() else (status, 1, 128 + status)), str(job)


def job_library():
    from jobs import launcher

    return launcher().library


def test_a_traceback_is_that_of_the_program(job):
    job(RANK + "def f(): raise ValueError('boom')\nif rank == 1: f()")
    lines = job.err.splitlines()
    start = lines.index("[rank 1] Traceback (most recent call last):")
    shown = [line.removeprefix("[rank 1]   ") for line in lines[start + 1 : start + 7] if "^" not in line]
    path = f'File "{job.folder}/script.py"'
    assert shown[0] == f"{path}, line 4, in <module>" and shown[2] == f"{path}, line 3, in f", str(job)
    assert "rank_process" not in job.err and "[rank 1] ValueError: boom" in lines


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("fault", ["os._exit(0)", "raise ValueError('boom')", "time.sleep(0.3); sys.exit(3)"])
def test_ranks_that_wait_for_one_that_fails_are_ended(job, n, fault):
    """In MPI itself, with nothing of this library in the script: they would wait for ever."""
    job(RANK + f"from mpi4py import MPI\nif rank == 1: {fault}\nMPI.COMM_WORLD.Barrier()", n)
    assert job.status != 0 and job.lines[0].startswith("rank 1 "), str(job)


def test_a_rank_that_never_comes_is_named(job):
    job(RANK + "if rank == 1: time.sleep(60)\nimport polyad as pa\npa.world()", timeout=5)
    assert job.status == jobs.TIMED_OUT and job.lines[0] == "not at its end after 5 s", str(job)
    assert "rank 1 still running" in job.lines, str(job)
    assert "rank 0 waited in MPI's start (world()), to which rank 1 never came" in job.lines, str(job)
    assert re.search(r'\[rank 1\]   File ".*script.py", line 3', job.err), str(job)  # where it is


def test_children_of_a_rank_are_none(job):
    """Neither does one that is forked tell of an end, nor does one that fails fail its parent."""
    script = """
    import os, subprocess, sys
    child = os.fork()
    if child == 0:
        raise ValueError("in a child")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    if os.fork() == 0:
        sys.exit(4)
    assert os.waitstatus_to_exitcode(os.wait()[1]) == 4
    ask = "from polyad.parallel import rank_process as r, launched_process as l; print(r.is_ours(), l.is_child())"
    print(subprocess.run([sys.executable, "-P", "-c", ask], capture_output=True, text=True).stdout, end="")
    """
    job(script)
    assert job.status == 0 and job.lines == [], str(job)
    assert sorted(job.out.splitlines()) == [f"[rank {k}] False True" for k in range(2)]
    forked_only = "import os, time\nif os.fork(): os._exit(0)\n"
    job(forked_only)  # the child comes to the end of the program, its parent, the rank, does not
    assert job.status == 1 and all("left without" in line for line in job.lines), str(job)


def test_modules_and_programs(job, monkeypatch):
    monkeypatch.chdir(job.folder)
    monkeypatch.setenv("PYTHONPATH", str(job.folder))
    (job.folder / "some_module.py").write_text("import sys\nprint(__name__, __spec__.name, sys.argv[1:])")
    job("some_module", arguments=["-x"], kind="module")
    assert job.status == 0 and job.out.splitlines().count("[rank 0] __main__ some_module ['-x']") == 1, str(job)
    job(["sh", "-c", "echo $0 $OMP_NUM_THREADS"], kind="command", env={"OMP_NUM_THREADS": "5"})
    assert job.status == 0 and sorted(job.out.splitlines()) == ["[rank 0] sh 5", "[rank 1] sh 5"], str(job)
    job(["sh", "-c", "exit 4"], kind="command")
    assert job.status == 4 and "exit status 4" in job.lines[0], str(job)
    job(["sh", "-c", "kill -9 $$"], kind="command")
    assert job.status != 0 and "ended by SIGKILL" in job.lines[0], str(job)
    job(["there_is_no_such_program"], kind="command")
    assert job.status == 127 and "there_is_no_such_program: No such file" in job.err, str(job)


def test_lines_of_ranks_do_not_mix(job):
    script = """
    import sys, time
    for k in range(20):
        for stream in (sys.stdout, sys.stderr):
            for part in ("one ", "two ", "three\\n"):
                stream.write(part)
                stream.flush()
    print("no end", end="")
    """
    job(script, 3)
    for text in (job.out, job.err):
        whole = [line for line in text.splitlines() if line.endswith("one two three")]
        assert len(whole) == 60 and set(whole) == {f"[rank {k}] one two three" for k in range(3)}, str(job)
    assert job.out.count("no end\n") == 3


def test_output_can_go_through_mpiexec(job):
    job('print("plain")', tags=False)
    assert job.status == 0 and job.out == "plain\nplain\n", str(job)


def test_a_rank_on_another_node_tells_by_a_line(job, monkeypatch):
    """Stood in for by a folder that is not to be found: its end is told on stderr, and not shown."""
    monkeypatch.setattr(rank_process, "__file__", str(elsewhere(job.folder)))
    job('print("from afar")')
    assert job.status == 0 and job.lines == [] and job.err == "" and job.out == "from afar\n" * 2, str(job)
    job("import os; os._exit(0)")
    assert job.status == 1 and "exit status 0, by os._exit" in job.lines[0], str(job)


def elsewhere(folder):
    text = Path(rank_process.__file__).read_text()
    moved = folder / "rank_process.py"
    head = "import os, platform\nplatform.node = lambda: 'afar'\n"
    head += "def hidden(f):\n    return lambda path, *a: f(str(path).replace('polyad-run-', 'absent-'), *a)\n"
    head += "os.open, os.path.exists = hidden(os.open), hidden(os.path.exists)\n"
    moved.write_text(head + text)
    return moved


def test_what_a_killed_job_shared_is_deleted(job, monkeypatch):
    """And nothing of another's, and nothing that it started goes on."""
    seen, remember = set(), leftovers.segments
    monkeypatch.setattr(leftovers, "segments", lambda pids: (seen.update(found := remember(pids)), found)[1])
    others = Path("/dev/shm/mpich_shm_test_of_polyad")
    others.write_bytes(b"x")
    with others.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 1, prot=mmap.PROT_READ)  # tests that run beside this one delete what nobody maps
    try:
        script = RANK + "import subprocess\nfrom mpi4py import MPI\nprint(subprocess.Popen(['sleep', '60']).pid)\n"
        job(script + "MPI.COMM_WORLD.Barrier()\ntime.sleep(1)\nif rank == 1: os.kill(os.getpid(), 9)\ntime.sleep(60)")
        assert job.status != 0 and others.exists() and seen and not any(map(os.path.exists, seen)), str(job)
    finally:
        mapped.close()
        others.unlink()
    pids = [int(pid) for pid in re.findall(r"\] (\d+)$", job.out, re.M)]
    assert len(pids) == 2 and are_soon_gone(pids), str(job)


def are_soon_gone(pids):
    deadline = time.monotonic() + 10
    while not all(map(leftovers.is_gone, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return all(map(leftovers.is_gone, pids))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_signals_end_the_job(job, number):
    """SIGINT and SIGTERM are sent on; where the launcher is killed, its ranks end with it."""
    path = job.folder / "script.py"
    path.write_text(RANK + "print(os.getpid(), flush=True)\ntry: time.sleep(60)\nfinally: print('finally', flush=True)")
    ask = "import sys; from polyad.parallel.launching.command import run_command; sys.exit(run_command(sys.argv[1:]))"
    command = [sys.executable, "-P", "-c", ask, "-n", "2", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True) as run:
        pids = [int(run.stdout.readline().split()[-1]) for _ in range(2)]
        run.send_signal(number)
        out, err = run.communicate(timeout=30)
    if number == signal.SIGKILL:
        assert run.returncode == -9
    else:
        assert run.returncode == 128 + number and f"polyad run: ended by {number.name}" in err
    assert number != signal.SIGINT or out.count("finally") == 2, (out, err)
    assert are_soon_gone(pids)


def test_a_thread_may_start_a_job(job):
    done = []
    thread = threading.Thread(target=lambda: done.append(job('print("here")').out))
    thread.start()
    thread.join()
    assert done == ["[rank 0] here\n[rank 1] here\n"] or done == ["[rank 1] here\n[rank 0] here\n"]


def test_no_rank_at_all(job, monkeypatch):
    found = jobs.find_launcher(2)
    monkeypatch.setattr(jobs, "find_launcher", lambda n: found._replace(program="/bin/false"))
    job("pass")
    assert job.status == 1 and job.lines == ["no rank was started by /bin/false -n 2"]
