"""What the lanes of one rank give to a collective, combined with what those of the others give.

By one table: a collective without an entry gathers the lanes of all ranks and does what one process would do with them. Entries
send less. They need a lane on every rank: of fewer lanes than ranks all is gathered, and so it is where a sparsity pattern is
looked for, whose sets travel in one form.
"""

from ..ad.sparsity.detection import PatternRun
from ..dispatch import open_runs
from .collectives import gather, split, total, vary
from .moves import exchange, extreme, lane_product, pick, route, scan, scatter

SUMMED = ("psum", "psum_scatter")  # those to which a rank gives the sum of its lanes


def invariant(function, **more):
    """An entry for a collective whose result is one value of all lanes."""
    return lambda value, blocks, place, **params: vary(function(value, blocks, place, **params, **more), blocks)


# collective -> function (value, blocks, place, **params) that gives its result on this rank
BETWEEN = {
    "psum_scatter": scatter, "all_to_all": exchange, "ppermute": route, "scan_over_axis": scan, "broadcast": invariant(pick),
    "pmax": invariant(extreme, largest=True), "pmin": invariant(extreme, largest=False), "pprod": invariant(lane_product),
}  # fmt: skip


def combined(how, value, here, own, blocks, place, params):
    """The result of a collective for the lanes of this rank: one for all, or for each its own along axis 0.

    how: the collective's name. value: of its lanes here that count, along axis 0, or their sum, as the collective has it. here:
    function of what all lanes give. place: for messages.
    """
    between = BETWEEN.get(how)
    if between is not None and blocks.size >= blocks.comm.size and not any(isinstance(run, PatternRun) for run in open_runs()):
        return between(value, blocks, place, **params)
    y = here((total if how in SUMMED else gather)(value, blocks, place))
    return split(y, blocks) if own else vary(y, blocks)
