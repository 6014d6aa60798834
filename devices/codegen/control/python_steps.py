"""Loops and choices that are not C as a whole, for an operation in them is not: steps in Python, each by compiled programs."""

from ....dsl.avals import shape_of
from ....dsl.control.scan import stacked


def steps_of(run_of, *arrays, body, constants, carry, length, reverse):
    """As the operation of this name. run_of: function(program) -> function of its flat inputs."""
    run = run_of(body)
    fixed, now, rows = arrays[:constants], arrays[constants : constants + carry], arrays[constants + carry :]
    length = shape_of(rows[0])[0] if length is None else length
    outputs = [None] * length
    for i in range(length)[:: -1 if reverse else 1]:
        results = run(*fixed, *now, *[x[i] for x in rows])
        now, outputs[i] = results[:carry], results[carry:]
    return (*now, *stacked(outputs, body, carry, arrays))


def loop(run_of, *arrays, test, body, constants):
    """As the operation of this name."""
    asks, run = run_of(test), run_of(body)
    fixed, now, outputs = arrays[:constants], arrays[constants:], []
    carry = len(now)
    while asks(*fixed, *now)[0]:
        results = run(*fixed, *now)
        now = results[:carry]
        outputs.append(results[carry:])
    return (*now, *stacked(outputs, body, carry, arrays))


def choice(run_of, index, *operands, branches):
    """As the operation of this name."""
    return tuple(run_of(branches[int(index)])(*operands))
