"""The messages of an exchange are paired: what a rank sends is what another one expects of it.

A message that nobody expects would be taken for one of the next exchange. No rank asks all others: each message has a number,
which its sender adds and its receiver takes away, so the sum over all ranks is 0.
"""

import hashlib

from .errors import CollectiveMismatch

_SHOWN = 8  # ranks in a message
_MODULUS = 1 << 64


def require_pairs(group, source, dest):
    """Raise CollectiveMismatch, on all ranks of the group, unless each rank's dest has that rank as its source, and the
    reverse; None: no message. Inside a running collective: one message of 8 bytes, and as many as the number of ranks has
    bits to find who is not paired."""
    here = group.rank
    balance = lambda first, stop: group.total(
        _mark_of(here, dest) * (dest is not None and first <= dest < stop)
        - _mark_of(source, here) * (source is not None and first <= here < stop)
    )
    first, stop = 0, group.size
    if balance(first, stop) == 0:
        return
    while stop - first > 1:  # the first rank with a message too many or too few
        middle = (first + stop) // 2
        first, stop = (first, middle) if balance(first, middle) else (middle, stop)
    expected = group.least(group.size if here != first or source is None else source)
    concerned = here in (first, expected) or dest == first
    text = f"source {source}, dest {dest}" if concerned else ""
    words = group.distinct(text.encode(), 1 + here if concerned else 0, _SHOWN + 1)
    lines = [f"  rank {word.rank}: {word.what.decode()}" for word in words if word.what]
    raise CollectiveMismatch(
        f"exchange: the sources and dests of these ranks{f' of {group.name}' if group.name else ''} are not paired:\n"
        + "\n".join(lines)
        + "\nFor each rank r with dest d, rank d needs source r"
    )


def _mark_of(sender, receiver):
    """The number of a message."""
    text = f"{sender} to {receiver}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")
