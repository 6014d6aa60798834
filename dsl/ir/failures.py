"""Which steps of a program can fail when it runs, for the numbers they meet."""

from ..card import library_name, programs_in

REGULAR = ("elementwise", "bilinear", "reduction", "composite")


def may_fail(e, seen=()):
    """Return whether a step can fail for some values of its arguments: an index out of range, a function of the user's.

    seen: the programs that it is in, which may call themselves.
    """
    card = e.op.card
    programs = [p for value in e.params.values() for p in programs_in(value)]
    if programs:
        return any([may_fail(step, (*seen, p)) for p in programs if p not in seen for step in p.equations])
    if library_name(e.op) == "power":
        return e.outputs[0].aval.dtype.kind in "iu"
    if card.kind == "linear":
        return card.linear is not None and len(e.inputs) > len(card.linear)  # what it is not linear in are positions
    return card.raises or card.kind not in REGULAR
