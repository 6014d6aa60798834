"""Whether Python asks for a number in order to store it in a plain array.

`float(x)` of a variable gives its number. NumPy asks for the same in `b[0] = x` and `b.fill(x)`, where the derivative would be
lost without a word; what the caller is about to do tells the two apart.
"""

import dis

from ...dsl.jit.bytecode import instructions
from ...dsl.jit.opcodes import PASSED_OVER

STORE = dis.opmap["STORE_SUBSCR"]
# of NumPy's arrays, and of array.array, whose `append` asks for a number as that of a list does not
WRITERS = frozenset(("fill", "fromiter", "setitem", "__setitem__", "itemset", "append", "insert"))
JUMPS = frozenset(dis.hasjrel) | frozenset(dis.hasjabs)


def stores(frame):
    """Describe the write of a number into an array that the code in this frame is about to make; None if it makes none."""
    code, at = frame.f_code, frame.f_lasti
    if at < 0:
        return None
    if code.co_code[at] == STORE:
        return "b[i] = x"
    if WRITERS.isdisjoint(code.co_names):  # hot
        return None
    name = _called(code, at)
    return f"{name}(x)" if name in WRITERS else None


def _called(code, at):
    """The name of what the call at a place of the code calls, where its arguments are plain expressions; else None."""
    steps = instructions(code)
    call = next((i for i, step in enumerate(steps) if step.offset == at), None)
    if call is None or steps[call].opname not in ("CALL", "PRECALL"):
        return None
    left, depth = steps[call].arg, 0
    before = call
    while before and steps[before - 1].opname in (*PASSED_OVER, "KW_NAMES"):
        before -= 1
    for step in reversed(steps[:before]):
        if step.opcode in JUMPS:
            return None
        if depth == left and step.opname == "PUSH_NULL":
            continue  # since 3.13 it follows what is called
        if depth == left and step.opname.startswith("LOAD"):
            return step.argval
        depth += dis.stack_effect(step.opcode, step.arg)
    return None
