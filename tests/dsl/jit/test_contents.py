"""Containers among the arguments that change between calls."""

import numpy as np
import pytest

import polyad as pa

same = np.testing.assert_array_equal
x3 = np.array([1.0, -2.0, 3.0])


@pytest.mark.parametrize("change", [lambda d: d["l"].append(1.0), lambda d: d.update(new=1.0), lambda d: d.pop("l"),
                                    lambda d: d["l"].reverse()], ids=["append", "update", "pop", "reverse"])  # fmt: skip
def test_changing_a_container_among_the_arguments(change):
    @pa.jit
    def f(d):
        change(d)
        return d["x"] * 2

    given = {"x": x3, "l": [1.0, 2.0]}
    for _ in range(2):
        with pytest.raises(pa.MutationError, match=r"jit\(f\): the function changes a list, dict .*change a copy, and"):
            f(given)
    assert list(given) == ["x", "l"] and given["l"] == [1.0, 2.0]
    same(pa.jit(lambda d: (change(d := {**d, "l": [*d["l"]]}), d["x"])[1])(given), x3)
