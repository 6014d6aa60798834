"""What a mapped function reads from around it, made varying before the map starts, in one order on all ranks.

A parameter in the closure of a `pmap`ped function, followed by a transformation around the map, must get the
cotangents of all ranks. Doing that where it meets a lane would give each rank another sequence of collectives as soon
as lanes take different branches; so the closure is searched first, as far as Python shows it: cells and defaults of
functions, `partial`, bound methods, trees, attributes of objects. What escapes the search (a global, say) is found
afterwards by `Watch`.
"""

import copy
import functools
import types

from ..ad import Dual, Reverse
from ..ad.reverse.tape import ReverseRun
from ..dispatch import Layer, layers_of, open_runs, tree
from ..dsl import Traced
from ..dsl.jit.wrapper import Jitted
from ..dsl.layers.tracing import TraceRun

MAX_STEPS = 12  # steps from the function within which a value is found: a closure may lead to the whole program
_OPAQUE = (types.ModuleType, type, types.BuiltinFunctionType, str, bytes)


def substituted(f, change):
    """f with each layer value x that it reads replaced by `change(x)`; f itself if it reads none.

    Functions, trees and objects on the way to such a value are copied, all else is shared with f.
    """
    return _Substitution(change).of(f)


class _AsItIs:
    """The stand-in of a function under jit that reads such a value: the function without jit, as its programs hold the value
    itself."""

    quick = None

    def __init__(self, f):
        self.f = f

    def __call__(self, *args, **kwargs):
        return self.f(*args, **kwargs)


class _Substitution:
    """One search; `made`: id -> (original, its replacement), so that each value is changed once and cycles end."""

    def __init__(self, change):
        self.change, self.made = change, {}

    def of(self, x):
        if id(x) in self.made:
            return self.made[id(x)][1]
        if not _reads(x):
            return x
        if isinstance(x, Layer):
            return self._keep(x, self.change(x))
        if isinstance(x, types.FunctionType):
            return self._function(x)
        if isinstance(x, functools.partial):
            return functools.partial(self.of(x.func), *self.of(x.args), **self.of(x.keywords))
        if isinstance(x, types.MethodType):
            return types.MethodType(self.of(x.__func__), self.of(x.__self__))
        leaves, structure = tree.flatten(x)
        if structure is not tree.LEAF:
            return self._keep(x, tree.unflatten(structure, [self.of(leaf) for leaf in leaves]))
        if isinstance(x, Jitted):
            return self._keep(x, _AsItIs(self.of(x.f)))
        made = self._keep(x, copy.copy(x))
        for name, value in vars(x).items():
            object.__setattr__(made, name, self.of(value))
        return made

    def _keep(self, x, replacement):
        self.made[id(x)] = x, replacement
        return replacement

    def _function(self, f):
        old = f.__closure__ or ()
        # a cell without such a value stays itself, so that what the function assigns to it is seen outside
        cells = tuple(types.CellType() if not _is_empty(c) and _reads(c.cell_contents) else c for c in old)
        made = types.FunctionType(f.__code__, f.__globals__, f.__name__, None, cells or None)
        self._keep(f, made)  # before the cells are filled: a recursive function reads itself
        made.__dict__.update(f.__dict__)
        made.__qualname__ = f.__qualname__
        made.__defaults__, made.__kwdefaults__ = self.of(f.__defaults__), self.of(f.__kwdefaults__)
        for cell, its in zip(cells, old, strict=True):
            if cell is not its:
                cell.cell_contents = self.of(its.cell_contents)
        return made


def _reads(x, seen=None, depth=MAX_STEPS):
    """Return whether a layer value can be reached from x."""
    seen = set() if seen is None else seen
    if isinstance(x, Layer):
        return True
    if id(x) in seen or not depth:
        return False
    seen.add(id(x))
    return any(_reads(part, seen, depth - 1) for part in _contents(x))


def _contents(x):
    if x is None or isinstance(x, _OPAQUE):
        return ()
    if isinstance(x, types.FunctionType):
        cells = [cell.cell_contents for cell in x.__closure__ or () if not _is_empty(cell)]
        return [*cells, x.__defaults__, x.__kwdefaults__]
    if isinstance(x, functools.partial):
        return (x.func, x.args, x.keywords)
    if isinstance(x, types.MethodType):
        return (x.__func__, x.__self__)
    leaves, structure = tree.flatten(x)
    if structure is not tree.LEAF:
        return leaves
    if isinstance(x, Jitted):
        return (x.f,)
    ours = type(x).__module__.partition(".")[0] == __name__.partition(".")[0]
    return () if ours else list(getattr(x, "__dict__", {}).values())


def _is_empty(cell):
    try:
        _ = cell.cell_contents
    except ValueError:
        return True
    return False


class Watch:
    """Finds what the body of a map reads from around it without having been made varying.

    Made before the arguments and the closure are; `start` is called when they are done.
    """

    def __init__(self):
        runs = open_runs()
        tapes = [run for run in runs if isinstance(run, ReverseRun)]
        self.jitted = [run for run in runs if tapes and isinstance(run, TraceRun) and run.answers]
        self._settle()
        self.tapes = [(run, len(run.tape)) for run in tapes]
        traces = [run for run in runs if isinstance(run, TraceRun) and not run.performs]
        self.traces = [(run, len(run.recorded())) for run in traces]
        self.own = set()  # values from before that are those of the lanes here all the same

    def __bool__(self):
        return bool(self.tapes or self.traces)

    def _settle(self):
        """Have what jit has recorded so far happen now, before what is noted next: a tape around it grows only then."""
        for run in self.jitted:
            if not run.performs:
                run.pending()  # type: ignore[attr-defined]

    def start(self):
        self._settle()
        self.starts = [len(run.tape) for run, _ in self.tapes], [len(run.recorded()) for run, _ in self.traces]

    def allow(self, x):
        """Note that a value from before belongs to the lanes here: a collective around the map has given it to each of them."""
        for part in layers_of(x):
            if isinstance(part, Reverse):
                self.own.add((part.run, part.index))
            elif isinstance(part, Traced):
                self.own.add(part.variable)
            elif isinstance(part, Dual):
                self.allow(part.tangent)

    def escaped(self, results):
        """The enclosing transformation of which the body, or one of its results, has an invariant value; else None."""
        for (run, mark), start in zip(self.tapes, self.starts[0], strict=True):
            before = lambda i, run=run, mark=mark: i < mark and (run, i) not in self.own
            outside = lambda x, run=run, before=before: isinstance(x, Reverse) and x.run is run and before(x.index)
            parents = (node[3] for node in run.tape[start:])
            read = any(before(p) if type(p) is int else any(map(before, p)) for p in parents)
            if read or any(_holds(x, outside) for x in results):
                return run
        for (run, mark), start in zip(self.traces, self.starts[1], strict=True):
            if run.performs:  # it has gone on eagerly: what is computed is no value of it
                continue
            steps = run.recorded()
            inside = {v for e in steps[mark:] for v in e.outputs} | {v for v, _ in run.constants.values()} | self.own
            outside = lambda x, run=run, inside=inside: isinstance(x, Traced) and x.run is run and x.variable not in inside
            read = any(hasattr(v, "aval") and v not in inside for e in steps[start:] for v in e.inputs)
            if read or any(_holds(x, outside) for x in results):
                return run
        return None


def _holds(x, test):
    """Return whether the test is true of a layer of x."""
    while isinstance(x, Layer):
        if test(x) or isinstance(x, Dual) and _holds(x.tangent, test):
            return True
        x = x.below
    return False
