"""From equations to loop nests: which values get memory, which are computed where they are read, what shares a pass."""

from ....dsl.avals import UNKNOWN, is_number, reduced_axes
from ....dsl.card import programs_in
from ....dsl.ir.pass_selection import chosen, on
from ....dsl.ir.programs import Var
from ...lowering import forgets, record
from ..loops.bodies import Graph
from ..loops.elementwise import cost
from ..loops.emission import emit
from ..loops.index_maps import aliases, mapped
from ..loops.lowering_checks import checked_nests, checked_statements
from ..loops.nests import Nest, Reduce, Store, absorb, counters, dry_run, work
from ..lowerings.contractions import view_source
from ..text.indices import Buffer
from ..text.math_functions import Functions
from ..text.scalars import Unsupported
from .in_place import chains
from .subprograms import constants_within, literals_among

EXTREMA = ("max", "min")
CHEAP = 8  # additions that are rather repeated than stored
REMEMBERED = 4096  # equations of which is known whether they have C
DEEPEST = 40  # movements of elements that are followed from one to the next


class Plan:
    """The nests of a straight line of equations, in order, and the buffers they use.

    equations: lowerable ones; outputs: Vars that must lie in memory; graph: knows the inputs. `nests` after `made`.
    """

    def __init__(self, equations, outputs, graph):
        self.equations, self.graph = equations, graph
        self.outputs = set(outputs)
        self.nests, self.temporaries = [], []
        self.memory = lambda v: graph.same_memory.get(v, v)
        self.written, needed = chains(equations, self.outputs, graph) if on("in_place") else ([], ())
        self.kept = self._kept().union(needed)
        for first, *others in self.written:
            graph.buffers[first] = graph.buffers.get(others[-1]) or self._buffer(first)
            graph.buffers.update(dict.fromkeys(others, graph.buffers[first]))
            graph.same_memory.update(dict.fromkeys(others, first))
        for e in equations:
            self._add(e)
        if on("fusion"):
            self._fuse()
            self._drop_unread()

    # ------------------------------------------------------------------ which values get memory
    def _kept(self):
        """Vars that get memory of their own: all, if what reads them does not compute them."""
        if not on("fusion"):
            return {v for e in self.equations for v in e.outputs}
        kept, costs, contexts, deep = set(self.outputs), {}, {}, {}
        by = {v: e for e in self.equations for v in e.outputs}
        wide = {}  # Var -> largest number of elements of what is made of it
        known = []  # of each equation: its Vars, whether its elements are computed one by one, and whether they are moved
        for e in self.equations:
            inputs, most = [v for v in e.inputs if isinstance(v, Var)], max([v.aval.size for v in e.outputs])
            known.append((e, inputs, computed_where_read(e), record(e).index_map is not None))
            for v in inputs:
                wide[v] = max(wide.get(v, 0), most)
        for e, inputs, one_by_one, moved in known:
            cost_here = sum([costs.get(v, 0) for v in inputs]) + own_cost(e)
            depth = max([deep.get(v, 0) for v in inputs], default=0) + moved
            for v in e.outputs:
                spread = cost_here and wide.get(v, 0) > max(v.aval.size, 1) and elementwise(e)
                if spread or not one_by_one or depth > DEEPEST:
                    kept.add(v)
                deep[v], costs[v] = (0, 0) if v in kept else (depth, min(cost_here, 1000))
        for e, inputs, one_by_one, moved in reversed(known):
            out = e.outputs[0]
            if one_by_one and out not in kept and costs[out] > CHEAP and len(contexts.get(out, ())) > 1:
                kept.add(out)
            here = {out} if not one_by_one or out in kept else contexts.get(out, set())
            here = {(e, c) for c in here} if one_by_one and moved else here
            for v in inputs:
                contexts.setdefault(v, set()).update(here)
            source = view_source if record(e).strided else lambda v, by: v
            kept.update([source(v, by) for v in needed_in_memory(e) if isinstance(v, Var)])
        return kept

    # ------------------------------------------------------------------ nests
    def _buffer(self, var):
        if var not in self.graph.buffers:
            name = f"{self.graph.prefix}t{len(self.temporaries)}"
            self.graph.buffers[var] = Buffer(name, var.aval.dtype, var.aval.shape)
            self.temporaries.append(var)
        return self.graph.buffers[var]

    def _add(self, e):
        graph, lowered = self.graph, record(e)
        out = e.outputs[0]
        if lowered.reduce:
            x = e.inputs[0]
            axes = reduced_axes(e.op.__name__, x.aval, e.params.get("axis"))
            if lowered.reduce in EXTREMA and not x.aval.size and out.aval.size:
                raise Unsupported("an extremum of nothing")  # what that is, or which error, the kernel says
            self._buffer(out)
            self._nest(Nest(x.aval.shape, [Reduce(out, e, axes, e.params.get("keepdims", False))]))
        elif lowered.nests:
            for v in e.outputs:
                self._buffer(v)
            for nest in checked_nests(e, lowered.nests(e, graph), graph):
                self._nest(nest)
        elif aliases(e):
            x = e.inputs[0]
            source = graph.buffers[x]
            if out in graph.buffers:  # an output of the program: a copy, of the same elements in a row
                flat, target = graph.flat(x), graph.flat(out)
                self._nest(Nest(flat.aval.shape, [Store(target, flat)]))
            else:
                graph.buffers[out] = Buffer(source.name, source.dtype, out.aval.shape)
                graph.same_memory[out] = self.memory(x)
        else:
            graph.makers[out] = e
            if out in self.kept:
                self._buffer(out)
                self._nest(Nest(out.aval.shape, [Store(out)], work=own_cost(e)))

    def _nest(self, nest):
        if isinstance(nest, Nest):
            body = dry_run(nest, self.graph)
            nest.work = max(1, sum(map(work, body.statements)))
        self.nests.append(nest)

    # ------------------------------------------------------------------ sharing passes
    def _fuse(self):
        groups = []  # (nest, the memory that it reads, that it writes)
        for nest in self.nests:
            read, written = {self.memory(v) for v, _ in nest.reads}, {self.memory(v) for v in nest.writes}
            for g, others_read, others_written in reversed(groups):
                if self._fusable(g, nest):
                    absorb(g, nest)
                    others_read |= {self.memory(v) for v, _ in g.reads}
                    others_written |= written
                    break
                if others_written & (read | written) or written & others_read:  # it must run after that one
                    groups.append((nest, read, written))
                    break
            else:
                groups.append((nest, read, written))
        self.nests = [nest for nest, _, _ in groups]

    def _fusable(self, g, nest):
        if not (isinstance(g, Nest) and isinstance(nest, Nest)) or g.shape != nest.shape or g.sequential or nest.sequential:
            return False
        if len(g.roots) + len(nest.roots) > 64 or (g.reduces and nest.reduces and g.reduced != nest.reduced):
            return False
        reduced = g.reduced or nest.reduced
        if (
            reduced
            and set(reduced) != set(range(len(g.shape) - len(reduced), len(g.shape)))
            and any(isinstance(r, Store) for r in (*g.roots, *nest.roots))
        ):
            return False
        here, m = counters(g.shape), self.memory
        simple = {r.var for r in g.roots if isinstance(r, Store) and r.place is None and not r.add}
        written = {m(v) for v in g.writes}
        for v, idx in nest.reads:
            if m(v) in written and not (v in simple and idx == here):
                return False
        return not {m(v) for v in nest.writes} & (written | {m(v) for v, _ in g.reads})

    def _drop_unread(self):
        """Values that are only read in the pass that makes them need no memory."""
        read = {self.memory(v) for nest in self.nests for v, _ in nest.reads}
        read |= {self.memory(v) for v in self.outputs} | {first for first, *_ in self.written}
        for nest in self.nests:
            if not isinstance(nest, Nest):
                continue
            before = len(nest.roots)
            for root in list(nest.roots):
                var = root.var
                if isinstance(root, Store) and root.atom is None and self.memory(var) not in read:
                    nest.roots.remove(root)
                    del self.graph.buffers[var]
                    self.temporaries.remove(var)
            if 0 < len(nest.roots) < before:
                dry_run(nest, self.graph)
        self.nests = [n for n in self.nests if not isinstance(n, Nest) or n.roots]


def elementwise(e):
    """Return whether an equation computes each element from those at the same place."""
    return e.op.card.kind == "elementwise" and record(e).index_map is None


def computed_where_read(e):
    """Return whether an equation's elements can be computed one by one, where they are needed."""
    return mapped(e) is not None or e.op.card.kind == "elementwise"


def own_cost(e):
    """Estimate the cost of an element of the result, in additions, without its arguments."""
    return cost(e.op) if e.op.card.kind == "elementwise" else 0


def needed_in_memory(e):
    """The arguments that an equation reads as a block of memory."""
    memory = record(e).memory
    return e.inputs if aliases(e) or memory is True else memory(e) if memory else []


def has_c(e):
    """Return whether the operation of an equation has C, if not of all dtypes and parameters."""
    if e.op.card.collective:
        return False
    atoms = [v for v in e.inputs if isinstance(v, Var)]
    if not atoms or not all(isinstance(v, Var) or is_number(v) for v in e.inputs):
        return False
    lowered = record(e)
    if not (computed_where_read(e) or lowered.reduce or lowered.nests or lowered.alias):
        return False
    unknown = [v.aval.shape for v in (*atoms, *e.outputs) if UNKNOWN in v.aval.shape]
    return not unknown or lowered.of_programs and not any(UNKNOWN in shape[1:] for shape in unknown)


def lowerable(e, functions=Functions):
    """Return whether an equation has C, by trying it. functions: of the language. Raises nothing."""
    if not has_c(e):
        return False
    lowered = record(e)
    atoms = [v.aval if isinstance(v, Var) else (type(v), repr(v)) for v in e.inputs]
    key = (functions, chosen(), e.op, *atoms, *sorted(e.params.items()))
    if len(_lowerable) > REMEMBERED:
        _lowerable.clear()
    known = _lowerable
    if lowered.of_programs:  # with the program, for as long as that lives
        known = next(p for value in e.params.values() for p in programs_in(value)).lifted.setdefault("lowerable", {})
    try:
        return known[key]
    except KeyError:
        known[key] = found = _succeeds(e, functions)
        return found
    except TypeError:  # a parameter without a hash
        return _succeeds(e, functions)


_lowerable = {}  # language, passes, operation, shapes, dtypes, parameters -> whether there is C
forgets(_lowerable.clear)


def _succeeds(e, functions):
    try:
        trial(e, functions)
    except Unsupported:
        return False
    return True


def trial(e, functions=Functions):
    """Plan an equation by itself. Raises Unsupported."""
    graph = Graph(functions())
    for k, v in enumerate(dict.fromkeys(v for v in e.inputs if isinstance(v, Var))):
        graph.functions.check(v.aval.dtype)
        graph.buffers[v] = Buffer(f"x{k}", v.aval.dtype, v.aval.shape)
    for k, v in enumerate(e.outputs):
        graph.functions.check(v.aval.dtype)
        graph.buffers[v] = Buffer(f"y{k}", v.aval.dtype, v.aval.shape)
    graph.constants = constants_within([e])
    graph.literals = literals_among(graph.constants)
    graph.everywhere = {v: Buffer(f"c{k}", v.aval.dtype, v.aval.shape) for k, v in enumerate(graph.constants)}
    graph.buffers.update(graph.everywhere)
    plan = Plan([e], e.outputs, graph)
    for nest in plan.nests:
        if isinstance(nest, Nest):
            emit(nest, graph)
        elif not functions.blocks:
            raise Unsupported("statements of the host's own")
        else:
            checked_statements(nest, nest.emit(graph), graph)
