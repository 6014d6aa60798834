"""The list of public names: each once, handed on as a whole, and those of the array API are the same functions."""

import ast
import inspect
import math
from collections import Counter

import numpy as np
import pytest

import polyad as pa
from polyad.dsl import names

pytestmark = pytest.mark.quick

TREE = ast.parse(inspect.getsource(names))
IMPORTED = [(alias.name, alias.asname) for node in ast.walk(TREE) if isinstance(node, ast.ImportFrom) for alias in node.names]
PUBLIC = [name for name in vars(names) if not name.startswith("_")]


def test_each_is_listed_once_and_as_itself():
    """`x as x` says to type checkers that it is handed on."""
    listed = [alias for name, alias in IMPORTED]
    assert [pair for pair in IMPORTED if pair[0] != pair[1]] == []
    assert [name for name, count in Counter(listed).items() if count > 1] == []
    assert set(PUBLIC) >= set(listed)


@pytest.mark.parametrize("space", [pa, pa.dsl], ids=["polyad", "polyad.dsl"])
def test_both_front_doors_hand_on_the_list(space):
    different = [name for name in PUBLIC if getattr(space, name, None) is not getattr(names, name)]
    assert different == []


# as NumPy has them from 2.0 on
ALIASES = ("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "concat", "permute_dims", "pow", "mod")


@pytest.mark.parametrize("name", ALIASES)
def test_names_of_the_array_api_are_the_same_functions(name):
    theirs = getattr(np, name).__name__
    assert getattr(pa, name) is getattr(pa, theirs) is not None


def test_names_of_other_libraries_and_constants():
    assert pa.lgamma is pa.gammaln and pa.sigmoid is pa.expit
    assert (pa.pi, pa.e, pa.inf, pa.newaxis) == (math.pi, math.e, math.inf, None) and math.isnan(pa.nan)
