"""Layers: the values that transformations follow, one class per kind and nesting depth.

`Reverse[2]` is the class of values of a reverse-mode transformation entered at depth 2. Among the arguments of a call
the deepest class wins; its layer unwraps values of its own class and run, treats all else as constants and calls the
operation again. Nesting order alone decides, so there is no precedence, no ambiguity and no perturbation confusion.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn, Self

from .annotations import T
from .arrays import Array, LayerMeta
from .callers import caller, is_library
from .error_causes import caught, explain, reason
from .errors import ConcreteValueError, LeakedLayerError
from .layer_checks import no_concrete, no_target, not_there, slot_below
from .shapes_dtypes import dtype_of, shape_of
from .type_tests import PlainMembers, Standing, set_class

current_run: ContextVar[Run | None] = ContextVar("polyad_run", default=None)  # the run of the innermost transformation
_lock = threading.Lock()


def _while_open(concrete):
    """A value that has left its transformation answers no `if` and is no index."""

    @functools.wraps(concrete)
    def checked(self):
        if self.run.closed and not self.lasting:
            raise self.run.leaked()
        try:
            return concrete(self)
        except ConcreteValueError as error:
            noted(self, error)
            raise

    return checked


class Layer(Standing, Array, PlainMembers, metaclass=LayerMeta):
    """Base class of the values that a transformation follows; subclass it for a transformation of your own.

    A subclass is a kind, and `Kind[depth]` the class of its values in a transformation entered at that depth. It has slots,
    `run` among them, and `holds`, the name of the slot with the value below, from which shape and dtype come. It defines:

    `target(cls, generic, types)`: the function (*arrays, **params) that carries out an operation whose deepest values are of
    class `cls`. `types` are the classes of the arrays. The function calls `generic.spread`, the same operation, on the values
    below its own, and wraps the result. `generic.name` is the operation's name.
    `concrete(self)`: the plain NumPy array for Python's `if` and indices, mostly `polyad.concrete` of the value below.
    `lift`: like `target`, for operations on programs (`cond`, `scan`); `polyad.step_into`, or None to see them as one each.

    In-place code rebinds a value: the object that a user holds takes the state of another one. So what is kept beyond the
    operation at hand is a `polyad.snapshot`. Such values are used after the end of their run: `polyad.LeakedLayerError`.

    >>> import numpy as np, polyad as pa
    >>> class Named(pa.Layer):
    ...     "A value that notes the names of the operations it goes through."
    ...     __slots__ = ("run", "value")
    ...     holds = "value"
    ...     def __init__(self, value, run):
    ...         self.value, self.run = value, run
    ...     def concrete(self):
    ...         return pa.concrete(self.value)
    ...     @classmethod
    ...     def target(cls, generic, types):
    ...         mine = [t is cls for t in types]
    ...         def run(*args, **params):
    ...             r = args[mine.index(True)].run
    ...             pa.check_runs(r, args, cls)
    ...             r.names.append(generic.name)
    ...             y = generic.spread(*[a.value if m else a for a, m in zip(args, mine)], **params)
    ...             return pa.tree.map(lambda v: cls(v, r), y)
    ...         return run
    >>> class Names(pa.Run):
    ...     def __init__(self):
    ...         super().__init__("names")
    ...         self.names = []
    >>> with Names() as run:
    ...     y = np.sin(Named[run.depth](np.zeros(2), run)) * 2.0
    >>> run.names, y.value
    (['sin', 'multiply'], array([0., 0.]))
    """

    # memory: with which values it shares elements, kept by dsl/aliasing.py; root: of what it is the root, by dsl/roots.py
    __slots__ = ("__weakref__", "memory", "root")
    run: Any
    below: Any

    if TYPE_CHECKING:

        def __getattr__(self, name: str, /) -> Any: ...  # the slots of its kinds

    state: tuple[str, ...] = ()  # the slots that make up the value
    restate: Any = None  # function(self, other): take over the other's slots
    # the slot of the value one layer down, of a kind whose shape and dtype are those of that: they are made here
    holds: Any = None
    only_arrays = False  # whether what it holds is never a Python number, which has no dtype: then they are asked directly
    depth = 0
    classes: Any = None  # per kind: depth -> class
    companion: Any = None  # a kind of the same depth whose values this kind takes in (Batched takes Replicated)
    keeps_composites = False  # whether composite operations are handed over whole instead of their body
    sees_inner = False  # whether its targets see by themselves that a trace inside takes calls over (`captured`)
    lift: Any = None  # like `target`, for operations on programs whose cards have a rule `lift`
    stepwise = False  # whether each operation on its values is to be seen, the same ones each time: not as a compiled program
    follows = False  # whether it follows derivatives
    lasting = False  # whether values may be used beyond what follows them; their `followed` says whether that is still so

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "depth" not in cls.__dict__:  # a kind, not one of its classes
            cls.classes = {}
        own = cls.__dict__.get("__slots__", ())
        cls.state = (*cls.state, *((own,) if isinstance(own, str) else own))
        cls.restate = _restating(cls.state)
        if "holds" in cls.__dict__:
            cls.below = slot_below(cls, cls.holds)
            if cls.only_arrays:
                cls.shape, cls.dtype = [property(attrgetter(f"{cls.holds}.{name}")) for name in ("shape", "dtype")]
            else:
                cls.shape, cls.dtype = [property(lambda self, ask=ask: ask(self.below)) for ask in (shape_of, dtype_of)]
        if "concrete" in cls.__dict__:  # here, so that no kind can forget it
            cls.concrete = _while_open(cls.concrete)

    def __class_getitem__(cls, depth):
        """`Kind[depth]`: the class for that depth, made once."""
        made = cls.classes.get(depth)
        if made is None:
            with _lock:
                made = cls.classes.get(depth)
                if made is None:
                    name = f"{cls.__name__}[{depth}]"
                    namespace = {"depth": depth, "__slots__": (), "__module__": cls.__module__, "__qualname__": name}
                    made = cls.classes[depth] = type(cls)(name, (cls,), namespace)
        return made

    @classmethod
    def target(cls, generic: Any, types: Any) -> Any:
        """The function that carries out `generic` for arguments of these types at this layer."""
        raise no_target(generic, cls)

    @_while_open
    def concrete(self) -> Any:
        """This value as a plain NumPy array for Python's control flow, if it has one."""
        raise no_concrete(self)

    def standing(self) -> type:
        """The class of the plain value in whose place it is, for Python's type tests (type_tests.py)."""
        below = self.below
        return below.standing() if Layer in type(below).__mro__ else type(below)

    def __repr__(self):
        return f"{type(self).__name__}({self.below!r})"

    def made_as(self, other: Any, alike: Callable[[Any, Any], bool]) -> bool:
        """Return whether another value of its run equals it with all its derivatives, because it was made alike."""
        return all(map(alike, self.parts(), other.parts()))

    def parts(self) -> list[Any]:
        """List the values in its slots, its run apart."""
        return [getattr(self, name) for name in self.state if name != "run"]

    def remade(self, change: Callable[[Any], Any]) -> Any:
        """It with `change(part)` in the place of each part; itself if nothing changes."""
        y = snapshot(self)
        for name in self.state:
            if name != "run":
                setattr(y, name, change(getattr(self, name)))
        return self if all([a is b for a, b in zip(self.parts(), y.parts(), strict=True)]) else y

    def __reduce_ex__(self, protocol):
        raise ConcreteValueError(
            f"{type(self).__name__}: a value followed by a transformation cannot be pickled or sent to another "
            "process; return it from the transformed function and send the result"
        )


@functools.cache
def _restating(state):
    """The function that sets these slots of a value to another's: written out, a third of the time of a loop over names."""
    body, namespace = "; ".join(["pass", *[f"self.{name} = other.{name}" for name in state]]), {}
    exec(f"def restate(self, other): {body}", namespace)
    return namespace["restate"]


def become(x, y):
    """Rebind a layer value: from here on x is what y is, for everyone who holds x."""
    if type(x) is not type(y):
        set_class(x, type(y))  # a value that is the same in all lanes, written to in some of them
    type(y).restate(x, y)
    x.root = getattr(y, "root", None)


def settled(x: Any) -> Any:
    """x, or what it holds if it is of a lasting kind and nothing follows it any more: the value of a tape after its end."""
    while Layer in type(x).__mro__ and x.lasting and not x.followed:
        x = x.below
    return x


def snapshot(x: T) -> T:
    """x as it is now, whatever is written to it later: a layer value as an object of its own, all else as it is.

    For what a transformation of your own keeps of its arguments, and for the results that it hands out.

    >>> import numpy as np, polyad as pa
    >>> kept = []
    >>> def f(x):
    ...     kept.extend([x, pa.snapshot(x)])
    ...     x[0] = 0.0
    ...     return pa.sum(kept[0]) - pa.sum(kept[1])
    >>> pa.grad(f)(np.ones(2))
    array([-1.,  0.])
    """
    cls: Any = type(x)
    if Layer not in cls.__mro__:  # isinstance would take ten times as long
        return x
    if cls.lasting and settled(x) is not x:
        return snapshot(settled(x))
    y: Any = object.__new__(cls)
    y.restate(x)
    return y


def layers_of(x):
    """The layer values that x is made of, x first and each one layer further down; none for an array."""
    while Layer in type(x).__mro__:
        yield x
        x = x.below


_THREAD = "a thread started inside a transformation must run in a copied context (contextvars.copy_context().run)"


class Run:
    """One execution of a transformation; used as a context manager around the user's function.

    name: how messages call it. Within it `depth` is how deep it is entered, 1 for the outermost; at its end every later
    operation on its values becomes a `polyad.LeakedLayerError`, and it must end before the run around it does. Subclass it
    for what a transformation keeps, and for `constant`, so that its values can be written into new arrays.

    >>> import polyad as pa
    >>> with pa.Run("outer") as outer:
    ...     with pa.Run("inner") as inner:
    ...         print(outer.depth, inner.depth, outer.closed)
    1 2 False
    >>> outer.closed
    True
    """

    __slots__ = ("__weakref__", "closed", "depth", "inner", "name", "outer", "place", "refusal", "rooted")

    def __init__(self, name: str) -> None:
        self.name, self.closed, self.refusal = name, False, None
        self.inner = None  # the trace inside that records what is done with its values: `capture(generic, args, params)`
        self.rooted = False  # whether one of its values remembers of what it is the root
        self.place = caller()

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            raise not_there(self, name, Run.__slots__)

    @property
    def where(self) -> str:
        """file:line where the transformation was entered."""
        return "an unknown place" if self.place is None else f"{self.place[0]}:{self.place[1]}"

    def __enter__(self) -> Self:
        outer = self.outer = current_run.get()
        self.depth = 1 if outer is None else outer.depth + 1
        current_run.set(self)
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        self.close()
        innermost = current_run.get()
        if innermost is self or self in open_runs():  # not if this one is left after its surroundings
            current_run.set(self.outer)
        if innermost is not self and error is None:
            raise LeakedLayerError(
                f"{self.name} (entered at {self.where}) ends while {innermost.name if innermost else 'nothing'} is the "
                "innermost transformation: they must end in the order opposite to their beginning; a generator "
                "suspended inside one must be finished before it ends"
            )
        refusal, self.refusal = self.refusal, None
        if error is None and refusal is not None:
            error = caught(refusal, is_library)
            if error is not None:
                raise error
            return
        why = None if error is None else reason(error, traceback, refusal, is_library)
        if why is not None:
            raise why.with_traceback(traceback) from None
        if error is not None and self.depth == 1:
            explain(error, traceback, self, Layer)

    @contextlib.contextmanager
    def outside(self) -> Iterator[None]:
        """Code in its surroundings, while it is under way: as if it had not been entered."""
        inside = current_run.get()
        if not self.closed:
            current_run.set(self.outer)
        try:
            yield
        finally:
            current_run.set(inside)

    def close(self) -> None:
        self.closed = True

    remarks = None  # lists of what is to be said at its end
    of_values = True  # whether it follows values; else the tangents alone of a forward pass directly inside of it
    sees_effects = False  # whether operations with an effect pass through it, whatever they are applied to (effects.py)
    counts = True  # whether what its values do is not done by another process, too, whose values they are
    records = False  # whether it makes a program of what is called, instead of calling it

    def looks_up(self, x: Any) -> bool:
        """Return whether the program that it makes may be run with other numbers in the place of those of the array x."""
        return self.records

    def once(self, name: str, perform: Callable[[], Any]) -> Any:
        """The result of an operation with an effect: `perform()`, unless the run knows that this has happened already."""
        return perform()

    def has_acted(self) -> None:
        """Note that something was done which must not be done twice, as by running the function again."""

    def takes_steps(self, name: str, params: Any) -> bool:
        """Return whether the operation of this name, on programs with effects, is run step by step here."""
        return False

    def same(self, value: Any) -> Any:
        """A value as one of this transformation, without changing what is done with it."""
        return self.constant(value)

    def written(self, x: Any, new: Any, others: Any) -> bool:
        """Called before a value x of this run is rebound to `new`, and with it the others that share its elements: whether
        the run has carried out the write in another way."""
        return False

    def constant(self, value: Any) -> Any:
        """A value without anything to follow (an array, or a value of an outer run) as a value of this transformation,
        so that followed values can be written into it; of the next outer one if this one does not follow its dtype."""
        return value if self.outer is None else self.outer.constant(value)

    def leaked(self) -> LeakedLayerError:
        """The error for a value of this run that is met after its end."""
        return LeakedLayerError(
            f"a value of {self.name} (entered at {self.where}) was used after that transformation ended; return it "
            "from the transformed function instead of storing it outside"
        )

    def foreign(self, other: Run) -> LeakedLayerError:
        """The error for values of two runs of one depth in the same operation."""
        for run in (self, other):
            if run.closed:
                return run.leaked()
        return LeakedLayerError(
            f"values of two transformations of the same depth met: {self.name} (entered at {self.where}) and "
            f"{other.name} (entered at {other.where}); {_THREAD}"
        )

    def elsewhere(self) -> LeakedLayerError:
        """The error for a value of this run among those of a thread that runs outside of it."""
        return LeakedLayerError(
            f"a value of {self.name} (entered at {self.where}, depth {self.depth}) was used at depth "
            f"{current_depth()}, outside of that transformation; {_THREAD}"
        )


def innermost_run():
    """The run of the innermost transformation that encloses this point, or None."""
    return current_run.get()


def current_depth():
    """Count the transformations that enclose this point."""
    run = current_run.get()
    return 0 if run is None else run.depth


def open_runs():
    """The runs of the transformations that enclose this point, innermost first."""
    runs, run = [], current_run.get()
    while run is not None:
        runs.append(run)
        run = run.outer
    return runs


def refuse(x, what, advice) -> NoReturn:
    """Raise: Python asked `what` of a followed value, which would drop what the transformation follows."""
    if x.run.closed:
        raise x.run.leaked()
    error = ConcreteValueError(
        f"{what} of a {type(x).__name__} of {x.dtype}{list(x.shape)}: the number alone would lose what the "
        f"transformation follows; {advice}{_unwritable(x.run)}"
    )
    noted(x, error)
    raise error


def _unwritable(run):
    """Return what a run lacks whose values are to be written into an array, as text."""
    if type(run).constant is not Run.constant:
        return ""
    return (
        f". {type(run).__name__} defines no `constant(self, value)`, which makes a value of this transformation of an array: "
        "without it no array takes its values in, polyad.zeros(shape) neither"
    )


def noted(x, error):
    """Remember what refuses Python's question until the transformation is left: C code may raise its own error instead.
    Returns it."""
    run = x.run if isinstance(x, Layer) and x.depth else None  # not that of variables, which nobody leaves
    if run is not None:
        place = caller()
        asked_again = run.refusal is not None and run.refusal[1] == place  # NumPy asks for DLPack by two protocols
        if asked_again or caught(run.refusal, is_library) is None:
            run.refusal = error, place
    return error
