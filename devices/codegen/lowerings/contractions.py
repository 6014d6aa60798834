"""Matrix products: small ones by a kernel of vector registers, large ones by BLAS, others by plain loops."""

import numpy as np

from ....dsl import operations
from ...lowering import lowering, record
from ..loops.bodies import Body
from ..loops.emission import reduced
from ..loops.index_maps import aliases
from ..loops.loops import Loop, around
from ..loops.reductions import Accumulator, nothing
from ..text import small_products
from ..text.expressions import Access, Name, c, call
from ..text.indices import ZERO, Index
from ..text.scalars import Unsupported, code, converted, ctype
from ..text.statements import Assign, Do, Local
from . import blas

SMALL = 40_000  # multiplications below which a call of BLAS takes longer than our own loops


@lowering(operations["matmul"], memory=True, strided=True)
def matmul(e, graph):
    return [Product(e, graph)]


class Product:
    """x @ y: loops over the leading axes around a product of matrices."""

    sequential = True
    reduced, roots = (), ()
    kept_first, unroll = 0, False

    def __init__(self, e, graph):
        self.equation, self.out = e, e.outputs[0]
        x, y = e.inputs
        self.dtype = self.out.aval.dtype
        if x.aval.dtype != self.dtype or y.aval.dtype != self.dtype:
            raise Unsupported("a product of different dtypes")
        self.lead = np.broadcast_shapes(x.aval.shape[:-2], y.aval.shape[:-2])
        self.n = x.aval.shape[-2] if x.aval.ndim > 1 else 1
        self.m = y.aval.shape[-1] if y.aval.ndim > 1 else 1
        self.k = x.aval.shape[-1]
        self.shape = (*self.lead, self.n, self.m)
        self.work = self.steps = max(1, self.k)
        self.writes = [self.out]
        self.reads = [(v, ()) for v in self._sources(graph)]

    @property
    def large(self):
        long = self.n * self.m * self.k >= SMALL and min(self.n, self.m, self.k) > 1
        return long and blas.has_product(self.dtype)

    def _sources(self, graph):
        body = Body(graph)
        self._views(body)
        return [v for v, _ in body.loads]

    def _views(self, body):
        """Places of x[…, i, l], y[…, l, j] and out[…, i, j] as (buffer, Index), in the counters b0…, i, j, l."""
        x, y = self.equation.inputs
        b = tuple(ZERO if n == 1 else Index(0, [(f"b{a}", 1)]) for a, n in enumerate(self.lead))
        one = lambda name, n: ZERO if n == 1 else Index(0, [(name, 1)])
        i, j, l = one("i", self.n), one("j", self.m), one("l", self.k)
        found = []
        for v, last in ((x, (i, l) if x.aval.ndim > 1 else (l,)), (y, (l, j) if y.aval.ndim > 1 else (l,))):
            lead = v.aval.shape[:-2]
            own = tuple(ZERO if n == 1 else q for n, q in zip(lead, b[len(b) - len(lead) :], strict=True))
            found.append(view(body, v, (*own, *last)))
        buffer = body.graph.buffers[self.out]
        last = (*([i] if x.aval.ndim > 1 else []), *([j] if y.aval.ndim > 1 else []))
        found.append((buffer, buffer.at((*b, *last))))
        return found

    def emit(self, graph, outer=0, parallel=False):
        """Statements."""
        body = Body(graph)
        (xn, x), (yn, y), (on, o) = self._views(body)
        loops = [Loop(f"b{a}", n, False) for a, n in enumerate(self.lead) if n != 1]
        if self.unroll:
            return around(loops, self._plain(Access(xn, x), Access(yn, y), Access(on, o), graph), unroll=True)
        base = lambda buffer, p: c("{} + {}", Name(buffer.name), p.without({"i", "j", "l"}))
        at = lambda p, name: p.coefficient(name)
        n, m, k, kind = self.n, self.m, self.k, code(self.dtype)
        product = blas.gemm(self.dtype, n, m, k, (xn, x), (yn, y), (on, o), graph.functions) if self.large else None
        if product is not None:
            return around(loops, product)
        dots = at(x, "l") == 1 and m == 1 < n or at(y, "l") == 1 != at(y, "j") and n == 1 < m  # of vectors that lie in rows
        dots = dots or n == m == 1 and k > small_products.FEW
        if self.dtype.char in "df" and n * m * k and k > 1 and not dots:
            rows = (at(x, "i"), at(x, "l"), at(y, "l"), at(y, "j"), at(o, "i"), at(o, "j"))
            if m == 1 and at(x, "i") == 1:  # a transposed matrix times a vector: the vector times the matrix
                xn, x, yn, y, n, m = yn, y, xn, x, 1, n
                rows = (0, at(x, "l"), at(y, "l"), at(y, "i"), 0, at(o, "i"))
            product = kernel_call(kind, n, m, k, base(xn, x), base(yn, y), base(on, o), rows, graph)
            return around(loops, product, False, parallel)
        product = self._plain(Access(xn, x), Access(yn, y), Access(on, o), graph, parallel and not loops)
        return around(loops, product, False, parallel)

    def _plain(self, x, y, o, graph, parallel=False):
        """Sums of products one after the other: few are written out, long ones in blocks."""
        t, total = ctype(self.dtype), Accumulator("|" if self.dtype.kind == "b" else "+", self.dtype, "s")
        term = multiplied(x, y, self.dtype, graph)
        loops = [Loop(name, n, False) for name, n in (("i", self.n), ("j", self.m)) if n != 1]
        if self.k == 1:  # an outer product
            vectors = bool(loops) and o.place.coefficient(loops[-1].name) == 1
            return around(loops, [Assign(o, converted(t, term))], vectors, parallel, unroll=self.unroll)
        if self.unroll:
            start = Local(t, total.name, nothing("+", self.dtype) if self.k else total.start)
            step = Assign(total.variable, total.combine(total.variable, term))
            sums = [start, *around([Loop("l", self.k, True)], [step], unroll=True)]
            return around(loops, [*sums, Assign(o, total.variable)], unroll=True)
        sums = reduced(Body(graph), [(total, term)], [Loop("l", self.k, True)], self.dtype.kind != "b")
        return around(loops, [*sums, Assign(o, total.variable)])


def multiplied(x, y, dtype, graph):
    """The product of two numbers of this dtype."""
    if dtype.kind == "c":
        return call(graph.functions.word("multiply", dtype), x, y)
    return c("({} && {})" if dtype.kind == "b" else "{} * {}", x, y)


def view(body, v, idx):
    """(Buffer, place) of an element of v that lies in memory, perhaps transposed or sliced. Raises Unsupported."""
    alone = Body(body.graph)
    alone.from_memory = True
    alone.value(v, idx)
    body.loads += alone.loads
    if len(alone.statements) != 1 or len(alone.accesses) != 1:
        raise Unsupported("an argument that is not in memory")
    return alone.accesses[0].buffer, alone.accesses[0].place


def view_source(v, makers):
    """The Var in memory of which v is a transposed, sliced or otherwise moved part."""
    while v in makers and record(makers[v]).index_map and len(makers[v].inputs) == 1:
        if aliases(makers[v]):
            return v
        v = makers[v].inputs[0]
    return v


def kernel_call(kind, n, m, k, x, y, o, strides, graph):
    """Statements of a call of a kernel for small products, or of a very small one."""
    if n * m * k <= small_products.FEW and m <= small_products.LANES[kind]:
        return small_products.written_out(n, m, k, kind, x, y, o, strides)
    part, line = small_products.product(n, m, k, kind, x, y, o, strides)
    graph.functions.small_products.add((kind, part))
    return [Do(line)]
