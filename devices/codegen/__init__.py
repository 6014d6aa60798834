"""C code for programs on the CPU: from equations to loops, from loops to C, from C to a function that Python calls.

`program.py` cuts a program into stretches that have C and operations that have none; `plan/` decides what lies in memory and
what shares a pass; `loops/` writes loop nests and what is inside, `lowerings/` operations that are no plain loop, `control/`
loops, choices and recursion around whole programs, all as the statements of `text/`, which a printer turns into C once, at
the end; `source.py` puts it together; `toolchain/` compiles it, keeps it and opens it, and `calls.py` calls it. `ufuncs.py`
makes kernels of single expressions. What is known of an operation lies on its card, put there by `lowering`
(`devices/lowering.py`). Nothing of this is loaded before the first program is compiled.
"""

from ...dispatch import CPU, HostArray
from ...dsl.ir.compiling import compile_program, compiling
from ...dsl.control.call import call, call_run
from ...dsl.ir.programs import Program
from ...dsl.debug.nans import checking
from ...dsl.ir.pass_selection import on
from ..device import Device


@compile_program.method
def compile_program_on_host(program: Program, device: Device[CPU], /, *, passes=None):
    from .toolchain.library import standby

    with compiling(program, passes), standby():
        if program.donated and on("in_place"):
            from .donation import compile_donating

            return compile_donating(program)
        from .program import compile_or_run  # type: ignore[assignment]  no module is assigned to `program`

        return compile_or_run(program)


@call.method
def call_on_host(*arrays: HostArray, program):
    if checking():  # operation by operation, of which one makes the NaN
        return call_run(*arrays, program=program)  # type: ignore[arg-type]
    run = program.lifted.get("host")
    if run is None:
        run = program.lifted["host"] = compile_program_on_host(program, None)  # type: ignore[arg-type]
    return tuple(run(*arrays))
