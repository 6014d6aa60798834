"""What values are the roots of, so that even functions of them are differentiated whole.

`norm(x)` has no slope at 0. By convention it counts as 0, and a second derivative that comes through that slope loses
something: of `norm(x)**2` it is 2, and 2 r r' has only zeros to make it of. So a followed value that is the root of something
(of `sqrt`, `abs`, `hypot`) remembers of what, through factors and views; and what is a smooth function of its square (`square`,
`power`, the product of two) takes its slopes from there. Cards say both, by the rules `root` and `of_root`. Values stay what
they are.
"""

from ..dispatch import Layer, open_runs, snapshot
from .avals import is_number
from .card import operations

MAX_COMPARED_STEPS = 64  # steps that are compared to find out whether two roots are the same


class Root:
    """Of what a value is the root: the value is the product of its factors and the root of `square(*args, **params)`.

    factors: pairs (value, whether it divides). remarks: what is to be said of its slope unless its square is asked for.
    """

    __slots__ = ("args", "factors", "params", "remarks", "square_of")

    def __init__(self, square_of, args, params=None, factors=(), remarks=None):
        self.square_of, self.args, self.params, self.factors = square_of, args, params or {}, factors
        self.remarks = [] if remarks is None else remarks

    def square(self):
        """The square of the root, without the factors."""
        self.remarks.clear()
        return self.square_of(*self.args, **self.params)

    def scaled(self, s, *factors):
        """s times these factors."""
        for factor, divides in factors:
            s = operations["divide" if divides else "multiply"](s, factor)
        return s

    def whole(self):
        """The square of the value."""
        return self.scaled(self.square(), *[(operations["square"](factor), divides) for factor, divides in self.factors])

    def times(self, factor, divides=False):
        """The root of the value times a factor, or divided by it."""
        return Root(self.square_of, self.args, self.params, (*self.factors, (snapshot(factor), divides)), self.remarks)

    def through(self, view, *others, **params):
        """The root of what `view` picks from the value."""
        return Root(_viewed, (self, *others), {"view": view, **params})

    def same(self, other):
        """Return whether two roots are of the same number, made in the same way."""
        return _alike(self, other, [MAX_COMPARED_STEPS], [run for run in open_runs() if run.records])


def _viewed(root, *others, view, **params):
    return view(root.whole(), *others, **params)


def itself(x):
    """The square of a square root."""
    return x


def root_of(x):
    """The `Root` of a value, None if it has none."""
    return getattr(x, "root", None) if isinstance(x, Layer) else None


def _alike(a, b, left, traced):
    """Return whether two values are equal with all their derivatives, because they were made alike. left: [steps to compare];
    traced: runs that make programs, in which the arrays that they look up at each call are equal only if they are the same."""
    if a is b:
        return True
    left[0] -= 1
    if type(a) is not type(b) or left[0] < 0:
        return False
    alike = lambda a, b: _alike(a, b, left, traced)
    if isinstance(a, Root):
        return a.square_of is b.square_of and equal(a.params, b.params) and alike(a.args, b.args)
    if isinstance(a, Layer):
        return a.run is b.run and a.made_as(b, alike)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(alike, a, b))
    if is_number(a) or any([run.looks_up(x) for run in traced for x in (a, b)]):
        return is_number(a) and a == b
    return hasattr(a, "dtype") and a.dtype == b.dtype and a.shape == b.shape and bool((a == b).all())


def equal(a, b):
    """Return whether parameters are equal; not, where that cannot be told."""
    try:
        return bool(a == b)
    except (ValueError, TypeError):
        return False


def picking(op):
    """Tell the card of an operation that picks elements, or brings them to another shape: it does so with squares."""
    op.rule("of_root")(lambda roots, x, *others, **params: roots[0].through(op, *others, **params) if roots[0] else None)


watchers = []  # functions (name, here, y, point), which are told of slopes that are conventions: dsl/debug/conventions.py


def at_convention(name, here, y, point="0"):
    """Called with a slope of operation `name` that is a convention where `here` holds, at `point`, made of y."""
    for watcher in watchers:
        watcher(name, here, y, point)
