"""Finding a C compiler: `$CC`, gcc, clang, or the one in the `ziglang` wheel."""

import functools
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys


@functools.cache
def find_compiler():
    """The command of the first C compiler found, as a tuple of words, or None.

    `$CC` is taken at its word if its program exists; otherwise the next is tried.
    """
    for words in (tuple(shlex.split(os.environ.get("CC", ""))), ("gcc",), ("clang",)):
        if words and shutil.which(words[0]):
            return words
    if importlib.util.find_spec("ziglang") is not None:
        return (sys.executable, "-m", "ziglang", "cc")
    return None


def compiler_version(words):
    """The first line of what a compiler says of its version, or why it says nothing."""
    try:
        answer = subprocess.run([*words, "--version"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"does not run: {error}"
    said = (answer.stdout or answer.stderr).strip().splitlines()
    return said[0] if said else f"says nothing and ends with {answer.returncode}"
