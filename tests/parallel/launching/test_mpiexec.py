"""The mpiexec that belongs to the MPI library, among those that lie about, and what it is told."""

import os

import pytest

from polyad.parallel.launching import mpiexec
from polyad.parallel.launching.errors import LaunchError
from polyad.parallel.launching.mpiexec import HYDRA, OPEN_MPI, SRUN, Launcher
from polyad.parallel.mpi_library import Library

MPICH = "MPICH Version:      5.0.2\nMPICH Release date: …"
OPENMPI = "Open MPI v5.0.11, package: Open MPI user@localhost Distribution, ident: 5.0.11"
SAYS = {HYDRA: "HYDRA build details:\n    Version: 5.0.2", OPEN_MPI: "mpiexec (Open MPI) 5.0.11", "": "another program"}


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """machine(version, **places): a library, and an mpiexec of that kind in each place; the paths by their place."""
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    monkeypatch.setattr(mpiexec.sys, "executable", str(tmp_path / "python/bin/python"))
    monkeypatch.setattr(mpiexec.sys, "prefix", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'path/bin'}")

    def make(version, name="mpiexec", **places):
        library = tmp_path / "beside/lib/deep/libmpi.so.12"
        library.parent.mkdir(parents=True, exist_ok=True)
        library.touch()
        monkeypatch.setattr(mpiexec, "ask_library", lambda: version and Library(version, str(library), "4.1.2"))
        made = {}
        for place, kind in places.items():
            program = made[place] = tmp_path / place / "bin" / name
            program.parent.mkdir(parents=True, exist_ok=True)
            program.write_text(f"#!/bin/sh\necho '{SAYS[kind]}'\n")
            program.chmod(0o755)
        return {place: str(program) for place, program in made.items()}

    return make


@pytest.mark.parametrize(("version", "own", "other"), [(MPICH, HYDRA, OPEN_MPI), (OPENMPI, OPEN_MPI, HYDRA)])
def test_the_nearest_that_fits(machine, version, own, other):
    made = machine(version, beside=own, python=own, path=own)
    assert mpiexec.find_launcher().program == made["beside"] and mpiexec.find_launcher().kind == own
    machine(version, beside=other)  # both libraries in one place: what was installed last is the mpiexec
    assert mpiexec.find_launcher().program == made["python"]
    machine(version, python="")
    assert mpiexec.find_launcher().program == made["path"]
    assert mpiexec.find_launcher().command(3) == [made["path"], "-n", "3"]
    machine(version, path=other)
    with pytest.raises(LaunchError, match=r"no mpiexec belongs to the MPI library .*(?:\n.*)+ is of ") as told:
        mpiexec.find_launcher()
    assert f"{made['path']} is of {other}" in str(told.value) and f"{made['python']} is none that is known" in str(told.value)
    assert mpiexec.find_launcher(1).command(1) == []  # one rank needs none


def test_names_of_distributions(machine):
    made = machine(MPICH, "mpiexec.mpich", beside=HYDRA)
    assert mpiexec.find_launcher().program == made["beside"]
    assert mpiexec.kind_of_library("Intel(R) MPI Library 2021.9") == HYDRA
    assert mpiexec.kind_of_library("MPI VERSION    : CRAY MPICH version 8.1") == SRUN


def test_no_library_or_no_mpiexec(machine, monkeypatch, tmp_path):
    machine(None)
    with pytest.raises(LaunchError, match="2 ranks need mpi4py and an MPI library, .*pip install mpi4py mpich"):
        mpiexec.find_launcher()
    assert mpiexec.find_launcher(1) == Launcher("", mpiexec.NO_LAUNCHER, "no MPI")
    machine(MPICH)
    with pytest.raises(LaunchError, match="there is none beside it, beside Python or on PATH"):
        mpiexec.find_launcher()


def test_srun_where_the_library_has_no_mpiexec(machine, monkeypatch):
    made = machine("CRAY MPICH version 8.1", "srun", path="")
    with pytest.raises(LaunchError):
        mpiexec.find_launcher()
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    assert mpiexec.find_launcher() == Launcher(made["path"], SRUN, "CRAY MPICH version 8.1")
    own = machine(MPICH, beside=HYDRA)
    assert mpiexec.find_launcher().program == own["beside"]  # mpiexec reaches the job's nodes by srun itself


def test_the_environment_is_not_that_of_another_job(monkeypatch):
    theirs = ["PMI_RANK", "PMI_FD", "PMIX_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_MCA_num_procs", "POLYAD_RUN", "POLYAD_RUN_RANK"]
    theirs += ["POLYAD_RANK_PROCESS", "MPI_LOCALRANKID", "PRTE_LAUNCHED", "HYDI_CONTROL_FD"]
    users = [
        "OMPI_MCA_btl",
        "PRTE_MCA_x",
        "PMIX_MCA_y",
        "OMPI_ALLOW_RUN_AS_ROOT",
        "HYDRA_HOST_FILE",
        "SLURM_JOB_ID",
        "POLYAD_DEADLINE",
    ]
    for name in theirs + users:
        monkeypatch.setenv(name, "1")
    made = mpiexec.environment(Launcher("m", HYDRA, "MPICH"), {"EXTRA": "2"})
    assert made["EXTRA"] == "2" and not set(theirs) & set(made) and set(users) <= set(made)
    assert set(made) - {"EXTRA"} <= set(os.environ)


def test_what_open_mpi_is_told(monkeypatch):
    for name in [name for name in os.environ if name.startswith(("OMPI_", "PRTE_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PRTE_MCA_hwloc_default_binding_policy", "core")
    monkeypatch.setattr(mpiexec.os, "geteuid", lambda: 0)
    made = mpiexec.environment(Launcher("m", OPEN_MPI, "Open MPI"))
    assert made["OMPI_ALLOW_RUN_AS_ROOT"] == made["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] == "1"
    assert made["PRTE_MCA_rmaps_default_mapping_policy"] == ":oversubscribe"
    assert made["PRTE_MCA_hwloc_default_binding_policy"] == "core"  # a user's own choice stays
    monkeypatch.setattr(mpiexec.os, "geteuid", lambda: 1000)
    assert "OMPI_ALLOW_RUN_AS_ROOT" not in mpiexec.environment(Launcher("m", OPEN_MPI, "Open MPI"))
