"""Cumulated values and places of extrema: loops along one axis whose iterations build on each other."""

from ....dsl import operations
from ....dsl.avals import normalize_axis
from ...lowering import fault, lowering
from ..loops.bodies import Body
from ..loops.loops import Loop, around
from ..loops.lowering_checks import checked_steps
from ..loops.nests import counters
from ..loops.reductions import nothing
from ..text.expressions import Name, c
from ..text.scalars import Unsupported, ctype
from ..text.statements import Assign, If, Local


class Scan:
    """A pass along one axis inside passes over the others.

    make: function(body, idx, axis counter) -> (statements of a step, function(loop over the axis) -> the whole). reads, writes:
    as of a nest.
    """

    sequential, steps, unroll = True, 1, False

    def __init__(self, e, graph, source, axis, make):
        if axis not in range(source.aval.ndim):
            raise fault(e, "nests", f"makes a Scan along axis {axis!r} of {source.aval}; axes are counted from 0")
        self.equation, self.source, self.axis, self.make = e, source, axis, make
        self.shape, self.writes, self.work = source.aval.shape, list(e.outputs), 4
        body = Body(graph)
        body.at(source, counters(self.shape), source.aval.dtype)
        self.reads = body.loads
        self.reduced, self.kept_first, self.roots = (axis,), axis, []

    def emit(self, graph, outer=0, parallel=False):
        """Statements."""
        body = Body(graph)
        made = self.make(body, counters(self.shape), Name(f"i{self.axis}"))
        steps, whole = checked_steps(self.equation, made)
        axis = around([Loop(f"i{self.axis}", self.shape[self.axis], True)], [*body.statements, *steps], unroll=self.unroll)
        others = [Loop(f"i{a}", n, False) for a, n in enumerate(self.shape) if a != self.axis and n != 1 and a >= outer]
        return around(others, whole(axis), False, parallel, unroll=self.unroll)


def line(e, graph, default=None):
    """(array, axis) of an operation that flattens without an axis. default: the axis if none is given."""
    x, axis = e.inputs[0], e.params.get("axis", default)
    if axis is not None:
        return x, normalize_axis(e.op.__name__, axis, x.aval.ndim)
    return graph.flat(x), 0


def flattened(e, default=None):
    """The arguments of an operation, if it flattens them: they are read as they lie in a row."""
    return e.inputs if e.params.get("axis", default) is None else []


def _cumulate(sign):
    def lower(e, graph):
        x, axis = line(e, graph)
        out = e.outputs[0]
        dtype = out.aval.dtype
        if dtype.kind == "b" or (dtype.kind == "c" and sign == "*"):
            raise Unsupported("cumulated booleans")

        def make(body, idx, counter):
            value, total = body.at(x, idx, dtype), Name("total")
            target = body.access(graph.buffers[out], idx)
            step = Assign(total, c(f"{{}} {sign} {{}}", total, value))
            return [step, Assign(target, total)], lambda loop: [Local(ctype(dtype), "total", nothing(sign, dtype)), *loop]

        return [Scan(e, graph, x, axis, make)]

    return lower


def _extremum(compare):
    def lower(e, graph):
        x, axis = line(e, graph)
        out, dtype = e.outputs[0], x.aval.dtype
        if dtype.kind == "c" or not x.aval.shape[axis]:
            raise Unsupported("places of extrema of complex numbers")

        def make(body, idx, counter):
            if x.aval.shape[axis] == 1:
                counter = "0"
            value, best, place = body.at(x, idx, dtype), Name("best"), Name("place")
            keep = e.params.get("keepdims", False)
            if e.params.get("axis") is None:
                kept = tuple(idx[0] * 0 for _ in out.aval.shape)
            else:
                kept = tuple(i * 0 if a == axis else i for a, i in enumerate(idx) if keep or a != axis)
            target = body.access(graph.buffers[out], kept)
            better = c(f"{{}} {compare} {{}}", value, best)
            if dtype.kind == "f":
                better = c("{0} == {0} && ({1} || {2} != {2})", best, better, value)
            begin = [Local(ctype(dtype), "best", "0"), Local("int64_t", "place", "-1")]
            step = If(c("{} < 0 || ({})", place, better), [Assign(best, value), Assign(place, counter)])
            return [step], lambda loop: [*begin, *loop, Assign(target, place)]

        return [Scan(e, graph, x, axis, make)]

    return lower


for name, nests in (
    ("cumsum", _cumulate("+")), ("cumprod", _cumulate("*")), ("argmax", _extremum(">")), ("argmin", _extremum("<")),
):  # fmt: skip
    lowering(operations[name], nests=nests, memory=flattened)
