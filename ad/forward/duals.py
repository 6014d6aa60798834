"""Forward mode: values with a tangent, pushed through each operation by its jvp rule."""

from typing import Any

from ...dispatch import Layer, Run, settled, snapshot
from ...dispatch.type_tests import set_class
from ...dsl.avals import dtype_of
from ...dsl.debug.conventions import say
from ...dsl.layers.splitting import concrete
from ...dsl.ops.create import zeros_like
from ..rules.from_cards import constant, differentiable


class Dual(Layer):
    """A value and its tangent; `Dual[d]` belongs to a forward transformation of depth d."""

    __slots__ = ("primal", "run", "tangent")
    halves = ("primal", "tangent")  # on each of which a linear function acts by itself
    holds = "primal"
    only_arrays = True
    follows = True
    sees_inner = True

    def __init__(self, primal, tangent, run):
        self.primal, self.tangent, self.run = primal, tangent, run

    def concrete(self):
        return concrete(self.primal)

    target: Any = None  # classmethod(generic, types), put here by targets.py, which is built on this page


class Unread(Dual):
    """One of several results of an operation, before something is made of it.

    `root` is (what to call once results with two numbers of axes, values and vectors, are read; those read so far).
    """

    __slots__ = ()
    companion = Dual

    @classmethod
    def lift(cls, generic, types):
        return cls.target(generic, types)

    @classmethod
    def target(cls, generic, types):
        mine, counts = [t is cls for t in types], differentiable(generic)

        def again(*args, **params):
            return generic.spread(*[a.read(counts) if m else a for a, m in zip(args, mine, strict=True)], **params)

        return again

    def read(self, counts=True):
        """The value as one that is read. counts: whether a derivative is."""
        known = getattr(self, "root", None)
        value = Dual[self.depth](self.primal, self.tangent, self.run)
        if known is not None and counts:
            look, ndims = known
            last = value.ndim not in ndims and len(ndims) == 1
            ndims.add(value.ndim)
            set_class(self, Dual[self.depth])
            self.root = None
            if last:
                look()
        return value


def unread(parts, look):
    """Let values of forward mode call `look` if values and vectors are read both."""
    known = look, set()
    for x in parts:
        if isinstance(x, Dual):
            set_class(x, Unread[x.depth])
            x.root = known


class ForwardRun(Run):
    """One execution of a forward transformation. kept: values of functions, by function and array (shared_derivatives.py).
    store: of memory, for a pass over a gradient (rules/buffer_reuse.py). remarks: of slopes of roots, said at the end
    (roots.py)."""

    __slots__ = ("kept", "remarks", "store")
    remarks: Any
    store: Any

    def __init__(self, name):
        super().__init__(name)
        self.kept, self.store, self.remarks = {}, None, []

    def __exit__(self, kind, error, traceback):
        super().__exit__(kind, error, traceback)
        if error is None and self.remarks:
            for text in dict.fromkeys([text for remarks in self.remarks for text in remarks]):
                say(text)

    def close(self):
        super().close()
        if self.store is not None:
            self.store.end()
        self.kept, self.store = {}, None

    def wrap(self, primal, tangent):
        return Dual[self.depth](snapshot(primal), snapshot(tangent), self)

    def constant(self, value):
        """A value with a zero tangent."""
        if dtype_of(value).kind not in "fc":
            return super().constant(value)
        return self.wrap(value, zeros_like(value))

    def unwrap(self, x):
        """(value, tangent or None) of a result of the function."""
        x, own = settled(x), Dual[self.depth]
        if type(x) is not own and type(x) is Unread[self.depth]:
            x = x.read()
        if type(x) is own:
            if x.run is not self:
                raise self.foreign(x.run)
            return snapshot(x.primal), snapshot(x.tangent)
        return constant(x), None
