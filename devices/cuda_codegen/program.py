"""`compile_program` for CUDA: stretches of equations as kernels, between them what has none by CuPy's own functions."""

import numpy as np

from ...dispatch import isa
from ...dsl.array_libraries import Scalar
from ...dsl.card import programs_in
from ...dsl.control.call import call
from ...dsl.control.self_calls import deep_within
from ...dsl.ir.passes import optimized
from ...dsl.ir.programs import Equation, Program, Var
from ..codegen.plan import plan
from ..codegen.program import one_by_one, stretches
from ..codegen.source import vars_of
from ..codegen.toolchain.library import warn_once
from ..gpu_codegen.source import KernelSource
from ..lowering import record
from .dialect import CUDA
from .launch import Runner, checked, device_number, taken


def lowerable(e):
    """Return whether an equation has CUDA code."""
    return plan.lowerable(e, CUDA.functions)


def with_kernels(program):
    """function(equation) -> whether it is computed by a kernel of ours.

    Not so are numbers of Python's, which stay on the host, and views of what only CuPy's functions read.
    """
    readers, numbers = {}, {v for v in program.inputs if v.weak} | {v for v, x in program.constants if isinstance(x, Scalar)}
    for e in program.equations:
        read = vars_of(e.inputs)
        if read and numbers.issuperset(read):
            numbers.update(e.outputs)
        for v in read:
            readers.setdefault(v, []).append(e)
    known, outputs = {}, set(vars_of(program.outputs))
    for e in reversed(program.equations):
        read = [known[id(r)] for v in e.outputs for r in readers.get(v, ())]
        view = record(e).index_map and len(e.inputs) == 1
        elsewhere = view and read and not any(read) and not outputs.intersection(e.outputs)
        known[id(e)] = not elsewhere and not numbers.issuperset(e.outputs) and lowerable(e)
    return lambda e: known[id(e)]


def with_calls(e):
    """An equation whose programs, if they have several steps, run as calls of programs, hence by kernels too."""
    if e.op is call or not programs_within(e.params) or deep_within(e.params):
        return e
    return Equation(e.op, e.inputs, {k: _called(v) for k, v in e.params.items()}, e.outputs)


def programs_within(params):
    """The programs among an equation's parameters."""
    return [p for value in params.values() for p in programs_in(value)]


def _called(value):
    if isinstance(value, (tuple, list)):
        return type(value)([_called(v) for v in value]) if programs_in(value) else value
    if not isinstance(value, Program) or len(value.equations) < 2 or value.acts:
        return value
    copies = [Var(v.aval, v.lanes, v.weak) for v in value.inputs]
    outputs = [Var(v.aval) for v in value.outputs if isinstance(v, Var)]
    left = iter(outputs)
    results = [next(left) if isinstance(v, Var) else v for v in value.outputs]
    inner = Program(value.name, value.inputs, value.constants, value.equations, vars_in_order(value.outputs), None, None)
    step = Equation(call, copies, {"program": inner}, outputs)
    return Program(value.name, copies, [], [step], results, value.in_structure, value.out_structure)


def vars_in_order(atoms):
    """The Vars among atoms."""
    return [v for v in atoms if isinstance(v, Var)]


class Compiled:
    """function(*flat inputs) -> list of results, on the device of its arrays.

    program: Program, whose constants may be on the host: they are made arrays of the device. ordinal: of the device, where no
    argument or constant says it. `sources` are the texts of its kernels.
    """

    def __init__(self, program, ordinal=0):
        import cupy  # pyright: ignore[reportMissingImports]

        self.program = program = optimized(program)
        self.constants, self.placed = dict(program.constants), {}
        self.ordinal = device_number(cupy, self.constants.values(), ordinal)
        self.steps = self._made(cupy)
        self.done = self._done()

    @property
    def sources(self):
        return [step.source.text for _, step in self.steps if step is not None]

    def _made(self, cupy):
        """Pairs (equations, Runner or None)."""
        usable = all(isa(x, (cupy.ndarray, np.ndarray, Scalar)) for x in self.constants.values())
        steps = stretches(self.program.equations, usable, with_kernels(self.program))
        made = []
        for number, (in_kernels, equations) in enumerate(steps):
            later = [v for _, others in steps[number + 1 :] for e in others for v in e.inputs]
            runner = self._runner(equations, later) if in_kernels else None
            made.append((equations if in_kernels else [with_calls(e) for e in equations], runner))
        return made

    def _runner(self, equations, later):
        """A stretch of equations as kernels. later: what is read after it."""
        here = {v for e in equations for v in e.outputs}
        needed = {*vars_of(later), *vars_of(self.program.outputs)}
        outputs = [v for e in equations for v in e.outputs if v in needed]
        read = [v for v in vars_of(v for e in equations for v in e.inputs) if v not in here]
        literals = {v: self.constants[v] for v in read if isinstance(self.constants.get(v), Scalar)}
        return Runner(KernelSource(CUDA, equations, [v for v in read if v not in literals], outputs, literals))

    def _done(self):
        """For each step, the values that nobody reads after it."""
        last = {}
        for n, (equations, _) in enumerate(self.steps):
            last.update((v, n) for e in equations for v in vars_of((*e.inputs, *e.outputs)))
        kept = {*vars_of(self.program.outputs), *self.constants}
        done = [[] for _ in self.steps]
        for v, n in last.items():
            if v not in kept:
                done[n].append(v)
        return done

    def __call__(self, *leaves):
        import cupy  # pyright: ignore[reportMissingImports]

        ordinal = device_number(cupy, [*leaves, *self.constants.values()], self.ordinal)
        if cupy.cuda.runtime.getDevice() == ordinal:
            return self._run(cupy, leaves)
        with cupy.cuda.Device(ordinal):
            return self._run(cupy, leaves)

    def _run(self, cupy, leaves):
        inputs = self.program.inputs
        if len(leaves) != len(inputs):
            raise TypeError(f"a compiled program of {len(inputs)} arrays was called with {len(leaves)}")
        env = self._constants(cupy)
        env.update([(v, checked(cupy, x, v.aval)) for v, x in zip(inputs, leaves)])
        for number, (equations, step) in enumerate(self.steps):
            if step is None or not self._by_kernels(cupy, number, step, env):
                one_by_one(equations, env)
            for v in self.done[number]:  # CuPy gives its memory to what comes next
                env.pop(v, None)
        return self._owned(cupy, [env[v] if isinstance(v, Var) else v for v in self.program.outputs], leaves)

    def _constants(self, cupy):
        """A dict of the constants on the current device."""
        here = cupy.cuda.runtime.getDevice()
        if here not in self.placed:
            self.placed[here] = {v: cupy.asarray(x) if isa(x, np.ndarray) else x for v, x in self.constants.items()}
        return dict(self.placed[here])

    def _by_kernels(self, cupy, number, step, env):
        """Run a stretch; False where its kernels do not compile, with one warning."""
        try:
            env.update(zip(step.source.outputs, step(*[taken(cupy, env[v], v.aval) for v in step.source.inputs])))
        except cupy.cuda.compiler.CompileException as error:
            warn_once(f"CUDA code does not compile: {error}")
            self.steps[number] = self.steps[number][0], None
            return False
        return True

    def _owned(self, cupy, results, leaves):
        """Results that share memory with nothing."""
        seen, owned = {id(x) for x in (*leaves, *self._constants(cupy).values())}, []
        for y in results:
            if isa(y, cupy.ndarray) and (id(y) in seen or y.base is not None):
                y = cupy.array(y)
            seen.add(id(y))
            owned.append(y)
        return owned
