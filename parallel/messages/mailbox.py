"""Messages between two ranks: what a rank has sent and awaits, in which order, and what is said when they do not fit.

A message is its form (tree, shapes, dtypes, the line that sent it), then its bytes. Nothing blocks: what is sent is copied
first, so that messages that cross never wait for each other, and what is awaited is looked at whenever something is asked for.
The form travels in MPI's synchronous mode, by which its sender knows whether somebody has taken it.
"""

import pickle
import time
from collections import deque
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..buffers import host_array
from ..errors import CollectiveError, CollectiveMismatch, CollectiveTimeout
from ..signature import at_site, call_site
from ..waiting import wait
from ..wire import LocalWire

TAGS = 10_000  # tags of a program: 0 … TAGS - 1; MPI has at least 32767
_REFUSALS, _FIRST = 1, 64  # numbers of MPI's tags
THERE, BACK = 0, 1  # ways of a message: of a program, and a cotangent
QUIET = 0.2  # seconds to wait before the board says so
SETTLE = 1.0  # seconds in which the word that a message was taken arrives at the end


class Form(NamedTuple):
    """The facts that a message says of itself.

    structure: of the tree, None for a single array. number: of the message on its channel; about: the number of the message
    whose cotangent it is, -1 for none. layers: the transformations that follow the value (checksums.layers). site: the line
    that sent it.
    """

    structure: Any
    shapes: tuple
    dtypes: tuple
    number: int = 0
    about: int = -1
    layers: tuple = ()
    site: str = ""

    def __str__(self):
        each = [f"{np.dtype(d).name}{list(s)}" for s, d in zip(self.shapes, self.dtypes, strict=True)]
        text = ", ".join(each[:8]) + (f" and {len(each) - 8} more" if len(each) > 8 else "")
        return text if self.structure is None else f"a tree of {len(each)} arrays ({text})"

    @property
    def nbytes(self):
        """Bytes of all arrays."""
        return sum(int(np.prod(s)) * np.dtype(d).itemsize for s, d in zip(self.shapes, self.dtypes, strict=True))

    def fits(self, other):
        """Return whether arrays of another form have the same tree, shapes and dtypes."""
        return (self.structure, self.shapes, self.dtypes) == (other.structure, other.shapes, other.dtypes)


def form_of(arrays, structure, **more):
    """The Form of arrays, or of what has shape and dtype."""
    return Form(structure, tuple([tuple(x.shape) for x in arrays]), tuple([np.dtype(x.dtype).str for x in arrays]), **more)


class Outgoing:
    """A message on its way. text: what it is, for messages."""

    def __init__(self, text, header, body, buffers):
        self.text, self.header, self.body, self._buffers = text, header, body, buffers  # kept until MPI has read them

    def Test(self):
        self.header = [r for r in self.header if not r.Test()]
        self.body = [r for r in self.body if not r.Test()]
        return not self.header and not self.body


class Incoming:
    """A message that is awaited. wanted: its Form, or None for any. seen: whether the program has got it, or its error."""

    def __init__(self, mailbox, channel, wanted, text):
        self.mailbox, self.channel, self.wanted, self.text = mailbox, channel, wanted, text
        self.form, self.arrays, self.seen, self.error = None, None, False, None
        self._header, self._data, self._requests = None, None, []

    def Test(self):
        """Look at what has come; return whether it is all there."""
        queue = self.mailbox.queues[self.channel]
        while queue and queue[0]._step():
            queue.popleft()
        return self.arrays is not None

    @property
    def untouched(self):
        """Return whether nothing of it has come."""
        return self._header is None

    def _step(self):
        wire, (source, tag) = self.mailbox.wire, self.channel
        if self._header is None:
            found = wire.probe(source, tag)
            if found is None:
                return False
            self._header, self._requests = found
        if any([not r.Test() for r in self._requests]):
            return False
        if self.form is None:
            self.form = pickle.loads(self._header)
            self._data, self._requests = wire.take(self.form.nbytes, source, tag) if self.form.nbytes else (b"", [])
            if any([not r.Test() for r in self._requests]):
                return False
        self.arrays, start = [], 0
        for shape, dtype in zip(self.form.shapes, self.form.dtypes, strict=True):
            end = start + int(np.prod(shape)) * np.dtype(dtype).itemsize
            assert self._data is not None  # it has come
            self.arrays.append(np.frombuffer(self._data[start:end], dtype).reshape(shape).copy())
            start = end
        return True


class Mailbox:
    """The messages of this rank in a communicator."""

    def __init__(self, wire, size):
        self.wire, self.size = wire, size
        self.queues, self._numbers, self._out = {}, {}, []
        wire.at_end(self.check_end)

    def send(self, arrays, structure, to, tag, way=THERE, *, name="send", about=-1, layers=()):
        """Start to send NumPy arrays: (Outgoing, number of the message)."""
        arrays = [host_array(x, name) for x in arrays]
        site = call_site()
        text = f"{name} of {form_of(arrays, structure)} to rank {to}, tag {tag},{at_site(site)}"
        self._begin(text)
        number = self._numbers[to, tag, way] = self._numbers.get((to, tag, way), -1) + 1
        form = form_of(arrays, structure, number=number, about=about, layers=layers, site=site)
        header = np.frombuffer(pickle.dumps(form, pickle.HIGHEST_PROTOCOL), np.uint8)
        body = np.empty(form.nbytes, np.uint8)
        start = 0
        for x in arrays:
            body[start : start + x.nbytes].view(x.dtype).reshape(x.shape)[...] = x
            start += x.nbytes
        head = self.wire.post(header, to, _wire_tag(tag, way), True)
        rest = self.wire.post(body, to, _wire_tag(tag, way), False) if len(body) else []
        message = Outgoing(text, head, rest, (header, body))
        self._out.append(message)
        return message, number

    def receive(self, source, tag, wanted=None, way=THERE, *, name="recv"):
        """Await a message, an Incoming. wanted: the Form that it must have, None for any."""
        what = f"{name} of {'a message' if wanted is None else wanted} from rank {source}, tag {tag},{at_site(call_site())}"
        self._begin(what)
        channel = source, _wire_tag(tag, way)
        message = Incoming(self, channel, wanted, what)
        self.queues.setdefault(channel, deque()).append(message)
        return message

    def finish(self, message):
        """Wait for a message. Of an Incoming the arrays; CollectiveTimeout, CollectiveMismatch."""
        if isinstance(message, Incoming):
            message.seen = True
            if message.error is not None:
                raise message.error
        try:
            complete = self._complete(message, self.wire.deadline)
        except CollectiveMismatch:
            self._forget(message)
            raise
        if not complete:
            self._forget(message)
            peer = f"\n{self.wire.told(message.channel[0])}" if isinstance(message, Incoming) else ""
            error = CollectiveTimeout(
                f"{message.text}: not complete within {self.wire.deadline:g} s{peer}\nEvery message needs its counterpart on "
                "the other rank, and a gradient through one has to be taken on both; if that rank was only slow, raise "
                "POLYAD_DEADLINE (seconds)"
            )
            self.wire.give_up(f"{message.text} was given up")
            raise error
        if isinstance(message, Incoming):
            return self.opened(message)
        return None

    def opened(self, message):
        """The arrays of an Incoming that is all there; CollectiveMismatch, on both ranks, if it is not of the form awaited."""
        message.seen = True
        if message.error is not None:
            raise message.error
        if message.wanted is not None and not message.wanted.fits(message.form):
            self.refuse(message, f"{message.form} was sent{at_site(message.form.site)}; give both the same shapes and dtypes")
        return message.arrays

    def refuse(self, message, why):
        """Raise CollectiveMismatch for a message that has come, here and, at its next call, on the rank that has sent it."""
        text = f"{message.text}: {why}"
        data = np.frombuffer(f"rank {self.wire.rank} refuses a message: {text}".encode(), np.uint8)
        if not isinstance(self.wire, LocalWire):
            self._out.append(Outgoing("", [], self.wire.post(data, message.channel[0], _REFUSALS, False), data))
        message.error = CollectiveMismatch(text)
        raise message.error

    def look(self):
        """Go on with all messages; raise CollectiveMismatch if another rank has refused one of this rank's."""
        self._out = [message for message in self._out if not message.Test()]
        for queue in self.queues.values():
            if queue:
                queue[0].Test()
        for source in range(self.size):
            found = self.wire.probe(source, _REFUSALS)
            if found is not None:
                data, requests = found
                for request in requests:
                    wait(request, self.wire.deadline)
                raise CollectiveMismatch(bytes(data).decode())

    def check_end(self, all_ended):
        """Raise CollectiveError at the end of the program for messages that nobody waited for, or, when all ranks have ended,
        nobody has received."""
        forgotten = [m.text for queue in self.queues.values() for m in queue if not m.seen] if not all_ended else []
        if forgotten:
            raise CollectiveError(f"the program ended, but was never waited for: {'; '.join(forgotten[:8])}")
        if all_ended:
            end = time.monotonic() + SETTLE
            while time.monotonic() < end and any([not message.Test() for message in self._out]):
                time.sleep(1e-3)
            left = [message.text for message in self._out if message.header]
            if left:
                raise CollectiveError(f"the program ended, but was never received: {'; '.join(left[:8])}")

    def _forget(self, message):
        """Await a message no more, of which nothing has come."""
        if isinstance(message, Incoming) and message.untouched:
            self.queues[message.channel].remove(message)

    def _complete(self, message, seconds):
        if wait(message, min(QUIET, seconds)):
            return True
        done = self.wire.waiting(message.text)
        try:
            return wait(_Looking(self, message), seconds)
        finally:
            done()

    def _begin(self, what):
        self.wire.require(what)
        self.look()


class _Looking:
    def __init__(self, mailbox, message):
        self.mailbox, self.message = mailbox, message

    def Test(self):
        self.mailbox.look()
        return self.message.Test()


def _wire_tag(tag, way):
    return _FIRST + 2 * tag + way


@cache
def mailbox_of(comm):
    """The Mailbox of a Communicator."""
    return Mailbox(comm.wire(), comm.size)
