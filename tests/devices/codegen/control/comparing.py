"""A program, compiled, against its operations one by one."""

import numpy as np

import polyad as pa
from polyad.devices.codegen.program import compiled, stretches
from polyad.dsl.ir.passes import optimized
from polyad.dsl.ir.programs import evaluate


def compare(f, *args, whole=True, rtol=1e-12, atol=1e-13):
    """A function's program, compiled, gives what its operations give; whole: it is one C function. Returns the compiled one."""
    program = optimized(pa.make_ir(f)(*args))
    leaves = [np.asarray(x) for x in pa.tree.leaves(args)]
    if whole:
        assert [is_c for is_c, _ in stretches(program.equations)] == [True]
    run = compiled(program)
    with np.errstate(all="ignore"):
        wanted = evaluate(program, leaves)
    for a, b in zip(run(*leaves), wanted, strict=True):
        b = np.asarray(b)
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        single = b.dtype.kind == "f" and b.dtype.itemsize == 4  # numbers near 1 may cancel: an absolute bound, too
        np.testing.assert_allclose(a, b, rtol=1e-5 if single else rtol, atol=1e-5 if single else atol)
    return run
