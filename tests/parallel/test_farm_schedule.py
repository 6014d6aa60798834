"""What a farm does next, with workers that are played: order, balance, retries, errors, look-ahead."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest

from polyad.parallel.farm_outcomes import NOT_RUN, attempt
from polyad.parallel.farm_schedule import InPlace, OfExecutor, Schedule

pytestmark = pytest.mark.quick


class Played:
    """count workers; the batch that ends next is the one with the smallest total of its items (their times)."""

    def __init__(self, f, count):
        self.f, self.count, self.busy, self.log = f, count, [], []

    @property
    def free(self):
        return self.count - len(self.busy)

    def give(self, tasks):
        assert self.free > 0
        start = self.log[-1][0] if self.log else 0
        self.busy.append((start + sum(task.arguments[0] for task in tasks), tasks))

    def take(self, seconds):
        if not self.busy:
            return []
        end, tasks = batch = min(self.busy, key=lambda each: each[0])
        self.busy.remove(batch)
        self.log.append((end, [task.index for task in tasks]))
        return [(task, *attempt(self.f, task.arguments)) for task in tasks]


@pytest.mark.parametrize(("count", "batch"), list(itertools.product([1, 2, 3], [1, 2, 5, 100])))
def test_results_are_in_the_order_of_the_items(count, batch):
    times = [9, 1, 4, 1, 1, 7, 2, 2, 3, 1]
    workers = Played(lambda x: -x, count)
    assert list(Schedule("farm", zip(times), batch).run(workers)) == [-x for x in times]
    assert sorted(i for _, indices in workers.log for i in indices) == list(range(10))


def test_a_slow_item_delays_nobody_else():
    workers = Played(lambda x: x, 2)
    list(Schedule("farm", zip([10] + [1] * 9)).run(workers))
    assert workers.log[-1][0] == 10 and [indices for _, indices in workers.log][:3] == [[1], [2], [3]]


def test_no_items():
    assert list(Schedule("farm", zip([])).run(InPlace(abs))) == []


def test_an_error_ends_it_with_the_number_of_the_item():
    seen = []

    def f(x):
        seen.append(x)
        return 1 / x

    with pytest.raises(ZeroDivisionError) as caught:
        list(Schedule("farm(f)", zip([1, 0, 2])).run(InPlace(f)))
    assert caught.value.__notes__ == ["farm(f): item 1"] and seen == [1, 0]


@pytest.mark.parametrize(("tries", "outcome"), [(1, [1, 2, 3]), (2, [1, "failed", 3]), (9, [1, "failed", 3])])
def test_retries_and_then_on_error(tries, outcome):
    """An item that fails `tries` times, with one retry; Julia would have asked on_error first."""
    left = {2: tries}

    def f(x):
        if left.get(x, 0):
            left[x] -= 1
            raise ValueError(x)
        return x

    errors = []
    schedule = Schedule("farm", zip([1, 2, 3]), 2, lambda e: errors.append(e) or "failed", [0.0])
    assert list(schedule.run(InPlace(f))) == outcome
    if tries > 1:
        assert errors[0].__notes__ == ["farm: item 1, tried 2 times"]


def test_the_check_decides_on_retries():
    tried = []

    def f(x):
        tried.append(x)
        raise (ValueError if x else KeyError)(x)

    schedule = Schedule("farm", zip([0, 1]), 1, repr, [0.0, 0.001], lambda e: isinstance(e, KeyError))
    assert list(schedule.run(InPlace(f))) == ["KeyError(0)", "ValueError(1)"]
    assert sorted(tried) == [0, 0, 0, 1]


def test_an_error_of_on_error_or_of_the_items_ends_it():
    def bad(error):
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        list(Schedule("farm", zip([0]), 1, bad).run(InPlace(lambda x: 1 / x)))

    def items():
        yield (1,)
        raise KeyError("no more")

    with pytest.raises(KeyError, match="no more"):
        list(Schedule("farm", items()).run(InPlace(abs)))


def test_what_was_not_begun_is_no_try():
    class Dies(Played):
        def take(self, seconds):
            outcomes = super().take(seconds)
            return [outcomes[0], *((task, NOT_RUN, None) for task, *_ in outcomes[1:])]

    counted = []
    schedule = Schedule("farm", zip([1] * 6), 3, report=counted.append)
    assert list(schedule.run(Dies(lambda x: x, 1))) == [1] * 6 and counted == [1] * 6


@pytest.mark.parametrize(("ahead", "batch"), [(1, 1), (3, 1), (4, 3), (2, 5)])
def test_no_more_items_are_taken_than_ahead_allows(ahead, batch):
    taken = []
    items = ((taken.append(i) or i,) for i in itertools.count())
    results = Schedule("farm", items, batch, ahead=ahead).run(Played(lambda x: x, 2))
    for position in range(20):
        assert next(results) == position
        assert len(taken) <= position + ahead


def test_executors():
    with ThreadPoolExecutor(2) as executor:
        workers = OfExecutor(lambda x: 1 / x, executor, 2)
        found = list(Schedule("farm", zip([1, 2, 0, 4]), 3, type, [0.0]).run(workers))
        assert found == [1.0, 0.5, ZeroDivisionError, 0.25] and workers.free == 2
        assert workers.take(0) == []
    workers.close()
