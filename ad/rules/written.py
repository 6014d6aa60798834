"""Functions written out as text: for an operation, its number of arrays and which of them are followed, without lists of
arguments, which would cost more than the operation itself on small arrays.

Tracebacks and debuggers show the text, as they show the lines of a file. Equal texts are compiled once.
"""

import functools
import itertools
import linecache
from textwrap import indent
from typing import Any

SIZE = "({0}.size if type({0}) is ndarray else 0 if type({0}) is float64 else elements({0}))"  # the last alone is slower
MAX_NAMED = 4  # arrays that have a name each; of more there is a list
SPACE: dict[str, Any] = {"__name__": __name__}  # what any text may name; formulas.py and others add to it


def written(title, source, **names):
    """The function that the text `def written(…): …` defines. title: what it is, for tracebacks; names: what the text may name,
    beside SPACE."""
    make, needed, text = _maker(source, tuple(names))
    function = make(*[names[name] for name in needed])
    code, name = function.__code__, title.partition(":")[0]
    function.__code__ = code.replace(co_name=name, co_qualname=name, co_filename=_file(title, text))
    function.__name__ = function.__qualname__ = name
    return function


@functools.cache
def _maker(source, names):
    """(function of those names that the text needs, which gives what it defines; these names; the whole text)."""
    needed = [name for name in names if name in source]
    text = f"def make({', '.join(needed)}):\n{indent(source, '    ')}\n    return written\n"
    found = {}
    exec(compile(text, "<generic >", "exec"), SPACE, found)
    return found["make"], needed, text


def _file(title, text):
    """The name under which Python's tools find the text."""
    lines = text.splitlines(keepends=True)
    for n in itertools.count(1):
        file = f"<generic {title}>" if n == 1 else f"<generic {title} ({n})>"
        known = linecache.cache.setdefault(file, (len(text), None, lines, file))
        if known[2:3] == (lines,):
            return file


class Names:
    """Names of the arrays of a call in a text: x0, x1, … or, of more than MAX_NAMED, the list xs; parameters are `params`.

    arrays: each of them; all: a tuple of them; given: what stands between the parentheses of a call, as of a definition.
    """

    def __init__(self, generic, count, letter="x", arrays=None):
        self.generic, self.few, self.params = generic, count <= MAX_NAMED, bool(generic.params or generic.keywords)
        self.arrays = arrays or [f"{letter}{i}" if self.few else f"{letter}s[{i}]" for i in range(count)]
        self.all = f"({', '.join(self.arrays)},)" if self.few else f"{letter}s"
        self.given = self.call(self.arrays if self.few else [f"*{letter}s"])

    def call(self, arrays):
        """The arguments of a call with these arrays."""
        return ", ".join([*arrays, *["**params"] * self.params])

    def below(self, mine):
        """Names for the values that the followed arrays, those in `mine`, hold: v0, …, or all as the list vs."""
        arrays = [f"v{i}" if m else f"x{i}" for i, m in enumerate(mine)] if self.few else None
        return Names(self.generic, len(mine), "v", arrays)
