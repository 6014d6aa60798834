"""Which arrays the reverse rules of an operation read: what a rule's code does not mention it cannot read.

This looks into bytecode, which changes with each version of Python. So functions with
known answers are looked at first: where one comes out wrong, every rule is taken to read all that it is given, which costs
memory alone.
"""

import dis
import functools


def read(generic, places, count):
    """(for each array, for the result): whether a reverse rule for the arrays at `places` may read its numbers."""
    card, everything = generic.card, ([True] * count, True)
    rules = card.rules
    if generic.dense_rules:  # by the types of what is met
        return everything
    if card.kind == "linear" and (card.linear is None or "transpose" in rules) and "vjp" not in rules:
        # the transpose of a linear function depends on neither its arguments nor its result
        return [card.linear is not None and j not in card.linear for j in range(count)], False
    if "vjp_all" in rules:
        return everything
    if "vjp" in rules:
        return everything if callable(rules["vjp"]) else _union([rules["vjp"][i] for i in places], 1, count)
    if "transpose" in rules and card.linear is not None:
        if len(card.linear) == 1:
            return [j not in card.linear for j in range(count)], False
        if card.kind == "bilinear":
            return [any([i != j for i in places]) for j in range(count)], False
        return everything
    if "transpose" in rules or card.partials is None:
        return everything
    return _union([card.partials[i] for i in places], 0, count)


def _union(functions, before, count):
    """Find what any of these functions (…, y, *xs) may read; `before`: how many arguments come before y."""
    arrays, result = [False] * count, False
    for function in functions:
        if function is None or function in (1, -1):
            continue
        found = mentioned(function) if understood() else None
        if found is None or len(found) != before + 1 + count:
            return [True] * count, True
        y, *xs = found[before:]
        arrays, result = [a or b for a, b in zip(arrays, xs, strict=True)], result or y
    return arrays, result


def mentioned(function):
    """For each argument by position whether the function's code mentions it; None of what is no Python function, or has code
    that cannot be read."""
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    found = set()
    for instruction in dis.get_instructions(code):
        if instruction.opcode not in VARIABLES:
            continue
        names = instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,)
        if not all([isinstance(name, str) for name in names]):
            return None
        found.update(names)
    return [name in found for name in code.co_varnames[: code.co_argcount]]


VARIABLES = {*dis.haslocal, *dis.hasfree}  # opcodes that name variables, as Python documents them

# functions of five arguments, and which of these they mention
SAMPLES = [
    (lambda a, b, c, d, e: None, ""), (lambda a, b, c, d, e: a, "a"), (lambda a, b, c, d, e: e, "e"),
    (lambda a, b, c, d, e: a * b, "ab"), (lambda a, b, c, d, e: a * (c + e), "ace"), (lambda a, b, c, d, e: b + b, "b"),
    (lambda a, b, c, d, e: len(d), "d"), (lambda a, b, c, d, e: max(a, key=c), "ac"), (lambda a, b, c, d, e: a.b(c).d, "ac"),
    (lambda a, b, c, d, e: b if d else e, "bde"), (lambda a, b, c, d, e: (lambda x: x + c)(a), "ac"),
    (lambda a, b, c, d, e: [x * b for x in d], "bd"), (lambda a, b, c, d, e: {k: (lambda: e) for k in (1, 2)}, "e"),
    (lambda a, b, c, d, e: print(*b, **d), "bd"), (lambda a, b, c, d, e: a[b:c], "abc"), (lambda a, b, c, d, e: -a, "a"),
    (lambda a, b, c, d, e: a < b < c, "abc"), (lambda a, b, c, d, e: (a, b, c, d, e), "abcde"),
]  # fmt: skip


@functools.cache
def understood():
    """Return whether the code of this version of Python is read as it is meant."""
    wanted = lambda names: [name in names for name in "abcde"]
    return all([mentioned(function) == wanted(names) for function, names in SAMPLES])
