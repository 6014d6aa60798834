"""A compiler on standby: started while its C is still being written, so that its start is over when the C comes.

Half of the time that a compiler takes for a small program it spends on starting: loading itself, and making its tables of
types, built-in functions and registers. It does so before it reads what its file includes, and that is its standard input.
"""

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

_waiting = set()


class Standby:
    """A compiler that waits for C. words: its command; flags: its options; directory: where it may make a folder of its own.

    Raises OSError where it cannot be started.
    """

    def __init__(self, words, flags, directory):
        self.flags = (words, flags)
        self.folder = Path(tempfile.mkdtemp(prefix="new-", dir=directory))
        (self.folder / "library.c").write_text('#include "/dev/stdin"\n')
        command = command_line(words, flags, self.folder / "library.c", self.folder / "library.so")
        quiet = subprocess.DEVNULL
        try:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet)
        except OSError:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        _waiting.add(self)

    def compile(self, text, target):
        """Whether it made the library of this C at the path `target`. What it says against it is not kept."""
        try:
            self.process.communicate(text.encode(), timeout=300)
            if self.process.returncode == 0:
                os.replace(self.folder / "library.so", target)
                return True
        except (OSError, subprocess.TimeoutExpired):
            pass
        finally:
            self.stop()
        return False

    def stop(self):
        """End it, and remove its folder."""
        _waiting.discard(self)
        with contextlib.suppress(OSError):
            self.process.kill()
        self.process.wait()
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def can_wait(words):
    """Whether a command is a compiler that reads its input once, when it comes: gcc or clang itself, nothing that keeps results."""
    found = shutil.which(words[0]) if len(words) == 1 else None
    return found is not None and re.search(r"[/-](gcc|clang)(-[\d.]+)?$", os.path.realpath(found)) is not None


def command_line(words, flags, source, target):
    """The words of a command that compiles a C file to a shared library."""
    libraries = [f for f in flags if f.startswith("-l")]
    return [*words, *[f for f in flags if f not in libraries], str(source), "-o", str(target), *libraries]


def _in_child():
    """After a fork the compiler is the parent's: it must see the end of its input when the parent closes it."""
    for standby in _waiting:
        with contextlib.suppress(OSError):
            os.close(standby.process.stdin.fileno())
    _waiting.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
