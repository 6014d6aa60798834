"""Memory of a C function's temporaries: who lives when, and where in one block."""

import math

import numpy as np

from ....dsl.ir.pass_selection import on
from ..text.expressions import c
from ..text.scalars import memory_type
from ..text.statements import Local

ALIGN = 64  # bytes
STACK = 64 * 1024  # bytes of temporaries that lie on the stack


class Arena:
    """Places for temporaries; those that do not live at the same time share memory, if `buffer_reuse` is on.

    lives: Var -> (first nest, last nest). After making, `offsets` maps Var -> byte offset, `size` is the whole.
    """

    def __init__(self, lives):
        self.offsets, self.size = {}, 0
        reuse = on("buffer_reuse")
        taken = []  # (offset, end, last nest) of what lives
        for var, (first, last) in sorted(lives.items(), key=lambda item: item[1][0]):
            taken = sorted(t for t in taken if t[2] >= first or not reuse)
            need, offset = bytes_of(var), 0
            for start, end, _ in taken:
                if offset + need <= start:
                    break
                offset = max(offset, end)
            end = offset + -(-need // ALIGN) * ALIGN
            taken.append((offset, end, last))
            self.offsets[var] = offset
            self.size = max(self.size, end)


def bytes_of(var):
    """Bytes of a Var's array, at least one."""
    return max(math.prod(var.aval.shape) * np.dtype(var.aval.dtype).itemsize, 1)


def lifetimes(temporaries, nests, memory):
    """Var -> (first, last) nest that touches it. memory: function(Var) -> the Var in whose memory it lies."""
    lives = {}
    for k, nest in enumerate(nests):
        for v in (*nest.writes, *[v for v, _ in nest.reads]):
            v = memory(v)
            if v in temporaries:
                first, _ = lives.get(v, (k, k))
                lives[v] = (first, k)
    return lives


def pointer_into(arena, buffer, offset):
    """The declaration of a buffer that lies in a block of memory."""
    return Local(f"{memory_type(buffer.dtype)} *", buffer.name, c("(void *)({} + {})", arena, offset))


def growing(buffer):
    """Declarations of an array that grows, and of its length."""
    return [Local(f"{memory_type(buffer.dtype)} *", buffer.name, "0"), Local("int64_t", f"{buffer.name}_n", "0")]
