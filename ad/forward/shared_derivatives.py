"""Forward over reverse, each function computed once: the slope that forward mode needs now is the one that reverse mode asks
for later, with its own slope.

sin at a `Dual` needs cos(x) for the tangent; the walk back over the tape multiplies by cos of the same `Dual`, which needs
cos(x) again, and -sin(x). So where a tape is recorded inside of forward mode, the values of elementwise functions of one large
array are kept by the array, for as long as the run lasts; the tape holds the array itself anyway.
"""

import numpy as np

from ...dispatch import innermost_run
from ..rules.buffer_reuse import computed
from ..rules.products_in_place import masked_over, over

LARGE = 4096  # elements, from which on a function costs more than looking its value up


def shares(generic):
    """Return whether an operation is a function of one array that is given by its slope, and costs more than a product."""
    card = generic.card
    if not _calls_function(card.c):
        return False
    regular = card.kind == "elementwise" and generic.arity == 1 and not generic.params and not generic.dense_rules
    return regular and card.partials is not None and callable(card.partials[0]) and "jvp" not in card.rules


def _calls_function(expression):
    """Return whether an operation's C expression for real numbers calls a function; true also if it has none."""
    if isinstance(expression, dict):
        expression = next((text for kinds, text in expression.items() if "f" in kinds), None)
    return expression is None or "(" in expression


def sharing(cls, generic, otherwise):
    """The target of such an operation at a class of `Dual`; `otherwise` where nothing is to be shared."""
    function, slope, singular = generic.function, generic.card.partials[0], generic.card.singular

    def run(x):
        r, v = x.run, x.primal
        if type(v) is not np.ndarray or v.size < LARGE or not (r.kept or _tape_inside(r)):
            return otherwise(x)
        if r.closed:
            raise r.leaked()
        key = generic, id(v)
        if key not in r.kept:
            r.kept[key] = v, computed(function, v)
        y = r.kept[key][1]
        if x.tangent is None:  # within a slope
            return y
        times = masked_over if singular else over
        return cls(y, times(x.tangent, _number(slope(cls(y, None, r), cls(v, None, r)), cls)), r)

    return run


def _number(x, cls):
    return x.primal if type(x) is cls else x


def _tape_inside(run):
    inner = innermost_run()
    return inner is not run and getattr(inner, "tape", None) is not None
