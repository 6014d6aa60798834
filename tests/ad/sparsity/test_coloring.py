"""Colours: valid on random patterns by definition, few on graphs whose best number is known, and for little work."""

import itertools
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import polyad as pa
from polyad.ad.sparsity import coloring
from polyad.ad.sparsity.coloring import ORDERS, smallest_last

each_order = pytest.mark.parametrize("order", ORDERS)
rng = np.random.default_rng(3)


def count(colors):
    return int(colors.max()) + 1


def banded(n, width):
    return sp.diags_array([1.0] * (2 * width + 1), offsets=range(-width, width + 1), shape=(n, n)).tocsr()


def laplacian(m):
    line, one = banded(m, 1), sp.eye_array(m)
    return (sp.kron(line, one) + sp.kron(one, line)).tocsr()


def arrow(n):
    a = np.eye(n)
    a[0] = a[:, 0] = 1
    return sp.csr_array(a)


def check_columns(pattern, colors):
    """No two columns of one colour have an entry in the same row."""
    for row in pattern.toarray():
        used = colors[np.flatnonzero(row)]
        assert len(set(used)) == len(used)


def check_star(pattern, colors):
    """Neighbours differ, and no path over four vertices has two colours: by looking at every path."""
    dense = pattern.toarray()
    near = [[int(u) for u in np.flatnonzero(row) if u != v] for v, row in enumerate(dense)]
    for v, found in enumerate(near):
        assert all(colors[u] != colors[v] for u in found)
        for a, b in itertools.permutations(found, 2):  # a - v - b - c
            for c in near[b]:
                if c not in (a, v):
                    assert len({colors[a], colors[v], colors[b], colors[c]}) > 2


@st.composite
def patterns(draw, square=False):
    m = draw(st.integers(1, 9))
    n = m if square else draw(st.integers(1, 9))
    bits = draw(st.lists(st.booleans(), min_size=m * n, max_size=m * n))
    found = np.array(bits).reshape(m, n)
    return sp.csr_array(found | found.T if square else found)


@each_order
@given(pattern=patterns())
@settings(max_examples=60, deadline=None)
def test_columns_of_random_patterns(order, pattern):
    colors = pa.column_coloring(pattern, order)
    assert colors.shape == (pattern.shape[1],)
    check_columns(pattern, colors)


@each_order
@given(pattern=patterns(square=True))
@settings(max_examples=100, deadline=None)
def test_stars_of_random_patterns(order, pattern):
    check_star(pattern, pa.star_coloring(pattern, order))


@each_order
def test_stars_of_larger_patterns(order):
    for density in (0.02, 0.1, 0.5):
        a = sp.random_array((40, 40), density=density, rng=rng)
        a = (a + a.T).tocsr()
        check_star(a, pa.star_coloring(a, order))


@pytest.mark.parametrize("width", [0, 1, 2, 5])
def test_bands(width):
    assert count(pa.column_coloring(banded(60, width))) == 2 * width + 1
    assert count(pa.star_coloring(banded(60, width))) <= 2 * width + 1


def test_known_graphs():
    assert count(pa.star_coloring(arrow(30))) == 2
    assert count(pa.column_coloring(arrow(30))) == 30
    assert count(pa.column_coloring(arrow(30)[:, 1:])) == 29
    assert count(pa.column_coloring(sp.csr_array(np.ones((4, 7))))) == 7
    complete = np.block([[np.zeros((3, 3)), np.ones((3, 5))], [np.ones((5, 3)), np.zeros((5, 5))]])
    assert count(pa.star_coloring(sp.csr_array(complete))) == 4  # the smaller side has colours of its own, and one more
    assert count(pa.star_coloring(sp.csr_array(np.ones((6, 6))))) == 6
    assert count(pa.column_coloring(sp.block_diag([np.ones((2, 3))] * 9))) == 3
    assert count(pa.star_coloring(sp.csr_array((5, 5)))) == 1
    assert count(pa.column_coloring(laplacian(12))) <= 7
    assert count(pa.star_coloring(laplacian(12))) <= 6


def test_smallest_last():
    order = smallest_last(arrow(6))
    assert sorted(order) == list(range(6)) and 0 in order[:2]  # the leaves go last
    assert sorted(smallest_last(laplacian(5))) == list(range(25))


def test_bad_input():
    with pytest.raises(ValueError, match="order is one of 'auto', 'natural'"):
        pa.column_coloring(arrow(3), "random")
    with pytest.raises(ValueError, match="a symmetric one is square"):
        pa.star_coloring(sp.csr_array((3, 4)))
    assert pa.column_coloring(sp.csr_array((3, 0))).shape == (0,)


def steps(f):
    """How many lines of the colourings a call of f runs."""
    counted, before = [0], sys.gettrace()

    def line(frame, event, argument):
        counted[0] += event == "line"
        return line

    sys.settrace(lambda frame, event, argument: line if frame.f_code.co_filename == coloring.__file__ else None)
    try:
        f()
    finally:
        sys.settrace(before)
    return counted[0]


@pytest.mark.parametrize("color", [pa.column_coloring, pa.star_coloring])
@pytest.mark.parametrize(
    "pattern", [lambda k: banded(300 * k * k, 1), lambda k: banded(200 * k * k, 3), lambda k: laplacian(15 * k)]
)
def test_work_grows_as_the_pattern_does(color, pattern):
    """Sixteen times the columns and entries: 100,000 columns take a second."""
    few, many = [steps(lambda k=k: color(pattern(k))) for k in (1, 4)]
    assert 5 * pattern(1).shape[1] < few < many < 18 * few
