"""The bar of a farm: by tqdm, by rich, or none."""

import sys
from types import SimpleNamespace

import pytest

from polyad.parallel import farm
from polyad.parallel.farm_progress import bar

pytestmark = pytest.mark.quick


class Tqdm:
    made = []

    def __init__(self, total, desc, unit):
        self.total, self.desc, self.done = total, desc, 0
        self.made.append(self)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.total = f"closed at {self.total}"

    def update(self, n):
        self.done += n


class Progress:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def add_task(self, text, total):
        self.text, self.total, self.done = text, total, 0
        return 5

    def advance(self, task, n):
        assert task == 5
        self.done += n


@pytest.fixture
def tqdm(monkeypatch):
    Tqdm.made.clear()
    monkeypatch.setitem(sys.modules, "tqdm", SimpleNamespace(tqdm=Tqdm))


def test_by_tqdm(tqdm):
    farm(abs, [1, 2, 3], progress=True)
    farm(abs, iter([1, 2]), progress="two")
    first, second = Tqdm.made
    assert (first.total, first.desc, first.done) == ("closed at 3", "farm(abs)", 3)
    assert (second.total, second.desc, second.done) == ("closed at None", "two", 2)


def test_no_bar_unless_it_is_asked_for(tqdm):
    farm(abs, [1, 2, 3])
    assert not Tqdm.made


def test_by_rich_and_by_none(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    shown = Progress()
    monkeypatch.setitem(sys.modules, "rich.progress", SimpleNamespace(Progress=lambda: shown))
    with bar(7, "text") as report:
        report(2)
        report(3)
    assert (shown.text, shown.total, shown.done) == ("text", 7, 5)
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    with bar(7, "text") as report:
        assert report is None
    assert farm(abs, [-1], progress=True) == [1]
