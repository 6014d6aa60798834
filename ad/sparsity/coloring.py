"""Colours for compressed Jacobians and Hessians: columns of one colour are evaluated in one pass.

Sources: Curtis, Powell and Reid, On the estimation of sparse Jacobian matrices (J. Inst. Math. Appl. 13, 1974); Coleman and
Moré, Estimation of sparse Jacobian matrices and graph coloring problems (SIAM J. Numer. Anal. 20, 1983); Gebremedhin, Manne
and Pothen, What color is your Jacobian? (SIAM Review 47, 2005); Gebremedhin, Tarafdar, Manne and Pothen, New acyclic and star
coloring algorithms (SIAM J. Sci. Comput. 29, 2007). All algorithms here are greedy: they go through the columns in some
order and give each the first colour it can have.
"""

import heapq
from typing import Any

import numpy as np

from ...dispatch import MethodError, describe

ORDERS = ("auto", "natural", "largest_first", "smallest_last")
MAX_NEIGHBOUR_PAIRS = 2**19  # pairs of neighbours up to which "auto" tries the slower order too, and tries for fewer colours


def column_coloring(pattern: Any, order: str = "auto") -> Any:
    """Colours of columns such that no two columns of one colour have an entry in the same row.

    pattern: scipy.sparse array or matrix (m × n), entries that are stored count. order: in which the columns are coloured:
    "natural", "largest_first" (those that share rows with most others), "smallest_last" (the one that shares with the fewest
    of the rest goes last, then the next), or "auto", the best of them that are cheap. Returns an int array of n colours from
    0. Raises ValueError for an order that there is not.

    The set of colours that a column cannot have is the union of those seen in its rows; as bits of Python's integers, this
    costs one operation per entry (a partial distance-2 colouring of the bipartite graph).

    >>> import polyad as pa, scipy.sparse as sp
    >>> pa.column_coloring(sp.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(6, 6)))
    array([0, 1, 2, 0, 1, 2])
    """
    rows = _rows("column_coloring", pattern)
    columns = pattern.tocsc()
    least = int(np.diff(rows.indptr).max(initial=0))  # the columns of a row all differ
    width = np.diff(rows.indptr) - 1
    shared = lambda: columns.astype(bool).T.astype(np.int64) @ width  # at least as many as the columns that share a row
    graph = lambda: (columns.astype(bool).T @ rows.astype(bool)).tocsr()
    work = int(np.sum(np.diff(rows.indptr).astype(float) ** 2))
    members = _lists(columns)
    return _best("column_coloring", order, lambda at: _distance_two(members, rows.shape[0], at), least, shared, graph, work)


def _rows(name, pattern):
    if not hasattr(pattern, "tocsr"):
        raise MethodError(f"{name}: the pattern is {describe(pattern)}; give a scipy.sparse array, such as csr_array(x != 0)")
    return pattern.tocsr()


def star_coloring(pattern: Any, order: str = "auto") -> Any:
    """Colours of a symmetric matrix's columns from which each entry can be read off directly.

    pattern: scipy.sparse array or matrix (n × n), symmetric; entries that are stored count, on the diagonal or not. order: as
    for `column_coloring`. Neighbours (columns with an entry in each other's row) differ, and every path over four of
    them has three colours, so that two colours together form stars. Then an entry (i, j) stands alone in row i of the columns
    of j's colour, or in row j of those of i's. Returns an int array of n colours from 0. Raises ValueError.

    >>> import numpy as np, polyad as pa, scipy.sparse as sp
    >>> arrow = np.eye(5); arrow[0] = arrow[:, 0] = 1
    >>> pa.star_coloring(sp.csr_array(arrow))
    array([0, 1, 1, 1, 1])
    """
    rows = _rows("star_coloring", pattern)
    if rows.shape[0] != rows.shape[1]:
        raise ValueError(f"star_coloring: the pattern has shape {list(rows.shape)}; a symmetric one is square")
    neighbours = [[u for u in found if u != v] for v, found in enumerate(_lists(rows))]
    degree = lambda: np.array([len(found) for found in neighbours], np.int64)
    least = _least_stars(rows)
    work = rows.nnz
    return _best("star_coloring", order, lambda at: _stars(neighbours, at), least, degree, lambda: rows, work)


def _least_stars(rows):
    """No star colouring has fewer colours: 3 where two neighbours have others, hence lie on a path of four or a triangle."""
    left = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    apart = left != rows.indices
    degrees = np.bincount(left[apart], minlength=rows.shape[0])
    return 1 + apart.any() + (apart & (degrees[left] > 1) & (degrees[rows.indices] > 1)).any()


def _best(name, order, color, least, degree, graph, work):
    """The colouring of the order asked for, or of the one with the fewest colours. least: no colouring has fewer."""
    if order not in ORDERS:
        raise ValueError(f"{name}: order is one of {', '.join(map(repr, ORDERS))}, not {order!r}")
    makers = {
        "natural": lambda d: range(len(d)),
        "largest_first": lambda d: np.argsort(-d, kind="stable").tolist(),
        "smallest_last": lambda d: smallest_last(graph()),
    }
    if order != "auto":
        return color(makers[order](degree()))
    found, enough = None, least if work <= MAX_NEIGHBOUR_PAIRS else 2 * least
    for each in ORDERS[1:] if work <= MAX_NEIGHBOUR_PAIRS else ORDERS[1:3]:
        tried = color(makers[each](degree()))
        if found is None or tried.max(initial=-1) < found.max(initial=-1):
            found = tried
        if found.max(initial=-1) + 1 <= enough:
            break
    return found


def _lists(compressed):
    """The stored positions of each row of a CSR (column of a CSC) array, as lists."""
    indices, starts = compressed.indices.tolist(), compressed.indptr.tolist()
    return [indices[a:b] for a, b in zip(starts, starts[1:], strict=False)]


def _first_free(taken):
    """The number of the lowest bit that is not set."""
    return (~taken & (taken + 1)).bit_length() - 1


def _distance_two(members, rows, order):
    """members: the rows of each column."""
    seen = [0] * rows  # as bits, the colours in each row
    colors = [0] * len(members)
    for v in order:
        taken = 0
        for row in members[v]:
            taken |= seen[row]
        color = colors[v] = _first_free(taken)
        bit = 1 << color
        for row in members[v]:
            seen[row] |= bit
    return np.array(colors, np.int64)


def _stars(neighbours, order):
    """A vertex w with several neighbours of one colour is the hub of a star of these two colours: its leaves' other
    neighbours must not have w's colour, nor the leaves' colour w's other … which two masks per vertex tell at once."""
    count = len(neighbours)
    colors = [-1] * count
    around = [0] * count  # as bits, the colours of a vertex's neighbours
    hubs = [0] * count  # as bits, the colours of those neighbours that are hubs of a star in which the vertex is a leaf
    only = [{} for _ in range(count)]  # colour -> the vertex's one neighbour of that colour, None if there are several
    for v in order:
        taken, own = around[v], only[v]
        for w in neighbours[v]:
            if colors[w] >= 0:
                # v between two neighbours of one colour: no path x - w - v - q of two colours; else none v - w - hub - leaf
                taken |= around[w] if own[colors[w]] is None else hubs[w]
        color = colors[v] = _first_free(taken)
        bit = 1 << color
        for w in neighbours[v]:
            first = only[w].setdefault(color, v)
            around[w] |= bit
            if first is not v:  # w has several neighbours of this colour now
                if colors[w] >= 0:
                    other = 1 << colors[w]
                    hubs[v] |= other
                    if first is not None:
                        hubs[first] |= other
                only[w][color] = None
            if colors[w] >= 0 and own[colors[w]] is None:
                hubs[w] |= bit
    return np.array(colors, np.int64)


def smallest_last(graph):
    """An order of the vertices of a graph: the last has the fewest neighbours, the last but one the fewest without it, …

    graph: symmetric scipy.sparse pattern. Returns a list of the vertices' numbers. The diagonal does not count.
    """
    neighbours = _lists(graph.tocsr())
    degrees = [len(found) for found in neighbours]
    heap = [(d, v) for v, d in enumerate(degrees)]
    heapq.heapify(heap)
    order = []
    while heap:
        degree, v = heapq.heappop(heap)
        if degree != degrees[v]:  # it has lost a neighbour since, or is in the order already
            continue
        degrees[v] = -1
        order.append(v)
        for w in neighbours[v]:
            if degrees[w] > 0:
                degrees[w] -= 1
                heapq.heappush(heap, (degrees[w], w))
    return order[::-1]
