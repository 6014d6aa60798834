"""Programs by kernels in OpenCL C on NumPy's arrays: pyopencl compiles and runs them, on any device that it finds."""

import functools
import math

import numpy as np
import pyopencl as cl

from polyad.devices.codegen.plan.plan import lowerable
from polyad.devices.codegen.program import one_by_one, stretches
from polyad.devices.codegen.source import vars_of
from polyad.devices.gpu_codegen.source import KernelSource
from polyad.devices.opencl_codegen.dialect import OPENCL, OPTIONS
from polyad.dsl.array_libraries import Scalar
from polyad.dsl.ir.passes import optimized
from polyad.dsl.ir.programs import Var

FLAGS = cl.mem_flags.READ_WRITE


@functools.cache
def queue():
    """A queue of the first device, or None where there is none."""
    try:
        devices = [d for platform in cl.get_platforms() for d in platform.get_devices()]
    except cl.Error:
        return None
    return cl.CommandQueue(cl.Context(devices[:1])) if devices else None


def built(text, optimize=False):
    """A source, compiled; not optimizing takes half the time. Raises pyopencl.Error with what the compiler says."""
    return cl.Program(queue().context, text).build([*OPTIONS, *([] if optimize else ["-cl-opt-disable"])])


class Compiled:
    """function(*flat inputs) -> list of results. `others`: names of the operations that ran by themselves; `sources`: texts;
    `launched`: (blocks, threads) of what ran."""

    def __init__(self, program, optimize=False):
        self.program = program = optimized(program)
        self.constants, self.launched, self.optimize = dict(program.constants), [], optimize
        self.steps, steps = [], stretches(program.equations, True, lambda e: lowerable(e, OPENCL.functions))
        for number, (in_kernels, equations) in enumerate(steps):
            later = vars_of(v for _, es in steps[number + 1 :] for e in es for v in e.inputs)
            self.steps.append((equations, self._source(equations, later) if in_kernels else None))
        self.others = [e.op.__name__ for equations, source in self.steps if source is None for e in equations]
        self.sources = [source.text for _, source in self.steps if source is not None]

    def _source(self, equations, later):
        here = {v for e in equations for v in e.outputs}
        needed = {*later, *vars_of(self.program.outputs)}
        read = [v for v in vars_of(v for e in equations for v in e.inputs) if v not in here]
        literals = {v: self.constants[v] for v in read if isinstance(self.constants.get(v), Scalar)}
        outputs = [v for e in equations for v in e.outputs if v in needed]
        return KernelSource(OPENCL, equations, [v for v in read if v not in literals], outputs, literals)

    def __call__(self, *leaves):
        env = {**self.constants, **dict(zip(self.program.inputs, leaves, strict=True))}
        for equations, source in self.steps:
            if source is None:
                one_by_one(equations, env)
            else:
                env.update(zip(source.outputs, self._run(source, [env[v] for v in source.inputs])))
        return [env[v] if isinstance(v, Var) else v for v in self.program.outputs]

    def _run(self, source, arrays):
        q, space = queue(), {}
        for k, (v, x) in enumerate(zip(source.inputs, arrays, strict=True)):
            space[f"x{k}"] = memory(math.prod(v.aval.shape), v.aval.dtype, x)
        for k, v in enumerate(source.outputs):
            space[f"y{k}"] = memory(math.prod(v.aval.shape), v.aval.dtype)
        program = built(source.text, self.optimize) if source.launches else None
        for launch in source.launches:
            for name, dtype, size, zeros in launch.fresh:
                space[name] = memory(size, dtype, np.zeros(size, dtype) if zeros else None)
            x, y = (*launch.blocks, 1)[:2]
            kernel = cl.Kernel(program, launch.name)
            kernel(q, (x * launch.threads, y), (launch.threads, 1), *[space[name] for name in launch.arguments])
            self.launched.append((launch.blocks, launch.threads))
        results = [np.empty(v.aval.shape, v.aval.dtype) for v in source.outputs]
        for k, y in enumerate(results):
            if y.size:
                cl.enqueue_copy(q, y, space[f"y{k}"])
        q.finish()
        return results


def memory(size, dtype, x=None):
    """A buffer of so many elements, in whole words, with these values in rows; else with such that nobody takes for results."""
    words = np.full(-(-size * np.dtype(dtype).itemsize // 8) + 1, 0x7FF8DEADBEEF7FE1, np.uint64)
    if x is not None and size:
        words.view(np.uint8)[: size * np.dtype(dtype).itemsize] = np.ascontiguousarray(x, dtype).reshape(-1).view(np.uint8)
    return cl.Buffer(queue().context, FLAGS | cl.mem_flags.COPY_HOST_PTR, hostbuf=words)
