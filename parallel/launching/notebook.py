"""The notebook magic `%%polyad -n 4`, which runs a cell as a script on several ranks: `%load_ext polyad` makes it known."""

import argparse
import os
import shlex
import tempfile
from typing import Any

from .command import add_options
from .errors import LaunchError
from .job import run_job


def load_ipython_extension(ipython: Any) -> None:
    """Make `%%polyad -n RANKS [--timeout SECONDS] [--no-tags] [ARGUMENT …]` known to IPython, which calls this for
    `%load_ext polyad`. The cell is a script of its own: it sees none of the notebook's variables. `launch` takes and gives
    values."""
    ipython.register_magic_function(run_cell, "cell", "polyad")


def run_cell(line, cell):
    """Run the text of a cell as a script on the ranks that `line` asks for. LaunchError names the rank that does not come to
    its end; ValueError for words that are not understood."""
    parser = argparse.ArgumentParser("%%polyad", add_help=False, exit_on_error=False)
    add_options(parser)
    parser.add_argument("arguments", nargs="*")
    try:
        given = parser.parse_args(shlex.split(line))
    except (argparse.ArgumentError, SystemExit) as error:
        raise ValueError(f"%%polyad -n RANKS [--timeout SECONDS] [--no-tags] [ARGUMENT …]: {error}") from None
    with tempfile.TemporaryDirectory(prefix="polyad-cell-") as folder:
        path = os.path.join(folder, "cell.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(cell)
        words = [path, *given.arguments]
        outcome = run_job("cell", words, given.ranks, timeout=given.timeout, tags=not given.no_tags)
    if outcome.status:
        raise LaunchError("; ".join(outcome.lines))
