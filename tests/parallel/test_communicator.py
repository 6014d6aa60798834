"""The communicator: what a rank may do after the others have finished, and what one rank refuses without MPI."""

import numpy as np
import pytest

from polyad.parallel import communicator
from polyad.parallel.communicator import CollectiveMismatch, Communicator
from polyad.parallel.transport import OneProcess

pytestmark = pytest.mark.quick


def test_a_rank_may_compute_on_after_the_others_have_finished(mpirun):
    script = """
        import time
        from polyad.parallel.communicator import world
        w = world()
        w.barrier()
        if w.rank == 0:
            time.sleep(2)
    """
    job = mpirun(script, 2, timeout=20, env={"POLYAD_DEADLINE": "1"})
    expected = "[rank 1/2] has finished and waits for rank 0:\n  rank 0 has left collective 1, barrier,"
    assert expected in job.stderr, str(job)


# --- without MPI -------------------------------------------------------------------------------------------------

LAUNCHERS = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_STEP_ID")


@pytest.fixture
def launch(monkeypatch):
    def set_variables(**variables):
        for name in LAUNCHERS:
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    set_variables()
    return set_variables


def test_one_rank_refuses_an_unpaired_exchange():
    w = Communicator(OneProcess("one process, no MPI"))
    with pytest.raises(CollectiveMismatch, match="not paired"):
        w.exchange(np.ones(2), None, 0)


@pytest.mark.parametrize("text", ["soon", "-1", "nan"])
def test_a_deadline_that_is_no_number_is_named(launch, monkeypatch, text):
    monkeypatch.setenv("POLYAD_DEADLINE", text)
    monkeypatch.setattr(communicator, "_world", None)
    with pytest.raises(ValueError, match="POLYAD_DEADLINE"):
        communicator.world()
