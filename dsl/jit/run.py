"""One execution of the user's function by `jit`: its steps are recorded into segments, and each question of Python ends a
segment.

What the tree knows already is followed, not recorded again, and what has been computed is used, not computed again. New
segments are the run's own until it ends, when the tree takes them in.
"""

from typing import Any

import numpy as np

from ...dispatch import Array, Layer, MutationError, Replayed, StructureError, describe, effect_name, isa
from ...dispatch import tree as pytree
from ...dispatch.callers import warn
from ...dispatch.errors import PerformanceWarning
from ..avals import infer
from ..ir.failures import may_fail
from ..ir.passes.rewriting import single
from ..ir.programs import Var, same_step
from ..layers.splitting import concrete
from ..layers.tracing import Traced, TraceRun, identity
from ..layers.weak_types import operator_of
from ..ops.effects import same_function
from .captured_arrays import NotFollowed
from .globals_key import view_of
from .results import Fixed, Fresh, result
from .segments import DEPTH, FINE, LIMIT, Segment, is_kept, outcome, run_step
from .try_blocks import caught

NUMBERS = (float, int, bool, complex)


def same_numbers(x, y):
    """Return whether two arrays are equal to the last bit but for the kind of a NaN."""
    return x.dtype == y.dtype and x.shape == y.shape and np.array_equal(x, y, equal_nan=x.dtype.kind in "fc")


def answer_key(answer):
    """An answer as a key of the tree."""
    if type(answer) is np.bool_ or type(answer) is bool:
        return bool(answer)
    answer = np.asarray(answer)
    if answer.shape == () and answer.dtype.kind == "b":
        return bool(answer)
    return answer.shape, answer.dtype.str, answer.tobytes()


class JitRun(TraceRun):
    """The execution. tree: to be followed and grown. env: Var -> value, of the arguments and of what was computed before.
    known: pairs (segment, answer) that have been run in this call already. arrays: what f reads from outside, as it is
    now. acted: whether a step with an effect has been carried out eagerly."""

    __slots__ = ("acted", "arguments", "arrays", "done", "env", "found", "found_places", "known", "path", "performs",
                 "position", "replayed", "segment", "originals", "start", "tree")  # fmt: skip
    answers = True

    def __init__(self, name, tree, env, example, known, arrays):
        super().__init__(name, example, captures=True)
        self.tree, self.env, self.known, self.arrays = tree, env, known, arrays
        self.constants = {identity(arrays[i]): (var, arrays[i]) for var, (i, view) in tree.places.items() if view is None}
        self.found, self.found_places, self.originals = {}, {}, {}
        self.performs, self.acted, self.path, self.start = False, False, [], None
        self.arguments = []  # triples (value as the function sees it, Var, whether it can be written to)
        self.replayed = None  # what has been carried out already of what is to come, once it runs eagerly
        self._enter(tree.root)

    def __exit__(self, *error):
        if self.replayed is not None:
            self.replayed.__exit__(*error)
        super().__exit__(*error)

    def _enter(self, segment):
        if segment is None:
            segment = Segment()
            if self.start is None:
                self.start = (list(self.path), self.path[-1][1] if self.path else None, segment)
        self.segment, self.position = segment, 0
        self.done = len(segment.equations) if len(self.path) < len(self.known) else 0

    def segments(self):
        """Those of this run, in order."""
        return [*[s for s, unused in self.path], self.segment]

    # ------------------------------------------------------------------ recording
    def same_step(self, v, w, alike):
        return same_step(self.segment.equations, self.constants.values(), v, w, alike)

    def looks_up(self, x):
        return self._place(x) is not None or type(x) is np.ndarray and view_of(x, self.arrays) is not None

    def atom(self, x, mine=False):
        if type(x) in NUMBERS:
            return x
        key = id(x)
        if key in self.originals and not same_numbers(x, self.constants[key][1]):
            del self.constants[key]  # f has written to it since
        count = len(self.constants)
        found = super().atom(x, mine)
        return found if len(self.constants) == count else self._note_constant(key, found, x)

    def _note_constant(self, key, var, x):
        """The Var of a new constant: an array at a place that f reads, or a view of it, is looked up there at each call;
        another one is copied, as f may write to it later."""
        i = self._place(x)
        place = (i, None) if i is not None else view_of(x, self.arrays) if type(x) is np.ndarray else None
        if place is not None:
            known = next((v for v, p in self.tree.places.items() if p == place), None)
            if known is not None:  # a view, which is another object each time
                self.constants[key] = known, x
                return known
            self.found_places[var] = place
        else:
            if type(x) is np.ndarray:
                self.originals[key] = x  # alive, so that no other has its key
                one = single(x)
                x = x.copy() if one is None else np.broadcast_to(one, x.shape)
                self.constants[key] = (var, x)
            self.found[var] = x
        self.env[var] = x
        return var

    def _place(self, x):
        key = identity(x)
        return next((i for i, a in enumerate(self.arrays) if identity(a) == key), None)

    def record(self, equation):
        if self.performs:
            return self._carried_out(equation)
        segment = self.segment
        if may_fail(equation) and caught():
            return self._step_that_may_fail(equation)
        if self.position < len(segment.equations):
            known = segment.equations[self.position]
            if not self._same(known, equation):
                self.do_otherwise()
                return self._carried_out(equation)
            equation = known
        elif segment.question is None:
            segment.equations.append(equation)
        else:
            self.do_otherwise()
            return self._carried_out(equation)
        self.position += 1
        return equation.outputs

    def recorded(self):
        return [*[e for s, unused in self.path for e in s.steps()], *self.segment.equations[: self.position]]

    def _carried_out(self, equation):
        with self.outside():
            self._compute(equation)
        return equation.outputs

    def _same(self, known, new):
        """Return whether a step is the known one; a constant array made anew is the same if it holds the same numbers."""
        if known.op is not new.op or len(known.inputs) != len(new.inputs) or not equal_params(known.params, new.params):
            return False
        for old, v in zip(known.inputs, new.inputs, strict=True):
            if old is v:
                continue
            if isinstance(old, Var) != isinstance(v, Var):
                return False
            if not isinstance(v, Var):
                if type(old) is not type(v) or old != v and old == old:
                    return False
            elif not self._same_constant(old, v):
                return False
        return True

    def _same_constant(self, old, new):
        x, y = self.tree.constants.get(old), self.found.get(new)
        if x is None or y is None or type(x) is not type(y) or isinstance(x, Layer) or not same_numbers(x, y):
            return False
        del self.found[new]
        self.constants = {key: (old, x) if v is new else (v, x) for key, (v, x) in self.constants.items()}
        return True

    # ------------------------------------------------------------------ computing
    def pending(self):
        """Run the steps of this segment that have not been run."""
        equations = self.segment.equations
        if self.done < self.position:
            with self.outside():
                while self.done < self.position:
                    self.done += 1
                    self._compute(equations[self.done - 1])

    def _compute(self, e):
        env = self.env
        for v in e.inputs:
            if type(v) is Var and v not in env:
                self._compute(self._maker(v))
        run_step(e, env)

    def _maker(self, var):
        """The step behind a value of a segment that was run as a whole, which gave only what was wanted of it then."""
        return next(e for s in (*[s for s, unused in self.path], self.segment) for e in s.steps() if var in e.outputs)

    def value(self, var):
        """The value of a Var, computed if it is not known."""
        if var not in self.env:
            self.pending()
            if var not in self.env:
                with self.outside():
                    self._compute(self._maker(var))
        return self.env[var]

    # ------------------------------------------------------------------ questions
    def answer(self, x):
        if x.run is not self:
            raise self.foreign(x.run)
        if self.performs or x.dtype.kind in "fc":
            value = self.plain(x, "text of it, or a floating number for Python,")
            with self.outside():
                return concrete(value)
        asked = self._end_segment(("answer", x.variable))
        if asked:
            self.pending()
        value = self.value(x.variable)
        if type(value) is not np.bool_:
            with self.outside():
                value = concrete(value)
        if asked:
            self._go_on(answer_key(value))
        return value

    def _end_segment(self, question):
        """Return whether the segment ends here, with this question; otherwise the function runs eagerly from here on."""
        segment = self.segment
        if segment.question is None and self.position == len(segment.equations):
            segment.question = question
        elif self.position < len(segment.equations) or segment.question != question:
            self.do_otherwise()
            return False
        return True

    def _go_on(self, key):
        known = self.known[len(self.path)][1] if len(self.path) < len(self.known) else key
        if known != key:
            self.do_otherwise()
            return
        self.path.append((self.segment, key))
        child = self.segment.children.get(key)
        if child is None and (len(self.path) >= DEPTH or self.tree.size + len(self.path) - len(self.known) >= LIMIT):
            self.be_eager(
                f"Python asked for more than {DEPTH} values of it, or {LIMIT} in all, each of which may lead another way; "
                "use polyad.while_loop or polyad.cond"
            )
            return
        if child is None and self.start is not None:
            child = self.segment.children[key] = Segment()
        self._enter(child)

    def _step_that_may_fail(self, equation):
        """Its outcome is a question too, so that the user's `try` sees the error."""
        known = self.segment.question
        same = known is None or known[0] == "raises" and self._same(known[1], equation)
        if not self._end_segment(known if known and same else ("raises", equation)):
            return self._carried_out(equation)
        equation = self.segment.question[1]
        self.pending()
        if len(self.path) >= len(self.known):
            try:
                with self.outside():
                    self._compute(equation)
            except Exception as failed:
                self.env[equation] = failed
        error = self.env.get(equation)
        self._go_on(FINE if error is None else outcome(error))
        if error is not None:
            raise error
        return equation.outputs

    def no_zero(self, var):
        if not self.performs and bool(Traced[self.depth](var, self) == 0):
            raise ZeroDivisionError("division by zero")

    def below_zero(self, number):
        if self.performs or not isinstance(number, Var):
            return super().below_zero(number)
        return bool(Traced[self.depth](number, self) < 0)

    def within(self, var, dtype):
        limits, x = np.iinfo(dtype), Traced[self.depth](var, self)
        if dtype.itemsize < 8 or dtype.kind == "u":
            low = bool(x < limits.min)
            if low or dtype.itemsize < 8 and bool(x > limits.max):
                raise OverflowError(f"Python integer out of bounds for {dtype}")

    def has_acted(self):
        """See `Run.has_acted`."""
        self.acted = True

    def text(self, x, form):
        """str(x), repr(x) or format(x), by `form`: of a whole number a question, of others a number taken out."""
        kind, whole = x.standing(), x.variable.aval.shape == () and x.dtype.kind in "biu"
        value = concrete(self.answer(x) if whole else self.plain(x, "text of it"))
        return form(value if issubclass(kind, np.ndarray) or np.ndim(value) else kind(np.asarray(value)[()]))

    # ------------------------------------------------------------------ the rest of a call, eagerly
    def be_eager(self, reason):
        """From here on, run each operation as it is called, for this call; later calls do without jit."""
        if self.tree.adopts:
            raise NotFollowed
        self.pending()
        self.performs = True
        self._leave_to_around()
        self.tree.eager = reason
        warn(f"{self.name} runs eagerly from now on: {reason}", PerformanceWarning)

    def do_otherwise(self):
        """The function's Python code does something else than last time, with the same answers: it goes on eagerly. What
        happened in the rest of a segment that has been run as a whole does not happen again."""
        walked = [e for s, unused in self.known[len(self.path) :] for e in s.steps()]
        rest = [(e, [self.env[v] for v in e.outputs]) for e in walked[self.position :] if is_kept(e)]
        self.replayed = Replayed([(effect_name(e.op.generic, e.params), as_given(e, ys)) for e, ys in rest])
        self.be_eager(
            "it does something else when it is run again with the same arguments; random numbers need keys, and counters are "
            "arguments"
        )
        self.replayed.__enter__()

    @property
    def replays(self):
        return self.replayed is not None and bool(self.replayed.results)

    def _capture_from_around(self):
        if not self.performs:
            super()._capture_from_around()

    def perform(self, generic, args, params):
        """An operation, carried out on the values: what it gives is none of the trace. Python numbers stay what they are."""
        mine = Traced[self.depth]
        self.acted = self.acted or generic.function.card.acts(params)
        with self.outside():
            xs = [self._plain(x.variable) if type(x) is mine else x for x in args]
            meaning = operator_of(generic.name)
            if meaning is not None and all([type(x) in NUMBERS for x in xs]):
                return meaning(*xs)
            given = {name: self._plain(v.variable) if type(v) is mine else v for name, v in params.items()}
            return generic.spread(*xs, **given)

    def _plain(self, var):
        """The value of a Var; a Python number if it stands for one."""
        self.value(var)
        return result(var, self.env, var.weak)

    def plain(self, x, what):
        """A traced value for Python code that takes numbers away from the trace (float(), printing): the call goes on
        eagerly."""
        if not self.performs:
            self.be_eager(f"{what} takes a value out of it; return the value instead")
        return self.value(x.variable)

    # ------------------------------------------------------------------ the end
    def finish(self, out):
        """(leaves of the result, structure), with the traced ones as Vars, or as values after an eager end."""
        for x, var, writable in self.arguments:
            if writable and x.variable is not var:
                raise MutationError(
                    f"{self.name}: the function writes to one of its arguments, {var.aval}; jit gives it a value of its own, "
                    "so that the caller would not see it: write to a copy, x = x.copy(), and return it"
                )
        leaves, structure = pytree.flatten(out)
        outputs = [self._output(x) for x in leaves]
        if self.performs:
            return [self._plain(v) if isinstance(v, Var) else v.value for v in outputs], structure
        segment = self.segment
        if segment.question is None:
            segment.out, segment.weak = structure, [getattr(v, "weak", None) for v in outputs]
        self._end_segment(
            ("return", outputs) if segment.question is None or segment.question[0] != "return" else segment.question
        )
        return outputs, structure

    def _output(self, x) -> Any:
        if isinstance(x, Layer) and type(x) is Traced[self.depth]:
            if x.run is not self:
                raise self.foreign(x.run)
            return x.variable
        if hasattr(type(x), "throw") or hasattr(type(x), "athrow"):
            raise StructureError(
                f"{self.name}: the function returns a generator, {describe(x)}, which runs after it; return a list"
            )
        if isinstance(x, Layer) or self._place(x) is not None:
            return Fixed(x) if self.performs or not isinstance(x, Array) else self.atom(x)
        return Fixed(x) if self.performs or type(x) is not np.ndarray else Fresh(x.copy())

    def attach(self):
        """Have the tree take in what is new and complete."""
        if self.start is None:
            return
        path, key, segment = self.start
        if segment.question is None:
            return
        for s in segment.below():
            s.children = {k: c for k, c in s.children.items() if c.question is not None}
        self.tree.attach(path, key, segment, self)


def as_given(e, values):
    """The results of a step as its operation gives them: a tuple, or the one."""
    several = isinstance(infer(e.op, [getattr(v, "aval", v) for v in e.inputs], e.params), tuple)
    return tuple(values) if several else values[0]


def equal_params(params, others):
    """Return whether the parameters of two steps are the same; programs among them may have been traced anew."""
    if params.keys() != others.keys():
        return False
    for name, value in params.items():
        other = others[name]
        if value is other:
            continue
        if type(value) is not type(other) or isa(value, np.ndarray):
            return False
        if not same_function(value, other) and not _text(value) == _text(other) is not None:
            return False
    return True


def _text(value):
    """Programs, which were traced anew, as text; None for all else."""
    programs = value if isinstance(value, tuple) else (value,)
    return str(value) if programs and all([hasattr(p, "equations") for p in programs]) else None
