"""In-place code on followed values: `x[i] = v`, `x += v`, and the views through which NumPy's arrays share elements.

A write computes a new value (`index_set`) and rebinds the object that was written to, so every name for it sees the write
and nothing that was recorded before changes. Where NumPy would have made a view, the two objects share a `Memory`: a write
to either is carried over to all that share it. Where it cannot be known whether NumPy's result would be a view (a reshape,
which depends on how the elements lie), a write while both are in use is a MutationError.
"""

import weakref

import numpy as np

from ..dispatch import (
    Container,
    DTypeError,
    Layer,
    MutationError,
    ShapeError,
    become,
    describe,
    is_container,
    shape_of,
    snapshot,
    type_name,
)
from .avals import dtype_of, ndim_of
from .card import operations
from .ops.arithmetic import add, multiply
from .ops.compare import where
from .ops.complex import astype, imag, real
from .ops.create import asarray
from .ops.indexing import check_write, index, index_set, result_aval, split_index
from .ops.shape import broadcast_to, full_permutation, reshape, transpose

ADVICE = "write to a copy (y = x.copy()), or make a changed copy, x = x.at[i].set(v)"


class Memory:
    """Elements that several values share. root: the whole as it is now, an object of nobody's; members: who shares it."""

    __slots__ = ("limit", "members", "root")

    def __init__(self, x):
        self.root, self.members, self.limit = snapshot(x), [], 8
        x.memory = Part(self, None, None, ())
        self.members.append(weakref.ref(x))

    def add(self, y, part):
        y.memory = part
        if len(self.members) >= self.limit:
            self.members = [m for m in self.members if m() is not None]
            self.limit = 2 * len(self.members) + 8
        self.members.append(weakref.ref(y))

    def others(self, x):
        """Who shares these elements beside x and is still in use."""
        found = [m() for m in self.members]
        return [y for y in found if y is not None and y is not x and y.memory.memory is self]


class Part:
    """Which part of a memory a value is: `read(root)` gives it, `write(root, new)` the root with that part changed.

    write is READ_ONLY where NumPy's view is, UNKNOWN where it cannot be known whether there is one. path: the same for the
    same part, by basic indexing.
    """

    __slots__ = ("memory", "path", "read", "write")

    def __init__(self, memory, read, write, path):
        self.memory, self.read, self.write, self.path = memory, read, write, path


READ_ONLY, UNKNOWN = "read only", "unknown"


def link(x, y, read, write, step):
    """y is the view `read(x)` of x; `write(x, new)` is x with that part changed, or READ_ONLY or UNKNOWN."""
    if not hasattr(x, "memory"):
        Memory(x)
    above = x.memory
    if above.read is not None:
        outer_read, outer_write, inner_read, inner_write = above.read, above.write, read, write
        read = lambda root: inner_read(outer_read(root))
        if UNKNOWN in (outer_write, inner_write):
            write = UNKNOWN
        elif READ_ONLY in (outer_write, inner_write):
            write = READ_ONLY
        else:
            write = lambda root, new: outer_write(root, inner_write(outer_read(root), new))
    above.memory.add(y, Part(above.memory, read, write, (*above.path, step)))


# ---------------------------------------------------------------------- writing
def assign(x, new):
    """Rebind x to a value of its shape and dtype, and all that shares elements with it to what they are then."""
    new = _within(x, new)
    part = getattr(x, "memory", None)
    if part is None:
        become(x, new)
        return
    if part.write is READ_ONLY:
        raise MutationError(f"a write to {_shown(x)}, which in NumPy is a read-only view (broadcast, diagonal); {ADVICE}")
    others = part.memory.others(x)
    if not others:
        become(x, new)
        del x.memory
        if not ndim_of(x):
            Memory(x)  # it stays an array
        return
    for unsure in (x, *others):
        if unsure.memory.write is UNKNOWN:
            raise MutationError(
                f"a write to {_shown(x)} while {_shown(others[0])} is in use, one made from the other by reshape or ravel: "
                f"NumPy would let them share elements or not, depending on how these lie in memory; {ADVICE}"
            )
    root = new if part.write is None else part.write(part.memory.root, new)
    part.memory.root = snapshot(root)
    become(x, new)
    for y in others:
        become(y, _within(y, root if y.memory.read is None else y.memory.read(part.memory.root)))


def _within(x, new):
    """A new value for x as one of x's transformation."""
    if isinstance(new, Layer) and type(new).depth == type(x).depth:
        return new
    if isinstance(new, Layer) and type(new).depth > type(x).depth:
        raise MutationError(
            f"a value of {new.run.name} (entered at {new.run.where}) was written into {_shown(x)} of {x.run.name}, which is "
            "around it and goes on without it; return the value from the inner transformation, or make the buffer inside"
        )
    return x.run.constant(new)


def _shown(x):
    return f"{type_name(type(x))} of {dtype_of(x)}{list(shape_of(x))}"


def setitem(x, key, v):
    """`x[key] = v` on a layer value. Raises MutationError, ShapeError, DTypeError, IndexError."""
    if isinstance(x, Container):
        raise MutationError(f"item assignment: {type_name(type(x))} does not change; make another one from its leaves, or "
                            "write to its dense form, x.dense()")  # fmt: skip
    if x.run.closed:
        raise x.run.leaked()
    v = asarray(v) if isinstance(v, (list, tuple)) else v
    if _is_mask(x, key, v):
        update(x, where(reshape(key, shape=(*shape_of(key), *(1,) * (ndim_of(x) - ndim_of(key)))), v, x), "item assignment")
        return
    spec, arrays = split_index(x, key)
    if not arrays and _is_part(v, x, spec):
        return
    n = len(result_aval(x, arrays, spec).shape)
    while ndim_of(v) > n and shape_of(v)[0] == 1:  # NumPy drops leading axes of length 1
        v = reshape(v, shape=shape_of(v)[1:])
    check_write("item assignment", x, v, arrays, spec)
    assign(x, index_set(x, v, *arrays, spec=spec))


def _is_part(v, x, spec):
    """Whether v is the part of x at an index already: Python writes `x[i] += v` back after adding in place."""
    a, b = getattr(v, "memory", None), getattr(x, "memory", None)
    return a is not None and b is not None and a.memory is b.memory and a.path == (*b.path, spec)


def _is_mask(x, key, v):
    """Whether to write one value, or one row, wherever a mask says; not as many values as it selects."""
    if not isinstance(key, (np.ndarray, Layer, bool, np.bool_)) or dtype_of(key).kind != "b":
        return False
    return shape_of(x)[: ndim_of(key)] == shape_of(key) and ndim_of(v) <= ndim_of(x) - ndim_of(key)


def update(x, y, name):
    """Rebind x to y, as `out=x` does: y broadcasts to x's shape and its dtype can be cast to x's."""
    if shape_of(y) != shape_of(x):
        y = broadcast_to(y, shape=shape_of(x))
    if dtype_of(y) != dtype_of(x):
        if not np.can_cast(dtype_of(y), dtype_of(x), "same_kind"):
            raise DTypeError(f"{name}: a result of {dtype_of(y)} cannot be written into {describe(x)}; convert with .astype")
        y = astype(y, dtype=dtype_of(x))
    assign(x, y)


def in_place(op, symbol):
    """`x op= v` as a method: the object changes, except for a number, which has no memory to change."""

    def method(self, other):
        if is_container(self):
            return NotImplemented
        y = op(self, other)
        if is_number_like(self):
            return y
        if shape_of(y) != shape_of(self):
            raise ShapeError(f"x {symbol} v: the result has the shape {list(shape_of(y))}, x {list(shape_of(self))}; write "
                             f"x = x {symbol[:-1]} v")  # fmt: skip
        update(self, y, f"x {symbol} v")
        return self

    return method


def set_part(op):
    """The setter of an attribute that is a view, `z.real = v`: op gives the view."""

    def setter(self, v):
        part = op(self)
        a, b = getattr(part, "memory", None), getattr(v, "memory", None)
        if a is None:
            raise MutationError(f"item assignment: the imaginary part of {_shown(self)} cannot be written; make it complex")
        if b is None or a.memory is not b.memory or a.path != b.path:  # else z.real *= v has written already
            setitem(part, Ellipsis, v)

    return setter


def is_number_like(x):
    """Whether a layer value stands for a NumPy scalar (what indexing and reductions return), not for an array."""
    if ndim_of(x) or hasattr(x, "memory"):
        return False
    while isinstance(x, Layer):
        x = x.below
        if x is None or ndim_of(x):  # not to be seen under a trace or lanes; scalars are the rule
            return True
    return not isinstance(x, np.ndarray)


# ---------------------------------------------------------------------- views
def _linked(make):
    """A view wrapper for cards: `make(x, y, **params)` gives (read, write, step) of the view y of x, or None."""

    def wrap(generic, target):
        def run(x, **params):
            y = target(x, **params)
            if type(y) is type(x) and y is not x:
                made = make(x, y, **params)
                if made is not None:
                    link(x, y, *made)
            return y

        return run

    return wrap


def _index_view(x, y, spec):
    if not ndim_of(y) and Ellipsis not in spec:
        return None  # a scalar
    return lambda root: index(root, spec=spec), lambda root, new: index_set(root, new, spec=spec), spec


def _transpose_view(x, y, axes=None):
    axes = full_permutation("transpose", axes, ndim_of(x))
    back = tuple(int(a) for a in np.argsort(axes))
    return lambda root: transpose(root, axes=axes), lambda root, new: transpose(new, axes=back), ("transpose", axes)


def _same_view(x, y, dtype, copy=True, device=None):
    if copy or device is not None or dtype_of(x) != dtype_of(y):
        return None
    return lambda root: root, lambda root, new: new, "same"


def _reshape_view(x, y, shape, copy=None):
    if copy:
        return None
    before, after = shape_of(x), shape_of(y)
    sure = len(before) <= 1 or [n for n in before if n != 1] == [n for n in after if n != 1]
    write = (lambda root, new: reshape(new, shape=before)) if sure else UNKNOWN
    return lambda root: reshape(root, shape=after), write, ("reshape", after)


def _real_view(x, y):
    if dtype_of(x).kind != "c":
        return lambda root: root, lambda root, new: new, "same"
    return real, lambda root, new: add(new, multiply(1j, imag(root))), "real"


def _imag_view(x, y):
    if dtype_of(x).kind != "c":
        return None
    return imag, lambda root, new: add(real(root), multiply(1j, new)), "imag"


def _read_only(generic, target):
    op = generic.function
    return _linked(lambda x, y, **params: (lambda root: op(root, **params), READ_ONLY, object()))(generic, target)


def _diag(generic, target):
    viewed = _read_only(generic, target)
    return lambda x, **params: (viewed if ndim_of(x) == 2 else target)(x, **params)


def _by_its_body(generic, target):
    return target


VIEWS = {
    "index": _linked(_index_view), "transpose": _linked(_transpose_view), "reshape": _linked(_reshape_view),
    "real": _linked(_real_view), "imag": _linked(_imag_view), "broadcast_to": _read_only, "diagonal": _read_only,
    "diag": _diag, "astype": _linked(_same_view),
}  # fmt: skip
BODIES = (  # composite operations whose NumPy function returns views
    "array_split", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "dsplit", "expand_dims", "flip", "fliplr",
    "flipud", "hsplit", "matrix_transpose", "moveaxis", "permute_dims", "ravel", "real_if_close", "rollaxis", "rot90",
    "split", "squeeze", "swapaxes", "trim_zeros", "unstack", "vsplit",
)  # fmt: skip


def install():
    """Tell the cards whose results share elements with their argument."""
    for name, view in (*VIEWS.items(), *[(name, _by_its_body) for name in BODIES]):
        if name in operations:
            operations[name].card.view = view
