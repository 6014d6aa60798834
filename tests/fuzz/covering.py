"""Pairwise covering arrays: few rows in which each two levels of two factors meet at least once."""

import itertools


def pairs_of(row):
    """The pairs of levels in a row, each level with its place."""
    return set(itertools.combinations(enumerate(row), 2))


def covering(factors, accepts=lambda row: True):
    """Rows, one level of each factor, until all pairs of levels are in one. factors: sequences of levels.

    accepts: function of a row that says whether it can be used; a pair no row of which can be used is left out. The next row
    is always the first of those with the most new pairs, so the same arguments give the same rows.
    """
    rows = list(itertools.product(*factors))
    left = set().union(*map(pairs_of, rows))
    found = []
    while left and rows:
        row = max(rows, key=lambda row: len(pairs_of(row) & left))
        new = pairs_of(row) & left
        if not new:
            break
        rows.remove(row)
        if accepts(row):
            found.append(row)
            left -= new
    return found
