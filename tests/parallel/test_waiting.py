"""Waiting for a request: it looks at once and often, then seldom, and comes back soon after what it waits for.

By a clock that the test turns: a look takes a microsecond, giving the core away ten."""

import pytest

from polyad.parallel import waiting


class Clock:
    """Time that passes when it is asked to. A request that is complete at `done`, and how often it was looked at."""

    def __init__(self, done):
        self.now, self.done, self.looks, self.slept, self.yields = 0.0, done, 0, [], 0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.slept.append((self.now, seconds))
        self.now += seconds

    def give_core(self):
        self.yields += 1
        self.now += 1e-5

    def Test(self):
        self.looks += 1
        self.now += 1e-6
        return self.now >= self.done


@pytest.fixture
def clock(monkeypatch):
    def make(done):
        made = Clock(done)
        monkeypatch.setattr(waiting, "time", made)
        monkeypatch.setattr(waiting, "_yield_core", made.give_core)
        return made

    return make


def test_what_is_complete_is_seen_at_once(clock):
    request = clock(0.0)
    assert waiting.wait(request, None) and request.looks == 1


def test_a_message_between_running_ranks_gives_no_core_away(clock):
    request = clock(1e-6 * waiting.SPINS)
    assert waiting.wait(request, None) and request.looks == waiting.SPINS and not request.yields and not request.slept


@pytest.mark.parametrize("done", [1e-4, 1e-3, 0.019])
def test_a_message_that_comes_soon_is_not_slept_over(clock, done):
    request = clock(done)
    assert waiting.wait(request, None) and not request.slept and request.now - done < 2e-5


@pytest.mark.parametrize("done", [0.021, 0.05, 0.3, 1.0, 20.0])
def test_a_long_wait_looks_seldom_and_ends_soon_after(clock, done):
    request = clock(done)
    assert waiting.wait(request, None)
    late = request.now - done
    assert late <= waiting.SHARE * done + 1e-5 and late <= waiting.LONGEST_SLEEP + 1e-5
    polled = waiting.YIELD_SECONDS / 1e-5  # while it gives the core away
    assert request.looks < polled + 200 + done / waiting.LONGEST_SLEEP
    assert all(at >= waiting.YIELD_SECONDS for at, _ in request.slept)
    lengths = [seconds for _, seconds in request.slept]
    assert lengths == sorted(lengths) and lengths[-1] <= waiting.LONGEST_SLEEP


@pytest.mark.parametrize("seconds", [0.0, 0.01, 0.5, 3.0])
def test_a_limit(clock, seconds):
    request = clock(10.0)
    assert not waiting.wait(request, seconds)
    assert seconds < request.now <= seconds + waiting.LONGEST_SLEEP + 1e-4
    assert waiting.wait(clock(0.4), 0.5)
