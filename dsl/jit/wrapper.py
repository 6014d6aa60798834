"""`jit`: what users call, and the way from a call to its tree."""

from __future__ import annotations

import functools
import inspect
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from ...dispatch import DTypeError, Layer, PerformanceWarning, StructureError, describe, isa, watchers
from ...dispatch.callers import warn
from ..avals import is_number
from ..axes import enclosing_axes
from ..debug.nans import checking
from ..ir.pass_selection import checked
from ..layers.tracing import in_trace
from ..placement import placed_tree
from .arguments import Arguments, fits_numpy, is_array, kind_of, objects_among, stepwise, variable_for
from .array_escape import only_met
from .captured_arrays import Adoption, NotFollowed
from .disable import switched, switches
from .execution import execute, shorten
from .fast_call import MISS, quick_entry
from .globals_key import Held, Reads, label_of, state
from .impure import Doubt
from .outside_arrays import OFTEN, PATIENCE, WARN_BYTES, alike
from .recursion import call_in_trace
from .segments import Tree
from .statics import changeable, key_of
from .writes import KEPT

if TYPE_CHECKING:
    from .annotations import Jit

MAX_SIGNATURES = 256  # kinds of arguments that are kept


def _with_attributes(function: Any) -> Jit:
    """`jit` as type checkers see it: the folder's front door gives it explain, programs and source."""
    return function


@_with_attributes
def jit(
    f=None, *, static_argnums=(), static_argnames=(), donate_argnums=(), donate_argnames=(), passes=None,
    in_shardings=None, out_shardings=None,
):  # fmt: skip
    """A function that does what f does, faster: its operations are recorded once and run as compiled programs.

    f: function of arrays, numbers and trees of them; other arguments (text, functions, objects) are static: another one is
    another program. static_argnums, static_argnames: further arguments to be static, by position or name; they must be
    hashable. donate_argnums, donate_argnames: arguments that the caller does not use any more, whose memory may become that
    of results. passes: names among `PASSES` of the steps of compilation that are on, for a look at what each does, or to find
    one at fault; None for all, or, inside another jitted function, for those of that. The result is the same with any.
    in_shardings, out_shardings: a `PartitionSpec` for each argument and result, or a tree whose upper part is theirs, None for
    what stays where it is: arguments are sharded before f is called, results within (`with_sharding_constraint`).

    Python's `if`, `while`, `for`, early return, recursion and `try` work: where Python asks for a value, what was recorded
    so far runs, and the answer selects how the tree of programs goes on. The result is what f gives at that call: whatever f
    reads outside (globals, variables of enclosing functions, attributes, what containers and arrays hold) is looked at again
    each time, and where that cannot be, or f draws random numbers, asks a clock or writes outside, f runs eagerly, with one
    warning that names it. The one difference: compiled results are arrays of their own, that share no memory with arguments
    or with arrays outside, also where NumPy gives a view or the array itself.

    What f only adds to a list, and what it prints, happens when it is traced; the first is said in a warning. Python numbers
    are computed with as NumPy's of 64 bits. An operation whose result nothing uses is left out, so that it does not fail. After
    float(x), .item(), np.asarray(x), print(x) or too many different answers, f runs eagerly, with one warning. A function that
    calls itself inside a `cond` becomes one program that calls itself.

    Under other transformations the programs are transformed: grad(jit(f)) runs a compiled forward and a compiled backward
    program. `f.clear_cache()` forgets what was compiled; `jit.explain(f)` shows the tree, `jit.programs(f)` the programs
    and `jit.source(f)` their C; `with disable_jit():` runs f as it is. Raises StructureError for static arguments that
    cannot be hashed, generator functions and other names of passes, MutationError if f changes an argument.

    >>> import numpy as np, polyad as pa
    >>> @pa.jit
    ... def collatz(n):
    ...     steps = 0
    ...     while n != 1:
    ...         n = n // 2 if n % 2 == 0 else 3 * n + 1
    ...         steps += 1
    ...     return steps
    >>> collatz(6), collatz(7)
    (8, 16)
    >>> @pa.jit
    ... def factorial(r, x):
    ...     return pa.cond(x <= 1, lambda: r, lambda: factorial(r * x, x - 1))
    >>> float(factorial(1.0, 5.0)), float(pa.grad(factorial)(1.0, 5.0))
    (120.0, 120.0)
    """
    options = {"static_argnums": static_argnums, "static_argnames": static_argnames,
               "donate_argnums": donate_argnums, "donate_argnames": donate_argnames, "passes": passes}  # fmt: skip
    if f is None:
        return functools.partial(jit, **options, in_shardings=in_shardings, out_shardings=out_shardings)
    if isinstance(f, (staticmethod, classmethod)):
        return type(f)(jit(f.__func__, **options))
    if in_shardings is not None or out_shardings is not None:
        return _placing(f, in_shardings, out_shardings, options)
    jitted = Jitted(f, **options)

    @functools.wraps(f)
    def run(*args, **kwargs) -> Any:
        quick = jitted.quick
        if quick is not None:
            y = quick(args, kwargs)
            if y is not MISS:
                return y
        return jitted(*args, **kwargs)

    run.jitted, run.clear_cache = jitted, jitted.clear  # type: ignore[attr-defined]
    return run


def _placing(f, in_shardings, out_shardings, options):
    """Return jit of a function whose arguments and results lie where these say."""
    name = getattr(f, "__name__", type(f).__name__)

    @functools.wraps(f)
    def within(*args, **kwargs):
        y = f(*args, **kwargs)
        return y if out_shardings is None else placed_tree(y, out_shardings, f"jit({name}): out_shardings")

    inner = jit(within, **options)

    @functools.wraps(f)
    def run(*args, **kwargs):
        if in_shardings is not None:
            args = placed_tree(args, in_shardings, f"jit({name}): in_shardings")
        return inner(*args, **kwargs)

    run.jitted, run.clear_cache = inner.jitted, inner.clear_cache  # type: ignore[attr-defined]
    return run


class Jitted:
    """A function under jit. quick: the short way for arguments like the last ones, or None; asking: kinds of calls of
    itself for which it asks Python for values. read_through: what of this reads, for functions that call it."""

    read_through = ("f",)

    def __init__(self, f, passes=None, **options):
        if not callable(f):
            raise DTypeError(f"jit: {describe(f)} is no function")
        name = getattr(f, "__name__", type(f).__name__)
        for test in (inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction):
            if test(f) or test(vars(type(f)).get("__call__")):
                raise StructureError(
                    f"jit({name}): it is a generator or coroutine, which runs bit by bit after the call; return a list, "
                    "and put jit on what is called for each element"
                )
        self.f, self.name = f, f"jit({name})"
        self.passes = None if passes is None else checked(self.name, passes)
        self.arguments = Arguments(f, self.name, **options)
        self.lock = threading.Lock()
        self.clear()

    def clear(self):
        """Forget all programs."""
        self.quick, self.asking = None, set()
        self.shared = {}  # equal programs -> the one that is used
        self.reads = {}  # objects among the arguments -> Reads
        self.known = {}  # places -> Reads
        self.full, self.said = False, set()
        self.changeable = False  # whether arguments have had static attributes that may be changed

    def flatten(self, args, kwargs):
        """See `Arguments`."""
        return self.arguments.flatten(args, kwargs)

    def __call__(self, *args, **kwargs):
        if switches and switched() or watchers and checking():
            return self.f(*args, **kwargs)
        leaves, structure = self.arguments.flatten(args, kwargs)
        key, plain, others = [structure], True, False
        for x in leaves:
            if type(x) is np.ndarray:
                key.append(x.shape)
                key.append(x.dtype)
                continue
            if isinstance(x, Layer):
                if in_trace(x):
                    return call_in_trace(self, args, kwargs)
                if stepwise(x):
                    return self.f(*args, **kwargs)
            if is_number(x):
                if not fits_numpy(x):
                    return self.f(*args, **kwargs)
            elif not isa(x, np.generic):
                plain = plain and not is_array(x)
                others = True
            key.append(kind_of(x))
        axes = enclosing_axes()
        if axes:
            key += [(a.name, a.size, a.varying) for a in axes]
        given = self.arguments.given(args, kwargs, leaves) if self.arguments.donated else ()
        if self.arguments.donated:
            key.append(bool(given))
        objects, statics = objects_among(leaves) if others else (), None
        if self.changeable and changeable(structure):
            try:
                statics = key_of(structure)
            except Doubt as doubt:
                self.say(*doubt.args)
                return self.f(*args, **kwargs)
            key[0], objects = statics[0], [*objects, *statics[1]]
        key = tuple(key)
        owner = tuple([Held(x) for x in objects])
        known = self.reads.get(owner)
        reads = known or self._search(owner, objects)
        if not reads.eager:
            call = key, leaves, objects, (structure, bool(kwargs)), given
            try:
                found = self._tree(owner, reads, known is not None, *call)
            except Doubt as doubt:
                reads.eager = doubt.args
            else:
                if found is None:
                    return self(*args, **kwargs)
                tree, values, arrays, reads, read = found
                if statics is not None:  # the objects of this call
                    tree.structure, tree.statics = (structure, bool(kwargs)), statics
        if reads.eager:
            self.say(*reads.eager)
            return self.f(*args, **kwargs)
        if tree.eager:
            return self.f(*args, **kwargs)
        for x in arrays:
            if isinstance(x, Layer):
                if in_trace(x) or stepwise(x):
                    return self.f(*args, **kwargs)
                plain = False
        watch = tree.watch
        if watch is not None and not watch.unchanged(arrays):
            make = lambda: self._new_tree(key, leaves, (structure, bool(kwargs)), given, arrays, reads, statics)
            return self._again(tree, make, (key, read), leaves, arrays, values)
        short = plain and not axes
        go = tree.go  # another thread may take it away
        if short and go is not None:
            if tree.entry is None:
                entry = None if given else quick_entry(tree, self.arguments.static, args, kwargs, leaves, reads, values, arrays)
                tree.entry = entry or False
            self.quick = tree.entry or self.quick
            return go(*leaves, *arrays)
        result = execute(self, tree, leaves, arrays)
        if reads.eager:
            return result
        if tree.passing:  # it holds a value of a transformation around that no place leads to
            reads.trees.pop((key, read), None)
        elif short and not tree.eager:
            shorten(self, tree)
        return result

    def say(self, what, advice, how="runs eagerly from now on"):
        """Warn once."""
        text = f"{self.name} {how}: it {what}; {advice}"
        if text not in self.said:
            self.said.add(text)
            warn(text, PerformanceWarning)

    def note(self, tree, before, adopted):
        """After a trace: whether f can be followed from now on. before: see `Before`; adopted: numbers of the arrays that were
        values of the trace."""
        for label in before.added:
            if before.doubt is None:
                self.say(f"adds to {label}, outside of it, when it is traced, not at each call", KEPT, "is compiled")
        if before.doubt is not None:
            tree.reads.eager, self.quick = before.doubt, None
            self.say(*before.doubt)
        if before.arrays:
            tree.watch = tree.watch or before.watch
            others = [i for i in range(len(before.arrays)) if i not in adopted]
            tree.watch.needed = [] if only_met(tree, tree.reads, before.values, before.arrays) else others
            plain = [before.arrays[i] for i in tree.watch.needed if isa(before.arrays[i], np.ndarray)]
            many = [x for x in plain if x.nbytes > WARN_BYTES]
            if many and before.doubt is None:
                label = label_of(many[0], tree.reads, before.values)
                what = f"compares {label}, {many[0].nbytes >> 20} MB, with a copy at each call, as NumPy alone may have read it"
                self.say(what, "make it an argument", "is compiled")

    def _tree(self, owner, reads, known, key, leaves, objects, structure, given) -> Any:
        """(the tree of a call, what f reads, the arrays among that, by which way of reading, the state of what it reads); None
        if it turns out that static attributes are to be looked at. known: whether this way of reading is an older one."""
        found = self._look_up(reads, key, objects, leaves)
        if known and (found is None or found[0] is None):
            found = self._look_up(self._search(owner, objects), key, objects, leaves)
        tree, *others = found
        if tree is None:
            if not self.changeable and changeable(structure[0]):
                self.changeable = True
                return None
            unused, arrays, reads, read = others
            tree = self._keep(reads, (key, read), self._new_tree(key, leaves, structure, given, arrays, reads))
        return tree, *others

    def _new_tree(self, key, leaves, structure, given, arrays, reads, statics=None):
        inputs = [variable_for(x) for x in leaves]
        donated = [v for v, x in zip(inputs, leaves, strict=True) if id(x) in given]
        held = [x for x in key if type(x) is Held]
        tree = Tree(self.name, inputs, donated, structure, len(arrays), self.shared, held)
        tree.reads, tree.statics = reads, statics
        return tree

    def _again(self, tree, make, key, leaves, arrays, values):
        """The result of a call before which arrays from outside have changed: f is traced anew, and the tree replaced if
        that is not what it was."""
        self.quick = tree.entry = None
        reads, changes, old = tree.reads, tree.watch.changes + 1, tree.watch.changed(arrays)
        new = make()
        new.adopts = reads.adopts and old in Adoption(self.f, reads, values, arrays).chosen
        try:
            result = execute(self, new, leaves, arrays)
        except NotFollowed:
            new = make()
            result = execute(self, new, leaves, arrays)
        if reads.eager or new.watch is None:
            return result
        new.watch.changes, new.calls = changes, tree.calls + 1
        if changes > PATIENCE and changes * OFTEN > new.calls:
            label = label_of(arrays[old], reads, values)
            reads.eager = f"has NumPy alone compute something of {label}, which changes again and again", "make it an argument"
            self.say(*reads.eager)
        elif alike(tree, new):
            tree.watch, tree.calls, tree.traces = new.watch, new.calls, tree.traces + 1
        else:
            reads.trees[key] = new
        return result

    def _look_up(self, reads, key, objects, leaves) -> Any:
        """As `_tree` by a way of reading, with None for a tree that is not there; None if it cannot be read like this any
        more."""
        try:
            values = reads.read(*objects)
        except (AttributeError, IndexError, TypeError):
            return None
        read, arrays = state(values) if values else ((), ())
        try:
            return reads.trees.get((key, read)), values, arrays, reads, read
        except ValueError:  # a static attribute that is an array, compared with one that is none
            if self.changeable:
                raise
            return None, values, arrays, reads, read
        except TypeError as error:
            raise self.arguments.unhashable(leaves) from error

    def _search(self, owner, objects):
        """Find what f reads now. Where it has been read in the same way before, what was made then is used."""
        found = Reads(self.f, objects)
        with self.lock:
            gone = [o for o in self.reads if any([x.gone for x in o])]
            if len(self.known) >= MAX_SIGNATURES:
                gone = list(self.reads)
            for o in gone:
                del self.reads[o]
            if gone:
                used = list(self.reads.values())
                self.known = {places: reads for places, reads in self.known.items() if reads in used}
            reads = self.reads[owner] = self.known.setdefault(found.places, found)
        return reads

    def _keep(self, reads, key, tree):
        """The tree for a key: the one given, if there is none; the oldest are left out where there are too many, and those
        for objects that are no more."""
        with self.lock:
            for gone in [k for k, t in reads.trees.items() if any([x.gone for x in t.held])]:
                del reads.trees[gone]
            if len(reads.trees) >= MAX_SIGNATURES:
                del reads.trees[next(iter(reads.trees))]
                if not self.full:
                    self.full = True
                    what = f"more than {MAX_SIGNATURES} kinds of its arguments, or of what it reads from outside"
                    advice = "each is compiled by itself: make arrays or arguments of what changes"
                    warn(f"{self.name}: there are {what}; {advice}", PerformanceWarning)
            tree.lifts = any([kind == key[0] for kind, unused in reads.trees])  # what f reads was something else
            return reads.trees.setdefault(key, tree)

    @property
    def trees(self):
        """All trees."""
        return [t for reads in list(self.known.values()) for t in list(reads.trees.values())]
