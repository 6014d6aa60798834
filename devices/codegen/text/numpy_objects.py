"""NumPy arrays as C sees them: where an array object keeps its data, shape, dtype and flags.

Reading these in C costs a few nanoseconds an argument, where asking from Python for a pointer and comparing shape and dtype
costs four hundred. The layout is part of NumPy's C interface and has been the same since 1.7; it is looked at before it is
relied on.
"""

import ctypes
import functools

import numpy as np

from ....dsl.avals import UNKNOWN

STRUCT = """\
typedef struct { intptr_t count; void *type; char *data; int nd; int64_t *dims; int64_t *strides; void *base; void *descr;
  int flags; } array;
static int fits(const array *a, void *type, void *descr, int nd, const int64_t *dims) {
  if (a->type != type || a->descr != descr || a->nd != nd || (a->flags & 0x101) != 0x101) return 0; /* in a row, aligned */
  for (int k = 0; k < nd; k++) if (dims[k] >= 0 && a->dims[k] != dims[k]) return 0;
  return 1;
}
"""


class Layout(ctypes.Structure):
    """The same, to look at it."""

    _fields_ = [
        ("count", ctypes.c_ssize_t), ("type", ctypes.c_void_p), ("data", ctypes.c_void_p), ("nd", ctypes.c_int),
        ("dims", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("base", ctypes.c_void_p),
        ("descr", ctypes.c_void_p), ("flags", ctypes.c_int),
    ]  # fmt: skip


@functools.cache
def layout_known():
    """Return whether arrays of this NumPy, in this Python, are laid out as the C code takes them to be."""
    sizes = ctypes.sizeof(ctypes.c_void_p), object.__basicsize__
    if sizes != (8, 16) or np.ndarray.__basicsize__ < ctypes.sizeof(Layout):
        return False
    samples = [np.arange(6.0).reshape(2, 3), np.arange(4, dtype=np.int32)[::2], np.array(True)]
    return all(map(_as_described, samples))


def _as_described(x):
    seen = Layout.from_address(id(x))
    facts = (id(np.ndarray), x.__array_interface__["data"][0], x.ndim, id(x.dtype), x.flags.num)
    same = (seen.type, seen.data, seen.nd, seen.descr, seen.flags) == facts
    return same and all((seen.dims[k], seen.strides[k]) == (x.shape[k], x.strides[k]) for k in range(x.ndim))


def entry(inputs, outputs, memory_type):
    """C of `run_arrays(objects…, constants, known)`, which checks its inputs (1 if one does not fit) and calls `run`.

    inputs, outputs: Vars. known: the type of arrays, then the dtype object of each input.
    """
    n, names = len(inputs), [f"o{k}" for k in range(len(inputs) + len(outputs))]
    lines = [f"int run_arrays({''.join(f'array *{o}, ' for o in names)}void **constants, void **known) {{"]
    for k, v in enumerate(inputs):
        dims = ", ".join(map(str, v.aval.shape)) or "0"
        lines.append(f"static const int64_t d{k}[] = {{{dims}}};")
        lines.append(f"if (!fits(o{k}, known[0], known[{k + 1}], {v.aval.ndim}, d{k})) return 1;")
    given = []
    for k, v in enumerate((*inputs, *outputs)):
        grows = UNKNOWN in v.aval.shape
        kind = "int64_t" if grows and k >= n else ("const " if k < n else "") + memory_type(v.aval.dtype)
        given += [f"({kind} *)o{k}->data", *([f"o{k}->dims"] if grows and k < n else [])]
    lines += [f"return run({', '.join([*given, 'constants'])});", "}"]
    return "\n".join([STRUCT, *lines]) + "\n"
