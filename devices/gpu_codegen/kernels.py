"""Kernels: the text, launch and memory of one pass over an iteration space, from a loop nest.

What is inside comes from the same statements as on the host. Around them is a loop in strides of the grid; reductions are in
`reductions.py`, writes at places that are known as the kernel runs in `writes.py`, passes that share a block in `fusion.py`.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..codegen.loops.bodies import Body
from ..codegen.loops.loops import Loop, merged
from ..codegen.loops.nests import fill
from ..codegen.text.expressions import Name, c
from ..codegen.text.indices import Index
from ..codegen.text.statements import Block, Do, If, Local, declared, reads
from .dialects import BLOCK, BLOCKS_IN_GRID, THREAD, THREADS_IN_BLOCK

THREADS = 256  # of a block
BLOCKS = 4096  # of a grid, at most; further elements are taken in strides
INT64 = np.dtype(np.int64)
NARROW = 2**30  # elements up to which counters are 32 bits wide


@dataclass
class Kernel:
    """body: statements. blocks: the grid, of one or two axes. threads: of a block. written: names of the buffers it writes.
    shared: bytes of shared memory. wide: whether counters need 64 bits. cleared: names of buffers that must hold zeros."""

    body: list
    blocks: tuple
    threads: int
    written: set
    shared: int = 0
    wide: bool = False
    cleared: tuple = ()

    @cached_property
    def buffers(self):
        """Names of the arrays it is given, in order: those that it reads and writes and does not declare."""
        own = {name for _, name, _ in declared(self.body)}
        return [b for b in dict.fromkeys(b for s in self.body for b in reads(s)) if b not in own]


class KernelBody(Body):
    """Statements of one iteration on a device: places out of range wrap around, as CuPy's do, since nobody could be told."""

    def position(self, v, idx, length):
        name = self.local("int64_t", self.at(v, idx, INT64))
        changed = lambda sign: Do(c(f"{{}} {sign}= {{}}", name, length), (name.name,))
        around = [changed("%"), If(c("{} < 0", name), [changed("+")])]
        self.statements.append(If(c("(uint64_t){} >= {}", name, f"{length}u"), around))
        return Index(0, [(name.name, 1)])


class Names:
    """Memory beside a program's values. dtypes, sizes: name -> what is kept there."""

    def __init__(self):
        self.dtypes, self.sizes = {}, {}

    def new(self, letter, dtype, size):
        """A name for a new buffer of so many elements."""
        name = f"{letter}{len(self.dtypes)}"
        self.dtypes[name], self.sizes[name] = dtype, size
        return name


def size(loops):
    """Iterations of nested loops."""
    return math.prod(loop.length for loop in loops)


def loops_of(nest, body, outer=0):
    """The loops of a nest inside the first `outer` ones, put together where memory has no gaps."""
    loops = [Loop(f"i{a}", n, a in nest.reduced) for a, n in enumerate(nest.shape) if n != 1 and a >= outer]
    return merged(loops, body.accesses)


def is_wide(nest, body):
    """Return whether a counter may not fit into 32 bits."""
    return max(math.prod(nest.shape), *[math.prod(a.buffer.shape) for a in body.accesses], 0) >= NARROW


def decoded(loops, counter):
    """The counters of loops from one that runs over all of them."""
    if not loops:
        return []
    counter, rest = Name(counter), Name(f"{counter}_rest")
    statements: list = [Local("I", rest.name, counter)] if len(loops) > 1 else []
    for loop in reversed(loops[1:]):
        statements.append(Local("const I", loop.name, c("{} % {}", rest, loop.length)))
        statements.append(Do(c("{} /= {}", rest, loop.length), (rest.name,)))
    return [*statements, Local("const I", loops[0].name, rest if len(loops) > 1 else counter)]


def strided(counter, first, last, step, body):
    """A loop of a counter in steps."""
    head = c("for (I {0} = {1}; {0} < {2}; {0} += {3})", Name(counter), first, last, step)
    return Block(head, body, (("I", counter),))


def over_grid(total, body):
    """A loop that all threads of a grid share."""
    first = c("{} * (I){} + {}", BLOCK, THREADS_IN_BLOCK, THREAD)
    step = c("(I){} * {}", BLOCKS_IN_GRID, THREADS_IN_BLOCK)
    return strided("q", first, total, step, body)


def grid(total):
    """(blocks, threads) for so many elements."""
    threads = min(THREADS, max(32, 1 << (total - 1).bit_length()))
    return (min(-(-total // threads), BLOCKS),), threads


def elementwise(nest, graph):
    """The kernel of a nest without reductions; none where it has no iterations."""
    body = KernelBody(graph)
    fill(nest, body)
    loops = loops_of(nest, body)
    total = size(loops)
    if not total:
        return []
    loop = over_grid(total, [*decoded(loops, "q"), *body.statements])
    return [Kernel([loop], *grid(total), written(nest, graph), wide=is_wide(nest, body))]


def written(nest, graph):
    """Names of the buffers that a nest writes."""
    return {graph.buffers[v].name for v in nest.writes}
