"""Arrays in globals and variables of enclosing functions as inputs of the program, whatever is done with them.

A function whose arrays from outside have changed is traced once more as a copy, in whose globals and cells these arrays are
values of the trace: what NumPy would compute of them alone is then computed by the program, at each call. The functions that
it calls by name are copied with it, so that nothing else sees such a value. Where that does not go (a value is taken out, a
function is kept for later), the function is traced as it is.
"""

import types

import numpy as np

from ..layers.tracing import Traced
from .globals_key import state
from .libraries import is_ours
from .places import content


class NotFollowed(BaseException):
    """The copy cannot be traced. Not an Exception, so that user code does not catch it."""


class Adoption:
    """The copy of a function, and of what it holds, for one trace. f: the function; reads, values, arrays: how it reads, what
    it read, the arrays among that. chosen: the numbers of the arrays that the copy sees as values of the trace."""

    def __init__(self, f, reads, values, arrays):
        self.functions, self.arrays = {}, arrays
        if type(f) is types.FunctionType:
            self._reach(f)
        places = [self._is_adopted(path, reads, value) for path, value in zip(reads.paths, values, strict=True)]
        found = [{id(x) for x in state((value,))[1]} for value in values]
        other = set().union(*[ids for ids, adopted in zip(found, places, strict=True) if not adopted])
        self.chosen = {i for i, x in enumerate(arrays) if id(x) not in other}

    def _reach(self, f):
        if f in self.functions or hasattr(f, "jitted"):
            return
        self.functions[f] = None
        cells = [content(cell) for cell in f.__closure__ or ()]
        names = [] if is_ours(f.__code__) else [f.__globals__.get(name) for name in _names(f.__code__)]
        for value in (*cells, *names):
            if type(value) is types.FunctionType:
                self._reach(value)

    def _is_adopted(self, path, reads, value):
        return type(value) is np.ndarray and path in reads.readers and reads.readers[path] <= set(self.functions)

    def copy(self, f, run):
        """A copy of f for a run."""
        self.spaces, self.made = {}, {}
        self.values = {id(self.arrays[i]): Traced[run.depth](run.atom(self.arrays[i]), run) for i in self.chosen}
        self.started = [(x, x.variable) for x in self.values.values()]
        return self._of(f)

    def _of(self, x):
        if id(x) in self.values:
            return self.values[id(x)]
        if type(x) is not types.FunctionType or x not in self.functions:
            return x
        if x not in self.made:
            cells = tuple([types.CellType() for _ in x.__closure__ or ()])
            ours = is_ours(x.__code__)
            space = x.__globals__ if ours else self._space(x.__globals__)
            made = self.made[x] = types.FunctionType(x.__code__, space, x.__name__, x.__defaults__, cells)
            made.__kwdefaults__, made.__qualname__, made.__module__ = x.__kwdefaults__, x.__qualname__, x.__module__
            made.__dict__.update(x.__dict__)
            for cell, old in zip(cells, x.__closure__ or (), strict=True):
                try:
                    cell.cell_contents = self._of(old.cell_contents)
                except ValueError:  # it is empty
                    continue
            for name in () if ours else _names(x.__code__):
                if name in x.__globals__:
                    space[name] = self._of(x.__globals__[name])
        return self.made[x]

    def _space(self, space):
        if id(space) not in self.spaces:
            self.spaces[id(space)] = dict(space)
        return self.spaces[id(space)]

    def check(self, segments):
        """Raise NotFollowed if the copy wrote to such a value, or gave away a function, which may read one later."""
        steps = [e for s in segments for e in s.steps()]
        how, what = segments[-1].question or ("", ())
        given = [*[v for e in steps for v in e.params.values()], *[getattr(v, "value", v) for v in what if how == "return"]]
        if (
            any([isinstance(v, types.FunctionType) for v in given])
            or any([x.variable is not var for x, var in self.started])
            or any([e.op.card.acts(e.params) for e in steps])
        ):
            raise NotFollowed


def _names(code):
    """Names that code and the functions inside it use."""
    inner = [name for part in code.co_consts if isinstance(part, types.CodeType) for name in _names(part)]
    return {*code.co_names, *inner}
