"""What languages for threads in blocks say each in its own way: names, spellings, and the words of card expressions.

A `Dialect` is a record of them. `printer.py` prints kernels in it; its `functions` know what its library lacks.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..codegen.text.expressions import Piece
from ..codegen.text.math_functions import Functions
from ..codegen.text.scalars import Unsupported, ctype


class Word(Piece):
    """Word that a dialect says for one of its fields, such as `thread`."""

    __slots__ = ("field",)

    def __init__(self, field):
        self.field = field

    def __repr__(self):
        return f"Word({self.field!r})"


THREAD, THREADS_IN_BLOCK = Word("thread"), Word("threads")
BLOCK, BLOCK_Y, BLOCKS_IN_GRID = Word("block"), Word("block_y"), Word("blocks")
WAIT = Word("wait")


@dataclass(frozen=True)
class Dialect:
    """A language of kernels.

    name: as people call it. functions: the class of its words, a `KernelFunctions`. kernel: what stands before a kernel's name.
    memory: of an array's pointer that others write too, from `{type}` and `{name}`; constant: of one that is only read.
    shared: a declaration of `{}` times 8 bytes that a block shares, called `shared`; space: what stands before the type of a
    pointer into it. thread, threads: the number of a thread within its block, and how many there are; block, block_y, blocks:
    that of a block in the grid on each axis, and how many there are on the first. wait: until all threads of a block are here.
    types: from C's name of a type, where it is another. reserved: names that no variable may have. arrays: that a kernel may be
    given, at most. long: what stands behind a constant of 64 bits.
    """

    name: str
    functions: type
    kernel: str
    memory: str
    constant: str
    shared: str
    thread: str
    threads: str
    block: str
    block_y: str
    blocks: str
    wait: str
    arrays: int
    space: str = ""
    long: str = "LL"
    types: Mapping = field(default_factory=dict)
    reserved: frozenset = frozenset()

    def type(self, name):
        """A type, from C's name for it. Raises Unsupported for complex numbers where there are none."""
        base = name.removesuffix(" *")
        if base in self.types:
            return self.types[base] + name[len(base) :]
        if base.endswith(" complex"):
            raise Unsupported(f"no complex numbers in {self.name}")
        return name


class KernelFunctions(Functions):
    """The words that one source in a dialect uses; `text` is their definitions."""

    in_line = blocks = False

    def host_only(self):
        raise Unsupported("C code of the host")

    def place(self, value):
        return value

    def check(self, dtype):
        self.type(ctype(dtype))

    def in_dialect(self, template):
        return template.replace("__builtin_", "")  # GNU C's, which dialects have under the plain name

    # ------------------------------------------------------------------ what each dialect says
    def prelude(self, equations):
        """Write what a source of these equations begins with."""
        raise NotImplementedError

    def added(self, dtype):
        """The function (pointer, value) that adds to memory which other threads add to as well. Raises Unsupported."""
        raise NotImplementedError

    def raised(self, dtype):
        """The function (pointer, value) that raises a whole number in memory to one that is larger."""
        raise NotImplementedError
