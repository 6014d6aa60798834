"""Each rank's last known state, in memory shared by the ranks of one node.

When a rank does not come, the others can read what it last did without its help: no message has to be answered.
"""

import struct
import time
from typing import NamedTuple

RECORD_BYTES = 512
_HEAD = struct.Struct("=Bdqqq")  # state, time of the last change, group, number of the collective, length of the text
_STATE = struct.Struct("=Bd")

STARTED, INSIDE, LEFT, FINISHED, RAISED, REPORTED, WAITING = range(7)
_WORDS = {
    STARTED: "has started, made no collective yet,",
    INSIDE: "waits in",
    LEFT: "has left",
    FINISHED: "has finished its program",
    RAISED: "has raised",
    REPORTED: "has raised",
    WAITING: "waits for a message,",
}


class Row(NamedTuple):
    """A rank's account of itself. age: seconds since it was written; communicator, number: of its last collective."""

    state: int
    age: float
    communicator: int
    number: int
    text: str


class Board:
    """One row of text per rank of this node; made by all ranks of `comm` together.

    `ranks` are the ranks (of `comm`) whose rows can be read here, the own one included. Where the MPI library
    offers no shared window, only the own row exists, and `describe` says that the others are unknown.
    """

    def __init__(self, MPI, comm):
        self.rank = comm.Get_rank()
        self._rows = {self.rank: memoryview(bytearray(RECORD_BYTES))}
        node = comm.Split_type(MPI.COMM_TYPE_SHARED)
        try:
            self._window = MPI.Win.Allocate_shared(RECORD_BYTES, 1, comm=node)
            rows = {
                rank: memoryview(self._window.Shared_query(place)[0]).cast("B")
                for place, rank in enumerate(node.Get_group().Translate_ranks(None, comm.Get_group()))
            }
        except (MPI.Exception, NotImplementedError):
            rows = {}
        self._rows.update(rows)
        self._row = self._rows[self.rank]
        self.post(STARTED, b"")
        node.Barrier()  # no rank reads a row before its owner has written it

    @property
    def ranks(self):
        return sorted(self._rows)

    def post(self, state, text, number=None, communicator=0):
        """Write the own row: `text` (bytes) describes collective `number` of a communicator, or else what came after the last
        one; cut to the length of the row."""
        if number is None:
            _, _, communicator, number, _ = _HEAD.unpack_from(self._row)
        text = text[: RECORD_BYTES - _HEAD.size]
        self._row[_HEAD.size : _HEAD.size + len(text)] = text
        _HEAD.pack_into(self._row, 0, state, time.time(), communicator, number, len(text))

    def post_state(self, state):
        """Change the state alone: the text stays that of the last collective."""
        _STATE.pack_into(self._row, 0, state, time.time())

    def waiting(self, text):
        """Say that this rank waits for a message, `text`; the function that says again what was said before."""
        before = bytes(self._row)
        self.post(WAITING, text.encode())

        def done():
            self._row[:] = before

        return done

    def read(self, rank):
        """Return the Row of `rank`, or None when it is not readable."""
        row = self._rows.get(rank)
        if row is None:
            return None
        state, written, communicator, number, length = _HEAD.unpack_from(row)
        text = bytes(row[_HEAD.size : _HEAD.size + length]).decode("utf-8", "replace")
        return Row(state, max(0.0, time.time() - written), communicator, number, text)

    def describe(self, rank):
        """Describe what `rank` last did, as a phrase."""
        entry = self.read(rank)
        if entry is None:
            return "on another node, its state is not known here"
        state, age, _, number, text = entry
        words = _WORDS.get(state, "is in an unknown state,")
        if state in (INSIDE, LEFT):
            words += f" collective {number}{text},"
        elif state in (RAISED, REPORTED, WAITING):
            words += f" {text},"
        elif state == FINISHED:
            words += text
        return f"{words}{',' * (state == FINISHED)} {age:.1f} s ago" if state != INSIDE else f"{words} since {age:.1f} s"
