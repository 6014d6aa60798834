"""What a function writes to outside while it is traced: found by reading everything again. A write happens when f runs, so a
function that writes to what it may read runs eagerly from then on; of what it only adds to a list it is said that this happens
when it is traced.
"""

from collections import deque

from ..layers.tracing import Traced
from .contents import Same, holds
from .globals_key import label_of, state
from .impure import NOISE, draw_again, drawn
from .outside_arrays import Watch
from .results import result

RETURN = "return the new value"
KEPT = "return what is to be kept, or use polyad.io_callback"


class Before:
    """The state before a trace, for a look at what f has done. reads, objects: how and by which arguments f reads; arrays:
    those that it reads; watch: the arrays' contents."""

    def __init__(self, tree, objects, arrays):
        self.reads, self.objects, self.arrays = tree.reads, objects, arrays
        self.watch = Watch(arrays)
        self.drawn, self.values = drawn() if self.reads.foreign else None, self._read()
        self.state = state(self.values)[0]
        self.logs = [
            (label, v.value, len(v.value))
            for label, v in zip(self.reads.labels, self.values, strict=True)
            if type(v) is Same and holds(type(v.value))
        ]
        self.doubt, self.added, self.changed = None, [], []

    def _read(self):
        return self.reads.read(*self.objects)

    def look(self, run):
        """After f, which this run has followed. doubt becomes what it did that another call would not repeat, and what to do
        instead; added: what it added to."""
        if self.drawn is not None and drawn() != self.drawn:
            self.doubt = "draws random numbers (the generator of np.random or random is another one after it)", NOISE
        place = self.watch.changed(self.arrays)
        if place is not None:
            self.doubt = f"writes to {label_of(self.arrays[place], self.reads, self.values)}, an array outside of it", RETURN
        try:
            now = self._read()
        except (AttributeError, IndexError, TypeError):
            self.doubt = "takes away from what it reads outside of it", RETURN
            return
        after = state(now)[0]
        for i, label in enumerate(self.reads.labels):
            if after[i] != self.state[i] and (i not in self.reads.caches or isinstance(now[i], Traced)):
                self.doubt = f"writes to {label}, outside of it", RETURN
                self.changed.append((i, now[i]))
        for label, log, count in self.logs:
            if len(log) != count:
                if not _acts(run):  # else it may have been the effect of a step
                    self.added.append(label)
                if _holds_traced(log):
                    self.doubt = f"adds what it computes to {label}, outside of it", KEPT
                    self.changed.append((None, log))

    def repeatable(self, run):
        """Return whether f, which a run has followed until it failed, can run once more as if it had not: it has changed
        nothing that it reads outside, and no step with an effect, or one that writes into donated memory, was carried out."""
        self.look(run)
        donated = run.tree.donated and run.known
        return self.doubt is None and not self.added and not run.acted and not donated and not _acts(run)

    def settle(self):
        """Replace the values of the trace that f left outside by their numbers, as if it had run eagerly."""
        for i, x in self.changed:
            if isinstance(x, Traced):
                self.reads.write(i, ended_value(x), self.objects)
            else:
                settle(x)

    def draw_again(self):
        """Have f draw the same random numbers again."""
        if self.drawn is not None:
            draw_again(self.drawn)


def _acts(run):
    """Return whether steps of a run have effects."""
    followed = [*[s for s, unused in run.known], *run.segments()]
    return any([e.op.card.acts(e.params) for s in followed for e in s.equations])


def ended_value(x):
    """A value of a trace that has ended, as what it stands for."""
    return result(x.variable, {x.variable: x.run.value(x.variable)}, x.variable.weak) if x.run.answers else x


def settle(container):
    """Replace the values of a trace that a list or dict holds."""
    for key, x in _items(container):
        if isinstance(x, Traced):
            container[key] = ended_value(x)
        elif isinstance(x, tuple) and _holds_traced(x):
            container[key] = type(x)([ended_value(part) if isinstance(part, Traced) else part for part in x])
        else:
            settle(x)


def _items(container):
    if isinstance(container, (list, deque, tuple)):
        return list(enumerate(container))
    return list(container.items()) if isinstance(container, dict) else []


def _holds_traced(x):
    """Return whether a container holds a value of a trace."""
    return isinstance(x, Traced) or any([_holds_traced(part) for _, part in _items(x)])
