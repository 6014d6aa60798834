"""What passes leave of a program."""

import numpy as np

import polyad as pa
from polyad.dsl.ir.passes import ORDER, optimized
from polyad.dsl.ir.programs import check, evaluate


def after(f, *args, passes=ORDER):
    """Names of the operations left, the program checked and run."""
    program = pa.make_ir(f)(*args)
    better = optimized(program, passes)
    check(better)
    leaves = pa.tree.leaves(args)
    with np.errstate(all="ignore"):
        for a, b in zip(evaluate(better, leaves), evaluate(program, leaves), strict=True):
            np.testing.assert_array_equal(a, b)
            assert np.asarray(a).dtype == np.asarray(b).dtype
            if np.asarray(a).dtype.kind == "f":
                np.testing.assert_array_equal(np.signbit(a) & ~np.isnan(a), np.signbit(b) & ~np.isnan(b))
    return [e.op.__name__ for e in better.equations]
