"""Layers: the values that transformations follow, one class per kind and nesting depth.

`Reverse[2]` is the class of values of a reverse-mode transformation entered at depth 2. Among the arguments of a call
the deepest class wins; its layer unwraps values of its own class and run, treats all else as constants and calls the
operation again. Nesting order alone decides, so there is no precedence, no ambiguity and no perturbation confusion.
"""

import numbers
import sys
import threading
from abc import ABCMeta
from contextvars import ContextVar
from pathlib import Path

import numpy as np

from .errors import ConcreteValueError, LeakedLayerError

_depth = ContextVar("polyad_depth", default=0)
_package = str(Path(__file__).resolve().parent.parent)
_lock = threading.Lock()


class ArrayMeta(ABCMeta):
    """Makes `Array.register(T)` seen by the next call of every generic function."""

    def register(cls, subclass):
        from .generic import clear_all

        super().register(subclass)
        clear_all()
        return subclass


class Array(metaclass=ArrayMeta):
    """Whatever an operation takes: dense arrays and numbers, layer values, containers. For annotations.

    `dsl` installs the operators and the methods (`x + y`, `x.sum()`, `x[i]`) on this class.
    """

    __slots__ = ()


class HostArray(metaclass=ArrayMeta):
    """NumPy arrays, NumPy scalars and Python numbers: what NumPy kernels take. For annotations."""


for host in (np.ndarray, np.generic, numbers.Number):
    Array.register(host)
    HostArray.register(host)


class Layer(Array):
    """Base class of layer values. `depth` is the nesting depth of the transformation, `run` its one execution."""

    __slots__ = ()
    depth = 0
    classes = None  # per kind: depth -> class
    companion = None  # a kind of the same depth whose values this kind takes in (Batched takes Replicated)
    keeps_composites = False  # whether composite operations are handed over whole instead of their body

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "depth" not in cls.__dict__:  # a kind, not one of its classes
            cls.classes = {}

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
    def target(cls, generic, types):
        """The function that carries out `generic` for arguments of these types at this layer."""
        raise NotImplementedError

    def concrete(self):
        """This value as a plain NumPy array for Python's control flow, if it has one."""
        raise NotImplementedError

    def __reduce_ex__(self, protocol):
        raise ConcreteValueError(
            f"{type(self).__name__}: a value followed by a transformation cannot be pickled or sent to another "
            "process; return it from the transformed function and send the result"
        )


class Run:
    """One execution of a transformation; used as a context manager around the user's function.

    Closing it makes every later operation on its values a `LeakedLayerError`.
    """

    __slots__ = ("closed", "depth", "name", "place")

    def __init__(self, name):
        self.name = name
        self.closed = False
        self.place = caller()

    @property
    def where(self):
        """file:line where the transformation was entered."""
        return "an unknown place" if self.place is None else f"{self.place[0]}:{self.place[1]}"

    def __enter__(self):
        self.depth = _depth.get() + 1
        _depth.set(self.depth)
        return self

    def __exit__(self, kind, error, traceback):
        self.close()
        current = _depth.get()
        if current != self.depth and error is None:
            raise LeakedLayerError(
                f"{self.name} (entered at {self.where}) ends at depth {current}, not at its own depth {self.depth}: "
                "transformations must end in the order opposite to their beginning; a generator suspended inside "
                "one must be finished before it ends"
            )
        _depth.set(self.depth - 1)

    def close(self):
        self.closed = True

    def leaked(self):
        """The error for a value of this run that is met after its end."""
        return LeakedLayerError(
            f"a value of {self.name} (entered at {self.where}) was used after that transformation ended; return it "
            "from the transformed function instead of storing it outside"
        )

    def foreign(self, other):
        """The error for values of two runs of one depth in the same operation."""
        for run in (self, other):
            if run.closed:
                return run.leaked()
        return LeakedLayerError(
            f"values of two transformations of the same depth met: {self.name} (entered at {self.where}) and "
            f"{other.name} (entered at {other.where}); a thread started inside a transformation must run in a "
            "copied context (contextvars.copy_context().run)"
        )


def current_depth():
    """How many transformations enclose this point."""
    return _depth.get()


def caller():
    """(file, line) of the innermost frame outside the library, or None, for messages."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        inside = _inside.get(file)
        if inside is None:
            inside = _inside[file] = _is_inside(file)
        if not inside:
            return file, frame.f_lineno
        frame = frame.f_back
    return None


_inside = {}  # source file -> whether it is the library's


def _is_inside(file):
    """Tests and tutorials lie below the package's folder in a checkout but are the user's code."""
    if file.startswith("<generic "):
        return True
    return file.startswith(_package) and not file[len(_package) + 1 :].startswith(("tests", "tutorials", ".venv"))


def refuse(x, what, advice):
    """Raise: Python asked `what` of a followed value, which would drop what the transformation follows."""
    raise ConcreteValueError(
        f"{what} of a {type(x).__name__} of {x.dtype}{list(x.shape)}: the number alone would lose what the "
        f"transformation follows; {advice}"
    )
