"""What there is to say of the job that this process belongs to, once for all its ranks."""

import os
import platform

from ...devices import available_devices
from ..communicator import world
from ..mpi_library import launched_size
from ..rank_process import RANKS, is_ours
from .errors import LaunchError
from .mpiexec import find_launcher

_LAUNCHERS = {"PMI_SIZE": "an mpiexec of MPICH's kind", "OMPI_COMM_WORLD_SIZE": "the mpiexec of Open MPI"}


def describe_job():
    """Dict of facts on the ranks of this job, on rank 0; {} on the others. None where no launcher started this process.

    A collective: all ranks call it. A job in which they cannot find one another says why, on the process that is to be rank 0.
    """
    size, variable = launched_size()
    if not variable:
        return None
    facts = {"launcher": f"{'python -m polyad run, by ' * is_ours()}{_LAUNCHERS.get(variable, 'srun')} ({variable}={size})"}
    try:
        everyone = world()
    except RuntimeError as error:
        number = next((os.environ[name] for name in RANKS if name in os.environ), "0")
        return facts | {"MPI": str(error), "ranks": "none that know of one another"} if number == "0" else {}
    settings = [f"{name}={os.environ[name]}" for name in ("OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES") if name in os.environ]
    here = platform.node(), ", ".join([*available_devices(), *settings])
    places = everyone.gather_objects(here)
    if everyone.rank:
        return {}
    nodes = list(dict.fromkeys(node for node, _ in places))
    facts |= {"MPI": everyone.library, "ranks": f"{everyone.size} on {len(nodes)} node{'s' * (len(nodes) > 1)}"}
    for place in dict.fromkeys(places):
        numbers = [str(rank) for rank, each in enumerate(places) if each == place]
        facts[f"rank {_ranges(numbers)}"] = f"{place[0]}: {place[1]}"
    return facts


def describe_launcher():
    """The mpiexec that `python -m polyad run` would use, or why there is none."""
    try:
        launcher = find_launcher()
    except LaunchError as error:
        return f"none: {str(error).partition(chr(10))[0]}"
    return f"{launcher.program} ({launcher.kind})"


def _ranges(numbers):
    """'0' or '0, 1, 2', cut after a dozen."""
    return ", ".join(numbers[:12]) + (f" and {len(numbers) - 12} more" if len(numbers) > 12 else "")
