"""Which of two types is the narrower one: signatures of plum, which compares their types by beartype."""

from abc import get_cache_token

import plum
from beartype.door import TypeHint

_token = get_cache_token()
_memos = [
    cell.cell_contents
    for method in (TypeHint.is_subhint, TypeHint.__eq__)
    for cell in getattr(method, "__closure__", None) or ()
    if isinstance(cell.cell_contents, dict)
]


def make_signature(types, varargs):
    """plum's signature of these types, and of any number of further arguments of type `varargs`."""
    return plum.Signature(*types) if varargs is None else plum.Signature(*types, varargs=varargs)


def is_narrower(s, t):
    """Whether every s is a t; classes, unions of classes, and object for what is not annotated."""
    return plum.Signature(s) <= plum.Signature(t)


def subclass_token():
    """What changes with each `ABCMeta.register`. Then beartype, which compares types for plum, has to be told: it keeps
    its answers for ever."""
    global _token
    token = get_cache_token()
    if token != _token:
        for memo in _memos:
            memo.clear()
        _token = token
    return token
