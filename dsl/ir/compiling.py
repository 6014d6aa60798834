"""Compiling programs: `jit` asks for a fast function of a program's flat inputs, and each kind of device may have one."""

from ...dispatch import generic
from .pass_selection import checked, using
from .programs import evaluate


@generic
def compile_program(program, device, /, *, passes=None):
    """A function of a program's flat inputs (arrays of the shapes and dtypes it says) that returns the list of its results.

    program: Program. device: where its arrays lie, a `Device` or text that names one; devices add methods for their
    `Device[kind]`, and without one the operations run one by one. passes: names among `PASSES` of those that are on, None for
    those that were where the program was made: all, but where `jit` says otherwise. The results share no memory with
    arguments, constants or each other. Reductions may add in another order, and warnings of floating-point arithmetic are not
    given. Raises what the operations raise, and TypeError for arguments of other shapes or dtypes; StructureError for other
    names of passes, DeviceError for text that names no device.

    >>> import numpy as np, polyad as pa
    >>> program = pa.make_ir(lambda x: pa.sum(x * x))(np.arange(3.0))
    >>> run = pa.compile_program(program, pa.devices.Device("cpu"))
    >>> [float(y) for y in run(np.array([1.0, 2.0, 3.0]))]
    [14.0]
    >>> plain = pa.compile_program(program, pa.devices.Device("cpu"), passes=[p for p in pa.PASSES if p != "fusion"])
    >>> [float(y) for y in plain(np.array([1.0, 2.0, 3.0]))]
    [14.0]
    """


compile_program.generic.add(lambda program, device, passes=None: lambda *leaves: evaluate(program, leaves), (object, object))


def compiling(program, passes=None):
    """A block in which a program is compiled, by the passes of these names, or by its own. Raises StructureError."""
    return using(program.passes if passes is None else checked("compile_program", passes))
