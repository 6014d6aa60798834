"""What ranks write, as whole lines with the rank's number before each, and lines that belong together one after the other."""

import time
from contextlib import suppress

BURST = 0.03  # seconds without more after which lines are shown: a traceback is written in parts
LONGEST = 0.3  # seconds that lines are held back for what may still belong to them
UNFINISHED = 2.0  # seconds after which a line without its end is shown as far as it is


class Lines:
    """Collects what one rank writes to one stream; `show` writes lines to `stream`, a text file such as sys.stdout.

    tag: bytes before each line. hidden: prefix of lines that are not shown but handed to `told`.
    """

    def __init__(self, stream, tag=b"", hidden=b"", told=lambda line: None):
        self._stream, self._tag, self._hidden, self._told = stream, tag, hidden, told
        self._held, self._rest = [], b""
        self._first = self._last = 0.0

    def add(self, data):
        """Take what was read."""
        self._last = time.monotonic()
        if not (self._held or self._rest):
            self._first = self._last
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in map(_as_a_terminal_shows, lines):
            if self._hidden and line.startswith(self._hidden):
                self._told(line[len(self._hidden) :])
            else:
                self._held.append(line)
        self._rest = _as_a_terminal_shows(self._rest) + b"\r" * self._rest.endswith(b"\r")

    def show(self, ended=False):
        """Write what has waited long enough; all of it if the rank has ended."""
        now = time.monotonic()
        quiet = now - self._last
        if self._held and (ended or quiet > BURST or now - self._first > LONGEST):
            self._write(self._held)
            self._held, self._first = [], now
        if self._rest and not self._held and (ended or quiet > UNFINISHED):
            self._write([_as_a_terminal_shows(self._rest)])
            self._rest = b""

    def _write(self, lines):
        write_bytes(self._stream, b"".join(b"%s%s\n" % (self._tag, line) for line in lines))


def write_bytes(stream, data):
    """Write to a text stream, past its encoding where it has one; nothing where it is None, closed or no longer read."""
    with suppress(AttributeError, OSError, ValueError):
        try:
            stream.flush()
            stream.buffer.write(data)
        except AttributeError:  # a notebook's, or one that collects text
            stream.write(data.decode(errors="replace"))
        stream.flush()


def _as_a_terminal_shows(line):
    """Take out what a progress bar has overwritten."""
    return line.removesuffix(b"\r").rpartition(b"\r")[2]
