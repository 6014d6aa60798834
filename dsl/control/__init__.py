"""Control flow as operations: choices, loops and calls of programs.

Eagerly and under derivatives they run as ordinary Python. Where the answer is not one value (in a trace, or where lanes of
a map disagree) the user's functions become programs, and the call one operation with these programs among its parameters.
"""

from . import batching
from .associative import associative_scan
from .call import call
from .cond import cond, switch
from .loops import fori_loop, kept_while, while_loop
from .scan import kept_scan, map, scan

__all__ = [
    "associative_scan", "call", "cond", "fori_loop", "kept_scan", "kept_while", "map", "scan", "switch", "while_loop",
]  # fmt: skip
