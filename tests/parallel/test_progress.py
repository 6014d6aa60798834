"""Bars are drawn by rank 0 alone, those of farms too."""

import sys
from types import SimpleNamespace

import pytest

import polyad as pa

SCRIPT = """
import sys
from types import SimpleNamespace

made = []
class Tqdm:
    def __init__(self, total, desc, unit):
        self.total, self.desc, self.done = total, desc, 0
        made.append(self)
    def __enter__(self): return self
    def __exit__(self, *error): pass
    def update(self, n): self.done += n

sys.modules["tqdm"] = SimpleNamespace(tqdm=Tqdm)
import polyad as pa

assert [*pa.progress("abc", "letters")] == ["a", "b", "c"]
assert [*pa.progress(iter([1, 2]))] == [1, 2]
told = [(each.total, each.desc, each.done) for each in made]
rank = pa.world().rank
assert told == ([] if rank else [(3, "letters", 3), (None, "", 2)]), (rank, told)
made.clear()
assert pa.farm(abs, [-1, -2, -3], progress=True) == [1, 2, 3]
assert [*pa.farm_iter(abs, [-1, -2], progress=True)] == ([] if rank else [1, 2])
assert [each.done for each in made] == ([] if rank else [3, 2]), (rank, made)
"""


@pytest.mark.parametrize("n", [1, 3])
def test_one_rank_draws(mpirun, n):
    mpirun(SCRIPT, n)


def test_without_anything_to_draw_with(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    assert list(pa.progress(range(3))) == [0, 1, 2]


def test_a_loop_that_is_left_closes_its_bar(monkeypatch):
    closed = []

    class Bar:
        def __init__(self, **options):
            pass

        def __enter__(self):
            return SimpleNamespace(update=closed.append)

        def __exit__(self, *error):
            closed.append("closed")

    monkeypatch.setitem(sys.modules, "tqdm", SimpleNamespace(tqdm=Bar))
    for x in (loop := pa.progress([1, 2, 3])):
        if x == 2:
            break
    loop.close()
    assert closed == [1, "closed"]
