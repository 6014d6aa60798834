"""What `python -m polyad info` says of a job: once, whatever launcher has started its ranks."""

import pytest
from jobs import Job

from polyad.parallel.launching import facts
from polyad.parallel.launching.errors import LaunchError
from polyad.parallel.launching.mpiexec import Launcher

VARIABLES = ("PMI_SIZE", "PMI_RANK", "OMPI_COMM_WORLD_SIZE", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "POLYAD_RUN_RANK")


@pytest.fixture
def alone(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


class Everyone:
    """A world of five ranks on two nodes."""

    size, library = 5, "MPICH 5.0.2"

    def __init__(self, rank):
        self.rank = rank

    def gather_objects(self, here):
        return [here, here, ("b", "cpu:0, CUDA_VISIBLE_DEVICES=1"), ("b", "cpu:0, CUDA_VISIBLE_DEVICES=0"), here]


def test_nodes_and_devices(alone, monkeypatch):
    assert facts.describe_job() is None
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "5")
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setattr(facts.platform, "node", lambda: "a")
    monkeypatch.setattr(facts, "available_devices", lambda: ["cpu:0", "cuda:0"])
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(facts, "world", lambda: Everyone(0))
    assert facts.describe_job() == {
        "launcher": "the mpiexec of Open MPI (OMPI_COMM_WORLD_SIZE=5)",
        "MPI": "MPICH 5.0.2",
        "ranks": "5 on 2 nodes",
        "rank 0, 1, 4": "a: cpu:0, cuda:0, OMP_NUM_THREADS=3",
        "rank 2": "b: cpu:0, CUDA_VISIBLE_DEVICES=1",
        "rank 3": "b: cpu:0, CUDA_VISIBLE_DEVICES=0",
    }
    monkeypatch.setattr(facts, "world", lambda: Everyone(3))
    assert facts.describe_job() == {}


def test_ranks_that_do_not_find_one_another(alone, monkeypatch):
    def refuse():
        raise RuntimeError("another library")

    monkeypatch.setattr(facts, "world", refuse)
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "2")
    monkeypatch.setenv("SLURM_PROCID", "1")
    assert facts.describe_job() == {}
    monkeypatch.setenv("SLURM_PROCID", "0")
    found = facts.describe_job()
    assert found["launcher"] == "srun (SLURM_STEP_NUM_TASKS=2)" and found["MPI"] == "another library"


def test_the_launcher_that_would_be_used(monkeypatch):
    monkeypatch.setattr(facts, "find_launcher", lambda: Launcher("/bin/mpiexec", "hydra", "MPICH"))
    assert facts.describe_launcher() == "/bin/mpiexec (hydra)"

    def refuse():
        raise LaunchError("no mpiexec\nof that kind")

    monkeypatch.setattr(facts, "find_launcher", refuse)
    assert facts.describe_launcher() == "none: no mpiexec"


@pytest.mark.mpi
def test_one_copy_for_all_ranks(tmp_path, monkeypatch):
    job = Job(tmp_path, monkeypatch)("polyad", arguments=["info"], kind="module", tags=False)
    lines = dict(line.split(None, 1) for line in job.out.splitlines())
    assert job.status == 0 and job.out.count("optree") == 1 and lines["ranks"] == "2 on 1 node", str(job)
    assert lines["launcher"].startswith("python -m polyad run, by ") and "\nrank 0, 1" in job.out
