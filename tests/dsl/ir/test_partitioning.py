"""Programs in two parts: they compute the same, run what must run once, and save no more than the cheapest choice."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polyad as pa
from polyad.dsl.ir.mincut import Network
from polyad.dsl.ir.partitioning import always, cheap, never, partition_program
from polyad.dsl.ir.programs import Var, check

close = np.testing.assert_allclose


def names(program):
    return [e.op.__name__ for e in program.equations]


def run(program, parts, leaves, late):
    """The flat results of the parts, one after the other."""
    check(parts.first)
    check(parts.second)
    cut = len(program.inputs) - late
    results, saved = parts.split(leaves[:cut], parts.first(*leaves[:cut]))
    return [*results, *parts.second(*saved, *leaves[cut:])]


# ---------------------------------------------------------------------- the cut
def test_cut():
    network = Network()
    a, b = network.place(), network.place()
    network.edge(0, a, 3)
    network.edge(0, b, 2)
    network.edge(a, b, 1)
    network.edge(a, 1, 1)
    network.edge(b, 1, 4)
    assert network.cut() == {0, a}  # 2 + 1 + 1: what goes into the sink is limited before it
    unbounded = Network()
    unbounded.edge(0, 1)
    assert unbounded.cut() is None
    assert Network().cut() == {0}


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(0, 9)), max_size=16))
def test_cut_is_the_cheapest(edges):
    edges = [(a, b, c) for a, b, c in edges if a != b]
    network = Network()
    for _ in range(5):
        network.place()
    for a, b, c in edges:
        network.edge(a, b, c)
    price = lambda side: sum(c for a, b, c in edges if a in side and b not in side)
    sides = [{0, *extra} for n in range(6) for extra in itertools.combinations(range(2, 7), n)]
    found = network.cut()
    assert 0 in found and 1 not in found and price(found) == min(map(price, sides))


# ---------------------------------------------------------------------- partitions
def test_first_and_second():
    program = pa.make_ir(lambda x, ct: (pa.sin(x), ct * pa.cos(x)))(np.ones(3), np.ones(3))
    parts = partition_program(program, first=1, late=1)
    assert names(parts.first) == ["sin"] and names(parts.second) == ["cos", "multiply"]
    assert parts.saved == program.inputs[:1] and parts.nbytes == 24
    x = np.arange(3.0)
    close(run(program, parts, [x, x], 1), [np.sin(x), x * np.cos(x)])
    kept = partition_program(program, first=1, late=1, recompute=never)
    assert names(kept.first) == ["sin", "cos"] and names(kept.second) == ["multiply"]
    close(run(program, kept, [x, x], 1), [np.sin(x), x * np.cos(x)])


def test_results_serve_as_what_is_saved():
    f = lambda x, ct: (y := pa.exp(x), ct * y)
    program = pa.make_ir(f)(1.0, 1.0)
    parts = partition_program(program, 1, 1, never)
    assert len(parts.first.outputs) == 1 and parts.saved == [program.outputs[0]]
    close(run(program, parts, [0.5, 2.0], 1), [np.exp(0.5), 2 * np.exp(0.5)])


def test_smallest_place_of_a_chain():
    """Of a chain that may be computed again the smallest value is saved."""

    def f(x, ct):
        small = pa.sum(x, axis=0)  # 4 numbers out of 400
        wide = pa.broadcast_to(pa.exp(small), shape=(100, 4))
        return pa.sum(wide), ct * wide

    program = pa.make_ir(f)(np.ones((100, 4)), np.ones((100, 4)))
    parts = partition_program(program, 1, 1)
    assert [v.aval.shape for v in parts.saved] == [(4,)]
    kept = partition_program(program, 1, 1, never)
    assert [v.aval.shape for v in kept.saved] == [(100, 4)]
    x = np.arange(400.0).reshape(100, 4) / 1e4
    close(run(program, parts, [x, x], 1)[1], run(program, kept, [x, x], 1)[1])


def test_products_are_not_computed_again():
    program = pa.make_ir(lambda x, w, ct: (pa.sum(pa.tanh(x @ w)), ct * (1 - pa.tanh(x @ w) ** 2)))
    program = program(np.ones((4, 1)), np.ones((1, 6)), np.ones((4, 6)))
    assert "matmul" not in names(partition_program(program, 1, 1).second)
    assert "matmul" in names(partition_program(program, 1, 1, always).second)


def test_late_results_that_need_nothing_late():
    program = pa.make_ir(lambda x, ct: (x * 2, x * 3, ct, 1.0))(1.0, 1.0)
    for recompute in (never, cheap, always):
        parts = partition_program(program, 1, 1, recompute)
        assert run(program, parts, [2.0, 5.0], 1) == [4, 6, 5, 1.0]


def test_nothing_late_and_nothing_first():
    program = pa.make_ir(lambda x: (pa.sin(x), pa.cos(x)))(1.0)
    assert run(program, partition_program(program, 2, 0), [0.5], 0) == [np.sin(0.5), np.cos(0.5)]
    assert run(program, partition_program(program, 0, 1), [0.5], 1) == [np.sin(0.5), np.cos(0.5)]


def test_constants_go_where_they_are_read():
    a, b = np.arange(3.0), np.ones(3)
    program = pa.make_ir(lambda x, ct: (x * a, ct * pa.exp(b), a))(np.ones(3), np.ones(3))
    parts = partition_program(program, 1, 1)
    assert [x is a for _, x in parts.first.constants] == [True] and not parts.saved
    assert len(parts.second.constants) == 2
    results = run(program, parts, [np.ones(3), np.ones(3)], 1)
    close(results, [a, np.exp(b), a])


def test_first_results_that_are_late():
    program = pa.make_ir(lambda x, ct: (x * ct, ct))(1.0, 1.0)
    with pytest.raises(pa.StructureError, match="depends on a late input"):
        partition_program(program, 1, 1)


def test_operations_with_several_results(rng):
    def f(a, ct):
        values, vectors = pa.linalg.eigh(a)
        return values, vectors @ (ct * values)

    a = rng.normal(size=(4, 4))
    program = pa.make_ir(f)(a + a.T, np.ones(4))
    for recompute in (never, cheap, always):
        parts = partition_program(program, 1, 1, recompute)
        values, vectors = np.linalg.eigh(a + a.T)
        found = run(program, parts, [a + a.T, np.ones(4)], 1)
        close(found[0], values)
        close(found[1] @ found[1], values @ values)


def joint(f, *xs):
    """One program of a function's value and pullback."""

    def both(*args):
        y, pull = pa.vjp(f, *args[:-1])
        return y, pull(args[-1])

    return pa.make_ir(both)(*xs, np.ones(np.shape(f(*xs))))


UNARY = [pa.sin, pa.exp, pa.tanh, lambda x: x[::-1], lambda x: pa.softmax(x), lambda x: x * pa.sum(x), pa.cumsum]
BINARY = [pa.add, pa.multiply, lambda x, y: pa.outer(x, y) @ x, pa.maximum]


@given(st.lists(st.tuples(st.integers(0, 10), st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=12))
def test_random_programs(steps):
    def f(x, y):
        values = [x, y]
        for which, i, j in steps:
            a, b = values[i % len(values)], values[j % len(values)]
            values.append(pa.tanh(UNARY[which](a) if which < len(UNARY) else BINARY[which - len(UNARY)](a, b)))
        return values[-1]

    x, y, ct = np.array([0.1, 0.4, -0.3]), np.array([0.7, -0.2, 0.5]), np.array([1.0, -2.0, 0.5])
    program = joint(f, x, y)
    right = program(x, y, ct)
    sizes = []
    for recompute in (never, cheap, always):
        parts = partition_program(program, 1, 1, recompute)
        for a, b in zip(run(program, parts, [x, y, ct], 1), pa.tree.leaves(right), strict=True):
            close(a, b, rtol=1e-12, atol=1e-14)
        sizes.append(parts.nbytes)
        assert all(isinstance(v, Var) for v in parts.saved) and len(set(parts.saved)) == len(parts.saved)
    assert sizes[0] >= sizes[1] >= sizes[2]


def test_bytes_of_a_network(rng):
    """Of tanh layers one activation per layer is saved, beside weights and input, which exist anyway."""

    def loss(w1, w2, w3, x):
        for w in (w1, w2, w3):
            x = pa.tanh(x @ w)
        return pa.sum(x * x)

    ws = [rng.normal(size=(32, 32)) for _ in range(3)]
    x = rng.normal(size=(256, 32))
    program = joint(loss, *ws, x)
    parts = partition_program(program, 1, 1)
    own = [v for v in parts.saved if v not in program.inputs]
    assert sum(v.aval.size for v in own) == 3 * 256 * 32
    everything = partition_program(program, 1, 1, never)
    assert parts.nbytes < 0.7 * everything.nbytes


def test_steps_run_again_just_before_they_are_needed():
    def f(x, y, ct):
        late = ct * pa.sin(x)
        return pa.sum(x), late * pa.cos(late) * pa.cos(y), pa.exp(y)

    program = pa.make_ir(f)(*[np.ones(3)] * 3)
    parts = partition_program(program, 1, 1)
    assert names(parts.second) == ["sin", "multiply", "cos", "multiply", "cos", "multiply", "exp"]


def test_long_chains_without_recursion():
    def f(x, ct):
        y = x
        for _ in range(3000):
            y = pa.sin(y)
        return pa.sum(x), ct * y

    program = pa.make_ir(f)(np.ones(2), np.ones(2))
    parts = partition_program(program, 1, 1)
    assert parts.saved == program.inputs[:1] and len(parts.second.equations) == 3001
