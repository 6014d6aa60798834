"""Shape specialisation: what an operation is for these shapes alone. Programs are made for shapes, so each is known."""

from ...avals import normalize_axis, reduced_axes
from ...ops.indexing import Slice
from ...ops.shape import full_permutation
from .rewrite_rules import Rules, again, fits

RULES = Rules()
rule = RULES.rule


def specialize_shapes(program):
    """The program without changes of shape to the same one, slices of everything, and empty parts of what is joined; what
    moves, adds, drops or reduces axes of length 1 becomes a change of shape."""
    return RULES(program)


@rule("broadcast_to", "reshape")
def same_shape(e, c):
    return e.inputs[0] if fits(e, e.inputs[0]) and e.params.get("device") is None else None


@rule("index")
def index(e, c):
    """All elements in their order: slices of everything, new axes, the one element along an axis."""
    x, steps = e.inputs[0], [part[2] for part in e.params["spec"] if isinstance(part, Slice)]
    whole = len(e.inputs) == 1 and x.aval.size == e.outputs[0].aval.size and all(step is None or step > 0 for step in steps)
    return reshaped(e, x) if whole else None


@rule("transpose")
def transpose(e, c):
    """Axes of length 1 change places: the elements stay in their order."""
    x = e.inputs[0]
    long = [a for a in full_permutation("transpose", e.params.get("axes"), x.aval.ndim) if x.aval.shape[a] != 1]
    return reshaped(e, x) if long == sorted(long) else None


@rule("sum", "prod", "max", "min", "any", "all")
def reduction(e, c):
    """Over axes of length 1. A sum of numbers with signed zeros stays: it makes 0.0 of -0.0."""
    x = e.inputs[0]
    axes = reduced_axes(e.op.card.name, x.aval, e.params.get("axis"))
    moved = all(x.aval.shape[a] == 1 for a in axes) and x.aval.dtype == e.outputs[0].aval.dtype
    return reshaped(e, x) if moved and (e.op.card.name != "sum" or x.aval.dtype.kind in "iu") else None


def reshaped(e, x):
    """x in the shape of the result."""
    return x if fits(e, x) else again(e, "reshape", x, shape=e.outputs[0].aval.shape)


@rule("concatenate")
def concatenate(e, c):
    out, axis = e.outputs[0].aval, e.params.get("axis", 0)
    if axis is None or any(x.aval.dtype != out.dtype for x in e.inputs):
        return None
    along = normalize_axis("concatenate", axis, out.ndim)
    parts = [x for x in e.inputs if x.aval.shape[along] != 0]
    if len(parts) == 1:
        return parts[0]
    return again(e, "concatenate", *parts, axis=axis) if 0 < len(parts) < len(e.inputs) else None
