"""Forward over reverse, each function computed once: the slope that forward mode needs now is the one that reverse mode asks
for later, with its own slope.

sin at a `Dual` needs cos(x) for the tangent; the walk back over the tape multiplies by cos of the same `Dual`, which needs
cos(x) again, and -sin(x). So where a tape is recorded inside of forward mode, the values of elementwise functions of one large
array are kept by the array, for as long as the run lasts; the tape holds the array itself anyway.
"""

import numpy as np

from ..dispatch import innermost_run
from ..dsl.ops.arithmetic import masked_product
from .careful import product

LARGE = 4096  # elements, from which on a function costs more than looking its value up


def shares(generic):
    """Whether an operation is a function of one array that is given by its slope."""
    card = generic.card
    regular = card.kind == "elementwise" and generic.arity == 1 and not generic.params and not generic.rules
    return regular and card.partials is not None and callable(card.partials[0]) and "jvp" not in card.rules


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
            r.kept[key] = v, function(v)
        y = r.kept[key][1]
        if x.tangent is None:  # within a slope
            return y
        p = slope(cls(y, None, r), cls(v, None, r))
        times = masked_product if singular else product.times
        return cls(y, times(x.tangent, p.primal if type(p) is cls else p), r)

    return run


def _tape_inside(run):
    inner = innermost_run()
    return inner is not run and getattr(inner, "tape", None) is not None
