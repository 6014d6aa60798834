"""The process that is a rank: its share of the node, and what it tells (tests/parallel/launching/test_job.py has it run)."""

import os
import platform
import subprocess
import sys
import threading

import pytest

from polyad.parallel import rank_process

VARIABLES = ("OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "SLURM_JOB_ID", "POLYAD_RUN", "POLYAD_RUN_RANK", "PMI_FD")
PLACES = ("MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID")
NEIGHBOURS = ("MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")


@pytest.fixture
def node(monkeypatch):
    """node(gpus, cores, **variables): take_share there; (threads, visible GPUs)."""

    def share(gpus, cores, **variables):
        for name in (*VARIABLES, *PLACES, *NEIGHBOURS):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        devices = [f"nvidia{k}" for k in range(gpus)] + ["nvidiactl", "nvidia-uvm", "null"]
        monkeypatch.setattr(rank_process.os, "listdir", lambda path: devices)
        monkeypatch.setattr(rank_process.os, "sched_getaffinity", lambda process: set(range(cores)), raising=False)
        rank_process.take_share()
        return os.environ["OMP_NUM_THREADS"], os.environ.get("CUDA_VISIBLE_DEVICES")

    return share


@pytest.mark.parametrize("place, neighbours", [*zip(PLACES, ("MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE", "PMI_SIZE"))])
def test_threads_and_gpu_of_a_rank(node, place, neighbours):
    assert node(0, 8, **{place: "1", neighbours: "2"}) == ("4", None)
    assert node(4, 8, **{place: "3", neighbours: "4"}) == ("2", "3")
    assert node(2, 8, **{place: "3", neighbours: "16"}) == ("1", "1")  # more ranks than cores, and than GPUs


def test_what_the_user_has_set_stays(node):
    assert node(4, 8, OMP_NUM_THREADS="5", CUDA_VISIBLE_DEVICES="2,3", MPI_LOCALRANKID="1") == ("5", "2,3")
    assert node(4, 8, CUDA_VISIBLE_DEVICES="", MPI_LOCALRANKID="1") == ("8", "")
    assert node(4, 8, CUDA_VISIBLE_DEVICES="2,3", MPI_LOCALRANKID="1", SLURM_JOB_ID="7")[1] == "3"  # of the job, to share out


def test_only_a_rank_tells(monkeypatch, tmp_path):
    os.mkfifo(tmp_path / "told")
    read = os.open(tmp_path / "told", os.O_RDWR | os.O_NONBLOCK)
    try:
        monkeypatch.setenv("POLYAD_RUN", str(tmp_path))
        for rank, ours, tagged in ((None, False, False), ("3 1", False, False), (f"3 {os.getpid()} tagged", True, True)):
            monkeypatch.setenv("POLYAD_RUN_RANK", rank) if rank else monkeypatch.delenv("POLYAD_RUN_RANK", raising=False)
            assert (rank_process.is_ours(), rank_process.is_tagged()) == (ours, tagged)
            rank_process.tell("raised", "some\nlines " + "x" * 1000)
        said = os.read(read, 5000)
        assert said.startswith(b"3 raised some lines xxx") and said.count(b"\n") == 1 and len(said) <= 401
    finally:
        os.close(read)
    rank_process.tell("end", "0")  # nobody reads, and it does not wait for anyone


def test_elsewhere_a_rank_tells_on_stderr(monkeypatch, tmp_path, capfd):
    monkeypatch.setenv("POLYAD_RUN", str(tmp_path / "absent"))
    monkeypatch.setenv("POLYAD_RUN_RANK", f"3 {os.getpid()}")
    rank_process.tell("end", "0")
    assert capfd.readouterr().err == f"{rank_process.OUTLINE}{tmp_path}/absent 3 end 0\n"


def test_the_connection_to_the_launcher(monkeypatch):
    read, write = os.pipe()
    for descriptor, name in (("", ""), ("1000000", "closed"), (str(read), "closed")):
        monkeypatch.setenv("PMI_FD", descriptor)
        assert rank_process.connection() == name
    os.close(read), os.close(write)


def test_one_process_without_mpiexec(tmp_path):
    """It imports nothing of the package, and what it tells can be read."""
    os.mkfifo(tmp_path / "told")
    read = os.open(tmp_path / "told", os.O_RDWR | os.O_NONBLOCK)
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, threading\nassert not {'polyad', 'numpy'} & set(sys.modules)\nprint(threading.active_count())"
    )
    env = {name: value for name, value in os.environ.items() if name not in (*rank_process.RANKS, *VARIABLES)}
    env |= {"POLYAD_RUN": str(tmp_path), "POLYAD_RUN_NODE": platform.node()}
    command = [sys.executable, rank_process.__file__, "script", str(script)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{threading.active_count() and 1}\n", "")
    started, end = os.read(read, 5000).decode().splitlines()
    os.close(read)
    assert started.startswith("0 started ") and started.endswith(" script") and end == "0 end 0"
