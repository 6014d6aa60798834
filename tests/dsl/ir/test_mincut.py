"""The cheapest cut: of random networks by SciPy's largest flow, and by trying every cut."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import maximum_flow

from polyad.dsl.ir.mincut import Network


def random_network(rng, places, edges, infinite=0.0):
    """(network, its edges as (from, to, capacity)); several edges may join the same places."""
    network, made = Network(), []
    while len(network.edges) < places:
        network.place()
    for _ in range(edges):
        a, b = (int(p) for p in rng.choice(places, 2, replace=False))
        if rng.random() < infinite:
            network.edge(a, b)
            made.append((a, b, np.inf))
        else:
            made.append((a, b, int(rng.integers(0, 6))))
            network.edge(*made[-1])
    return network, made


def cost(side, edges):
    return sum(c for a, b, c in edges if a in side and b not in side)


@pytest.mark.parametrize("seed", range(30))
def test_a_cut_costs_what_flows(seed):
    rng = np.random.default_rng(seed)
    places = int(rng.integers(2, 40))
    network, edges = random_network(rng, places, 4 * places)
    capacities = sp.coo_array(
        ([c for *_, c in edges], ([a for a, *_ in edges], [b for _, b, _ in edges])), shape=(places, places)
    )
    side = network.cut()
    assert 0 in side and 1 not in side
    assert cost(side, edges) == maximum_flow(capacities.tocsr().astype(np.int32), 0, 1).flow_value


@pytest.mark.parametrize("seed", range(30))
def test_of_the_cheapest_cuts_the_one_nearest_to_the_source(seed):
    rng = np.random.default_rng(seed)
    network, edges = random_network(rng, 6, 12, infinite=0.15)
    sides = [{0, *chosen} for n in range(5) for chosen in itertools.combinations(range(2, 6), n)]
    least = min(cost(side, edges) for side in sides)
    found = network.cut()
    if least == np.inf:
        assert found is None
    else:
        assert found == set.intersection(*[side for side in sides if cost(side, edges) == least])


def test_long_chains_need_no_recursion():
    network = Network()
    places = [0, *[network.place() for _ in range(5000)], 1]
    for i, (a, b) in enumerate(itertools.pairwise(places)):
        network.edge(a, b, 1 if i == 2000 else 5)
    assert network.cut() == set(places[:2001])


def test_without_a_way_nothing_is_cut():
    network = Network()
    place = network.place()
    network.edge(0, place)
    network.edge(1, place)
    assert network.cut() == {0, place}
