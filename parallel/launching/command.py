"""`python -m polyad run`: the command line of the launcher."""

import argparse
import sys

from .errors import LaunchError
from .job import report, run_job

_USAGE = "python -m polyad run -n RANKS [--timeout SECONDS] [--no-tags] (SCRIPT | -m MODULE | -- PROGRAM) [ARGUMENT …]"
_WITH_VALUE = ("-n", "--ranks", "--timeout")


def run_command(words):
    """Run the ranks that `words`, those after `run`, ask for; the exit status, 2 for words that are not understood."""
    own, kind, program = _split(words)
    parser = argparse.ArgumentParser(
        prog="python -m polyad run",
        usage=_USAGE,
        description="Start one program as several MPI ranks, with the mpiexec that belongs to the MPI library of mpi4py. "
        "The exit status is 0 only if every rank has come to its end; what a rank writes has its number before each line. "
        "OMP_NUM_THREADS is cores / ranks, and each rank has one GPU, unless OMP_NUM_THREADS or CUDA_VISIBLE_DEVICES is set.",
    )
    add_options(parser)
    given = parser.parse_args(own)
    if not program:
        parser.error("there is no script, module or program to run")
    try:
        outcome = run_job(kind, program, given.ranks, timeout=given.timeout, tags=not given.no_tags)
    except LaunchError as error:
        print(f"polyad run: {error}", file=sys.stderr)
        return 1
    report(outcome)
    return outcome.status


def add_options(parser):
    """Tell an argparse parser the options of the launcher itself."""
    parser.add_argument("-n", "--ranks", type=_positive(int), required=True, help="number of ranks")
    parser.add_argument(
        "--timeout", type=_positive(float), metavar="SECONDS", help="end the job after so long, with status 124"
    )
    parser.add_argument("--no-tags", action="store_true", help="show what ranks write as it comes through mpiexec")


def _split(words):
    """(options of ours, kind of the program, its name and arguments)."""
    at = 0
    while at < len(words):
        if words[at] in ("--", "-m"):
            return words[:at], "command" if words[at] == "--" else "module", words[at + 1 :]
        if not words[at].startswith("-"):
            return words[:at], "script", words[at:]
        at += 2 if words[at] in _WITH_VALUE else 1
    return words, "script", []


def _positive(kind):
    def number(text):
        value = kind(text)
        if not value > 0:
            raise ValueError
        return value

    number.__name__ = f"number above 0 ({kind.__name__})"
    return number
