"""Threads that let a transformation go on after its end take turns; one thread may do it inside of itself."""

import gc
import threading

import pytest

from polyad.ad import locks


class Run:
    def __init__(self, depth=1, closed=True):
        self.depth, self.closed, self.tape = depth, closed, [1]


def inside_at_once(runs, patience=0.02, n=3):
    """The most threads that are inside `alone` together. patience: how long each waits for another one."""
    inside, most, together = [0], [0], threading.Event()

    def work():
        with locks.alone(runs):
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            if inside[0] > 1:
                together.set()
            together.wait(patience)
            inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return most[0]


def test_those_that_have_ended_are_had_alone():
    assert inside_at_once([Run()]) == 1
    assert inside_at_once([Run(depth=2), Run(depth=1)]) == 1


def test_those_under_way_are_not_waited_for():
    assert inside_at_once([Run(closed=False)], patience=10) > 1
    going_on = Run(closed=False)
    locks.may_go_on(going_on)
    assert inside_at_once([going_on]) == 1


def test_again_inside_of_itself():
    first, second = Run(1), Run(2)
    with locks.alone([first]), locks.alone([first, second]), locks.alone([second]):
        pass
    assert inside_at_once([first, second]) == 1  # given back


def test_an_error_gives_them_back():
    run = Run()
    with pytest.raises(KeyError), locks.alone([run]):
        raise KeyError
    assert inside_at_once([run]) == 1


def test_the_record_is_given_up_with_its_owner():
    run, other = Run(), Run()
    locks.may_go_on(run)
    assert locks.owner_of(other) is None
    owner = locks.owner_of(run)
    assert run.tape == [1]
    del owner
    gc.collect()
    assert run.tape == [] and other.tape == [1]
