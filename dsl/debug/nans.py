"""`debug_nans`: the first operation that makes a NaN raises, and says what, where, of what and in which lanes.

What counts is the result of an operation as the user called it: a NaN that a step inside an operation or a rule makes and
that a later step puts right is none. A program is known whole, so there only a NaN that reaches a result counts, and the
equation that made it is named. Values in lanes are looked at lane by lane.
"""

from contextvars import ContextVar
from typing import Any, Self

import numpy as np

from ...dispatch import (
    Array,
    Container,
    Layer,
    MethodError,
    NaNError,
    describe,
    dtype_of,
    is_number,
    isa,
    step,
    stepping,
    tree,
    unwatch,
    watch,
)
from ...dispatch.callers import caller
from ..array_libraries import host_copy
from ..ir.programs import inspectors
from ..layers.batching import Batched
from ..ops.compare import isinf, isnan

_setting: ContextVar[Any] = ContextVar("polyad_debug_nans", default=None)


class debug_nans:
    """Raise NaNError at the first operation that makes a NaN of numbers that were none, in the forward computation or in a
    derivative.

    on: whether to check. inf: infinities too. Used as a function it sets that from here on, as a context manager for a
    block; it holds for this thread. The error names the operation or the derivative's rule, types, dtypes and shapes of its
    inputs, the user's line (of a reverse rule also that of the forward call), the lanes of a `vmap` and the equation of a
    program. It costs nothing while it is off. Operations of plain NumPy on plain arrays are NumPy's own: see
    `np.errstate(invalid="raise")`. Raises MethodError for settings that are no booleans.

    >>> import numpy as np, polyad as pa
    >>> with pa.debug_nans(), np.errstate(invalid="ignore"):
    ...     try:
    ...         pa.vmap(pa.log)(np.array([1.0, -1.0]))
    ...     except pa.NaNError as error:
    ...         print(str(error).partition("\\n")[0])
    log made a NaN of numbers that were none, in the forward computation
    """

    def __init__(self, on: bool = True, inf: bool = False) -> None:
        for what, given in (("on", on), ("inf", inf)):
            if not isa(given, (bool, np.bool_)):
                raise MethodError(
                    f"debug_nans: {what} is True or False, not {describe(given)}; for a function write "
                    "`with polyad.debug_nans(): f(x)`"
                )
        self.on, self.inf, self.ended = bool(on), bool(inf), False
        self.before = _setting.get()
        self.token = _setting.set(self)
        _suspend(self.before)
        _resume(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self.ended = True
        _suspend(self)
        _setting.reset(self.token)
        _resume(self.before)


def _suspend(setting):
    if setting is not None and setting.on:
        unwatch(setting)


def _resume(setting):
    if setting is not None and setting.on and not setting.ended:
        watch(setting, _after)


def checking():
    """Return whether NaNs are looked for here."""
    setting = _setting.get()
    return setting is not None and setting.on


def _after(step, args, params, y):
    """Called with each operation of the user's, after it."""
    if checking():
        made = _new_nans(y, [*args, *params.values()])
        if made is not None:
            raise _error(made, step, args, caller())


# ---------------------------------------------------------------------- where the NaNs are
class _Made:
    """NaNs that an operation made. what: "a NaN" or "an infinity"; tangent_of: the run whose tangent they are in, or None;
    count, size: elements; lanes: pairs (run, numbers of the lanes, how many lanes there are)."""

    def __init__(self, what, tangent_of, count, size, lanes):
        self.what, self.tangent_of, self.count, self.size, self.lanes = what, tangent_of, count, size, lanes


def _parts(x, runs=(), tangent_of=None):
    """List the arrays that a value is made of: (array, runs of the lanes along its first axes, run whose tangent it is in or
    None)."""
    if isinstance(x, (tuple, list)):
        for part in x:
            yield from _parts(part, runs, tangent_of)
    elif isinstance(x, Container):
        yield from _parts(tree.leaves(x), runs, tangent_of)
    elif isinstance(x, Layer):
        below = x.below
        if below is None:
            return
        runs = (x.run, *runs) if isinstance(x, Batched) else runs
        yield from _parts(below, runs, tangent_of)
        for part in x.parts():
            if part is not below and isinstance(part, (Array, tuple, list)) and not is_number(part):
                yield from _parts(part, runs, x.run if tangent_of is None else tangent_of)
    elif isinstance(x, Array) and dtype_of(x).kind in "fc":
        yield x, runs, tangent_of


def _bad(x, inf):
    """Return a NumPy mask of the NaNs of an array (inf: of its infinities)."""
    plain = is_number(x) or isa(x, (np.ndarray, np.generic))
    if plain:
        return np.asarray(np.isinf(x) if inf else np.isnan(x))
    with stepping("check", "debug_nans"):
        return host_copy(isinf(x) if inf else isnan(x))


def _by_lane(bad, runs, wanted):
    """For each combination of lanes of the runs wanted, whether there is any; axes of length 1 for runs not among these."""
    bad = bad.reshape(*bad.shape[: len(runs)], -1).any(-1)
    away = tuple([i for i, run in enumerate(runs) if run not in wanted])
    sizes = {run: n for i, (run, n) in enumerate(zip(runs, bad.shape, strict=True)) if i not in away}
    return bad.any(axis=away).reshape([sizes.get(run, 1) for run in wanted])


def _new_nans(y, inputs):
    """The NaNs in y where the inputs have none, or None."""
    setting = _setting.get()
    for inf in (False, True)[: 1 + setting.inf]:
        found = [(_bad(a, inf), runs, run) for a, runs, run in _parts(y)]
        if not any([bad.any() for bad, _, _ in found]):
            continue
        given = None
        for derivative in (False, True):
            mine = [(bad, runs, run) for bad, runs, run in found if (run is not None) == derivative and bad.any()]
            if not mine:
                continue
            if given is None:
                both = lambda a: _bad(a, False) | _bad(a, True) if setting.inf else _bad(a, False)
                given = [(both(a), runs, run) for a, runs, run in _parts(inputs)]
            new = _new(mine, [g for g in given if derivative or g[2] is None])
            if new is not None:
                return _Made("an infinity" if inf else "a NaN", mine[0][2], *new)
    return None


def _new(mine, given):
    """(elements, of how many, lanes) of what is in the results and not in the inputs, or None."""
    wanted = sorted({run for _, runs, _ in mine for run in runs}, key=lambda run: run.depth)
    mask = np.zeros((), bool)
    for bad, runs, _ in mine:
        mask = mask | _by_lane(bad, runs, wanted)
    for bad, runs, _ in given:
        mask = mask & ~_by_lane(bad, runs, wanted)
    if not mask.any():
        return None
    lanes = []
    for axis, run in enumerate(wanted):
        places = np.flatnonzero(mask.any(axis=tuple([i for i in range(mask.ndim) if i != axis])))
        own = run.axis.offset + (places if run.lanes is None else np.asarray(run.lanes)[places])
        lanes.append((run, own.tolist(), run.axis.size))
    return sum([int(bad.sum()) for bad, _, _ in mine]), sum([bad.size for bad, _, _ in mine]), lanes


# ---------------------------------------------------------------------- messages
def _error(made, under_way, inputs, place, what=None):
    """NaNError. under_way: the step that made the NaNs; inputs: what it was given; place: the user's (file, line); what: how
    the step is called, if it is not an operation."""
    outer = [s for s in under_way.chain() if s is not under_way]
    rules = [s for s in outer if s.kind == "rule"]
    name = what or under_way.name
    numbers = "finite numbers" if _setting.get().inf else "numbers that were none"
    lines = [f"{name} made {made.what} of {numbers}, {_location(made, under_way, outer)}"]
    inside = dict.fromkeys(s.name for s in outer if s.kind in ("call", "program"))
    lines += [f"  inside {', inside '.join(inside)}"] * bool(inside)
    lines.append(f"  inputs: {', '.join(_described(x) for x in inputs)}")
    lines.append(f"  in {made.count} of {made.size} elements of the result")
    for run, lanes, size in made.lanes:
        some = ", ".join(map(str, lanes[:8])) + (", …" if len(lanes) > 8 else "")
        lines.append(f"  in {len(lanes)} of {size} lanes of {run.name}, entered at {run.where}: {some}")
    if under_way.kind == "rule" and under_way.place is not None:
        lines.append(f"  forward call at {under_way.place[0]}:{under_way.place[1]}")
    lines += [f"  as a part of the reverse rule of {s.name}, called at {s.place[0]}:{s.place[1]}" for s in rules if s.place]
    if place is not None:
        lines.append(f"  at {place[0]}:{place[1]}")
    lines.append(f"  {_advice(made, under_way, inputs)}")
    return NaNError("\n".join(lines))


def _location(made, under_way, outer):
    if under_way.kind == "program":
        return "and it reaches a result"
    if under_way.kind == "rule":
        return "in the derivative" + (", in its own derivative" if made.tangent_of is not None else "")
    if made.tangent_of is not None:
        return f"in the derivative: in the tangent, of {made.tangent_of.name}, entered at {made.tangent_of.where}"
    walk = next((s for s in outer if s.kind == "walk"), None)
    if walk is not None:
        return f"in the derivative: where {walk.name} adds cotangents"
    return "in the forward computation"


def _described(x):
    if x is None:
        return "None"
    if isinstance(x, (tuple, list)):
        return f"({', '.join(_described(v) for v in x)})"
    return describe(x)


def _advice(made, under_way, inputs):
    infinite = made.what == "a NaN" and any(_bad(a, True).any() for a, _, _ in _parts([x for x in inputs if x is not None]))
    if infinite and not _setting.get().inf:
        return "there are infinities among its inputs: debug_nans(inf=True) finds where the first is made"
    if under_way.kind == "rule" or made.tangent_of is not None:
        return "the value has no slope here: choose another by where on the argument, or by custom_jvp or custom_vjp"
    return (
        "give it other arguments, x = where(ok, x, 1.0) before the call; if the NaN is meant, put debug_nans(False) around it"
    )


# ---------------------------------------------------------------------- derivatives and programs
def watched_rule(rule, name, place):
    """A reverse rule `(ct, y, *xs) -> cotangent(s)` as one step, which is looked at. place: of the forward call, or None."""

    def run(*args, **params):
        with stepping("rule", name, place):
            c = rule(*args, **params)
            made = _new_nans(c, args) if c is not None and checking() else None
            if made is not None:
                raise _error(made, step(), args, caller(), f"the reverse rule of {name}")
        return c

    return run


def run_checked(program, env, run):
    """Run a program (`run(program, env)` puts the values of its Vars into env) and find the equation that made a NaN that
    is among its results."""
    with stepping("program", program.name):
        run(program, env)
        _blame(program, env)


inspectors.append((checking, run_checked))


def _blame(program, env):
    """Walk from the results with NaNs back to the equation whose inputs have none."""
    definer = {v: e for e in program.equations for v in e.outputs}
    todo = [v for v in program.outputs if v in definer and _any(env[v])]
    seen, found = set(), {}
    while todo:
        e = definer[todo.pop()]
        if id(e) in seen:
            continue
        seen.add(id(e))
        inputs, y = [env.get(v, v) for v in e.inputs], tuple([env[v] for v in e.outputs])
        made = _new_nans(y, [*inputs, *e.params.values()])
        if made is not None:
            found[id(e)] = (made, inputs)
        todo += [v for v in e.inputs if v in definer and _any(env[v])]
    first = next((e for e in program.equations if id(e) in found), None)
    if first is not None:
        made, inputs = found[id(first)]
        equation = f"the equation `{program.line(first, program.names()).strip()}` of the program {program.name}"
        raise _error(made, step(), inputs, caller(), equation)


def _any(x):
    inf = _setting.get().inf
    return any(_bad(a, False).any() or inf and _bad(a, True).any() for a, _, _ in _parts(x))
