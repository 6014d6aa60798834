"""What operations with an effect gave to the lanes of a map, for lanes that run the mapped function again."""

import numpy as np

from ..array_libraries import asarray_like
from ..avals import shape_of
from ..axes import Stacked
from ..ops.indexing import index
from ..ops.shape import broadcast_to, concatenate


class Happened:
    """One operation with an effect, carried out for some lanes. results: a `Stacked` each; several: it gives a tuple."""

    __slots__ = ("name", "results", "several")

    def __init__(self, name, results, several):
        self.name, self.results, self.several = name, results, several


def recalled(known):
    """The results for some lanes: a `Stacked` each. known: for each lane what happened, and its place among the lanes then."""
    first = known[0][0]
    if all([happened is first for happened, _ in known]):
        return [_picked(s, [i for _, i in known]) for s in first.results]
    rows = [[_wide(_picked(s, [i])) for s in happened.results] for happened, i in known]
    return [Stacked(concatenate(list(column), axis=0), False) for column in zip(*rows, strict=True)]


def _picked(s, places):
    if s.same:
        return s
    return Stacked(index(s.value, asarray_like(np.asarray(places, np.intp), s.value), spec=("array",)), False)


def _wide(s):
    return s.value if not s.same else broadcast_to(s.value, shape=(1, *shape_of(s.value)))
