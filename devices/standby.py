"""A compiler on standby: started before its C is there, so that its start is over when the C comes.

Half of the time that a compiler takes for a small program it spends on starting: loading itself, and making its tables of
types, built-in functions and registers. It does so before it reads what its file includes, and that is its standard input.
"""

import atexit
import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from .compilers import command_line

SECONDS = 3  # that it waits for C
_waiting = set()

# In the shell: what is between us and the compiler ends after a while, which is the end of the compiler's input. No thread of
# ours has to see to it. What did not arrive whole is an error.
SCRIPT = 'timeout "$0" cat | exec "$@"'
FILE = '#include "/dev/stdin"\n#ifndef WHOLE\n#error "cut off"\n#endif\n'
WHOLE = "\n#define WHOLE\n"


class Standby:
    """A compiler that waits for C. words: its command; flags: its options; directory: where it may make a folder of its own.

    Raises OSError where it cannot be started.
    """

    def __init__(self, words, flags, directory):
        self.flags = (words, flags)
        self.folder = Path(tempfile.mkdtemp(prefix="new-", dir=directory))
        (self.folder / "library.c").write_text(FILE)
        compiler = command_line(words, flags, self.folder / "library.c", self.folder / "library.so")
        command, pipe = ["sh", "-c", SCRIPT, str(SECONDS), *compiler], subprocess.PIPE
        try:  # what it says is waited for: of a process without pipes Python asks ever more rarely whether it has ended
            self.process = subprocess.Popen(command, stdin=pipe, stdout=subprocess.DEVNULL, stderr=pipe)
        except OSError:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        _waiting.add(self)

    @property
    def waits(self):
        """Return whether it can still be given something to compile."""
        return self in _waiting and self.process.poll() is None

    def compile(self, text, target):
        """Make the library of this C at the path `target` and return whether that worked. Complaints are not kept."""
        if not self._taken():
            return False
        try:
            self.process.communicate((text + WHOLE).encode(), timeout=300)
            if self.process.returncode == 0:
                os.replace(self.folder / "library.so", target)
                return True
        except (OSError, subprocess.TimeoutExpired):
            pass
        finally:
            self._close()
        return False

    def stop(self):
        """End it, unless it is at work."""
        if self._taken():
            self._close()

    def _taken(self):
        """Return whether it waited; from now on it does not."""
        try:
            _waiting.remove(self)  # in one step: for one of several threads
        except KeyError:
            return False
        return True

    def _close(self):
        with contextlib.suppress(OSError):
            self.process.kill()
        self.process.wait()
        for pipe in filter(None, (self.process.stdin, self.process.stderr)):
            with contextlib.suppress(OSError):
                pipe.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def can_wait(words):
    """Return whether a command is a compiler that reads its input once, when it comes: gcc or clang itself."""
    found = shutil.which(words[0]) if len(words) == 1 and shutil.which("timeout") else None
    return found is not None and re.search(r"[/-](gcc|clang)(-[\d.]+)?$", os.path.realpath(found)) is not None


@atexit.register
def stop_all():
    """End those that wait."""
    for standby in list(_waiting):
        standby.stop()


def _in_child():
    """After a fork the compiler is the parent's: it must see the end of its input when the parent closes it."""
    for standby in _waiting:
        with contextlib.suppress(OSError):
            os.close(standby.process.stdin.fileno())
    _waiting.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
