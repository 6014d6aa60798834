"""Layers that follow derivatives keep of what their values are the roots (dsl/roots.py)."""

from functools import cache, partial

from ...dispatch import snapshot
from ...dsl import with_slopes_of
from ...dsl.debug.conventions import deferred
from ...dsl.roots import Root, equal, root_of
from .nodes import Joint, Selection


def keeping_roots(cls, generic, whose, make):
    """The target of an operation at a layer that follows derivatives. args[whose] is a value of the layer. make: function that
    gives the target; its argument is what is to be called where the run has roots, if the operation makes one or something of
    one, else None."""
    makes, uses = generic.card.rules.get("root"), generic.card.rules.get("of_root")
    if makes is None and uses is None:
        return make(None)
    plain = cache(lambda: make(None))

    def look(*args, **params):
        r = args[whose].run
        if r.inner is not None or r.closed:
            return plain()(*args, **params)
        root = None
        if r.rooted and uses is not None:
            roots = [root_of(a) for a in args]
            root = uses(roots, *args, **params) if any(roots) else None
        if root is None and makes is not None:
            root = makes(*[snapshot(a) for a in args], **params)
        if root is None or isinstance(root, Root):
            if makes is None or root is None or r.remarks is None:
                y = plain()(*args, **params)
            else:
                token = deferred.set(root.remarks)
                try:
                    y = plain()(*args, **params)
                finally:
                    deferred.reset(token)
                r.remarks += [root.remarks] * bool(root.remarks)
            if root is not None and type(y) is cls:
                y.root, r.rooted = root, True
            return y
        lower = [a.below if type(a) is cls else a for a in args]
        return with_slopes_of(generic.spread(*lower, **params), root)

    return look if makes is not None else make(look)  # hot: as long as there is no root


def same_rule(a, b):
    """Return whether the rules of two nodes of a tape are the same, parameters included."""
    a, b = getattr(a, "__wrapped__", a), getattr(b, "__wrapped__", b)  # under debug_mutation
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, partial):
        return a.func is b.func and equal(a.args, b.args) and equal(a.keywords, b.keywords)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same_rule, a, b))
    return isinstance(a, (Joint, Selection)) and same_rule(a.rule, b.rule)


def same_node(tape, i, j, alike):
    """Return whether the nodes at two places of a tape are of values that were made alike."""
    if i == j:
        return True
    if tape[i] is None or tape[j] is None:  # inputs
        return False
    (f, xs, _, parents), (g, ys, _, others) = tape[i], tape[j]
    one = lambda p: (p,) if type(p) is int else p
    parents, others = one(parents), one(others)
    if not parents or len(parents) != len(others) or len(xs) != len(ys) or not same_rule(f, g):
        return False
    if not all([same_node(tape, p, q, alike) for p, q in zip(parents, others, strict=True)]):
        return False
    if isinstance(f, Selection):  # whose first argument is on the tape, and whose parameters stand beside the others
        (xs, params), (ys, its) = xs, ys
        return equal(params, its) and all(map(alike, xs[1:], ys[1:]))
    return len(xs) == len(parents) or all(map(alike, xs, ys))  # all that it was made of is on the tape, or equal
