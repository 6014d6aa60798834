"""What of arguments and results is no array, as text that ranks compare: types, keys and static parts.

Two quantities in other units are other arguments, though their arrays are equal: their arrays would be mixed all the same.
"""

import dataclasses
import re

import numpy as np

from ..dispatch import Container, HostArray, Layer, isa, tree
from ..dsl.jit.contents import SETS, holds, parts
from ..dsl.jit.libraries import is_constant
from .checksums import checksum

SHOWN = 200  # characters of such a text in a message


class Structure(str):
    """Such a text, to be shown where it differs."""

    __slots__ = ()

    def __str__(self):
        text = str.__str__(self)
        return text if len(text) <= SHOWN else f"{text[:SHOWN]} …"


def told(x, leaf=None):
    """The structure of a tree, static parts included: equal for trees that are alike on all ranks.

    leaf: function that gives the text of a leaf; by default "*" of an array, a number or a text, "function", or its type.
    """
    return Structure(_told(x, leaf or _leaf))


def _leaf(x):
    return "*" if isa(x, (HostArray, Layer, str, bytes)) else "function" if callable(x) else type(x).__qualname__


def _told(x, leaf):
    node = tree.node(x)
    if node is None:
        return leaf(x)
    kind, names, children, static = node
    children = [_told(child, leaf) for child in children]
    if kind is type(None):
        return "None"
    if kind is list:
        return f"[{', '.join(children)}]"
    if kind is tuple:
        return f"({', '.join(children)}{',' * (len(children) == 1)})"
    if kind is dict:
        return f"{{{', '.join([f'{said(k)}: {c}' for k, c in zip(names, children, strict=True)])}}}"
    parts = [f"{name}={child}" for name, child in zip(names, children, strict=True)]
    if isinstance(static, tuple):
        parts += [f"{name}={said(value)}" for name, value in zip(_static_names(kind, static), static, strict=True)]
    elif static is not None and not isinstance(static, type):
        parts.append(said(static))
    return f"{kind.__qualname__}({', '.join(parts)})"


def _static_names(kind, static):
    if issubclass(kind, Container):
        return kind.static
    if dataclasses.is_dataclass(kind):
        return [f.name for f in dataclasses.fields(kind) if f.metadata.get("static")]
    return [f"static {i}" for i in range(len(static))]


def said(value):
    """A static part as text, the same on all ranks for what is equal: without addresses, and sets in one order."""
    if is_constant(value):
        return repr(value)
    if isa(value, (np.ndarray, np.generic)):
        return f"{value.dtype}{list(value.shape)}#{checksum(value)}"
    if holds(type(value)):
        inside = [said(part) for part in parts(value)]
        return f"{type(value).__name__}({', '.join(sorted(inside) if isinstance(value, SETS) else inside)})"
    named = name_of(value)
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value)) if named is None else named


def name_of(value):
    """The name of a function or class by which it is found, None for other objects."""
    name = getattr(value, "__qualname__", None) or (value.__name__ if isinstance(value, np.ufunc) else None)
    return f"{getattr(value, '__module__', None)}.{name}" if isinstance(name, str) else None
