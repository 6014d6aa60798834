"""Ranks of an MPI job as forks of processes that have imported the package already.

Importing it takes longer than most of the scripts that tests run under mpiexec, and each script has several ranks. So there is
a *nursery* for each rank, which has imported it, with a hash seed and addresses of its own, as ranks have. What mpiexec starts
is a small *stand-in*: it hands its environment, streams and connection to the launcher to the nursery of its rank, which forks.
The child is the rank: a process that nothing else has run in, with an MPI world of its own, which may end as it likes. The
stand-in ends as the rank does, and where the launcher ends the stand-in, the nursery ends the rank.

    ranks.py nursery <descriptor of a listening socket>
    ranks.py stand-in <folder of the nurseries' sockets> <script>
    ranks.py run <script>                   an ordinary process, which imports what it wants
"""

import array
import json
import os
import select
import signal
import socket
import struct
import sys
from contextlib import suppress

LENGTH = struct.Struct("=I")


def main():
    role, *arguments = sys.argv[1:]
    if role == "nursery":
        become(Nursery(int(arguments[0])).next_rank())
    elif role == "stand-in":
        stand_in(*arguments)
    else:
        run(*arguments)


# --- in what mpiexec starts ----------------------------------------------------------------------------------------
def stand_in(folder, script):
    rank, link = os.environ["PMI_RANK"], os.environ["PMI_FD"]
    conn = socket.socket(socket.AF_UNIX)
    conn.connect(os.path.join(folder, rank))
    request = json.dumps({"script": script, "folder": os.getcwd(), "environment": dict(os.environ)}).encode()
    descriptors = array.array("i", [0, 1, 2, int(link)])
    conn.sendmsg([LENGTH.pack(len(request))], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)])
    conn.sendall(request)
    status = int(conn.recv(16) or 1)
    if status < 0:
        signal.signal(-status, signal.SIG_DFL) if -status != signal.SIGKILL else None
        os.kill(os.getpid(), -status)
    os._exit(status)


# --- where ranks come from -----------------------------------------------------------------------------------------
class Nursery:
    """Forks a rank for each request, until its own standard input is at its end."""

    def __init__(self, descriptor):
        import gc

        import polyad.testing  # noqa: F401  what this is about

        self.listening = socket.socket(fileno=descriptor)
        self.poll, self.watched = select.poll(), {}
        self.watch(0, lambda: os._exit(0))
        self.watch(descriptor, self.answer)
        self.child = None
        gc.freeze()  # else the first collection in a child copies the memory of all that was imported

    def watch(self, descriptor, act):
        self.watched[descriptor] = act
        self.poll.register(descriptor, select.POLLIN)

    def forget(self, *descriptors):
        for each in descriptors:
            if self.watched.pop(each, None):
                self.poll.unregister(each)

    def next_rank(self):
        """In the child that is forked for a request: the request. The nursery itself stays here."""
        while self.child is None:
            for descriptor, _ in self.poll.poll():
                if self.child is None and descriptor in self.watched:
                    self.watched[descriptor]()
        return self.child

    def answer(self):
        conn, _ = self.listening.accept()
        head, ancillary, *_ = conn.recvmsg(LENGTH.size, socket.CMSG_SPACE(16))
        request = json.loads(conn.recv(LENGTH.unpack(head)[0], socket.MSG_WAITALL))
        given = [*array.array("i", ancillary[0][2])]
        pid = os.fork()
        if pid == 0:
            os.setsid()  # as MPICH's launcher has it
            conn.close()
            self.listening.close()
            self.child = request | {"descriptors": given}
            return
        for each in given:
            os.close(each)
        alive = os.pidfd_open(pid)

        def ended():
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            end_session(pid)  # what the rank has forked
            self.forget(alive, conn.fileno())
            os.close(alive)
            with conn, suppress(OSError):
                conn.sendall(str(status).encode())

        def given_up():
            self.forget(conn.fileno())
            end_session(pid)

        self.watch(alive, ended)
        self.watch(conn.fileno(), given_up)


def end_session(pid):
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


# --- in the rank ---------------------------------------------------------------------------------------------------
def become(request):
    """Be the process that the launcher meant to start, as if it had imported the package just now, and run the script."""
    import numpy as np

    from polyad.parallel import early_abort, launched_process, waiting

    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    for given, place in zip(request["descriptors"], (0, 1, 2, int(os.environ["PMI_FD"])), strict=True):
        os.dup2(given, place)
    np.random.seed()
    launched_process._imported_by = os.getpid()
    early_abort.install_early_abort()
    waiting.YIELD_SECONDS = 0.0  # the cores are shared with other ranks and tests: who waits sleeps
    run(request["script"])


def run(script):
    """Run a script as `python script` would. Lines are written whole, so that ranks do not mix within one (print writes word by
    word where Python is told not to buffer). The rank at the end is MPI's own: a launcher that does not belong to the library
    makes n worlds of one rank, which all say "DONE 0"."""
    import runpy

    sys.stdout.reconfigure(line_buffering=True, write_through=False)
    sys.argv[:], sys.path[0] = [script], os.path.dirname(script)
    runpy.run_path(script, run_name="__main__")
    from mpi4py import MPI

    print(f"DONE {MPI.COMM_WORLD.rank}")


if __name__ == "__main__":
    main()
