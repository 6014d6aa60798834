"""Messages between two ranks as a program calls them."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...dispatch import tree
from ...dsl import add, reshape
from ...dsl.avals import shape_of
from ...dsl.ops.shape import concatenate
from ..communicator import world
from .derivatives import Like, Route, received, require_followed, sent
from .mailbox import TAGS, Incoming, form_of, mailbox_of


class Request:
    """A message under way, of `isend` or `irecv`.

    `wait()` returns once it is complete: what was received, or None of what was sent (it is sent once the other rank has taken
    it). `test()` tells whether `wait` would return at once. An `irecv` that nobody waits for, and a message that nobody
    receives, end the job with its line when all ranks have come to the end of the program.
    Errors of `wait`: CollectiveTimeout after POLYAD_DEADLINE seconds; CollectiveMismatch for a message of another form, on both
    ranks (at the sender's next call).
    """

    def __init__(self, mailbox: Any, messages: Any, finish: Any) -> None:
        self._mailbox, self._messages, self._finish, self._result = mailbox, messages, finish, None

    def test(self) -> bool:
        """Return whether the message is complete, and let all messages go on."""
        self._mailbox.look()
        return all([message.Test() for message in self._messages])

    def wait(self) -> Any:
        """Wait for the message."""
        if self._finish is not None:
            for message in self._messages:
                if not isinstance(message, Incoming):
                    self._mailbox.finish(message)
            self._result, self._finish = self._finish(self._messages), None
        return self._result

    def __repr__(self):
        state = "complete" if self._finish is None or all([m.Test() for m in self._messages]) else "under way"
        return f"<Request: {'; '.join([m.text for m in self._messages])}: {state}>"


def send(x: Any, to: int, tag: int = 0, *, comm: Any = None) -> Any:
    """Send an array, or a tree of arrays, to another rank, which calls `recv`; return 0.0.

    x: array, number or tree of them; arrays of one dtype go in one message. to: rank of `comm`. tag: 0 … 9999; messages of one
    tag are received in the order in which they were sent. comm: Communicator, by default `world()`. It returns at once: x is
    copied, so messages that cross never wait for each other.

    Derivatives: inside of grad, vjp or jvp both ranks take the derivative, each of its own function, and the cotangent comes
    back from the rank that received. The 0.0 has the derivative: it is the loss of a rank that has no other, or is added to
    it. A gradient that only one of them takes is an error on both.

    >>> import numpy as np, polyad as pa
    >>> def loss(x):  # on one process, to itself
    ...     end = pa.send(x**2, to=0)
    ...     return pa.sum(pa.recv(x, source=0)) + end
    >>> pa.grad(loss)(np.array([1.0, 2.0]))
    array([2., 4.])

    Errors: ValueError for a rank or a tag that there is not, TypeError for what is no array of numbers, CollectiveError inside
    of vmap, pmap and shard_map. jit runs a function that sends or receives as it is.
    """
    comm, mailbox = _mailbox(comm)
    route = Route(mailbox, _rank(comm, to, "send: to"), _tag(tag, "send"))
    end = 0.0
    for x_of_dtype, structure in _packed(x):
        token = sent(x_of_dtype, route, structure)
        end = add(end, token) if token.dtype.kind == "f" else end
    return end


def recv(like: Any, source: int, tag: int = 0, *, comm: Any = None) -> Any:
    """Receive what another rank sends by `send`.

    like: array, or anything with `shape` and `dtype`, or a tree of them: what is expected. source: rank of
    `comm` (by default `world()`). Returns arrays of this form; their derivatives are described at `send`.

    Errors: CollectiveMismatch, here and at the sender's next call, for a message of another form or one that a derivative
    follows only there; CollectiveTimeout if none comes within POLYAD_DEADLINE seconds; else those of `send`.
    """
    comm, mailbox = _mailbox(comm)
    route = Route(mailbox, _rank(comm, source, "recv: source"), _tag(tag, "recv"))
    require_followed(0.0)
    return _unpacked(like, [(route, form, None) for form in _forms(like)])


def sendrecv(x: Any, to: int, source: int, tag: int = 0, *, like: Any = None, comm: Any = None) -> Any:
    """Send x to one rank and receive from another what has its form, or that of `like`. As `send` and `recv`, in one call.

    >>> import numpy as np, polyad as pa
    >>> w = pa.world()
    >>> pa.sendrecv(np.full(2, w.rank), to=(w.rank + 1) % w.size, source=(w.rank - 1) % w.size)
    array([0, 0])
    """
    send(x, to, tag, comm=comm)
    return recv(x if like is None else like, source, tag, comm=comm)


def isend(x: Any, to: int, tag: int = 0, *, comm: Any = None) -> Request:
    """Start to send; a `Request`. Arguments as of `send`; x may be written to at once. It has no derivative.

    >>> import numpy as np, polyad as pa
    >>> request = pa.irecv(np.zeros(2), source=0)
    >>> sending = pa.isend(np.arange(2.0), to=0)
    >>> request.wait()
    array([0., 1.])
    """
    comm, mailbox = _mailbox(comm)
    to, tag = _rank(comm, to, "isend: to"), _tag(tag, "isend")
    require_followed(0.0)
    messages = [mailbox.send([np.asarray(x)], structure, to, tag, name="isend")[0] for x, structure in _packed(x)]
    return Request(mailbox, messages, lambda done: None)


def irecv(like: Any, source: int, tag: int = 0, *, comm: Any = None) -> Request:
    """Await a message; a `Request`, whose `wait()` returns it. Arguments as of `recv`. Messages of one source and tag come in
    the order in which they are awaited, by `recv` too. `wait()` inside of a derivative follows it as `recv` does."""
    comm, mailbox = _mailbox(comm)
    route = Route(mailbox, _rank(comm, source, "irecv: source"), _tag(tag, "irecv"))
    forms = _forms(like)
    messages = [mailbox.receive(route.peer, route.tag, form, name="irecv") for form, _ in forms]
    return Request(mailbox, messages, lambda done: _unpacked(like, [(route, f, m) for f, m in zip(forms, done, strict=True)]))


# ---------------------------------------------------------------------- trees: arrays of one dtype lie beside each other
def _groups(leaves):
    """Dtype -> places of the leaves."""
    groups: dict[Any, list[int]] = {}
    for i, x in enumerate(leaves):
        groups.setdefault(np.dtype(x.dtype), []).append(i)
    return groups


def _leaves_told(x):
    """Leaves and the description of their tree, None for an array."""
    leaves, structure = tree.flatten(x, _has_form)
    leaves = [leaf if _has_form(leaf) else np.asarray(leaf) for leaf in leaves]
    alone = len(leaves) == 1 and structure is tree.LEAF
    return leaves, structure, None if alone else (repr(structure), tuple([tuple(shape_of(x)) for x in leaves]))


def _has_form(x):
    return hasattr(x, "shape") and hasattr(x, "dtype")


def _packed(x):
    """Pairs of an array and what says which tree it is part of, for each dtype."""
    leaves, _, told = _leaves_told(x)
    if told is None:
        return [(leaves[0], None)]
    flat = lambda x: reshape(x, (-1,))
    return [
        (concatenate([flat(leaves[i]) for i in places], axis=0), (*told, dtype.str))
        for dtype, places in _groups(leaves).items()
    ]


def _forms(wanted):
    """Pairs of the Form of each message of a tree like `wanted`, and the places of its leaves."""
    leaves, _, told = _leaves_told(wanted)
    if told is None:
        return [(form_of([Like(tuple(leaves[0].shape), leaves[0].dtype)], None), [0])]
    size = lambda places: sum([int(np.prod(leaves[i].shape)) for i in places])
    return [(form_of([Like((size(places),), dtype)], (*told, dtype.str)), places) for dtype, places in _groups(leaves).items()]


def _unpacked(wanted, parts):
    """The tree like `wanted` of messages: (route, (form, places of leaves), the message or None)."""
    leaves, structure, told = _leaves_told(wanted)
    results: list[Any] = [None] * len(leaves)
    for route, (form, places), message in parts:
        value = received(route, Like(form.shapes[0], np.dtype(form.dtypes[0])), form.structure, message)
        if told is None:
            return value
        start = 0
        for i in places:
            n = int(np.prod(leaves[i].shape))
            results[i] = reshape(value[start : start + n], tuple(leaves[i].shape))
            start += n
    return tree.unflatten(structure, results)


# ---------------------------------------------------------------------- arguments
def _mailbox(comm):
    comm = world() if comm is None else comm
    return comm, mailbox_of(comm)


def _rank(comm, rank, what):
    number = operator.index(rank)
    if not 0 <= number < comm.size:
        raise ValueError(f"{what} is rank {number}, but the ranks are 0 … {comm.size - 1}")
    return number


def _tag(tag, name):
    number = operator.index(tag)
    if not 0 <= number < TAGS:
        raise ValueError(f"{name}: tag {number} is not one of 0 … {TAGS - 1}")
    return number
