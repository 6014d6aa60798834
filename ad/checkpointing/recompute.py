"""Folding: what a record holds of a whole run of a function becomes one node, whose rule runs the function again.

The parents of that node are all values on the record that the function read, arguments or not.
"""

from typing import Any

from ...dispatch import Layer, LeakedLayerError, MutationError, snapshot, tree
from ...dsl.avals import aval_of
from ...dsl.layers.splitting import Need, Split
from ..locks import may_go_on
from ..reverse.nodes import PART, Joint
from ..reverse.tape import Reverse, ReverseRun
from ..styles.variable_nodes import entry_of, number_of, recording
from ..subgraphs import ancestors, parents, portion
from .reenter import surrounded
from .saved import MUST_REPEAT, Kept


class Fold:
    """One run of a function on one record. recomputed: the call; moment: where it ran; run: whose record."""

    def __init__(self, recomputed, moment, run):
        self.recomputed, self.moment, self.run = recomputed, moment, run
        self.name, self.parents = recomputed.name, None

    parents: Any  # once it has run
    _pull: Any  # of the kinds of records, as `folded`
    folded: Any

    def pull(self, cts):
        """Cotangents of the parents, from those of the results; itself a checkpoint for what is recorded around it."""
        return self.recomputed.derived(self._pull, cts).first()

    def _node(self, results):
        """The entry of the folded run, and that of each of its results."""
        avals = tuple([aval_of(x.value) for x in results])
        yield Joint(lambda ct, y: self.pull(list(ct))), (), avals, tuple(self.parents)
        for j, aval in enumerate(avals):
            yield PART, (j, len(avals)), aval, ()

    def _renamed(self, y, places):
        """The results y, with their values on this record at other places."""

        def renamed(x):
            if not _of(x, Reverse, self.run) or x.index not in places:
                return None
            made = snapshot(x)
            made.index = places[x.index]
            return made

        return tree.map(lambda leaf: with_parts_replaced(leaf, renamed), y)

    def _results(self, y, new):
        """The values on this record in y for whose place `new(place)` holds: one for each place."""
        found = {}
        for leaf in tree.leaves(y):
            for x in layers_in(leaf):
                if _of(x, Reverse, self.run) and new(x.index):
                    found.setdefault(x.index, x)
        return list(found.values())

    def _check(self, results, cts, read):
        if len(results) != len(cts) or not set(read) <= set(self.parents):
            raise MutationError(f"{self.name}: it did not do the same when it ran again for its derivative; {MUST_REPEAT}")
        return [(x.index, c) for x, c in zip(results, cts, strict=True) if c is not None]


class TapeFold(Fold):
    """On a tape."""

    def __init__(self, recomputed, moment, run):
        super().__init__(recomputed, moment, run)
        self.start, self.required = len(run.tape), len(run.required)

    def folded(self, y):
        """The results y, with their values of this tape as results of one node in place of all nodes since the start."""
        run, tape, start = self.run, self.run.tape, self.start
        if len(tape) == start or len(run.required) > self.required:  # collectives of processes are walked as they are
            return y
        results = self._results(y, lambda place: place >= start)
        self.parents = _parents(tape[start:], start)
        tape[start:] = [(Forgotten(self.name), (), None, ())] * (len(tape) - start)
        if not results:
            return y
        may_go_on(run)
        main, *entries = self._node(results)
        run.append(main)
        places, main = {}, len(tape) - 1
        for x, (*entry, _) in zip(results, entries, strict=True):
            run.append((*entry, (main,)))
            places[x.index] = len(tape) - 1
        return self._renamed(y, places)

    def _pull(self, cts):
        run, walk = self.run, ReverseRun(self.name)
        try:
            with self.moment.again(run) as start:
                y, keeping = self.recomputed.again(run)
                tape, walk.required = run.tape, run.required
            results = self._results(y, lambda place: place >= start)
            seeds = self._check(results, cts, _parents(tape[start:], start))
            walk.tape = tape if walk.required else Spent(tape)
            with surrounded(keeping):
                found = walk.walk_back(seeds, start)
        except (Split, Need):
            raise MutationError(f"{self.name}: lanes took another path when it ran again; {MUST_REPEAT}") from None
        return [without(found[place], keeping) for place in self.parents]


class Spent:
    """A tape that is walked once: each node goes with the step back over it, and its arrays with it."""

    def __init__(self, nodes):
        self.nodes = nodes

    def __len__(self):
        return len(self.nodes)

    def __getitem__(self, index):
        node, self.nodes[index] = self.nodes[index], None
        return node


class VariableFold(Fold):
    """On the record of variables, whose nodes hold their parents."""

    def __init__(self, recomputed, moment, run):
        super().__init__(recomputed, moment, run)
        self.mark = run.mark()

    def folded(self, y):
        """The results y, with those that come from variables as results of one node."""
        run = self.run
        results = self._results(y, lambda node: node.number > self.mark)
        inside, self.parents = self._inside(results, self.mark)
        if not results or any(node.required for node in inside):
            return y
        main, *entries = [run.node(entry) for entry in self._node(results)]
        for node in entries:
            node.entry = (*node.entry[:3], (main,))
        return self._renamed(y, {x.index: node for x, node in zip(results, entries, strict=True)})

    @staticmethod
    def _inside(results, mark):
        """The nodes behind results since a mark, and those before it that they read."""
        found = ancestors(lambda node: entry_of(node) if node.number > mark else None, [x.index for x in results])
        inside = [node for node in found if node.number > mark]
        return inside, sorted({p for node in inside for p in parents(entry_of(node)) if p.number < mark}, key=number_of)

    def _pull(self, cts):
        token = recording.set(True)
        try:
            mark = self.run.mark()
            with self.moment.again(self.run):
                y, keeping = self.recomputed.again(self.run)
            results = self._results(y, lambda node: node.number > mark)
            _, read = self._inside(results, mark)
        finally:
            recording.reset(token)
        seeds = self._check(results, cts, read)
        ends = set(self.parents)
        inner = lambda node: None if node in ends else entry_of(node)
        run, places = portion(self.name, inner, number_of, self.parents, [node for node, _ in seeds])
        seeds = [(place, c) for place, (_, c) in zip(places, seeds, strict=True) if place is not None]
        with surrounded(keeping):
            found = run.walk_back(seeds, len(self.parents))
        return [without(c, keeping) for c in found]


class Forgotten:
    """In place of a node of what was computed inside."""

    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name

    def hand_on(self, cts, own, ct, y, xs, parent):
        raise LeakedLayerError(
            f"{self.name}: a value computed inside was used outside, past what the function returns; return it instead of "
            "storing it"
        )


def _parents(nodes, mark):
    """The places before `mark` that nodes of a tape read."""
    return sorted({p for node in nodes for p in parents(node) if p < mark})


# ---------------------------------------------------------------------- values within values
def layers_in(x):
    """All values of layers of which x is made, x among them."""
    if isinstance(x, Layer):
        yield x
        for part in x.parts():
            yield from layers_in(part)


def _of(x, kind, run):
    return run is not None and isinstance(x, kind) and x.run is run


def without(x, keeping):
    """x without the values of a keeping run that it is made of."""
    return x if keeping is None else with_parts_replaced(x, lambda part: part.value if _of(part, Kept, keeping) else None)


def with_parts_replaced(x, change):
    """x with parts of it, down the layers, replaced by `change(part)` where that is not None."""
    if not isinstance(x, Layer):
        return x
    new = change(x)
    y = x if new is None else new
    return y.remade(lambda part: with_parts_replaced(part, change)) if isinstance(y, Layer) else y
