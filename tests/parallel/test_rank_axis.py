"""The axis of a map: all lanes on one process, or spread over ranks, with results that stay or are put together."""

from types import SimpleNamespace

import numpy as np

import polyad as pa
from polyad.dsl.axes import Stacked
from polyad.parallel.rank_axis import RankAxis, WholeAxis
from polyad.parallel.sharded.lanes import is_kept


def test_results_of_one_process_stay_sharded_where_asked():
    units = [Stacked(np.arange(6.0).reshape(3, 2), False), Stacked(1.0, True)]
    axis = WholeAxis("i", 3, 1)
    outputs = SimpleNamespace(leaves=lambda: ("structure", units))
    assert axis.join(outputs) == ("structure", units)
    mesh = pa.Mesh("i", 3)
    axis.kept_on = mesh, "i"
    _, (lanes, same) = axis.join(outputs)
    assert isinstance(lanes.value, pa.Sharded) and lanes.value.spec == pa.PartitionSpec("i", None) and same is units[1]
    assert [is_kept(unit) for unit in units] == [True, False]


def test_an_axis_over_ranks_is_one_of_several_processes():
    axis = RankAxis(pa.world(), "pmap(f)", "i", 4, 1)
    assert axis.spans_processes and axis.local == 4 and axis.offset == 0 and axis.way() == 0
    axis.restart()
    assert axis.varying and axis.way() is None and axis.done == 0
