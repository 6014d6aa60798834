"""Where arrays are to lie: trees of places, for a class of places that somebody adds."""

import numpy as np
import pytest

import polyad as pa
from polyad.dsl.placement import placed, placed_tree


class Doubled:
    """A place of a test."""


@placed.method
def placed_doubled(x: object, where: Doubled, /):
    return 2 * x


def test_trees():
    x = {"a": np.ones(2), "b": [1.0, np.zeros(3)]}
    y = placed_tree(x, {"a": Doubled(), "b": None}, "f: where")
    assert y["a"].tolist() == [2.0, 2.0] and y["b"] == [1.0, x["b"][1]]
    assert placed_tree(3.0, Doubled(), "f: where") == 6.0 and placed_tree((1.0, 2.0), [None, Doubled()], "f") == (1.0, 4.0)


def test_errors():
    with pytest.raises(pa.StructureError, match="f: where: .* does not fit"):
        placed_tree((1.0,), (Doubled(), Doubled()), "f: where")
    with pytest.raises(pa.MethodError, match="placed"):
        placed(1.0, "here")
