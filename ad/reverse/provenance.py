"""Where the nodes of a tape come from, known while somebody watches the calls: the operation and the user's line."""

from ...dispatch import step, stepping
from ...dispatch.callers import caller
from ...dsl.debug.nans import watched_rule
from .mutation_checks import readers
from .nodes import PART
from .walk import walk


class Origin:
    """Of one node: name of the operation, with what it is a step of; place: (file, line) of the user's call."""

    __slots__ = ("name", "place")

    def __init__(self, name, place):
        self.name, self.place = name, place


def noting(tape, append):
    """(origins by place on the tape, the function that appends a node and notes its origin)."""
    origins = {}

    def noted(node):
        origins[len(tape)] = _origin(step())
        append(node)

    return origins, noted


def _origin(innermost):
    calls, place = [], None
    for s in [] if innermost is None else innermost.chain():
        if s.kind == "call" and s.name not in calls:
            calls.append(s.name)
        elif s.kind == "rule":
            calls.append(f"the reverse rule of {s.name}")
            place = s.place
            break
    name = calls[0] if calls else None
    return Origin(f"{name} (a step of {calls[-1]})" if len(calls) > 1 else name, place or caller())


def watched_walk(run, seeds, inputs):
    """The walk back while calls are watched: each rule is a step, and under `debug_nans` is looked at."""
    with stepping("walk", run.name, open=True):
        return walk(run, WatchedTape(run.tape, getattr(run, "origins", None) or {}), seeds, inputs)


def _reader(rule):
    """The operation of a rule that was recorded while nobody watched."""
    return readers.get(getattr(rule, "func", rule)) or "an operation (recorded while nobody watched)"


class WatchedTape:
    """A tape whose rules say what they are."""

    def __init__(self, tape, origins):
        self.tape, self.origins = tape, origins

    def __len__(self):
        return len(self.tape)

    def __getitem__(self, index):
        node = self.tape[index]
        if node is None or node[0] is PART:
            return node
        vjp, xs, y, parent = node
        origin = self.origins.get(index)
        name = origin and origin.name
        check = lambda rule: watched_rule(rule, name or _reader(rule), origin and origin.place)
        if isinstance(vjp, tuple):
            vjp = tuple(map(check, vjp))
        elif hasattr(vjp, "through"):
            vjp = vjp.through(check)
        elif not hasattr(vjp, "hand_on"):
            vjp = check(vjp)
        return vjp, xs, y, parent
