"""A rank that raises before it starts MPI, or while no rank uses it, ends the job."""

import pytest

pytestmark = pytest.mark.quick


def test_a_rank_that_raises_before_it_starts_mpi_ends_the_job(mpirun):
    """Its peers already wait for it inside MPI's start, where nothing in Python can reach them."""
    script = """
    import os
    import polyad as pa
    if os.environ.get("PMI_RANK", os.environ.get("OMPI_COMM_WORLD_RANK")) == "1":
        raise ValueError("no data on this rank")
    pa.world().barrier()
    """
    finished = mpirun(script, 2, timeout=40, expect_success=False, fresh=True)
    assert finished.stderr.count("ValueError: no data on this rank") == 1


def test_a_rank_that_raises_while_no_rank_uses_mpi_ends_the_job(mpirun):
    script = """
    import os
    import polyad as pa
    if os.environ.get("PMI_RANK", os.environ.get("OMPI_COMM_WORLD_RANK")) == "1":
        raise ValueError("no data on this rank")
    """
    finished = mpirun(script, 2, timeout=40, expect_success=False, fresh=True)
    assert finished.stderr.count("ValueError: no data on this rank") == 1
