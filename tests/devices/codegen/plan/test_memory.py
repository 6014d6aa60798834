"""Places of temporaries: no two that live at once share a byte, each is aligned, and the block is as small as they allow."""

import random
from types import SimpleNamespace

import numpy as np
import pytest

from polyad.devices.codegen.plan.memory import ALIGN, Arena, bytes_of, lifetimes
from polyad.dsl.ir.pass_selection import PASSES, using


class Var:
    def __init__(self, shape, dtype=np.float64):
        self.aval = SimpleNamespace(shape=shape, dtype=np.dtype(dtype))


def random_lives(rng, count=40, nests=15):
    lives = {}
    for _ in range(count):
        first = rng.randrange(nests)
        var = Var((rng.randrange(40), rng.randrange(1, 4)), rng.choice(["f8", "f4", "i1", "c16", "?"]))
        lives[var] = (first, rng.randrange(first, nests))
    return lives


def room(var):
    return -(-bytes_of(var) // ALIGN) * ALIGN


def together(a, b):
    return a[0] <= b[1] and b[0] <= a[1]


@pytest.mark.parametrize("seed", range(30))
def test_what_lives_at_once_lies_apart(seed):
    lives = random_lives(random.Random(seed))
    arena = Arena(lives)
    places = [(arena.offsets[v], arena.offsets[v] + bytes_of(v), life) for v, life in lives.items()]
    assert all(start % ALIGN == 0 and end <= arena.size for start, end, _ in places)
    for i, (start, end, life) in enumerate(places):
        for other_start, other_end, other in places[:i]:
            assert not together(life, other) or end <= other_start or other_end <= start
    peak = max(sum(room(v) for v, (a, b) in lives.items() if a <= k <= b) for k in range(15))
    assert peak <= arena.size <= min(2 * peak, sum(map(room, lives)))


def test_one_after_the_other_takes_the_memory_of_one():
    lives = {Var((n,)): (k, k) for k, n in enumerate((10, 100, 3, 100))}
    assert Arena(lives).size == room(Var((100,))) and set(Arena(lives).offsets.values()) == {0}
    assert Arena({}).size == 0 and not Arena({}).offsets


def test_without_reuse_each_has_its_own():
    lives = random_lives(random.Random(1))
    with using([p for p in PASSES if p != "buffer_reuse"]):
        arena = Arena(lives)
    assert arena.size == sum(map(room, lives)) and len(set(arena.offsets.values())) == len(lives)


def test_an_array_without_elements_has_a_byte():
    assert bytes_of(Var((0, 3))) == 1 and bytes_of(Var(())) == 8 and bytes_of(Var((3,), "c8")) == 24


def test_lives_reach_from_the_first_touch_to_the_last():
    a, b, view, argument = Var((1,)), Var((2,)), Var((1,)), Var((4,))
    nest = lambda writes, reads: SimpleNamespace(writes=writes, reads=[(v, None) for v in reads])
    nests = [nest([a], [argument]), nest([b], [a]), nest([], [argument]), nest([b], [view])]
    memory = lambda v: a if v is view else v
    assert lifetimes({a, b}, nests, memory) == {a: (0, 3), b: (1, 3)}
