"""CUDA code for programs: kernels (`..gpu_codegen`) in CUDA C++, which CuPy compiles.

`program.py` cuts a program into stretches that have kernels and operations that have none, which run by CuPy's functions;
`dialect.py` and `prelude.py` say what CUDA C++ says otherwise than C; `launch.py` runs the kernels.

No GPU has run this yet. NVRTC compiles the kernels in the tests, and the same text, compiled for the host with an emulation of
blocks and threads, gives what the operations give. Not known: speed, races within a warp, the last digits of CUDA's own
functions (`sin`, `erf`). Numbers of float32 below the normal ones count as zero, as in all kernels that CuPy compiles.
"""

from ...dispatch import CUDA
from ...dsl.ir.compiling import compile_program, compiling
from ...dsl.control.call import call, call_run
from ...dsl.control.self_calls import deep
from ...dsl.ir.programs import Program
from ...dsl.debug.nans import checking
from ..device import Device


@compile_program.method
def compile_program_on_cuda(program: Program, device: Device[CUDA], /, *, passes=None):
    from .program import Compiled  # type: ignore[assignment]  no module is assigned to `program`

    with compiling(program, passes):
        return Compiled(program, device.ordinal)


def call_on_cuda(*arrays, program):
    """The results of a program of CuPy's arrays, as a tuple: by kernels that are made at the first call."""
    if checking():  # operation by operation, of which one makes the NaN
        return call_run(*arrays, program=program)
    run = program.lifted.get("cuda")
    if run is None:
        if deep(program):
            return call_run(*arrays, program=program)
        from .program import Compiled

        with compiling(program):
            run = program.lifted["cuda"] = Compiled(program)  # type: ignore[attr-defined]
    return tuple(run(*arrays))


def install_call(array_class):
    """Let `call` run by kernels. array_class: of its arguments, from `operand`."""
    call.generic.add(call_on_cuda, (), array_class, CUDA)
