"""Messages as operations with derivatives: the transpose of a send is a receive of the cotangent, and the reverse.

What follows a value on the rank that sends it (a gradient, a tangent) goes with the message, and the rank that receives it
must be inside of the same transformations: there the value is followed too, as that of an operation without arguments. Both
operations are collectives for reverse mode, which walks them even where no cotangent came: a cotangent goes back for each
message that was followed, zeros where nothing depends on it. It carries the number of its message.
"""

from typing import Any, NamedTuple

import numpy as np

from ...dispatch import HostArray, open_runs
from ...dsl import add, opaque
from ...dsl.avals import dtype_of, shape_of
from ...dsl.layers.batching import LanesRun
from ...dsl.layers.tracing import TraceRun
from ...dsl.ops.create import zeros_like
from ..agreement import lifted, transformations
from ..checksums import layers
from ..errors import CollectiveError
from .mailbox import BACK, THERE, form_of

FOLLOWED = ("Reverse", "Dual")


class Route(NamedTuple):
    """A message's way. mailbox: of its ranks. peer: the other rank. about: the message whose cotangent it is, or -1."""

    mailbox: Any
    peer: int
    tag: int
    way: int = THERE
    about: int = -1

    def back(self, number):
        """That of the cotangent of message `number`."""
        return self._replace(way=BACK, about=number)


class Like(NamedTuple):
    """A shape and a dtype."""

    shape: tuple
    dtype: Any


def aval_like(x):
    """The shape and dtype of an array, a number or what has both."""
    return Like(tuple(shape_of(x)), dtype_of(x))


def sent(x, route, structure=None):
    """Send an array; 0.0 with the derivative, in its dtype."""
    require_followed(x)
    return message_send(x, route=route, structure=structure, follows=layers(x), number=[])


def require_followed(x):
    """Raise CollectiveError for a value that follows what a message cannot; jit then runs the function as it is."""
    kinds = [kind for _, kind in layers(x) if kind not in FOLLOWED]
    kinds += [type(run).__name__ for run in open_runs() if isinstance(run, (TraceRun, LanesRun))]
    if kinds:
        error = CollectiveError(
            "send, recv: they work in plain code, grad, vjp and jvp, not inside of vmap, pmap, shard_map or a trace (here: "
            f"{', '.join(dict.fromkeys(kinds))}); between lanes use ppermute, and trace the functions between the messages"
        )
        error.plainly = False
        raise error


def received(route, wanted, structure=None, message=None):
    """The array that comes on a route; wanted: what has its shape and dtype. message: that is awaited already."""
    require_followed(0.0)
    mailbox = route.mailbox
    if message is None:
        message = mailbox.receive(route.peer, route.tag, form_of([wanted], structure), route.way)
    (value,) = mailbox.finish(message)
    form = message.form
    if form.about != route.about:
        mailbox.refuse(
            message,
            f"it is the cotangent of message {form.about}, not of message {route.about}; both ranks must go back over the same "
            "messages, in the reverse order",
        )
    if not form.layers:
        return value[()]
    here = [run for run in open_runs() if run.depth in dict(form.layers)]
    names = {"Reverse": "ReverseRun", "Dual": "ForwardRun"}
    if sorted((run.depth, type(run).__name__) for run in here) != sorted((d, names[k]) for d, k in form.layers):
        around = transformations([(d, names[k]) for d, k in form.layers])
        mailbox.refuse(
            message,
            f"it is a part of {around} on the rank that sent it, but not here; take the derivative on both ranks, so that "
            "each runs its part of it",
        )
    start = lifted(np.zeros((), value.dtype)[()], list(form.layers))
    return message_receive(
        start, route=route, number=form.number, wanted=Like(value.shape, value.dtype), structure=structure, value=value
    )


NO_RULE = {"batch": "maps refuse messages by name", "shape": "traces refuse messages by name"}


@opaque(kernel=None, numpy=(), collective=True, no_rule=NO_RULE)
def message_send(x, /, *, route, structure, follows, number):
    """Send x on a route; 0 in its dtype."""


message_send.rule("jvp")(lambda dxs, y, x, *, route, structure, follows, number: sent(dxs[0], route, structure))


@message_send.rule("vjp")
def message_send_vjp(i, ct, y, x, *, route, structure, follows, number):
    return received(route.back(number[0]), aval_like(x))


@opaque(kernel=None, numpy=(), collective=True, no_rule=NO_RULE)
def message_receive(start, /, *, route, number, wanted, structure, value):
    """The value that has come. start: a number that is followed as the value was where it was sent."""


@message_receive.rule("jvp")
def message_receive_jvp(dxs, y, start, *, route, number, wanted, structure, value):
    return received(route, wanted, structure)


@message_receive.rule("vjp")
def message_receive_vjp(i, ct, y, start, *, route, number, wanted, structure, value):
    return add(sent(ct, route.back(number)), zeros_like(start))


def _send(x, route, structure, follows, number):
    x = np.asarray(x)
    _, n = route.mailbox.send([x], structure, route.peer, route.tag, route.way, about=route.about, layers=follows)
    number[:] = [n]
    return np.zeros((), x.dtype)[()]


message_send.generic.add(_send, (HostArray,))
message_receive.generic.add(lambda start, route, number, wanted, structure, value: value[()], (HostArray,))
