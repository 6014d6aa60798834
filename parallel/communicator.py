"""The ranks of this job and the collectives between them: the engine under `pmap` and the array collectives.

Every other module of this folder speaks to MPI through this one, so that all traffic is validated, checked across
the ranks and bounded in time.
"""

import hashlib
import math
import operator
import pickle
import threading
from contextvars import ContextVar
from typing import Any

import numpy as np

from .abort import AbortHooks
from .board import Board
from .buffers import carrier, host_array, private_copy, reduction
from .errors import CollectiveError, CollectiveMismatch, CollectiveTimeout, RankError
from .gpu import of_any_array
from .group import KEY_BITS
from .guard import Guard, setting
from .memory import keep_freed_memory
from .mpi_library import START_SECONDS, library_name, load_mpi, require_fitting_launch
from .signature import Signature
from .transport import MPILink, OneProcess
from .waiting import wait

__all__ = ["Communicator", "CollectiveError", "CollectiveMismatch", "CollectiveTimeout", "RankError", "world"]


class Communicator:
    """Ranks 0 … size-1 and the collectives between them. `library` is text, for example 'MPICH 5.0.2'.

    Every method is a collective: all its ranks call it, in the same order. Arrays are numeric NumPy arrays (or what
    np.asarray makes of the argument) of any order and byte order, 0-d and empty ones included. They stay as they are, and no
    other thread may write to them meanwhile; results are fresh arrays. Arrays of another library (CuPy, PyTorch, JAX, the array
    API standard's) come back as such, where they lay; those of a GPU go by NCCL, or by an MPI library that reads its memory,
    where all ranks have that, else by the host. `label` is text that must be the same on all ranks and
    appears in errors; with POLYAD_COLLECTIVE_CHECK=strict a collective without one must be called from the same line of the
    program.

    Errors of every method: TypeError for dtypes that are not numbers; with more than one rank CollectiveMismatch
    (on all ranks) when the calls, shapes or dtypes differ, CollectiveTimeout when a rank does not come.
    """

    def __init__(self, link):
        self._link = link
        self.size, self.library = link.size, link.library
        self.checked = link.checked  # whether the ranks compare what they are about to do (POLYAD_COLLECTIVE_CHECK)
        self.strict = link.strict  # whether they also compare where, and what a mapped function reads besides its arguments
        self.map_under_way = link.map_under_way  # with map_under_way(name): no other thread may make collectives

    @property
    def rank(self):
        """The number of this process. Raises RankError inside a map under POLYAD_COLLECTIVE_CHECK=strict."""
        if self.strict:
            self._link.require_outside_of_maps("world().rank")
        return self._link.rank

    @property
    def ranks(self):
        """The numbers that its ranks have in `world()`, in its own order; messages name them by these."""
        return tuple(self._link.ranks)

    def wire(self):
        """Return how messages from one rank to another travel (wire.py)."""
        return self._link.wire()

    def __repr__(self):
        of = f" of {self._link.name}" if self._link.name else ""
        return f"Communicator(rank {self._link.rank} of {self.size}{of}, {self.library})"

    def split(self, color, key=0, *, name=""):
        """The Communicator among those of these ranks that give the same `color`, or None on a rank that gives None.

        color: integer of at least 0, or None. key: integer; the ranks are numbered in its order, those with equal keys as they
        are here. name: text for messages, the same on all ranks, for example "the axis 'model'"; by default which ranks they
        are. The ranks of a part make collectives among themselves, in step with each other and not with the rest. A rank that
        is in several parts at once calls them in an order that lets all go on: two ranks that each wait for the other in
        another part end the job after POLYAD_DEADLINE. Made once: the same ranks with the same name get the same Communicator.

        >>> import polyad as pa
        >>> row = pa.world().split(pa.world().rank // 2, name="a row")  # ranks 0 and 1, 2 and 3, ...
        >>> float(row.allreduce(1.0)) <= 2
        True

        Errors: TypeError for what is no integer, ValueError for a negative color.
        """
        color = None if color is None else operator.index(color)
        if color is not None and not 0 <= color < 1 << 31:
            raise ValueError(f"split: color {color} is not an integer from 0 to {(1 << 31) - 1}, or None for a rank in no part")
        key = operator.index(key)
        link = self._link.run(Signature("split", label=name), self._link.split, color, key, name)
        return None if link is None else _parts.setdefault(link, Communicator(link))

    @of_any_array
    def allreduce(self, x, op="sum", *, label="", agreed=False):
        """The sum, product, maximum or minimum over the ranks of `x`, elementwise; shape of `x`, bitwise equal on all ranks.

        `op` is 'sum' or 'prod' (dtype of np.sum: bool and small integers give int64), 'max' or 'min' (dtype of `x`; NaN
        where any rank has NaN). agreed: the ranks have compared operation, shape and dtype already, and do not so here. Errors:
        ValueError for another op, TypeError for complex max and min.
        """
        a = host_array(x, "allreduce")
        how = reduction(op, a.dtype, "allreduce")
        signature = Signature("allreduce", a.shape, a.dtype, op, label=label, agreed=agreed)
        if how.fold is not None and not how.mpi:
            return np.asarray(how.fold(self._gathered(a, signature), axis=0))
        if how.direct:
            result = np.empty(a.shape, a.dtype)
            self._link.run(signature, self._link.reduce_into, np.asarray(a, order="C"), result, how.mpi)
            return result
        travelling = how.encode(a)
        self._link.run(signature, self._link.reduce, travelling, how.mpi)
        return how.decode(travelling)

    def begin_sum(self, x):
        """Begin the sum over the ranks of an array of floating or complex numbers, which may be written over, and go on: what
        this returns has `test()`, which has MPI move on and says whether it is done, and `wait()`, which gives the sum.

        All ranks begin sums of arrays of one shape and dtype in the same order, which is not compared: nothing is sent for
        that. Errors of `wait`: CollectiveTimeout when a rank does not come.
        """
        signature = Signature("begin_sum", x.shape, x.dtype, "sum", agreed=True)
        return SumUnderWay(self._link, signature, self._link.run(signature, self._link.begin_reduce, x, "SUM"), x)

    @of_any_array
    def allgather(self, x, *, label=""):
        """Every rank's `x` stacked in the order of the ranks: shape (size, *x.shape), dtype of `x`."""
        a = host_array(x, "allgather")
        return self._gathered(a, Signature("allgather", a.shape, a.dtype, label=label))

    @of_any_array
    def allgatherv(self, x, *, label="", lengths=None, agreed=False):
        """Every rank's `x` joined along axis 0, where the lengths may differ; the other axes must be equal.

        lengths: integer array with that of each rank, the same on all of them, if they are known: it saves a message. agreed:
        the ranks have compared the other axes and the dtype already. Errors: ValueError for a 0-d `x`, or one of another length
        than this rank's.
        """
        a = host_array(x, "allgatherv")
        if a.ndim == 0:
            raise ValueError("allgatherv: a 0-d array has no axis 0 to join along; use allgather")
        if lengths is not None and lengths[self._link.rank] != len(a):
            raise ValueError(f"allgatherv: {len(a)} rows of shape {a.shape[1:]}, but lengths say {lengths[self._link.rank]}")
        block = np.asarray(a, order="C")
        signature = Signature("allgatherv", (-1, *a.shape[1:]), a.dtype, label=label, agreed=agreed)
        return self._link.run(signature, self._link.gather_blocks, carrier(block), lengths).view(a.dtype)

    @of_any_array
    def bcast(self, x, root=0, *, label=""):
        """The root's `x` on every rank; shape and dtype must be equal on all ranks.

        Errors: ValueError when there is no rank `root`.
        """
        result = private_copy(host_array(x, "bcast"))
        root = self._rank_number(root, "bcast: root")
        signature = Signature("bcast", result.shape, result.dtype, root=root, label=label)
        self._link.run(signature, self._link.broadcast, carrier(result), root)
        return result

    @of_any_array
    def alltoall(self, x, *, label=""):
        """Block r of `x` goes to rank r: result[r] is rank r's x[own rank]; shape and dtype of `x`.

        Errors: ValueError unless axis 0 of `x` has length size.
        """
        sent = private_copy(self._one_block_per_rank(x, "alltoall"))
        received = np.empty_like(sent)
        signature = Signature("alltoall", sent.shape, sent.dtype, label=label)
        self._link.run(signature, self._link.transpose, carrier(sent), carrier(received))
        return received

    @of_any_array
    def reduce_scatter(self, x, *, label=""):
        """The sum over the ranks of x[own rank]: shape x.shape[1:], dtype of np.sum.

        Errors: ValueError unless axis 0 of `x` has length size.
        """
        a = self._one_block_per_rank(x, "reduce_scatter")
        how = reduction("sum", a.dtype, "reduce_scatter")
        sent = how.encode(a)
        received = np.empty(sent.shape[1:], sent.dtype)
        signature = Signature("reduce_scatter", a.shape, a.dtype, "sum", label=label)
        self._link.run(signature, self._link.reduce_scatter, sent, received)
        return how.decode(received)

    @of_any_array
    def exchange(self, x, source, dest, *, label=""):
        """Send `x` to rank `dest` and return what rank `source` sent: zeros when `source` is None.

        `dest` None: send nothing. Shapes and dtypes are equal on all ranks. Errors: ValueError when there is no
        such rank, CollectiveMismatch (on all ranks) when sources and dests are not paired.
        """
        sent = private_copy(host_array(x, "exchange"))
        received = np.zeros_like(sent)
        source, dest = (
            None if r is None else self._rank_number(r, f"exchange: {name}") for r, name in ((source, "source"), (dest, "dest"))
        )
        signature = Signature("exchange", sent.shape, sent.dtype, label=label)
        self._link.run(signature, self._link.exchange, carrier(sent), carrier(received), source, dest)
        return received

    def swap(self, parts, shapes, dtype, *, label="", agreed=False):
        """Send parts[r] to rank r and return what each rank has sent here: a dict like `shapes`.

        parts: rank -> array of `dtype`. shapes: rank -> shape of what it sends here; a rank that is in neither sends and gets
        nothing. What a rank sends is what the other expects, which is not compared: all ranks know who sends what to whom.
        agreed: the ranks have compared that they make this call.
        """
        dtype = np.dtype(dtype)
        sent = {rank: private_copy(host_array(x, "swap")) for rank, x in parts.items()}
        received = {rank: np.empty(shape, dtype) for rank, shape in shapes.items()}
        signature = Signature("swap", (), dtype, label=label, agreed=agreed)
        self._link.run(signature, self._link.swap, _carriers(sent), _carriers(received))
        return received

    @of_any_array
    def reduce_scatterv(self, x, lengths, *, label="", agreed=False):
        """This rank's rows of the sum over the ranks of x, along axis 0; dtype of np.sum.

        lengths: number of rows of each rank, in their order, the same on all of them. agreed: the ranks have compared shape and
        dtype already. Errors: ValueError unless axis 0 of `x` has all rows.
        """
        a, lengths = host_array(x, "reduce_scatterv"), np.asarray(lengths)
        if a.ndim == 0 or len(a) != lengths.sum():
            raise ValueError(f"reduce_scatterv: shape {a.shape} must have the {lengths.sum()} rows of all ranks along axis 0")
        how = reduction("sum", a.dtype, "reduce_scatterv")
        sent = how.encode(a)
        received = np.empty((lengths[self._link.rank], *sent.shape[1:]), sent.dtype)
        signature = Signature("reduce_scatterv", a.shape, a.dtype, "sum", label=label, agreed=agreed)
        self._link.run(signature, self._link.reduce_scatter_blocks, sent, received, lengths * math.prod(a.shape[1:]))
        return how.decode(received)

    def barrier(self, *, label=""):
        """Return when all ranks have called it."""
        self._link.run(Signature("barrier", label=label), self._link.barrier)

    def gather_objects(self, obj, *, label=""):
        """List of every rank's `obj`, pickled: for small control data, ten times dearer than arrays."""
        payload = pickle.dumps(obj, pickle.HIGHEST_PROTOCOL)
        gathered = self._link.run(Signature("gather_objects", label=label), self._link.gather_bytes, payload)
        return [pickle.loads(each) for each in gathered]

    def agree(self, obj, *, label=""):
        """Return whether the small picklable `obj` is equal on all ranks (byte for byte when pickled, or by ==)."""
        payload = pickle.dumps(obj, pickle.HIGHEST_PROTOCOL)
        if self.same(payload, label=label):
            return True
        first = self._link.run(Signature("agree", label=label), self._link.broadcast_bytes, payload, 0)
        differing = 0 if pickle.loads(first) == obj else 1 + self._link.rank
        return bool(self._link.compare(Signature("comparison", label=label), differing, ""))

    def distinct(self, what, *, first=False, most=64, label=""):
        """The different things that the ranks say: a list of Words (what, lowest rank that says it, how many ranks do), the
        same on all ranks, of at most `most` of them: then others are left out.

        what: of numbers, texts, tuples and lists, told apart by their repr. first: this one comes before all others; where
        several ranks say so, that of the lowest stands for all. It costs some messages for each, whatever the number of ranks.
        """
        key = 0 if first else 1 + (_digest(repr(what).encode()) >> 63 - KEY_BITS)
        payload = pickle.dumps(what, pickle.HIGHEST_PROTOCOL)
        words = self._link.run(Signature("distinct", label=label), self._link.distinct, payload, key, most)
        return [word._replace(what=pickle.loads(word.what)) for word in words]

    def same(self, payload, *, label="", told=""):
        """Return whether the bytes `payload` are equal on all ranks, by a digest of 62 bits: one small message whatever the
        number of ranks, with no work that grows with it. told: what is compared, for messages; it may differ between the
        ranks."""
        return bool(self._link.compare(Signature("comparison", label=label), _digest(payload), told))

    def ranks_by_node(self):
        """All ranks, those of one node beside each other, in the order of the nodes' first ranks."""
        first = self.allgather(np.int64(min(self._link.on_node)), label="ranks_by_node")
        return sorted(range(self.size), key=lambda rank: (first[rank], rank))

    def _gathered(self, a, signature):
        table = np.empty((self.size, *a.shape), a.dtype)
        table[self._link.rank] = a
        self._link.run(signature, self._link.gather, carrier(table))
        return table

    def _one_block_per_rank(self, x, operation):
        a = host_array(x, operation)
        if a.ndim == 0 or a.shape[0] != self.size:
            raise ValueError(f"{operation}: axis 0 of shape {a.shape} must have one block for each of the {self.size} ranks")
        return a

    def _rank_number(self, rank, what):
        number = operator.index(rank)
        if not 0 <= number < self.size:
            raise ValueError(f"{what} is rank {number}, but the ranks are 0 … {self.size - 1}")
        return number


class SumUnderWay:
    """A sum over the ranks that has begun; see `Communicator.begin_sum`."""

    def __init__(self, link, signature, requests, result):
        self._link, self._signature, self._requests, self._result = link, signature, requests, result

    def test(self):
        """Return whether it is done."""
        return all([request.Test() for request in self._requests])

    def wait(self):
        """The sum, once it is done."""
        self._link.run(self._signature, self._link.wait, *self._requests)
        return self._result


def _digest(payload):
    """An integer of 62 bits."""
    return int.from_bytes(hashlib.blake2b(payload, digest_size=8).digest(), "little") >> 2


def _carriers(arrays):
    return {rank: carrier(x) for rank, x in arrays.items()}


_parts: dict[Any, Communicator] = {}  # of each link that a split has made: its communicator, kept for ever
in_item: ContextVar[bool] = ContextVar(
    "in_item", default=False
)  # in an item of a farm, which is one process whatever works on it
_alone = Communicator(OneProcess("one process, in an item of a farm"))
_world = None
_world_lock = threading.Lock()


def world() -> Any:
    """The Communicator of all ranks of this job, made at the first call (all ranks together) and then kept.

    Initialises MPI. Without mpi4py or an MPI library it is one rank, and so it is in a child process of a rank (subprocess,
    multiprocessing, fork), which has no place among the ranks and ends without touching MPI; where it is forked, that needs
    polyad to be imported before mpi4py.MPI (else end the child with os._exit). Errors: RuntimeError when the launcher
    started several processes but each finds itself alone; CollectiveTimeout when a rank never calls it.

    Settings, the same on all ranks. POLYAD_DEADLINE: seconds (60) after which a rank that does not come to a collective
    ends the job. POLYAD_END_DEADLINE: seconds after the first rank's end (none by default: a rank may compute on as long as
    it likes) after which a rank that does not end, stuck, in a thread that is no daemon or in a call of MPI that no other
    makes, ends the job with status 1 and its name. POLYAD_COLLECTIVE_CHECK: 1, 0 (the ranks compare nothing) or strict (also
    the line that calls a collective without a label, and what mapped functions read). POLYAD_GPU_MPI: 1 or 0 for an MPI library
    that reads the memory of GPUs or does not, which is tried once where it is not said. A rank that leaves by os._exit runs
    none of this: with MPICH on two ranks the job may then end with status 0.
    """
    global _world
    if in_item.get():
        return _alone
    if _world is None:
        with _world_lock:
            if _world is None:
                _world = Communicator(_make_link())
    return _world


def _make_link():
    deadline = setting("POLYAD_DEADLINE", "60", float)
    MPI: Any
    MPI, reason = load_mpi(deadline)
    library = library_name(MPI) if MPI else "one process, no MPI"
    size = MPI.COMM_WORLD.Get_size() if MPI else 1
    require_fitting_launch(size, library + (f": {reason}" if reason else ""))
    if size == 1:
        return OneProcess(library)
    keep_freed_memory()
    everyone = MPI.COMM_WORLD
    hooks = AbortHooks(everyone)
    if not wait(everyone.Ibarrier(), deadline + START_SECONDS):  # the calls below block: come to them together
        raise CollectiveTimeout(f"world(): some of the {size} ranks did not call it within {deadline:g} s")
    guard = Guard(MPI, everyone.Dup(), Board(MPI, everyone))
    hooks.guard = guard
    hooks.watch_the_end()
    return MPILink(MPI, everyone.Dup(), guard.everyone, library)
