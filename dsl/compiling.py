"""Compiling programs: `jit` asks for a fast function of a program's flat inputs, and each kind of device may have one."""

from ..dispatch import generic
from .ir import evaluate


@generic
def compile_program(program, device, /):
    """A function of a program's flat inputs (arrays of the shapes and dtypes it says) that returns the list of its results.

    program: Program. device: where its arrays lie. A device adds a method for its `Device[kind]`; without one the
    operations run one by one. The results share no memory with arguments, constants or each other. Reductions may add in
    another order, and warnings of floating-point arithmetic are not given. Raises what the operations raise, and TypeError
    for arguments of other shapes or dtypes.

    >>> import numpy as np, polyad as pa
    >>> program = pa.make_ir(lambda x: pa.sum(x * x))(np.arange(3.0))
    >>> run = pa.compile_program(program, pa.devices.Device("cpu"))
    >>> [float(y) for y in run(np.array([1.0, 2.0, 3.0]))]
    [14.0]
    """


compile_program.generic.add(lambda program, device: lambda *leaves: evaluate(program, leaves), (object, object))
