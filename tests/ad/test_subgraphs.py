"""The part of a record that leads from sources to results, on a record made by hand."""

import pytest

from polyad.ad.subgraphs import ancestors, parents, portion

#      a   b        c reads a and b, d reads c, e reads b, f reads d and e
GRAPH = {"a": None, "b": None, "c": ("a", "b"), "d": "c", "e": "b", "f": ("d", "e")}
RULES = {k: tuple(f"{k} by {i}" for i in p) if isinstance(p, tuple) else f"{k} by {p}" for k, p in GRAPH.items()}
NODES = {k: None if p is None else (RULES[k], (), k, p) for k, p in GRAPH.items()}
ORDER = "abcdef".index


def reached(key):
    """By a walk of its own."""
    above = GRAPH[key] or ()
    return {key}.union(*map(reached, above))


def test_parents_are_a_tuple():
    assert parents(None) == () and parents(NODES["d"]) == ("c",) and parents(NODES["f"]) == ("d", "e")


@pytest.mark.parametrize("roots", ["f", "d", "e", "a", "de", ""])
def test_ancestors(roots):
    assert ancestors(NODES.get, roots) == set().union(*map(reached, roots))


def test_a_long_chain_needs_no_recursion():
    chain = {i: ("rule", (), None, i - 1) if i else None for i in range(50_000)}
    assert len(ancestors(chain.get, [49_999])) == 50_000


def kept(sources, results):
    """The nodes of the part with a rule, by name, and the places of the results."""
    run, places = portion("f", NODES.get, ORDER, sources, results)
    return [node[2] for node in run.tape if node is not None and node[0] and node[2]], places, run.tape


def test_only_what_lies_between_has_rules():
    names, (place,), tape = kept("a", "f")
    assert names == ["c", "d", "f"] and tape[0] is None and tape[place][2] == "f"
    assert kept("b", "f")[0] == ["c", "d", "e", "f"]
    assert kept("b", "e")[0] == ["e"]
    assert set(kept("e", "f")[0]) == {"e", "f"}  # a source in the middle: neither c nor d
    assert kept("a", "e")[:2] == ([], [None])  # no way from there


def test_sources_are_the_first_nodes_in_their_order():
    for sources in ("ab", "ba"):
        _, _, tape = kept(sources, "c")
        assert tape[:2] == [None, None]
        (c,) = [node for node in tape if node is not None and node[2] == "c"]
        assert len(set(c[3])) == 2
    _, places, _ = kept([None, "a"], [None, "d"])
    assert places[0] is None and places[1] is not None


def test_rules_that_lead_to_no_source_are_left_out():
    rules = lambda sources: {node[2]: node[0] for node in kept(sources, "f")[2] if node is not None and node[2]}
    assert rules("a") == {"c": ("c by a",), "d": "d by c", "f": ("f by d",)}
    assert rules("b") == {"c": ("c by b",), "d": "d by c", "e": "e by b", "f": ("f by d", "f by e")}
