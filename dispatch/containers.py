"""Containers: array types made of leaf arrays, such as `Diagonal`, outside of the layers.

Transformations flatten their arguments and wrap the leaves, so the function sees `Diagonal(Dual)`; a container's
methods are written in operations on the leaves and need no derivative, batching or tracing rule of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any, Literal, TypeVar

from . import tree
from .arrays import Array
from .callers import warn
from .errors import DensifyError, DensifyWarning, RegistrationError, ShapeError, StructureError, type_name
from .settings import Setting
from .shapes_dtypes import shape_of
from .type_tests import isa

C = TypeVar("C", bound="type[Container]")
_mode = ContextVar("polyad_densify", default="warn")


class Container(Array):
    """Base class of array types. A subclass has leaves, `shape`, `dtype` and, if it can become dense, `dense()`.

    Declared with `@array_type`, which sets:
    leaves: names of the attributes that hold arrays; static: names of those that do not.
    linear: whether leaves -> dense array is linear, so that tangents are of the same type.
    structure_ndim: how many trailing axes the structure spans; axes before them are batch axes, and they are the
        leading axes of each leaf. A type without leaves, or with batch axes elsewhere, defines `lanes` and `stacked`.
    always_zero: set to True by a type whose instances are zeros; as a cotangent one is a symbolic zero.
    Its methods are written in operations on the leaves; one that returns NotImplemented leaves the call to a wider
    method, to the operation's body, or to the dense form (guarded by `polyad.densify`).
    """

    leaves: tuple[str, ...] = ()
    static: tuple[str, ...] = ()
    linear: bool = False
    structure_ndim: int = 0
    densifies = True
    in_parts = False  # whether this process has only a part of the leaves, and others the rest
    always_zero = False
    declared = False

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.densifies = cls.dense is not Container.dense
        if cls.declared:  # a subclass of an array type is one, with the same leaves
            _register(cls)

    def dense(self) -> Any:
        """The same array without structure, from operations on the leaves."""
        raise DensifyError(f"dense: {_no_dense_form(self)}")

    def as_cotangent(self) -> Any:
        """This container of cotangents as an array of the dual space, where that has another form than arrays of this type."""
        return self

    def lanes(self, axis: int, take: Callable[[Any, int], Any]) -> Any:
        """This container with batch axis `axis` handed to `take(leaf, axis)`: what each lane of a `vmap` sees."""
        return rebuild(type(self), [take(getattr(self, name), axis) for name in self.leaves], self._statics())

    def stacked(self, axis: int, size: int, give: Callable[..., Any]) -> Any:
        """The inverse of `lanes`: `give(leaf, axis)` returns the leaf with the lanes as batch axis `axis`."""
        return rebuild(type(self), [give(getattr(self, name), axis) for name in self.leaves], self._statics())

    def _statics(self):
        return tuple(getattr(self, name) for name in self.static)

    def __repr__(self):
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in (*self.leaves, *self.static))
        return f"{type(self).__name__}({fields})"


class Immutable:
    """Base class of what never changes once it is made and is compared by value, such as a static attribute of an array type:
    transformations take it as it is, and do not look into it."""

    __slots__ = ()


class Tangent:
    """Tangent or cotangent of a container whose leaves do not enter linearly: one entry per leaf, added leafwise.

    It has no algebra of the container's type on purpose: a gradient step taken in, say, a low-rank type's arithmetic
    is another matrix. Use `polyad.tree.map(lambda x, g: x - 0.1 * g, x, gradient)`, whose result has the type of x.
    The entries have the leaves' names (`gradient.u`); a leaf without tangent space has `NoTangent`.
    """

    def __init__(self, primal_type: type[Container], leaves: Iterable[Any], statics: Iterable[Any] = ()) -> None:
        self.primal_type, self.statics = primal_type, tuple(statics)
        self.leaves = dict(zip(primal_type.leaves, leaves, strict=True))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "leaves":
            raise AttributeError(name)
        try:
            return self.leaves[name]
        except KeyError:
            raise AttributeError(f"Tangent[{self.primal_type.__name__}] has no leaf {name!r}") from None

    def __add__(self, other):
        if not isinstance(other, Tangent) or other.primal_type is not self.primal_type:
            return NotImplemented
        added = [x + other.leaves[name] for name, x in self.leaves.items()]
        return Tangent(self.primal_type, added, self.statics)

    def __repr__(self):
        return f"Tangent[{self.primal_type.__name__}]({self.leaves!r})"


tree.register(
    Tangent,
    lambda t: (list(t.leaves.values()), (t.primal_type, t.statics)),
    lambda static, leaves: Tangent(static[0], leaves, static[1]),
)


def _stand_in(x):
    """A Tangent as the container of its type, however deep."""
    return rebuild(x.primal_type, map(_stand_in, x.leaves.values()), x.statics) if isinstance(x, Tangent) else x


# so that `tree.map(f, x, tangent)` and `jvp(f, (x,), (tangent,))` pair the leaves of x and of its tangent
tree.stand_ins[Tangent] = _stand_in


def _register(cls):
    """Make instances nodes of trees, by the leaves that the class names then."""
    tree.register(
        cls,
        lambda x: ([getattr(x, name) for name in cls.leaves], x._statics()),
        lambda statics, children: rebuild(cls, children, statics),
        _Leaves(cls),
    )


class _Leaves:
    """The names of a class's leaves, looked up when asked for: a subclass may declare others after it is registered."""

    def __init__(self, cls):
        self.cls = cls

    def __iter__(self):
        return iter(self.cls.leaves)


def rebuild(cls, leaves, statics):
    """A container from its parts, without `__init__`: leaves may be layer values or anything else."""
    made = object.__new__(cls)
    for name, value in zip((*cls.leaves, *cls.static), (*leaves, *statics), strict=True):
        object.__setattr__(made, name, value)
    return made


def array_type(
    *, leaves: Iterable[str] = (), static: Iterable[str] = (), linear: bool = False, structure_ndim: int = 0
) -> Callable[[C], C]:
    """Class decorator: declare a subclass of `Container` as an array type of leaves; its own subclasses inherit that.

    leaves: names of the attributes that hold the leaf arrays, in order.
    static: names of the other attributes; under `jit` those that can be changed are compared by contents at each call.
    linear: leaves -> dense array is linear (Diagonal, Sparse), so gradients have the type itself; otherwise they are
        `Tangent[T]`.
    structure_ndim: number of trailing axes spanned by the structure (2 for a matrix type).
    Raises RegistrationError if the class is not a Container or lacks `shape` or `dtype`, and for parameters that mean nothing.

    >>> import numpy as np, polyad as pa
    >>> @pa.array_type(leaves=("values",), linear=True)
    ... class Reversed(pa.Container):
    ...     def __init__(self, values):
    ...         self.values = values
    ...     shape = property(lambda self: self.values.shape)
    ...     dtype = property(lambda self: self.values.dtype)
    ...     def dense(self):
    ...         return self.values[..., ::-1]
    >>> @pa.negative.method
    ... def negative_reversed(x: Reversed, /):
    ...     return Reversed(-x.values)
    >>> pa.grad(lambda x: pa.sum((-x).dense()))(Reversed(np.ones(2)))
    Reversed(values=array([-1., -1.]))
    """

    names, statics = _attribute_names("leaves", leaves), _attribute_names("static", static)
    twice = [name for i, name in enumerate((*names, *statics)) if name in (*names, *statics)[:i]]
    if twice:
        raise RegistrationError(f"@array_type: {twice[0]!r} is named twice; an attribute is a leaf or static, once")
    if type(structure_ndim) is not int or structure_ndim < 0:
        raise RegistrationError(f"@array_type: structure_ndim counts axes, an int of at least 0, not {structure_ndim!r}")
    if type(linear) is not bool:
        raise RegistrationError(f"@array_type: linear is True or False, not {linear!r}")

    def declare(cls: C) -> C:
        if not (isinstance(cls, type) and issubclass(cls, Container)):
            raise RegistrationError(f"@array_type: {cls!r} must inherit from polyad.Container")
        for name in ("shape", "dtype"):
            if not hasattr(cls, name) and name not in (*names, *statics):
                raise RegistrationError(f"@array_type: {type_name(cls)} must define {name!r}")
        cls.leaves, cls.static, cls.linear, cls.structure_ndim = names, statics, linear, structure_ndim
        if not cls.declared:
            cls.declared = True
            _register(cls)
        return cls

    return declare


def _attribute_names(what: str, given: Any) -> tuple[str, ...]:
    """Names of attributes as a tuple. Raises RegistrationError."""
    if isinstance(given, str):
        raise RegistrationError(f"@array_type: {what} is a tuple of names, not text; write {what}=({given!r},)")
    names = tuple(given) if hasattr(given, "__iter__") else (given,)
    wrong = [name for name in names if not (isinstance(name, str) and name.isidentifier())]
    if wrong or not hasattr(given, "__iter__"):
        raise RegistrationError(f"@array_type: {what} is a tuple of names of attributes, and {(*wrong, given)[0]!r} is none")
    return names


def is_container(x):
    """Return whether x is a container: the unit at which trees of arrays are cut for mapping."""
    return isa(x, Container)


def require_whole(name, value):
    """Raise StructureError for a tree with containers of which this process has only a part."""
    for x in tree.leaves(value, is_container):
        if is_container(x) and x.in_parts:
            raise StructureError(
                f"{name}: {type_name(type(x))} of shape {list(x.shape)} lies in parts on several processes, and each would "
                "count its own elements only; take the whole of it (polyad.gather), or use jvp, vjp or grad"
            )


def is_linear(x):
    """Return whether a container is linear in its leaves, and so are those that are containers again."""
    return x.linear and all([is_linear(leaf) for leaf in _parts_within(x) if is_container(leaf)])


def _parts_within(x):
    return [getattr(x, name) for name in x.leaves]


def as_tangent(value):
    """A tree of leafwise tangents in the primal's structure, with `Tangent[T]` for the containers that are not linear."""

    def convert(x):
        if not is_container(x) or is_linear(x):
            return x
        return Tangent(type(x), [as_tangent(leaf) for leaf in _parts_within(x)], x._statics())

    return tree.map(convert, value, is_leaf=is_container)


class densify(Setting):
    """Set what happens when an operation has no method for a structured array: "allow", "warn" (default) or "error".

    Used as a function it sets the mode from here on, as a context manager for a block.

    >>> import numpy as np, polyad as pa
    >>> with pa.densify("allow"):
    ...     pa.cos(pa.Diagonal(np.zeros(2)))
    array([[1., 1.],
           [1., 1.]])
    """

    variable = _mode

    def __init__(self, mode: Literal["warn", "allow", "error"]) -> None:
        if mode not in ("allow", "warn", "error"):
            raise ValueError(f'densify takes "allow", "warn" or "error", not {mode!r}')
        self.token = _mode.set(mode)


def densified(x, operation):
    """The dense form of a container that `operation` has no method for, according to the mode."""
    if not x.densifies:
        raise DensifyError(f"{operation}: {_no_dense_form(x)}")
    mode = _mode.get()
    text = f"{operation} has no method for {type_name(type(x))} of shape {list(x.shape)}"
    if mode == "error":
        raise DensifyError(f'{text} and densify is "error"; write the method, or call .dense() where it is meant')
    if mode == "warn":
        advice = 'write the method, call .dense() where it is meant, or allow it with polyad.densify("allow")'
        warn(f"{text}: it becomes dense; {advice}", DensifyWarning)
    y = x.dense()
    if shape_of(y) != tuple(x.shape):
        raise DensifyError(
            f"{operation}: the dense form of {type_name(type(x))} has shape {list(shape_of(y))}, where its `shape` is "
            f"{list(x.shape)}; a type of n structure axes has those of its lanes before them in both"
        )
    return y


def _no_dense_form(x):
    name, leaf = type_name(type(x)), next(iter(x.leaves), None)
    take = f"take the array that is meant from it (x.{leaf}), or " if leaf else ""
    return f"{name} of shape {list(x.shape)} has no dense form; {take}define dense(self) in the class"


def batch_axis(x, axis, where):
    """A batch axis of a container, counted from 0, or None if `axis` is spanned by the structure."""
    ndim = x.ndim
    if not -ndim <= axis < ndim:
        raise ShapeError(f"{where}: axis {axis} is out of range for {type_name(type(x))} of shape {list(x.shape)}")
    axis %= ndim
    return axis if axis < ndim - x.structure_ndim else None
