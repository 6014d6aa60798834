"""Programs that call themselves: run on a stack of our own, so that recursion is as deep as memory allows; and what layers make
of them, which call themselves in turn."""

from contextvars import ContextVar
from typing import Any

from ..axes import resolved
from ..card import programs_in
from ..ir.programs import Equation, Program, Var, without_dead_code


def deep(program):
    """Return whether a program calls itself, or runs one that does."""
    known = program.lifted.get("deep")
    if known is None:
        program.lifted["deep"] = False  # for one that is met again inside itself
        inside = [p for e in program.equations for value in e.params.values() for p in programs_in(value)]
        known = program.lifted["deep"] = any([deep(p) for p in inside])
    return known


def deep_within(params):
    """Return whether one of an operation's programs is deep."""
    return any([deep(p) for value in params.values() for p in programs_in(value)])


class _Frame:
    """A program under way. into: where its results go in the frame below."""

    __slots__ = ("env", "into", "position", "program")

    def __init__(self, program, leaves, into):
        self.program, self.into, self.position = program, into, 0
        self.env = dict(program.constants)
        self.env.update(zip(program.inputs, leaves, strict=True))


def run_deep(program, leaves):
    """The flat results of a program, as by `evaluate`; calls of deep programs in it, and choices among them, are entered."""
    frames = [_Frame(program, leaves, ())]
    while True:
        frame = frames[-1]
        entered = _go_on(frame)
        if entered is not None:
            frames.append(entered)
            continue
        results = [frame.env[v] if isinstance(v, Var) else v for v in frame.program.outputs]
        frames.pop()
        if not frames:
            return results
        frames[-1].env.update(zip(frame.into, results, strict=True))


def _go_on(frame):
    """Run a frame until it ends, or until a deep program is to be entered, whose frame is returned."""
    env, equations = frame.env, frame.program.equations
    value = lambda v: env[v] if isinstance(v, Var) else v
    while frame.position < len(equations):
        e = equations[frame.position]
        frame.position += 1
        xs = [value(v) for v in e.inputs]
        enter = e.op.card.rules.get("enter")
        if enter is not None and deep_within(e.params):
            entered = enter(*xs, **e.params)
            if entered is not None:
                program, given = entered
                return _Frame(program, given, e.outputs)
        y = e.op.generic.spread(*xs, **resolved(e.op, e.params))
        env.update(zip(e.outputs, y if isinstance(y, tuple) else (y,), strict=True))
    return None


# ---------------------------------------------------------------------- what is not used
def with_used(program, used):
    """The program with the results that are used alone. used: a flag for each."""
    outputs = [v for v, u in zip(program.outputs, used, strict=True) if u]
    equations, needed = without_dead_code(pruned(program.equations, outputs), outputs)
    constants = [(v, x) for v, x in program.constants if v in needed]
    return Program(program.name, program.inputs, constants, equations, outputs, None, None)


def pruned(equations, outputs):
    """The equations, calls of programs without results that nobody uses."""
    needed, kept = {v for v in outputs if isinstance(v, Var)}, []
    for e in reversed(equations):
        used = [v in needed for v in e.outputs]
        prune = e.op.card.rules.get("prune")
        if prune is not None and any(used) and not all(used):
            params = prune(used, **e.params)
            if params is not None:
                e = Equation(e.op, e.inputs, params, [v for v, u in zip(e.outputs, used, strict=True) if u])
        if any(used) or e.op.card.acts(e.params) or e.op.card.collective:
            needed.update(v for v in e.inputs if isinstance(v, Var))
        kept.append(e)
    return kept[::-1]


def quiet(equations, made=None):
    """Steps that are run a second time, for what they compute: without those that only have an effect, also in programs."""
    made, kept = {} if made is None else made, []
    for e in equations:
        if e.op.card.acts(e.params):
            if not any([programs_in(v) for v in e.params.values()]):
                if not e.outputs:
                    continue
            else:
                e = Equation(e.op, e.inputs, {k: _quieted(v, made) for k, v in e.params.items()}, e.outputs)
        kept.append(e)
    return kept


def _quieted(value, made):
    if isinstance(value, (tuple, list)):
        return type(value)([_quieted(v, made) for v in value]) if programs_in(value) else value
    if not isinstance(value, Program) or not value.acts:
        return value
    if value not in made:
        copy = made[value] = unfinished(value.name, value.inputs, [])
        copy.calls_itself, copy.lifted["deep"] = value.calls_itself, deep(value)
        copy.constants, copy.outputs = value.constants, value.outputs
        copy.equations = quiet(value.equations, made)
    return made[value]


# ---------------------------------------------------------------------- making them
class _UnderWay:
    """A deep program that a layer is just transforming: `stand_in` for it, with the flags assumed of its results."""

    def __init__(self, stand_in, flags):
        self.stand_in, self.flags, self.used = stand_in, flags, False


# (program, key) -> `_UnderWay`
_ways: ContextVar[dict | None] = ContextVar("polyad_deep_under_way", default=None)
# (dict, key) of what is made while assumptions are open
_notes: ContextVar[Any] = ContextVar("polyad_deep_notes", default=None)


def remembered(program, key, make, start, stand_in):
    """Look up, or make and keep, what a layer makes of a program: (made, flags of the results).

    make: () -> that. start: the flags to begin with, of which there are only more. stand_in: flags -> what stands for the
    result in programs that call themselves; the result's attributes are put into it once the flags it was made with turn out to
    be right.
    """
    way = (_ways.get() or {}).get((program, key))
    if way is not None:
        way.used = True
        return way.stand_in, way.flags
    found = program.lifted.get(key)
    if found is not None:
        return found
    if not deep(program):
        found = program.lifted[key] = make()
        if (notes := _notes.get()) is not None:
            notes.append((program.lifted, key))
        return found
    return _tied(program, key, make, list(start), stand_in)


def _tied(program, key, make, flags, stand_in):
    outer, notes, ways = _notes.get(), [], _ways.get()
    token, way_token = _notes.set(notes), _ways.set(ways)
    try:
        while True:
            way = _UnderWay(stand_in(flags), list(flags))
            _ways.set({**(ways or {}), (program, key): way})
            made, found = make()
            if not way.used:
                break
            if list(found) == flags:
                fill(way.stand_in, made)
                made = way.stand_in
                break
            flags = [a or b for a, b in zip(flags, found, strict=True)]
            for lifted, made_with in notes:  # with the wrong flags
                lifted.pop(made_with, None)
            notes.clear()
    except BaseException:
        for lifted, made_with in notes:
            lifted.pop(made_with, None)
        raise
    finally:
        _notes.reset(token)
        _ways.reset(way_token)
    program.lifted[key] = made, found
    if outer is not None:
        outer += [*notes, (program.lifted, key)]
    return made, found


def unfinished(name, inputs, outputs, acts=False):
    """A program that calls itself, before it is known. outputs: shapes and dtypes. acts: whether it has an effect."""
    program = Program(name, inputs, [], [], [Var(a) for a in outputs], None, None)
    program.calls_itself = program.lifted["deep"] = True
    program.lifted["acts"] = acts
    return program


def fill(stand_in, made):
    """Make a stand-in the program that was made with it."""
    if isinstance(made, Program):
        for name in ("inputs", "constants", "equations", "outputs"):
            setattr(stand_in, name, getattr(made, name))
        for key in [k for k in stand_in.lifted if k not in ("deep", "acts")]:
            del stand_in.lifted[key]
    else:
        stand_in.fill(made)
