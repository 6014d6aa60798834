"""`grad_hook`: see or change a cotangent on its way back."""

from functools import partial

import numpy as np

from ...dispatch import Array, Container, MethodError, check_runs, describe, isa, tree, users_code
from ...dsl import astype, broadcast_to, expand_dims, vmap, zeros_like
from ...dsl.avals import Aval, dtype_of, is_number, shape_of
from ...dsl.card import linear, opaque
from ...dsl.samples import case, complex_normal, normal
from ..inputs import NoTangent, check_callable, fitted, inexact
from ..reverse.nodes import Joint
from ..reverse.tape import Reverse, several_values
from ..rules.from_cards import unshared
from ..rules.nan_safe import walk_once
from ..sweeps import in_structure


def _unchanged(ct):
    """The hook of the samples."""


@linear(kernel=None, numpy=(), samples=[case(normal(3), f=_unchanged), case(complex_normal(2, 2), f=_unchanged)])
def grad_hook(x, /, f):
    """x itself, whose cotangent passes through f on the walk back: to look at it, clip it, replace it.

    x: array, or a tree of arrays (a container too), whose cotangents f gets all at once, in a tree of that structure with
    NoTangent for integers: so a norm over all parameters can be clipped. f: function of the cotangent that returns one of
    the same shape and kind of numbers, or None for the one it was given, which is its own and may be written to in place.
    Returns a copy of x. f is called once per walk back that reaches x, and not where no result depends on x. It is the
    innermost reverse mode that calls f; derivatives of that derivative differentiate f, and forward mode passes tangents
    on unchanged. Under `vmap` f sees one lane, whether the derivative is inside or outside of the map; of a value that is
    the same in all lanes it sees the sum of the lanes' cotangents. In a trace it is a step of the program.
    Raises ShapeError, DTypeError that name the hook for another cotangent.

    >>> import numpy as np, polyad as pa
    >>> pa.grad(lambda x: 100.0 * pa.grad_hook(x, lambda ct: np.clip(ct, -1, 1)))(2.0)
    np.float64(1.0)
    """


def hook_name(f):
    return f"grad_hook({getattr(f, '__name__', type(f).__name__)})"


def _own(ct):
    """The cotangent as an array or value of its own: the hook may write to what it is given, and keep what it returns."""
    return ct.copy() if isa(ct, (np.ndarray, np.generic)) else unshared(ct, [ct])


def through(f, ct, x):
    """Apply f to the cotangent of x. Raises ShapeError, DTypeError naming the hook."""
    walk_once()
    ct = _own(ct)
    with users_code():
        changed = f(ct)
    return _own(fitted(ct if changed is None else changed, x, lambda: f"{hook_name(f)}: the cotangent that it returned"))


def _check_hook(f):
    check_callable("grad_hook: the hook", f, "of the cotangent")


def _hooked_value(x, f):
    _check_hook(f)
    return np.asarray(x)[()] if is_number(x) else astype(x, dtype=dtype_of(x))


grad_hook.generic.add(_hooked_value, (Array,))
grad_hook.rule("shape")(lambda x, f: Aval(x.shape, x.dtype))
grad_hook.rule("jvp")(lambda dxs, y, x, f: dxs[0])
grad_hook.rule("transpose")([lambda ct, y, x, f: through(f, ct, x)])


@grad_hook.rule("layered")
def grad_hook_layered(cls, types):
    """The hook is the innermost reverse mode's: for what is around that, the rule is differentiated and the value is x."""
    if not issubclass(cls, Reverse):
        return None

    def run(x, f):
        _check_hook(f)
        r, v = x.run, x.value
        check_runs(r, [x], cls)
        y = unshared(v, [v])
        r.append((partial(_hook_vjp, f), (v,), y, x.index))
        return cls(y, r, len(r.tape) - 1)

    return run


def _hook_vjp(f, ct, y, x):
    return through(f, ct, x)


@grad_hook.rule("batch")
def grad_hook_batch(size, xs, batched, f):
    (x,) = xs
    return grad_hook(x, f=_in_each_lane(f))


def _in_each_lane(f):
    """A hook for all lanes at once. What f returns is checked lane by lane, so that messages say a lane's shape."""
    mapped = vmap(lambda ct: through(f, ct, ct))
    mapped.__name__ = getattr(f, "__name__", type(f).__name__)
    return mapped


# ---------------------------------------------------------------------- trees
@opaque(
    sequence=True, kernel=None, numpy=(), spelled="grad_hook", no_rule={"samples": "of trees: tests/ad/tools/test_hooks.py"},
)  # fmt: skip
def hook_all(arrays, /, f):
    """Several arrays whose cotangents pass through f together: `grad_hook` of their list. Raises ShapeError, DTypeError."""


hook_all.generic.add(lambda *xs, f: tuple([_hooked_value(x, f) for x in xs]), (), Array)
hook_all.rule("shape")(lambda *xs, f: tuple([Aval(x.shape, x.dtype) for x in xs]))
hook_all.rule("jvp")(lambda dxs, y, *xs, f: dxs)


@hook_all.rule("vjp_all")
def hook_all_vjp(ct, y, *xs, f):
    return _through_all(f, [zeros_like(x) if c is None else c for c, x in zip(ct, xs, strict=True)], xs)


def _at(places, cts):
    return [cts[i] for i in places]


def _through_all(f, cts, xs):
    walk_once()
    cts = [_own(ct) for ct in cts]
    with users_code():
        changed = f(cts)
    where = lambda i: lambda: f"{hook_name(f)}: the cotangent that it returned for array {i}"
    pairs = zip(cts if changed is None else changed, xs, strict=True)
    return tuple([_own(fitted(c, x, where(i))) for i, (c, x) in enumerate(pairs)])


@hook_all.rule("layered")
def hook_all_layered(cls, types):
    if not issubclass(cls, Reverse):
        return None
    mine = [t is cls for t in types]
    places = [i for i, m in enumerate(mine) if m]

    def run(*args, f):
        r = args[places[0]].run
        check_runs(r, args, cls)
        xs = tuple([a.value if m else a for a, m in zip(args, mine, strict=True)])
        ys = tuple([unshared(x, [x]) for x in xs])
        pull = lambda ct, y, *xs: _at(places, hook_all_vjp(ct, y, *xs, f=f))
        r.append((Joint(pull), xs, ys, tuple([args[i].index for i in places])))
        return several_values(cls, r, ys)

    return run


@hook_all.rule("batch")
def hook_all_batch(size, xs, batched, f):
    """All as values of each lane, since f sees those of a lane together."""
    wide = lambda x: broadcast_to(expand_dims(x, 0), shape=(size, *shape_of(x)))
    lanes = vmap(lambda *cts: _through_all(f, cts, cts))
    lane_by_lane = lambda cts: list(lanes(*cts))
    lane_by_lane.__name__ = getattr(f, "__name__", type(f).__name__)
    return hook_all([x if b else wide(x) for x, b in zip(xs, batched, strict=True)], f=lane_by_lane)


class _OfTree:
    """A hook of a tree as one of the list of its floating leaves. others: the leaves, None for those."""

    def __init__(self, f, structure, others):
        self.f, self.structure, self.others = f, structure, others
        self.__name__ = getattr(f, "__name__", type(f).__name__)

    def __call__(self, cts):
        found = iter(cts)
        full = [next(found) if x is None else NoTangent for x in self.others]
        primals = [ct if x is None else x for x, ct in zip(self.others, full, strict=True)]
        changed = self.f(in_structure(self.structure, full, primals))
        if changed is None:
            return None
        given = tree.match(self.structure, changed, f"{hook_name(self.f)}: the cotangent that it returned")
        return [ct for ct, x in zip(given, self.others, strict=True) if x is None]


def _hook_tree(x, f):
    _check_hook(f)
    leaves, structure = tree.flatten(x)
    if structure is tree.LEAF:
        raise MethodError(f"{hook_name(f)}: {describe(x)} is no array and no tree of arrays")
    followed = [_has_cotangent(leaf) for leaf in leaves]
    mine = [v for v, m in zip(leaves, followed, strict=True) if m]
    others = [None if m else v for v, m in zip(leaves, followed, strict=True)]
    ys = iter(hook_all(mine, f=_OfTree(f, structure, others)) if mine else ())
    return tree.unflatten(structure, [next(ys) if m else v for v, m in zip(leaves, followed, strict=True)])


def _has_cotangent(x):
    try:
        return inexact(x)
    except (TypeError, ValueError):  # text and the like
        return False


grad_hook.generic.add(_hook_tree, (Container,))
grad_hook.generic.add(_hook_tree, (object,))
