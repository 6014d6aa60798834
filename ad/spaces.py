"""Tangents and cotangents of what an operation takes and gives, as rules for array types see them, and back as leaves.

A dense array's is a dense array. A container's is of its own type if it is linear in its leaves, else `Tangent[T]`, with a
zero for each leaf that is not followed and `NoTangent` (or, in a linear container, the value's own leaf) for integers.
"""

from ..dispatch import (
    Container,
    ShapeError,
    StructureError,
    Tangent,
    describe,
    dtype_of,
    is_container,
    shape_of,
    tree,
    type_name,
)
from ..dispatch.containers import is_linear
from ..dsl import broadcast_to
from ..dsl.ops.create import zeros_like
from .inputs import NoTangent, inexact
from .reverse.rules import pulled
from .rules.projection import as_dense, match_cotangent, match_tangent
from .sweeps import in_structure


def in_space(x, leaves):
    """The tangent or cotangent of x from those of its leaves (None: zero or no tangent space); None if all are None."""
    if all(v is None for v in leaves):
        return None
    xs, structure = tree.flatten(x)
    full = [(zeros_like(a) if v is None else v) if inexact(a) else NoTangent for a, v in zip(xs, leaves, strict=True)]
    return in_structure(structure, full, xs)


def tangent_leaves(dy, y, name):
    """The leaves of the tangent dy that a forward rule returned for y; None for zero. Raises StructureError, ShapeError."""
    if not is_container(y):
        dy = as_dense(dy, f"{name}: its forward rule", y)
        return [None if dy is None else match_tangent(dy, y, name)]
    ys, structure = tree.flatten(y)
    if _is_zero(dy):
        return [None] * len(ys)
    if not _of_type(dy, y):
        raise StructureError(
            f"{name}: its forward rule returned {describe(dy)} for {describe(y)}; the tangent of a {type_name(type(y))} is "
            f"{_expected(y)}, None for zero"
        )
    return _leaves(dy, ys, structure, f"{name}: its forward rule")


def cotangent_leaves(ct, x, name, label):
    """The leaves of the cotangent that a reverse rule returned for the argument x; None for zero.

    What is no cotangent of x's own type is projected onto its structure: the dense form's transpose takes it to the leaves.
    label: the argument in messages. Raises StructureError, ShapeError.
    """
    rule = f"{name}: its reverse rule"
    xs, structure = tree.flatten(x)
    if _is_zero(ct):
        return [None] * len(xs)
    if not is_container(x):
        return [as_dense(ct, rule, x, label)]
    if _of_type(ct, x):
        return _leaves(ct, xs, structure, f"{rule} for argument {label}")
    if isinstance(ct, Tangent) or not x.densifies or not hasattr(ct, "shape"):
        raise StructureError(
            f"{rule} returned {describe(ct)} for argument {label}, {describe(x)}; return {_expected(x)}"
            f"{', or a dense array' if x.densifies else ''}, None for zero"
        )
    return _projected(as_dense(ct, rule, x, label), x, xs, structure, name, label)


def _projected(ct, x, xs, structure, name, label):
    dense = lambda *leaves: tree.unflatten(structure, leaves).dense()
    ct = match_cotangent(ct, ct, dense(*xs), name, label)
    return pulled(f"projection onto {type_name(type(x))}", dense, xs, ct)


def _is_zero(ct):
    return ct is None or ct is NoTangent or is_container(ct) and ct.always_zero


def _of_type(t, x):
    return t.primal_type is type(x) if isinstance(t, Tangent) else type(t) is type(x) and is_linear(x)


def _expected(x):
    name = type_name(type(x))
    return f"a {name}" if is_linear(x) else f"a Tangent, polyad.Tangent({name}, [one entry for each leaf])"


def _leaves(t, xs, structure, where):
    """The leaves of a tangent or cotangent of x's type, checked against those of x."""
    found = []
    paths = tree.paths(tree.unflatten(structure, [0] * len(xs)))
    for v, x, path in zip(tree.match(structure, t, where), xs, paths, strict=True):
        if v is NoTangent or v is None or not inexact(x):
            found.append(None)
            continue
        if isinstance(v, Container) or dtype_of(v).kind not in "biufc" or shape_of(v) != shape_of(x):
            if dtype_of(v).kind not in "biufc" or shape_of(v) not in ((), shape_of(x)):
                raise ShapeError(
                    f"{where} returned {describe(v)} for the leaf {path.lstrip('.')}, {describe(x)}; it must have that shape"
                )
            v = broadcast_to(v, shape=shape_of(x))
        found.append(v)
    return found
