"""Pytrees: nested dicts, lists, tuples, named tuples, dataclasses and registered classes with arrays as leaves.

optree does the work; this page adds dataclasses (registered when first seen) and the library's own containers, and is
the one seam through which the library uses it.
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
import re
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import optree

from .errors import RegistrationError, StructureError, type_name

C = TypeVar("C", bound=type)

NAMESPACE = "polyad"
_LEAF_TYPES = {np.ndarray, float, int, complex, bool, np.float64}  # certainly leaves: optree need not be asked
_seen = set()  # classes looked at for being dataclasses
_nodes = set()  # classes registered here
_lock = threading.Lock()
stand_ins = {}  # class -> function(instance) -> the node it may stand for where another structure is expected


class _Leaf:
    """Structure of a bare leaf, so that `f(x)` with one array costs nothing."""

    num_leaves = 1

    def unflatten(self, leaves):
        return leaves[0]

    def __eq__(self, other):
        return isinstance(other, _Leaf)

    __hash__ = object.__hash__

    def __reduce__(self):
        return "LEAF"

    def __repr__(self):
        return "*"


LEAF = _Leaf()


def register(cls: C, flatten: Callable[[Any], tuple[Any, Any]], unflatten: Callable[[Any, Any], Any], names: Any = None) -> C:
    """Make instances of `cls` nodes of pytrees.

    flatten: function(instance) -> (children, static), with `static` hashable and comparable.
    unflatten: function(static, children) -> instance.
    names: the attributes that hold the children, for paths, or function(instance) -> these.
    Raises RegistrationError if the class is registered already, or is one that pytrees know by themselves.
    """
    try:
        _register(cls, flatten, unflatten, names)
    except (TypeError, ValueError) as error:
        raise RegistrationError(f"tree.register: {type_name(cls)} is a node of pytrees already") from error
    return cls


def _register(cls, flatten, unflatten, names):
    entry = optree.AutoEntry if names is None else optree.GetAttrEntry
    parts = (lambda x: (*flatten(x), names(x))) if callable(names) else (lambda x: (*flatten(x), names))
    optree.register_pytree_node(
        cls, parts, lambda static, children: unflatten(static, children), path_entry_type=entry, namespace=NAMESPACE
    )
    _nodes.add(cls)
    _seen.add(cls)  # last: who finds it here finds it among the nodes too


def _register_dataclass(cls):
    """Fields are children, except those with `metadata={"static": True}`."""
    fields = dataclasses.fields(cls)
    dynamic = tuple(f.name for f in fields if not f.metadata.get("static"))
    static = tuple(f.name for f in fields if f.metadata.get("static"))

    def flatten(x):
        return [getattr(x, name) for name in dynamic], tuple(getattr(x, name) for name in static)

    def unflatten(values, children):
        made = object.__new__(cls)
        for name, value in [*zip(dynamic, children, strict=True), *zip(static, values, strict=True)]:
            object.__setattr__(made, name, value)
        return made

    _register(cls, flatten, unflatten, dynamic)


def leaf(cls: C) -> C:
    """Make instances of a dataclass leaves, such as what stands in the place of an array. Returns the class."""
    _seen.add(cls)
    return cls


def flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], Any]:
    """The leaves of a tree, as a list, and its structure. None is an empty subtree."""
    if type(tree) in _LEAF_TYPES:
        return [tree], LEAF
    while True:
        known = len(_nodes)
        leaves, structure = optree.tree_flatten(tree, is_leaf, namespace=NAMESPACE)
        if not _seen.issuperset(builtins.map(type, leaves)):
            for cls in {type(leaf) for leaf in leaves} - _seen:
                _meet(cls)
        if len(_nodes) == known:  # else a class among the leaves became a node, here or in another thread
            return leaves, LEAF if structure.is_leaf() else structure


def _meet(cls):
    """Look at a class for the first time: a dataclass becomes a node."""
    with _lock:
        if cls not in _seen and dataclasses.is_dataclass(cls):
            _register_dataclass(cls)
        _seen.add(cls)


def unflatten(structure: Any, leaves: Any) -> Any:
    """The tree of this structure with these leaves."""
    if structure is LEAF:
        return leaves[0]
    return optree.tree_unflatten(structure, leaves)


def leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves of a tree in order."""
    return flatten(tree, is_leaf)[0]


def structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """The structure of a tree: comparable, printable."""
    return flatten(tree, is_leaf)[1]


def node(tree: Any) -> Any:
    """A tree one level deep: (class, names or keys of the children, children, static part); None for a leaf."""
    if flatten(tree)[1] is LEAF:
        return None
    children, static, names, _ = optree.tree_flatten_one_level(tree, namespace=NAMESPACE)
    return type(tree), names, children, static


def map(function: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Apply a function to the leaves of one tree, or leaf by leaf to several of the same structure.

    >>> import polyad as pa
    >>> pa.tree.map(lambda x, y: x + y, {"a": 1, "b": (2, 3)}, {"a": 10, "b": (20, 30)})
    {'a': 11, 'b': (22, 33)}
    """
    values, shape = flatten(tree, is_leaf)
    others = [match(shape, other, "tree.map", is_leaf) for other in rest]
    return unflatten(shape, [function(*xs) for xs in zip(values, *others, strict=True)])


def reduce(function: Callable[[Any, Any], Any], tree: Any, *initial: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Fold a function over the leaves of a tree, from the left."""
    return functools.reduce(function, leaves(tree, is_leaf), *initial)


def all(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Return whether all leaves are true; of an empty tree they are."""
    return builtins.all(leaves(tree, is_leaf))


def transpose(outer: Any, inner: Any, tree: Any) -> Any:
    """The tree turned inside out: `tree` has the structure `outer` of trees of structure `inner`, the result the reverse.

    outer, inner: structures (`tree.structure(x)`), or trees that have them; inner None: that of the first subtree.
    Raises StructureError.

    >>> import polyad as pa
    >>> pa.tree.transpose([0, 0], {"a": 0, "b": 0}, [{"a": 1, "b": 2}, {"a": 3, "b": 4}])
    {'a': [1, 3], 'b': [2, 4]}
    """
    outer = outer if _is_structure(outer) else structure(outer)
    parts = [tree] if outer is LEAF else _subtrees(outer, tree)
    if not parts:
        raise StructureError("tree.transpose: the outer structure has no leaves; the result would have none either")
    inner = structure(parts[0]) if inner is None else inner if _is_structure(inner) else structure(inner)
    rows = [match(inner, part, "tree.transpose") for part in parts]
    return unflatten(inner, [unflatten(outer, list(column)) for column in zip(*rows, strict=True)])


def _is_structure(x):
    return x is LEAF or isinstance(x, optree.PyTreeSpec)


def _subtrees(outer, tree):
    """The subtrees of a tree where the structure `outer` has its leaves."""
    try:
        return outer.flatten_up_to(tree)
    except (ValueError, TypeError) as error:
        raise StructureError(f"tree.transpose: {show(structure(tree))} does not begin with {show(outer)}") from error


def map_with_path(function: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Apply `function(path, leaf, …)`; a path reads like the code that reaches the leaf, `['w'][0].bias`."""
    named = iter(paths(tree, is_leaf))
    return map(lambda *xs: function(next(named), *xs), tree, *rest, is_leaf=is_leaf)


def leaves_with_path(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[tuple[str, Any]]:
    """Pairs (path, leaf)."""
    return list(zip(paths(tree, is_leaf), leaves(tree, is_leaf), strict=True))


def paths(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[str]:
    """The path of each leaf as text."""
    values, shape = flatten(tree, is_leaf)
    if shape is LEAF:
        return [""]
    return [accessor.codify("") for accessor in optree.treespec_accessors(shape)]


def match(shape: Any, tree: Any, where: str, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves of `tree`, which must have the structure `shape`; a `StructureError` naming both if not."""
    found, other = flatten(tree, is_leaf)
    if other != shape:
        found, other = flatten(_substituted(tree), is_leaf)
    if other != shape:
        raise StructureError(
            f"{where}: the structures of two trees differ: {show(shape)} and {show(other)}; what is given must have the first"
        )
    return found


def _substituted(tree):
    """The tree with each stand-in (a tangent of a container) as the node it stands for."""
    stands_in = lambda x: type(x) in stand_ins
    return map(lambda x: stand_ins[type(x)](x) if stands_in(x) else x, tree, is_leaf=stands_in)


def show(shape: Any) -> str:
    """A structure as text."""
    text = str(shape)
    if text.startswith("PyTreeSpec("):
        text = text[len("PyTreeSpec(") : -1].removesuffix(f", namespace={NAMESPACE!r}")
    text = re.sub(r"CustomTreeNode\((\w+)\[\(\)\], ", r"\1(", text)  # of a node without static parts
    return re.sub(r"CustomTreeNode\((\w+)(\[.*?\]), \[", r"\1\2([", text)


def broadcast_prefix(prefix: Any, tree: Any, where: str, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """One entry of `prefix` for each leaf of `tree`: a prefix's leaf stands for the whole subtree below it.

    None in `prefix` is an entry like any other, so `in_axes=(0, None)` says what it looks like.
    """
    flatten(prefix)  # so that its dataclasses are known as nodes
    marked = optree.tree_map(lambda a: _NONE if a is None else a, prefix, none_is_leaf=True, namespace=NAMESPACE)
    model = map(lambda unit: 0, tree, is_leaf=is_leaf)
    try:
        entries = optree.broadcast_prefix(marked, model, namespace=NAMESPACE)
    except ValueError as error:
        raise StructureError(
            f"{where}: {prefix!r} does not fit the structure {show(structure(model))}; give one entry, or a tree whose "
            "upper part is that of the values"
        ) from error
    return [None if a is _NONE else a for a in entries]


_NONE = object()
