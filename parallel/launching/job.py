"""A job: ranks started by mpiexec, listened to until all have ended, and ended with the reason if one of them fails."""

import os
import platform
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, suppress
from typing import NamedTuple

from .. import rank_process
from . import leftovers
from .errors import LaunchError
from .mpiexec import environment, find_launcher
from .output import Lines, write_bytes
from .progress import Rank, verdict

LOOK = 0.1  # seconds between looks at the processes and the clock
MERCY = 5.0  # seconds that the others have to report and end once a rank has failed, or the job was told to end
DRAIN = 1.0  # seconds after mpiexec's end in which what was written is still read
TIMED_OUT, INTERRUPTED = 124, 130  # exit statuses, as timeout(1) and shells have them
_FORWARDED = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Outcome(NamedTuple):
    """Says how a job has ended: its exit status, 0 only if every rank has said that it came to its end, and why not."""

    status: int
    lines: list


def run_job(kind, words, n, *, timeout=None, tags=True, env=(), out=None, err=None):
    """Run n ranks of `words` (kind: script, module or command, see rank_process.py) and return the Outcome.

    timeout: seconds after which the job is ended. tags: whether the number of the rank stands before each line. env: variables
    that differ from this process's. out, err: text streams for what the ranks write, sys.stdout and sys.stderr. LaunchError
    where ranks cannot be started. In the main thread SIGINT, SIGTERM and SIGHUP go to the job, and then end it.
    """
    if not hasattr(os, "mkfifo"):
        raise LaunchError("ranks are started where there are named pipes: Linux, macOS and their like")
    launcher = find_launcher(n)
    with ExitStack() as stack:
        folder = tempfile.mkdtemp(prefix="polyad-run-")
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        job = _Job(folder, n, out or sys.stdout, err or sys.stderr, tags, stack)
        if threading.current_thread() is threading.main_thread():
            for number in _FORWARDED:
                stack.callback(signal.signal, number, signal.signal(number, job.forward))
        job.start(launcher, kind, words, env)
        return job.follow(timeout)


class _Job:
    """Starts one job and listens to it. `stack` closes what was opened."""

    def __init__(self, folder, n, out, err, tags, stack):
        self.folder, self.ranks = folder, [Rank(number) for number in range(n)]
        self._stack, self._segments, self._looks, self._gone = stack, set(), 0, 0
        self._watched = set()
        self._selector = stack.enter_context(selectors.DefaultSelector())
        self._told = b""
        self.signalled = 0
        self._hear_all = self._listen(self._pipe("told"), self._hear)
        self._lines = []
        for stream, name in ((out, "out"), (err, "err")):
            for number in range(n) if tags else ():
                self._collect(self._pipe(f"{name}.{number}"), Lines(stream, b"[rank %d] " % number))
        self._streams = out, err

    def _pipe(self, name):
        path = os.path.join(self.folder, name)
        os.mkfifo(path, 0o600)
        pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK)  # also for writing: it then has no end before the job has one
        self._stack.callback(os.close, pipe)
        return pipe

    def _collect(self, pipe, lines):
        self._lines.append(lines)
        self._listen(pipe, lines.add)

    def _listen(self, pipe, take):
        def act():
            data = _read_pipe(pipe)
            if data:
                take(data)
            elif data is not None:
                self._selector.unregister(pipe)
            return bool(data)

        os.set_blocking(pipe, False)
        self._selector.register(pipe, selectors.EVENT_READ, act)
        return act

    def _watch(self, rank):
        """Be told when the process of a rank ends, in the order in which they do, where the system can (Linux)."""
        if not (rank.process and hasattr(os, "pidfd_open")):
            return
        try:
            alive = os.pidfd_open(rank.process)
        except OSError:
            return
        self._stack.callback(os.close, alive)
        self._watched.add(rank.number)

        def act():
            self._selector.unregister(alive)
            self._note_gone([rank])
            return True

        self._selector.register(alive, selectors.EVENT_READ, act)

    # --- start ------------------------------------------------------------------------------------------------------

    def start(self, launcher, kind, words, env):
        """Start mpiexec, in a session of its own: what is sent to it reaches none but this job."""
        python = [sys.executable, *["-P"] * sys.flags.safe_path, rank_process.__file__]
        command = [*launcher.command(len(self.ranks)), *python, kind, *words]
        variables = environment(launcher, env) | {rank_process.FOLDER: self.folder, rank_process.NODE: platform.node()}
        self._launcher = launcher
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", rank_process.__file__, "start", *command],
            stdin=None if _can_be_handed_on(sys.stdin) else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=variables,
            start_new_session=True,
        )
        self._stack.callback(self._clean_up)
        assert self._process.stdout and self._process.stderr
        for pipe, stream in zip((self._process.stdout, self._process.stderr), self._streams):
            hidden = f"{rank_process.OUTLINE}{self.folder} ".encode()
            self._collect(pipe.fileno(), Lines(stream, hidden=hidden, told=self._hear_line))

    # --- while it runs ----------------------------------------------------------------------------------------------

    def follow(self, timeout):
        """Listen until mpiexec has ended; the Outcome."""
        self._limit = None if timeout is None else time.monotonic() + timeout
        status, why, ended_at, asked, failed = None, [], None, False, False
        while status is None:
            self._read(LOOK)
            self._look()
            status = self._process.poll()
            now = time.monotonic()
            if ended_at is not None and now > ended_at and status is None:
                failed = True
                if asked:
                    leftovers.kill([*leftovers.processes(self._mark), self._process.pid])
                else:
                    self._end(signal.SIGTERM)
                ended_at, asked = now + MERCY, True
            elif ended_at is None and self.signalled:
                ended_at = now + MERCY
            elif ended_at is None and self._limit is not None and now > self._limit:
                why, ended_at = [f"not at its end after {timeout:g} s", *verdict(self.ranks)], now
                self._ask_where_they_are()
            elif ended_at is None and any(rank.failed for rank in self.ranks):
                ended_at = now + MERCY
        self._drain()
        return self._outcome(1 if failed else status, why)

    def forward(self, number, _=None):
        """Send a signal on to the job, which then has some seconds to end. SIGINT goes to the ranks, as from a terminal: their
        `finally` runs, which mpiexec may not wait for. A second signal ends the job."""
        started = [rank for rank in self.ranks if rank.process and not rank.gone]
        if number == signal.SIGINT and started and not self.signalled:
            self._remember_segments()
            for rank in started:
                leftovers.send(rank.process, number)
        else:
            self._end(signal.SIGTERM if self.signalled else number)
        self.signalled = number

    def _end(self, number):
        self._remember_segments()
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def _ask_where_they_are(self):
        """Have each Python rank write the lines that it is at."""
        for rank in self.ranks:
            if rank.process and not rank.gone and rank.kind in ("script", "module"):
                os.kill(rank.process, signal.SIGUSR2)
        self._read(LOOK, least=3 * LOOK)

    def _read(self, seconds, least=0.0):
        """Read what there is within that time, at least so long; whether there was anything."""
        end, found = time.monotonic() + least, False
        while True:
            for key, _ in self._selector.select(max(seconds, end - time.monotonic())):
                found |= key.data()
            for lines in self._lines:
                lines.show()
            if time.monotonic() >= end:
                return found

    def _drain(self):
        limit = time.monotonic() + DRAIN
        while self._read(0.02) and time.monotonic() < limit:
            pass
        for lines in self._lines:
            lines.show(ended=True)

    def _look(self):
        """Note which ranks have gone, of those that cannot be watched, and what they share."""
        self._looks += 1
        unwatched = (rank for rank in self.ranks if rank.process and not rank.gone and rank.number not in self._watched)
        gone = [rank for rank in unwatched if leftovers.is_gone(rank.process)]
        if gone:
            self._note_gone(gone)
        elif not self._segments or self._looks % 20 == 0:
            self._remember_segments()

    def _note_gone(self, ranks):
        self._hear_all()  # what they told before
        self._gone += 1
        for rank in ranks:
            rank.gone = rank.gone or self._gone
            rank.how = rank.how or leftovers.exit_of(rank.process)
        if not all(rank.told == "end" for rank in ranks):
            self._remember_segments()

    def _remember_segments(self):
        self._segments |= leftovers.segments(rank.process for rank in self.ranks if rank.process and not rank.gone)

    def _hear(self, data):
        *lines, self._told = (self._told + data).split(b"\n")
        for line in lines:
            self._hear_line(line)

    def _hear_line(self, line):
        number, word, text = [*line.decode(errors="replace").split(" ", 2), "", ""][:3]
        if number.isdigit() and int(number) < len(self.ranks):
            rank = self.ranks[int(number)]
            rank.hear(word, text)
            if word == "started":
                self._watch(rank)
            elif word in ("raised", "mpi"):
                self._remember_segments()

    # --- afterwards -------------------------------------------------------------------------------------------------

    @property
    def _mark(self):
        return f"{rank_process.FOLDER}={self.folder}"

    def _outcome(self, status, why):
        lines = [] if all(rank.ended_well for rank in self.ranks) else verdict(self.ranks)
        if not any(rank.told for rank in self.ranks):
            lines = [f"no rank was started by {' '.join(self._launcher.command(len(self.ranks))) or 'Python'}"]
        if why:
            return Outcome(TIMED_OUT, why)
        if self.signalled:
            return Outcome(128 + self.signalled, [f"ended by {signal.Signals(self.signalled).name}"])
        status = 128 - status if status < 0 else status
        if status and not lines:
            lines = [f"every rank came to its end, but {self._launcher.program or 'Python'} ended with status {status}"]
        return Outcome(status or int(bool(lines)), lines)

    def _clean_up(self):
        """Leave nothing of a job that has not ended by itself; processes that a good end left running are meant to."""
        if self._process.poll() is None or not all(rank.ended_well for rank in self.ranks):
            leftovers.kill(leftovers.processes(self._mark))
            if self._process.poll() is None:
                leftovers.kill([self._process.pid])
        self._process.wait()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe:
                pipe.close()
        leftovers.remove(self._segments)


def _read_pipe(pipe):
    """Read what there is at once; b'' at the end of the pipe, None if there is nothing yet."""
    try:
        return os.read(pipe, 1 << 16)
    except BlockingIOError:
        return None


def _can_be_handed_on(stdin):
    """Return whether rank 0 may read what this process would: not a terminal, to which the job's session has no access."""
    try:
        return stdin is not None and not os.isatty(stdin.fileno())
    except (OSError, ValueError):
        return False


def report(outcome, stream=None):
    """Write why a job has failed."""
    write_bytes(stream or sys.stderr, b"".join(f"polyad run: {line}\n".encode() for line in outcome.lines))
