"""`scan`: a loop of a known number of steps, with a carry, an input and an output for each step; and `map` over steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...dispatch import Array, ShapeError, StructureError, describe, is_container, isa, tree
from ..array_libraries import bottom
from ..avals import UNKNOWN, Aval, aval_of, dtype_of, is_number, shape_of
from ..axes import Stacked
from ..card import opaque
from ..ir.programs import Var, evaluate
from ..ir.source import tuple_of
from ..layers.batch_axes import lanes_taken, stacked_tree
from ..layers.batching import lanes_of
from ..ops.create import zeros_like
from ..ops.lengths import of_one_length
from ..ops.shape import concatenate, moveaxis, stack
from .carries import Carry
from .lifting import fixpoint
from .loop_gradients import forward_steps
from .subprograms import as_numbers, avals_out, check_arguments, check_carry, in_python, lanes_out, recording, subprogram

if TYPE_CHECKING:
    from collections.abc import Callable


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any = None, length: int | None = None, reverse: bool = False
) -> tuple[Any, Any]:
    """Run `carry, y = f(carry, x)` for each x along axis 0 of xs, from carry = init on.

    f: function of the carry and a step's input that returns the next carry (of the same structure, shapes and dtypes) and
    the step's output. init, xs: arrays or trees; xs may be None if `length`, the number of steps, is given. reverse: from the
    last step to the first. Returns (last carry, outputs stacked along axis 0). Eagerly it is a Python loop; in a trace f
    becomes a program, and the loop one operation, differentiable in both modes. Raises StructureError, ShapeError.

    >>> import numpy as np, polyad as pa
    >>> total, sums = pa.scan(lambda s, x: (s + x, s + x), 0.0, np.array([1.0, 2.0, 3.0]))
    >>> float(total), sums
    (6.0, array([1., 3., 6.]))
    """
    return _scan(f, init, xs, length, reverse, lambda ys: stack(list(ys)))


def kept_scan(f, init, xs=None, length=None, reverse=False):
    """`scan` whose outputs may differ in length from step to step: shorter ones get zeros at their ends.

    How source code of programs writes a loop over loops whose steps keep something for the way back.
    """
    return _scan(f, init, xs, length, reverse, lambda ys: stack(of_one_length(ys)))


def _scan(f, init, xs, length, reverse, stacking):
    steps, inputs = _steps(xs, length), _inputs(xs)
    as_program = lambda: scanned(Carry("scan", "f", init), f, inputs, steps, reverse)
    as_python = lambda: _in_python(f, init, inputs, steps, reverse, stacking)
    if recording() and steps != 0:
        last, columns, shape = in_python(as_program, as_python)
    else:
        last, columns, shape = as_python() if steps else as_program()
    if shape is tree.LEAF:
        return last, columns[0]
    outputs = tree.unflatten(shape, [Stacked(column, False) for column in columns])
    return last, stacked_tree(outputs, UNKNOWN if steps is None else steps, "scan: f's outputs")


def _inputs(xs):
    """(leaves of the inputs, with the steps along axis 0, structure of one step's input)."""
    rows, structure = tree.flatten(xs)
    if structure is tree.LEAF or not any(is_container(unit) for unit in tree.leaves(xs, is_container)):
        return rows, structure
    take = lambda leaf, axis: Stacked(leaf if axis == 0 else moveaxis(leaf, axis, 0), False)
    rows, structure = tree.flatten(tree.map(lambda unit: lanes_taken(unit, 0, take, "scan: a step along axis 0"), xs,
                                            is_leaf=is_container))  # fmt: skip
    return [row.value for row in rows], structure


def _in_python(f, init, inputs, steps, reverse, stacking):
    carry = Carry("scan", "f", init)
    now, leaves, outputs, shape = init, carry.given, [None] * steps, None
    rows, structure = inputs
    whole = rows[0] if structure is tree.LEAF else None
    nothing = tree.structure(None)
    for i in range(steps)[:: -1 if reverse else 1]:
        new, y = _pair(f(now, whole[i] if whole is not None else tree.unflatten(structure, [x[i] for x in rows])))
        leaves, now = carry.following(leaves, new)
        outputs[i], found = ([], nothing) if y is None else tree.flatten(y)
        shape = _same_structure(shape, found)
    return now, [stacking(ys) for ys in zip(*outputs, strict=True)], shape


def _same_structure(shape, found):
    if shape not in (None, found):
        raise StructureError(f"scan: f's outputs have different structures: {tree.show(shape)} and {tree.show(found)}")
    return found


def map(f: Callable[[Any], Any], xs: Any) -> Any:
    """`stack([f(x) for x in xs])`, one after the other; `vmap` does them all at once and `map` needs less memory.

    f: function of one array or tree. xs: arrays with the steps along axis 0.

    >>> import numpy as np, polyad as pa
    >>> pa.map(lambda x: x * 2, np.arange(3.0))
    array([0., 2., 4.])
    """
    return scan(lambda carry, x: (carry, f(x)), (), xs)[1]


def _pair(result):
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise StructureError(f"scan: f must return (carry, output), not {describe(result)}; return (carry, None) for no output")
    return result


def _steps(xs, length):
    lengths = set()
    for path, x in tree.leaves_with_path(xs, is_container):
        if not shape_of(x):
            raise ShapeError(f"scan: xs{path} has no axis of steps (it is {describe(x)}); let f read it from outside")
        lengths.add(shape_of(x)[0])
    if length is not None:
        if not hasattr(length, "__index__") or isa(length, bool) or length.__index__() < 0:
            raise ShapeError(f"scan: length is the number of steps, an integer of at least 0, not {length!r}")
        lengths.add(length.__index__())
    if len(lengths) > 1:
        lengths.discard(UNKNOWN)
    if lengths == {UNKNOWN}:
        return None  # it is that of the inputs
    if len(lengths) != 1:
        given = "nothing says" if not lengths else f"xs and length say {' and '.join(str(n) for n in sorted(lengths))} for"
        raise ShapeError(f"scan: {given} the number of steps; the first axes of all of xs, and length, must agree")
    return lengths.pop()


def scanned(carry, f, inputs, steps, reverse=False, peels=3):
    """`scan` as an operation on a program: (last carry, leaves of the outputs, stacked, structure of one step's output).

    carry: the `Carry`. inputs: leaves with the steps along axis 0, and the structure of one step's input. peels: how many
    steps may be made before the loop.
    """
    rows, row_structure = inputs
    example = bottom(next((x for x in [*carry.given, *rows] if not is_number(x)), None))
    shape = None

    def step(*leaves):
        nonlocal shape
        now, x = carry.tree(leaves[: len(carry.given)]), tree.unflatten(row_structure, list(leaves[len(carry.given) :]))
        now, y = _pair(f(now, x))
        ys, shape = tree.flatten(y)
        return [*carry.next(now), *ys]

    row = lambda x: Var(Aval(shape_of(x)[1:], dtype_of(x)), lanes_of(x))
    trace = lambda leaves, lanes: subprogram("body", step, [*leaves, *[row(x) for x in rows]], lanes=lanes)
    found = carry.traced(trace, example, peel=bool(steps) and peels > 0)
    if found is None:
        return _after_the_first(carry, f, inputs, steps, reverse, peels)
    body, read = found
    if not body.outputs:
        return carry.tree([]), [], shape
    results = steps_of(*read, *carry.leaves, *rows, body=body, constants=len(read), carry=len(carry.leaves), length=steps,
                       reverse=reverse)  # fmt: skip
    last = as_numbers(results[: len(carry.leaves)], carry.weak)
    return carry.tree(last), list(results[len(carry.leaves) :]), shape


def _after_the_first(carry, f, inputs, steps, reverse, peels):
    """The same with the first step made before the loop: what is carried is the same in all lanes of a map, or varies, only
    from then on, which derivatives inside of the map must know."""
    rows, structure = inputs
    at, rest = (steps - 1, slice(0, steps - 1)) if reverse else (0, slice(1, steps))
    now, y = _pair(f(carry.tree(carry.given), tree.unflatten(structure, [x[at] for x in rows])))
    _, now = carry.following(carry.given, now)
    others = Carry(carry.name, carry.what, now, carry.within)
    last, columns, shape = scanned(others, f, ([x[rest] for x in rows], structure), steps - 1, reverse, peels - 1)
    first, found = tree.flatten(y)
    _same_structure(shape, found)
    joined = lambda y, ys: concatenate([ys, stack([y])] if reverse else [stack([y]), ys])
    return last, [joined(y, ys) for y, ys in zip(first, columns, strict=True)], shape


# ---------------------------------------------------------------------- the operation
@opaque(kernel=None, numpy=(), spelled="scan", no_rule=dict.fromkeys(("jvp", "vjp", "batch", "samples"),
    "layers lift the program instead"))  # fmt: skip
def steps_of(*arrays, body, constants, carry, length, reverse):
    """The last carry and the stacked outputs, a tuple, of `length` steps of `body`.

    arrays: first as many `constants`, which each step reads, then the `carry`, then inputs with the steps along axis 0.
    body: program from (constants, carry, one step's inputs) to (next carry, one step's outputs). length: None for that of the
    inputs, known only when it runs. reverse: from the last step to the first. Raises ShapeError.
    """


@steps_of.rule("steps")
@steps_of.method
def steps_run(*arrays: Array, body, constants, carry, length, reverse):
    fixed, now, rows = arrays[:constants], arrays[constants : constants + carry], arrays[constants + carry :]
    length = shape_of(rows[0])[0] if length is None else length
    if not length:
        return (*now, *stacked([], body, carry, arrays))
    outputs = [_Rows(length, UNKNOWN in a.shape) for a in avals_out(body)[carry:]]
    for i in range(length)[:: -1 if reverse else 1]:
        results = evaluate(body, (*fixed, *now, *[x[i] for x in rows]))
        now = results[:carry]
        for column, y in zip(outputs, results[carry:], strict=True):
            column.put(i, y)
    return (*now, *[column.stacked() for column in outputs])


class _Rows:
    """One output of all steps. Plain arrays are written into one as they come, which needs half the memory of stacking them."""

    __slots__ = ("length", "others", "plain")

    def __init__(self, length, ragged):
        self.length, self.plain, self.others = length, None, [None] * length if ragged else None

    def put(self, i, y):
        if self.others is None:
            if type(y) is np.ndarray or isa(y, np.generic):
                if self.plain is None:
                    self.plain = np.empty((self.length, *y.shape), y.dtype)
                self.plain[i] = y
                return
            self.others = [None] * self.length if self.plain is None else list(self.plain)
        self.others[i] = y

    def stacked(self):
        return self.plain if self.others is None else stack(of_one_length(self.others))


def stacked(outputs, body, carry, arrays):
    """The outputs of all steps along axis 0; of no step, empty."""
    if outputs:
        unknown = [UNKNOWN in a.shape for a in avals_out(body)[carry:]]
        columns = zip(*outputs, strict=True)
        return [stack(of_one_length(ys) if u else list(ys)) for ys, u in zip(columns, unknown, strict=True)]
    like = next(iter(arrays), None)
    return [zeros_like(like, shape=(0, *[max(n, 0) for n in a.shape]), dtype=a.dtype) for a in avals_out(body)[carry:]]


@steps_of.rule("shape")
def steps_shape(*arrays, body, constants, carry, length, reverse):
    count = constants + carry
    check_arguments("steps_of", body, [*arrays[:count], *[Aval(x.shape[1:], x.dtype) for x in arrays[count:]]])
    check_carry("steps_of", body, arrays[constants:count])
    return (*[aval_of(x) for x in arrays[constants : constants + carry]], *rows_out(body, carry, length))


def rows_out(body, carry, length):
    """Shapes and dtypes of a body's outputs, stacked; length None: known only when it runs."""
    return [Aval((UNKNOWN if length is None else length, *a.shape), a.dtype) for a in avals_out(body)[carry:]]


@steps_of.rule("lanes")
def steps_lanes(body, **others):
    return lanes_out(body)


@steps_of.rule("code")
def steps_code(writer, inputs, outputs, body, constants, carry, length, reverse):
    first, rows = inputs[constants : constants + carry], inputs[constants + carry :]
    sizes = (carry, len(rows)), (carry, len(body.outputs) - carry)
    step = writer.function(body, inputs[:constants], *sizes)
    said = (f", length={length}" * (length is not None and not rows)) + ", reverse=True" * reverse
    ragged = any([UNKNOWN in a.shape for a in avals_out(body)[carry:]])
    name, given = "dsl.control.kept_scan" if ragged else "scan", tuple_of(rows) if rows else None
    called = f"pa.{name}({step}, {tuple_of(first)}, {given}{said})"
    return f"{tuple_of(outputs[:carry])}, {tuple_of(outputs[carry:])} = {called}"


@steps_of.rule("lift")
def steps_lift(lift, args, body, constants, carry, length, reverse):
    mine = [lift.mine(x) for x in args]
    fixed, rows = mine[:constants], mine[constants + carry :]
    end = len(avals_out(body)) - carry

    def step(now):
        program, followed = lift.program(body, [*fixed, *now, *rows], [*now, *[False] * end])
        return (program, followed), followed[:carry]

    (below, followed), now = fixpoint(step, mine[constants : constants + carry])
    first = lift.all_below(args[:constants], fixed)
    start = lift.all_below(args[constants : constants + carry], now)
    inputs = [v for x, m in zip(args[constants + carry :], rows, strict=True) for v in lift.rows_below(x, m)]
    results = iter(steps_of(*first, *start, *inputs, body=below, constants=len(first), carry=len(start), length=length,
                            reverse=reverse))  # fmt: skip
    return [*lift.all_above(results, now), *[lift.rows_above(results, m) for m in followed[carry:]]]


@steps_of.rule("pull")
def steps_pull(split, xs, mine, body, constants, carry, length, reverse):
    found = forward_steps(split, body, mine, constants, carry)
    results = steps_of(*xs, body=found.forward, constants=constants, carry=carry, length=length, reverse=reverse)
    rows = xs[constants + carry :][:1] if length is None else ()
    back = lambda cts: found.back(steps_of, mine, cts, xs, results, rows, length, not reverse)
    return results[: len(body.outputs)], found.followed, back
