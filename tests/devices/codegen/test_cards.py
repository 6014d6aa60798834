"""Every card's samples, compiled: C, and what runs between, against the operations one by one.

Derivatives of all cards are compiled in the net (tests/fuzz)."""

import warnings

import numpy as np
import pytest

import polyad as pa
from polyad.devices.codegen.plan.plan import lowerable
from polyad.dsl import operations
from polyad.dsl.ir.programs import evaluate

GROUP = 10  # operations in one program, to compile less often
groups = [list(operations)[k : k + GROUP] for k in range(0, len(operations), GROUP)]


def flat_cases(names):
    """(function of its arrays, arrays) for each sample of these operations that a trace can take."""
    for name in names:
        op = operations[name]
        for make in op.card.samples:
            args, params = make(np.random.default_rng(7))
            leaves, structure = pa.tree.flatten(list(args))
            arrays = [i for i, x in enumerate(leaves) if isinstance(x, (np.ndarray, np.generic))]

            def f(*xs, op=op, leaves=leaves, arrays=arrays, structure=structure, params=params):
                given = list(leaves)
                for i, x in zip(arrays, xs):
                    given[i] = x
                return op(*pa.tree.unflatten(structure, given), **params)

            yield name, f, [leaves[i] for i in arrays]


def traced(f, xs):
    """The program, or None where the sample cannot be traced or has nothing to be compiled."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            program = pa.make_ir(f)(*xs)
    except (pa.PolyadError, TypeError, ValueError):
        return None
    return program if any(lowerable(e) for e in program.equations) else None


def together(cases):
    """One function of all arrays for several functions of some."""

    def f(*xs):
        left = iter(xs)
        return [f(*[next(left) for _ in arrays]) for f, arrays in cases]

    return f, [x for _, arrays in cases for x in arrays]


def compare(cases, cpu, tolerance=1e-12):
    if not cases:
        return
    f, xs = together(cases)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        program = pa.make_ir(f)(*xs)
        found, wanted = pa.compile_program(program, cpu)(*xs), evaluate(program, xs)
    for a, b in zip(found, wanted, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("names", groups, ids=lambda names: f"{names[0]}-{names[-1]}")
def test_samples(names, cpu):
    compare([(f, xs) for _, f, xs in flat_cases(names) if traced(f, xs)], cpu)
