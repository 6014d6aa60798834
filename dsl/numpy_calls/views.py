"""Which operations give views in NumPy, and how a write to the view changes the whole; see `sharing`."""

import numpy as np

from ...dispatch import snapshot
from ..aliasing import FLAT, READ_ONLY, UNKNOWN, link, unlinked
from ..avals import dtype_of, ndim_of, shape_of
from ..card import operations
from ..ops.arithmetic import add, multiply
from ..ops.complex import imag, real
from ..ops.indexing import Slice, index, index_set
from ..ops.shape import full_permutation, reshape, transpose


def _linked(make):
    """A view wrapper for cards: `make(x, y, **params)` gives the view that y is of x, as `sharing` has it, or None."""

    def wrap(generic, target):
        def run(x, **params):
            y = target(x, **params)
            if type(y) is type(x) and y is not x:
                made = make(x, y, **params)
                if made is not None:
                    link(x, y, made)
            return y

        run.unlinked = target  # for values that nobody writes to
        return run

    return wrap


def _index_view(generic, target):
    """For `index`, without what `_linked` needs for all: slices are taken often."""

    def run(x, spec):
        y = target(x, spec=spec)
        if type(y) is type(x) and y is not x and (spec and type(spec[0]) is Slice or y.shape or Ellipsis in spec):
            link(x, y, (_read_index, _write_index, spec))  # else it is a scalar
        return y

    run.unlinked = target
    return run


def _read_index(x, spec):
    return index(x, spec=spec)


def _write_index(x, new, spec):
    return index_set(x, new, spec=spec)


def _transpose_view(x, y, axes=None):
    return _read_transpose, _write_transpose, ("transpose", axes)


def _read_transpose(x, step):
    return transpose(x, axes=step[1])


def _write_transpose(x, new, step):
    axes = step[1]
    back = None if axes is None else np.argsort(full_permutation("transpose", axes, ndim_of(x))).tolist()
    return transpose(new, axes=back if back is None else tuple(back))


IDENTITY_VIEW = (lambda x, step: x, lambda x, new, step: new, "same")


def _same_view(x, y, dtype, copy=True, device=None):
    return None if copy or device is not None or dtype_of(x) != dtype_of(y) else IDENTITY_VIEW


def _reshape_view(x, y, shape, copy=None):
    if copy:
        return None
    before, after = shape_of(x), shape_of(y)
    sure = len(before) <= 1 or [n for n in before if n != 1] == [n for n in after if n != 1]
    return _read_reshape, _write_reshape if sure else UNKNOWN, ("reshape", after)


def _read_reshape(x, step):
    return reshape(x, shape=step[1])


def _write_reshape(x, new, step):
    return reshape(new, shape=shape_of(x))


def flat(x):
    """`x.flat`: all elements in order, by which x is read and written."""
    y = snapshot(unlinked(reshape, x, shape=(-1,), copy=None))
    if hasattr(y, "memory"):
        del y.memory
    part = getattr(x, "memory", None)
    if part is not None and part.unsure and not part.memory.others(x):
        del x.memory  # of what it may be a view is in use no more
    if type(y) is type(x) and (ndim_of(x) or hasattr(x, "memory")):  # else a number, which nobody writes to
        link(x, y, (_read_flat, _write_reshape, FLAT))
    return y


def _read_flat(x, step):
    return reshape(x, shape=(-1,))


REAL = (lambda z, step: real(z), lambda z, new, step: add(new, multiply(1j, imag(z))), "real")
IMAG = (lambda z, step: imag(z), lambda z, new, step: add(real(z), multiply(1j, new)), "imag")


def _real_view(x, y):
    return REAL if dtype_of(x).kind == "c" else IDENTITY_VIEW


def _imag_view(x, y):
    return IMAG if dtype_of(x).kind == "c" else None


def _read_only(generic, target):
    op = generic.function
    return _linked(lambda x, y, **params: (lambda root, step: op(root, **params), READ_ONLY, object()))(generic, target)


def _diag(generic, target):
    viewed = _read_only(generic, target)
    return lambda x, **params: (viewed if ndim_of(x) == 2 else target)(x, **params)


def _by_its_body(generic, target):
    return target


VIEWS = {
    "index": _index_view, "transpose": _linked(_transpose_view), "reshape": _linked(_reshape_view),
    "real": _linked(_real_view), "imag": _linked(_imag_view), "broadcast_to": _read_only, "diagonal": _read_only,
    "diag": _diag, "astype": _linked(_same_view),
}  # fmt: skip
BODIES = (  # composite operations whose NumPy function returns views
    "array_split", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "dsplit", "expand_dims", "flip", "fliplr",
    "flipud", "hsplit", "matrix_transpose", "moveaxis", "permute_dims", "ravel", "real_if_close", "rollaxis", "rot90",
    "split", "squeeze", "swapaxes", "trim_zeros", "unstack", "vsplit",
)  # fmt: skip


def install_views():
    """Tell the cards whose results share elements with their argument."""
    for name, view in (*VIEWS.items(), *[(name, _by_its_body) for name in BODIES]):
        if name in operations:
            operations[name].card.view = view
