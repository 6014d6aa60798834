"""Programs in which calls that stand for several operations are written out as those, for source code and pictures."""


def inlined(program):
    """The program with each equation whose operation has a rule "inline", and none for source code, replaced by the equations
    of what it calls.

    The rule: function(inputs: Vars' shapes and dtypes or numbers, **params) -> Program.
    """
    if not any(_stands_for_others(e) for e in program.equations):
        return program
    constants, equations, known = list(program.constants), [], {}
    here = lambda v: known.get(v, v) if hasattr(v, "aval") else v
    for e in program.equations:
        inputs = [here(v) for v in e.inputs]
        rule = e.op.card.rules.get("inline")
        if not _stands_for_others(e):
            equations.append(type(e)(e.op, inputs, e.params, e.outputs))
            continue
        called = inlined(rule(*[getattr(v, "aval", v) for v in inputs], **e.params))
        inside = dict(zip(called.inputs, inputs, strict=True))
        within = lambda v, inside=inside: inside.get(v, v) if hasattr(v, "aval") else v
        constants += called.constants
        equations += [type(e)(c.op, [within(v) for v in c.inputs], c.params, c.outputs) for c in called.equations]
        known.update(zip(e.outputs, [within(v) for v in called.outputs], strict=True))
    outputs = [here(v) for v in program.outputs]
    return type(program)(
        program.name, program.inputs, constants, equations, outputs, program.in_structure, program.out_structure
    )


def _stands_for_others(e):
    return "inline" in e.op.card.rules and "code" not in e.op.card.rules
