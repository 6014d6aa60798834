"""Starting MPI: the number of ranks that the launcher announced, and one process without a library."""

import sys
import types

import pytest

from polyad.parallel import communicator, mpi_library

pytestmark = pytest.mark.quick


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


@pytest.mark.parametrize(
    ("variables", "size"),
    [
        ({}, 1),
        ({"PMI_SIZE": "3"}, 3),
        ({"OMPI_COMM_WORLD_SIZE": "4"}, 4),
        ({"PMI_SIZE": ""}, 1),
        ({"SLURM_NTASKS": "8"}, 1),  # a batch script on one node of an allocation
        ({"SLURM_NTASKS": "8", "SLURM_PROCID": "0", "SLURM_STEP_ID": "0"}, 8),
    ],
)
def test_size_that_the_launcher_announced(launch, variables, size):
    launch(**variables)
    assert mpi_library.launched_size()[0] == size


def _module_without_a_library():
    class Broken(types.ModuleType):
        def __getattr__(self, name):
            raise RuntimeError("cannot load MPI library\nlibmpi.so: not found")

    return Broken("mpi4py")


@pytest.mark.parametrize("module", [None, _module_without_a_library()], ids=["no mpi4py", "no MPI library"])
def test_world_is_one_rank_where_mpi_cannot_be_loaded(launch, monkeypatch, module):
    before = sys.excepthook
    monkeypatch.setitem(sys.modules, "mpi4py", module)
    monkeypatch.setattr(communicator, "_world", None)
    w = communicator.world()
    assert (w.rank, w.size, w.library) == (0, 1, "one process, no MPI") and communicator.world() is w
    assert sys.excepthook is before  # hooks only where there are other ranks to end
    launch(PMI_SIZE="2")
    monkeypatch.setattr(communicator, "_world", None)
    with pytest.raises(RuntimeError, match="started 2 processes .*PMI_SIZE=2.* 1 rank"):
        communicator.world()
