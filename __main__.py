"""The command line: `python -m polyad run`, `python -m polyad info` and `python -m polyad methods NAME`."""

import argparse
import importlib.metadata
import platform
import sys

from .devices import available_devices
from .devices.compilers import compiler_version, find_compiler
from .dispatch import all_generics
from .dispatch.introspect import show
from .parallel.launching.command import run_command
from .parallel.launching.facts import describe_job, describe_launcher
from .parallel.mpi_library import installed_library


def main(arguments=None):
    """Run one command. arguments: list of words, those of the process unless given. Returns the exit status.

    run -n 4 SCRIPT: the script on four MPI ranks. info: versions, devices, MPI library and compiler, a line each, and under a
    launcher its ranks and nodes. methods NAME: the methods of an operation. Status 2 for what there is not (an unknown command
    or operation).
    """
    words = sys.argv[1:] if arguments is None else arguments
    if words[:1] == ["run"]:
        return run_command(words[1:])
    parser = argparse.ArgumentParser(prog="python -m polyad", description="Look at this installation of polyad.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("run", help="a script on several MPI ranks; run --help says more")
    commands.add_parser("info", help="versions, devices, MPI library, ranks and C compiler")
    methods = commands.add_parser("methods", help="the methods of an operation, with their places")
    methods.add_argument("name", help="name of an operation, such as matmul")
    given = parser.parse_args(words)
    return print_info() if given.command == "info" else print_methods(given.name)


def print_info():
    """One line on each thing that a report of a fault should say; once for all ranks of a job."""
    job = describe_job()
    if job == {}:
        return 0
    facts = {
        "polyad": version("polyad"),
        "Python": f"{platform.python_version()} ({platform.system()} {platform.machine()})",
        "NumPy": version("numpy"),
        "optree": version("optree"),
        "devices": ", ".join(available_devices()),
        **(job or {"MPI": installed_library() or "none", "launcher": describe_launcher()}),
        "compiler": describe_compiler(),
    }
    width = max(map(len, facts))
    for name, value in facts.items():
        print(f"{name:<{width}}  {value}")
    return 0


def version(distribution):
    """Version of an installed distribution."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "not installed as a package"


def describe_compiler():
    """The C compiler that would be used, and its version."""
    words = find_compiler()
    return "none" if words is None else f"{' '.join(words)} ({compiler_version(words)})"


def print_methods(name):
    """The table of methods of the generic function of this name."""
    found = [generic for generic in all_generics() if generic.name == name]
    if not found:
        import difflib

        near = difflib.get_close_matches(name, {generic.name for generic in all_generics()}, n=3)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        print(f"there is no operation {name!r}{hint}", file=sys.stderr)
        return 2
    for generic in found:
        print(show(generic.function))
    return 0


if __name__ == "__main__":
    sys.exit(main())
