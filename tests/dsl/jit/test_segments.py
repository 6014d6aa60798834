"""The tree of segments: each way is recorded once, equal ones share a program, many answers end it."""

import numpy as np
import pytest

import polyad as pa

same = np.testing.assert_array_equal


def segments(f):
    return [tree.size for tree in f.jitted.trees]


def traces(f):
    return sum(tree.traces for tree in f.jitted.trees)


def test_branches_are_recorded_once():
    f = pa.jit(lambda x: x * 2 if x > 0 else -x)
    for value in (1.0, 2.0, -3.0, 4.0, -5.0):
        assert f(value) == (2 * value if value > 0 else -value)
    assert traces(f) == 2 and segments(f) == [3]


def test_many_answers_end_with_eager_execution():
    def f(x):
        steps = 0
        while pa.sum(x) > 1.0:
            x, steps = x * 0.99, steps + 1
        return x, steps

    g, x = pa.jit(f), np.full(3, 50.0)
    with pytest.warns(pa.PerformanceWarning, match=r"jit\(f\) runs eagerly from now on: .*while_loop") as caught:
        found = g(x)
    assert len(caught) == 1 and found[1] == f(x)[1] > 400
    same(found[0], f(x)[0])
    assert g(x)[1] == found[1] and not any(s.seconds for t in g.jitted.trees if t.root for s in t.root.below())
    assert "runs eagerly" in pa.jit.explain(g)


def test_equal_segments_share_a_program():
    @pa.jit
    def f(x):
        while pa.sum(x) > 1.0:
            x = pa.sin(x) * 0.9
        return x

    for _ in range(3):
        f(np.full(4, 1.0))
    programs = {s.code.program for s in f.jitted.trees[0].root.below() if s.code and s.code.program.equations}
    assert f.jitted.trees[0].size > 4 and len(programs) <= 3
