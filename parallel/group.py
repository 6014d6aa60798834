"""A group of ranks that make collectives together: all of them, or those along an axis of a mesh.

Each has a communicator of its own for the guard's messages and a running number of its collectives, so that a rank in one of
them is not taken for a rank in another. All of them share the guard, which runs one collective of this process at a time.
"""

import functools
import zlib
from typing import Any, NamedTuple

import numpy as np

from . import board as boards
from .errors import CollectiveMismatch, CollectiveTimeout
from .pieces import parts_of_blocks, pieces
from .signature import END, at_site, call_site, listed

_CACHED_SIGNATURES = 4096
ALL = 0  # the identity of the group of all ranks
KEY_BITS, RANK_BITS = 40, 22  # of a key of what ranks say, and of a rank, in one number
_NOTHING = 1 << KEY_BITS + RANK_BITS
_CALLS = 8  # different calls that a message names


class Word(NamedTuple):
    """A thing that some ranks say. rank: the lowest of them; count: how many they are."""

    what: Any
    rank: int
    count: int


def lines(words, size, name=lambda rank: f"rank {rank}"):
    """Such words as the lines of a message, a lowest rank first. size: of the group; name: function that names a rank."""
    shown = [
        f"\n  {name(word.rank)}: {word.what}{f' ({word.count} ranks)' if word.count > 1 else ''}"
        for word in sorted(words, key=lambda word: word.rank)
    ]
    rest = size - sum(word.count for word in words)
    return "".join(shown) + (f"\n  {rest} more ranks: others" if rest else "")


class Group:
    """The ranks of the MPI communicator `control`, which carries the guard's messages among them.

    rank, size: as in `control`. ranks: their numbers among all ranks of the job, by which messages name them. name: for
    messages, '' for all ranks. identity: a number that is the same on all its ranks and no other group's. number: of the
    collective that runs now, or ran last.
    """

    def __init__(self, guard, MPI, control, ranks, name=""):
        self.guard, self.control, self.ranks, self.name = guard, control, ranks, name
        self.rank, self.size = control.Get_rank(), control.Get_size()
        self.identity = 1 + zlib.crc32(repr((name, tuple(ranks))).encode()) if name else ALL
        self.number = 0
        self._of = f" of {name}" if name else ""
        self._minimum, self._sum, self._in_place = MPI.MIN, MPI.SUM, MPI.IN_PLACE
        self._sent, self._received = np.zeros(4, np.int64), np.zeros(4, np.int64)
        self._known = {}
        self.run, self.wait = functools.partial(guard.run, self), guard.wait
        self.compare = functools.partial(guard.compare, self)

    def __str__(self):
        return f"collective {self.number}{self._of}"

    def enter(self, signature):
        """Count a collective, and tell the board of it."""
        self.number += 1
        self.arrived = False  # whether all ranks are known to have come
        self.guard.board.post(boards.INSIDE, self._known_form(signature)[1], self.number, self.identity)

    def _known_form(self, signature):
        known = self._known.get(signature)
        if known is None:
            if len(self._known) >= _CACHED_SIGNATURES:
                self._known.clear()
            text = f"{self._of}, {signature}".encode()
            known = self._known[signature] = (zlib.crc32(repr(signature).encode()), text)
        return known

    # --- whether the ranks agree ----------------------------------------------------------------------------------

    def begin(self, signature, mark=0):
        """Start to compare a signature's hash, and a mark, with those of the other ranks: the request of the one message of
        32 bytes, by which all get the smallest and the largest of each."""
        own = zlib.crc32(self.number.to_bytes(8, "little"), self._known_form(signature)[0])
        self._sent[:] = own, -own, mark, -mark
        return self.control.Iallreduce(self._sent, self._received, op=self._minimum)

    @property
    def equal(self):
        """True if all ranks came with the same signature, once the message has arrived."""
        return self._received[0] == -self._received[1]

    @property
    def equal_marks(self):
        """True if all ranks came with the same mark."""
        return self._received[2] == -self._received[3]

    def agree(self, signature, mark=0):
        """Return once all ranks have come with an equal signature; CollectiveMismatch if they are not equal."""
        self.wait(self.begin(signature, mark))
        self.arrived = True
        self.require_equal(signature)

    def require_equal(self, signature):
        """Raise CollectiveMismatch, on all ranks, unless their signatures are equal."""
        if not self.equal:
            raise CollectiveMismatch(self._difference(signature))

    # --- what the errors say --------------------------------------------------------------------------------------

    def _difference(self, signature):
        guard = self.guard
        told = f": {guard.told}" if signature.operation == "comparison" and guard.told else guard.ending * (signature is END)
        placed = signature is END or signature.place
        call = f"{signature}{told}{'' if placed else at_site(call_site())}".encode()
        calls = self.distinct(call, self._known_form(signature)[0], _CALLS)
        named = [Word(call.decode(), self.ranks[rank], count) for call, rank, count in calls]
        return (
            f"the ranks do not agree on {self}:{lines(named, self.size)}\n"
            "Every rank must make the same calls in the same order, with equal shapes and dtypes: look for a "
            "branch, a loop count or a shape that depends on the rank"
        )

    def absence(self, signature, seconds):
        """The CollectiveTimeout that says who did not come to the collective that runs now, and what those do instead."""
        head, board = f"{signature}, {self}", self.guard.board
        rows = {rank: board.read(rank) for rank in self.ranks if rank != board.rank}
        absent = [] if self.arrived else [rank for rank, row in rows.items() if row and not self._has_come(row)]
        unknown = [rank for rank, row in rows.items() if row is None]
        if absent:
            head += f": {listed(absent)} did not arrive within {seconds:g} s"
        elif unknown and not self.arrived:
            head += f": not complete within {seconds:g} s; absent may be {listed(unknown)}"
        else:
            head += f": all ranks came, but the data did not arrive within {seconds:g} s"
        return CollectiveTimeout(
            f"{head}\n{self.guard.states(absent or unknown or list(rows))}\nIf that rank was only slow, raise "
            f"POLYAD_{'END_' * (signature is END)}DEADLINE (seconds); else look where it stopped"
        )

    def _has_come(self, row):
        """Tell from a row of the board whether its rank has come to the collective that runs now."""
        return row.communicator == self.identity and row.number >= self.number and row.state != boards.FINISHED

    # --- control data ---------------------------------------------------------------------------------------------

    def distinct(self, payload, key, most):
        """List of Words: the different bytes that the ranks say, in the order of their keys, inside a running collective.

        key: of what this rank says, an integer of KEY_BITS bits; for ranks of one key that of the lowest stands. most: of how
        many to hear. It takes a few messages for each, whatever the number of ranks.
        """
        found, last = [], -1
        while len(found) < most:
            least = self.least(key << RANK_BITS | self.rank if key > last else _NOTHING)
            if least == _NOTHING:
                break
            last, root = least >> RANK_BITS, least & (1 << RANK_BITS) - 1
            found.append((self.broadcast_bytes(payload, root), root, last))
        counts = np.array([key == its for *_, its in found], np.int64)
        self.wait(self.control.Iallreduce(self._in_place, counts, op=self._sum))
        return [Word(what, root, int(count)) for (what, root, _), count in zip(found, counts, strict=True)]

    def broadcast_bytes(self, payload, root):
        """The root's bytes, inside a running collective."""
        length = np.array([len(payload)], np.int64)
        self.wait(self.control.Ibcast(length, root))
        data = np.frombuffer(payload, np.uint8).copy() if self.rank == root else np.empty(int(length[0]), np.uint8)
        for (piece,) in pieces(data):
            self.wait(self.control.Ibcast(piece, root))
        return data.tobytes()

    def total(self, number):
        """The sum of an integer over the ranks, modulo 2**64, inside a running collective."""
        return self._combined(np.array([number % (1 << 64)], np.uint64), self._sum)

    def least(self, number):
        """The smallest of an integer over the ranks, inside a running collective."""
        return self._combined(np.array([number], np.int64), self._minimum)

    def _combined(self, number, op):
        self.wait(self.control.Iallreduce(self._in_place, number, op=op))
        return int(number[0])

    def gather_numbers(self, *numbers):
        """int64 array of shape (size, len(numbers)): each rank's numbers, inside a running collective."""
        table = np.empty((self.size, len(numbers)), np.int64)
        self.wait(self.control.Iallgather(np.array(numbers, np.int64), table))
        return table

    def gather_bytes(self, payload):
        """List of every rank's bytes, in the order of the ranks, inside a running collective."""
        lengths = self.gather_numbers(len(payload))[:, 0]
        joined = np.empty(int(lengths.sum()), np.uint8)
        for part, counts, put in parts_of_blocks(np.frombuffer(payload, np.uint8), lengths):
            parts = np.empty(int(counts.sum()), np.uint8)
            self.wait(self.control.Iallgatherv(part, [parts, counts.tolist()]))
            put(joined, parts)
        ends = np.cumsum(lengths)
        return [joined[end - length : end].tobytes() for end, length in zip(ends, lengths)]
