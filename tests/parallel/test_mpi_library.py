"""Starting MPI: the number of ranks that the launcher announced, and one process without a library."""

import socket
import sys
import types

import pytest

from polyad.parallel import communicator, mpi_library

pytestmark = pytest.mark.quick


LAUNCHERS = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS")
LAUNCHERS += ("PMI_FD", "PMIX_RANK", "PMIX_NAMESPACE", "POLYAD_RANK_PROCESS")


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
        ({"SLURM_NTASKS": "8", "SLURM_PROCID": "0", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "1"}, 1),  # salloc's shell
        ({"SLURM_NTASKS": "8", "SLURM_PROCID": "0", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "4"}, 4),  # srun -n 4
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


MPICH = "MPICH Version:      5.0.2\nMPICH configure:    --with-device=ch4:ucx,ofi --with-pm=hydra:gforker"
OPEN_MPI = "Open MPI v5.0.11, package: Open MPI user@localhost Distribution\0"


class MPIOf:
    """mpi4py.MPI with a library of that version, which fails where it is started."""

    THREAD_MULTIPLE = 3

    def __init__(self, version):
        self.Get_library_version = lambda: version

    def Is_initialized(self):
        return False

    def Init_thread(self, level):
        raise SystemError("MPI was started")


@pytest.mark.parametrize(
    ("version", "variables", "refused"),
    [
        (MPICH, {"OMPI_COMM_WORLD_SIZE": "2", "PMIX_RANK": "0"}, "PMIx.*OMPI_COMM_WORLD_SIZE is set.*MPICH Version: 5.0.2"),
        (MPICH, {"PMIX_NAMESPACE": "a"}, "PMIX_NAMESPACE is set"),  # srun --mpi=pmix
        (MPICH, {"PMIX_RANK": "0"}, "PMIX_RANK is set"),
        (MPICH + " --with-pmix=/usr", {"PMIX_RANK": "0", "PMIX_NAMESPACE": "a"}, ""),
        (MPICH, {"PMI_SIZE": "2", "PMI_FD": "open"}, ""),
        (MPICH, {}, ""),
        (OPEN_MPI, {"PMI_SIZE": "2", "PMI_FD": "open"}, "mpiexec of MPICH.*PMI_FD is set.*Open MPI v5.0.11: start"),
        (OPEN_MPI, {"OMPI_COMM_WORLD_SIZE": "2", "PMIX_RANK": "0", "PMIX_NAMESPACE": "a"}, ""),
        (OPEN_MPI, {"PMI_SIZE": "1", "PMI_FD": "open"}, ""),
        (OPEN_MPI, {}, ""),
    ],
)
def test_a_launcher_of_another_library_is_refused_before_mpi_starts(launch, monkeypatch, version, variables, refused):
    """MPICH would end the process where it is started, and Open MPI make a world of each."""
    pytest.importorskip("mpi4py")
    with socket.socket(socket.AF_UNIX) as connection:
        launch(**{name: str(connection.fileno()) if value == "open" else value for name, value in variables.items()})
        monkeypatch.setattr(mpi_library, "_import_without_start", lambda: MPIOf(version))
        monkeypatch.setattr(mpi_library, "take_over_the_end", lambda: None)
        with pytest.raises(RuntimeError if refused else SystemError, match=refused or "was started") as told:
            mpi_library.load_mpi(1)
        assert ("python -m polyad run" in str(told.value)) == bool(refused)


def test_one_process_of_a_launcher_that_does_not_fit_is_one_process(launch, monkeypatch):
    launch(PMIX_RANK="0", SLURM_PROCID="0", SLURM_STEP_NUM_TASKS="1")  # a shell of salloc
    monkeypatch.setattr(mpi_library, "_import_without_start", lambda: MPIOf(MPICH))
    monkeypatch.setattr(mpi_library, "take_over_the_end", lambda: None)
    module, why = mpi_library.load_mpi(1)
    assert module is None and "PMIX_RANK is set" in why


def test_how_mpi_is_started(monkeypatch, launch):
    """As mpi4py would: with the threads that mpi4py.rc asks for, which is left as it was."""
    mpi4py = pytest.importorskip("mpi4py")
    asked = []
    module = types.SimpleNamespace(
        THREAD_MULTIPLE=3, THREAD_SINGLE=0, Init=lambda: asked.append("Init"), Init_thread=asked.append
    )
    for threads, level in ((True, "multiple"), (True, "single"), (False, "multiple")):
        monkeypatch.setattr(mpi4py.rc, "threads", threads)
        monkeypatch.setattr(mpi4py.rc, "thread_level", level)
        mpi_library._wait_for_all_processes_to_start_mpi(module)
    assert asked == [3, 0, "Init"]


def test_the_installed_library():
    pytest.importorskip("mpi4py")
    library = mpi_library.ask_library()
    if library is None:
        pytest.skip("no MPI library")
    assert mpi_library.installed_library() == f"{library.name} (mpi4py {library.mpi4py})" and "libmpi" in library.path
    assert library.name.startswith(("MPICH Version: ", "Open MPI v")) and library.name in " ".join(library.version.split())


def test_no_installed_library(monkeypatch, tmp_path):
    (tmp_path / "mpi4py.py").write_text("raise RuntimeError('cannot load MPI library')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert mpi_library.ask_library() is None and mpi_library.installed_library() is None
