"""`aot`: a function whose forward and backward programs are made ahead of time and handed to a compiler, as functorch's
`aot_function` does.

The reverse layer runs once over traced values, which gives one program of value and pullback; `partition_program` cuts it in
two. Limits: shapes and dtypes are those of each program, a Python `if` on an array is an error, arrays that the function reads
from outside are constants of the program, as they were at the trace, and Python runs at the trace only.
"""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from ...dispatch import DTypeError, Layer, PerformanceWarning, ShapeError, StructureError, describe, settled, tree
from ...dispatch.callers import warn
from ...dsl.array_libraries import Scalar, bottom
from ...dsl.avals import aval_of, is_number
from ...dsl.ir.partitioning import cheap, partition_program
from ...dsl.ir.programs import Program, Var, evaluate, without_dead_code
from ...dsl.layers.batching import lanes_of
from ...dsl.layers.tracing import Traced, TraceRun
from ...dsl.mutation_checks import check_sealed
from ..custom.functions import custom_vjp
from ..derived import jvp
from ..inputs import NoTangent, as_inputs, check_callable, inexact, title
from ..sweeps import record

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...dispatch.annotations import P

MANY = 32  # programs of one function, from which on there is a warning


def aot(
    f: Callable[P, Any],
    compiler: Callable[..., Any],
    bwd_compiler: Callable[..., Any] | None = None,
    recompute: Callable[..., bool] = cheap,
) -> AheadOfTime:
    """f, computed by compiled programs: one for its value, one for its pullback.

    f: function of arrays or trees. compiler: `compiler(program, leaves)` returns a function of flat arrays, like these example
    leaves, that returns the program's flat results; the `Program` itself is one. It is called once for the forward program, and
    bwd_compiler (by default the same) once for the backward program, when each is first run, anew for each structure, shape and
    dtype of the arguments; Python integers and booleans are part of the program, other numbers are arrays without axes.
    recompute: function of an Equation, whether the backward program may compute it again rather than have its result saved;
    what is saved is chosen for the fewest bytes (see `polyad.dsl.ir.partitioning`: cheap, never, always).
    The function returned can be transformed: `grad` and `vjp` use the backward program; forward mode, lanes, traces and
    further derivatives run the programs by their operations. Its `partition(*args)` shows both programs.
    Raises StructureError if f reads a value of a transformation from outside of its arguments.

    >>> import numpy as np, polyad as pa
    >>> def show(program, leaves):
    ...     print(program.name, [e.op.__name__ for e in program.equations])
    ...     return program
    >>> def loss(x):
    ...     return pa.sum(pa.sin(x))
    >>> pa.grad(pa.aot(loss, show))(np.array([0.0, 1.0]))
    loss ['sin', 'sum']
    loss_later ['broadcast_to', 'cos', 'masked_product']
    array([1.        , 0.54030231])
    """
    title("aot", f)
    for what, given in (("compiler", compiler), ("bwd_compiler", bwd_compiler or compiler)):
        check_callable(f"aot: {what}", given, "(program, leaves) -> function of flat arrays")
    check_callable("aot: recompute", recompute, "of an Equation")
    return AheadOfTime(f, compiler, bwd_compiler or compiler, recompute)


class AheadOfTime:
    """A program made ahead of time, as `aot` returns it."""

    def __init__(self, f, compiler, bwd_compiler, recompute):
        functools.update_wrapper(self, f)
        self.f, self.compilers, self.recompute = f, (compiler, bwd_compiler), recompute
        self._made, self._lock = {}, threading.RLock()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        entry, leaves = self._entry(args, kwargs)
        return tree.unflatten(entry.out, entry(leaves))

    def partition(self, *args, **kwargs):
        """The `Partition` for arguments like these: `first` is the forward program, `second` the backward program."""
        return self._entry(args, kwargs)[0].parts

    def _entry(self, args, kwargs):
        """(the programs for these arguments, the arrays among them)."""
        name = title("aot", self.f)
        leaves, structure = tree.flatten((args, kwargs))
        try:
            leaves = [x if type(x) is np.ndarray else settled(x) for x in as_inputs(name, "", leaves, (args, kwargs))]
        except DTypeError:
            for n, x in [*enumerate(args), *kwargs.items()]:  # which argument it is, for the message
                as_inputs(name, repr(n), tree.leaves(x), x)
            raise
        static = [(i, x) for i, x in enumerate(leaves) if is_number(x)]
        arrays = [x for x in leaves if not is_number(x)]
        facts = [(type(x), x) if is_number(x) else (aval_of(x), type(bottom(x)), *lanes_of(x).items()) for x in leaves]
        key = (structure, *facts)
        with self._lock:
            if key not in self._made:
                self._made[key] = self._trace(name, structure, arrays, static)
                if len(self._made) == MANY:
                    warn(
                        f"{name} has {MANY} programs by now: each shape and dtype of arguments has one, and so has each Python "
                        "integer among them; give integers that change as arrays, np.asarray(n)",
                        PerformanceWarning,
                    )
            return self._made[key], arrays

    def _trace(self, name, structure, arrays, static):
        def function(*xs):
            leaves = list(xs)
            for i, number in static:
                leaves.insert(i, number)
            args, kwargs = tree.unflatten(structure, leaves)
            return self.f(*args, **kwargs)

        label = getattr(self.f, "__name__", type(self.f).__name__).strip("<>")
        joint, out, followed, late = trace_joint(name, label, function, arrays)
        count = out.num_leaves
        return Entry(partition_program(joint, count, len(late), self.recompute), out, followed, late, self.compilers)


def trace_joint(name, label, f, arrays):
    """One program of f's value and pullback, of flat arrays: (xs, cotangents) -> (values, cotangents of xs).

    Cotangents are those of floating and complex values and arguments. label: the program's name. Returns the Program, the
    structure of the value, and the numbers of the arguments and of the values that have cotangents.
    """
    with TraceRun(name, next((x for x in arrays if not isinstance(x, Scalar)), None)) as run:
        inputs = [Var(aval_of(x), lanes_of(x)) for x in arrays]
        recorded = record(name, f, range(len(arrays)), [Traced[run.depth](v, run) for v in inputs])
        if recorded is None:
            raise StructureError(f"{name}: the function returns a function, which is no array; call it inside")
        back = recorded[0]
        followed = [i for i, v in enumerate(inputs) if v.aval.dtype.kind in "fc"]
        late = [j for j, (value, _) in enumerate(back.outputs) if inexact(value)]
        outputs = [run.atom(value) for value, _ in back.outputs]
        cts = [Var(aval_of(back.outputs[j][0]), lanes_of(back.outputs[j][0])) for j in late]
        places = [back.outputs[j][1] for j in late]
        seeds = [(p, Traced[run.depth](v, run)) for p, v in zip(places, cts, strict=True) if p is not None]
        found = back.cotangents(seeds)
        outputs += [run.atom(found[i]) for i in followed]
        check_sealed(run.seals, run.name, "the trace, as a constant,")
    equations, needed = without_dead_code(run.equations, outputs)
    constants = [pair for pair in run.constants.values() if pair[0] in needed]
    for _, value in constants:
        if isinstance(value, Layer):
            raise StructureError(
                f"{name}: the function reads a {type(value).__name__} of {value.run.name} from outside, which would be a "
                "constant of its programs; make it an argument"
            )
    ins, outs = [tree.structure(tuple(xs)) for xs in ([0] * (len(inputs) + len(cts)), [0] * len(outputs))]
    return Program(label, [*inputs, *cts], constants, equations, outputs, ins, outs), back.shape, followed, late


class Entry:
    """The programs of a function for one kind of arguments. It is a function of flat arrays that returns the flat values.

    parts: the Partition; out: the value's structure; followed, late: numbers of the arguments and values with cotangents.
    """

    def __init__(self, parts, out, followed, late, compilers):
        self.parts, self.out = parts, out
        self.both = both = BothWays(parts, followed, late, compilers)
        self.custom = custom_vjp(both.value)
        self.custom.__name__ = parts.first.name
        self.custom.defvjp(both.forth, both.back)
        self.custom.defjvp(lambda xs, dxs: jvp(both.value, xs, dxs))

    def __call__(self, leaves):
        layers = _layers(leaves)
        traced = layers and isinstance(max(layers, key=lambda x: x.depth), Traced)
        return self.both.value(*leaves) if traced or not layers else self.custom(*leaves)


class BothWays:
    """The compiled programs of an `Entry`, as functions of flat arrays."""

    def __init__(self, parts, followed, late, compilers):
        self.parts, self.followed, self.late = parts, followed, late
        self.forward, self.backward = map(Compiled, (parts.first, parts.second), compilers)

    def value(self, *leaves):
        return tuple(self.forth(*leaves)[0])

    def forth(self, *leaves):
        results, saved = self.parts.split(leaves, self.forward(leaves))
        return tuple(results), tuple(saved)

    def back(self, saved, cts):
        found = self.backward([*saved, *[cts[j] for j in self.late]])
        full = [NoTangent] * len(self.forward.program.inputs)
        for i, ct in zip(self.followed, found, strict=True):
            full[i] = ct
        return tuple(full)


def _layers(xs):
    return [x for x in xs if type(x) is not np.ndarray and isinstance(x, Layer)]


class Compiled:
    """A program and what a compiler made of it, which runs where the arguments are plain arrays."""

    def __init__(self, program, compiler):
        self.program, self.compiler = program, compiler
        self.function, self.lock = None, threading.Lock()

    def __call__(self, leaves):
        if _layers(leaves):
            return evaluate(self.program, leaves)
        if self.function is None:
            with self.lock:
                if self.function is None:
                    made = self.compiler(self.program, list(leaves))
                    check_callable(f"aot: what the compiler returned for {self.program.name}", made, "of flat arrays")
                    self.function = made
        results = self.function(*leaves)
        wanted = len(self.program.outputs)
        if not isinstance(results, (tuple, list)) or len(results) != wanted:
            found = f"a {type(results).__name__} of {len(results)}" if isinstance(results, (tuple, list)) else describe(results)
            raise ShapeError(
                f"aot: the compiled program {self.program.name} returned {found}; it must return its {wanted} result(s) as a "
                "tuple or list"
            )
        for i, (x, out) in enumerate(zip(results, self.program.outputs, strict=True)):
            aval = aval_of(out) if is_number(out) else out.aval
            if not aval.fits(aval_of(x)):
                raise ShapeError(
                    f"aot: the compiled program {self.program.name} returned {describe(x)} as result {i}; it must be {aval}, "
                    "as the program says"
                )
        return list(results)
