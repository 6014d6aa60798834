"""Whether somebody else holds an array, by the count of references: in each way in which it can be held."""

import weakref

import numpy as np
import pytest

from polyad.ad.rules import ownership
from polyad.ad.rules.ownership import ALONE, BY_CALLER, references, writeable

counted = pytest.mark.skipif(not ownership.COUNTS, reason="an interpreter that does not count references")


def seen(x):
    return references(x)


@counted
def test_who_holds_an_array():
    alone = seen(np.empty(3))
    assert alone == ALONE
    x = np.empty(3)
    assert seen(x) == BY_CALLER
    held = [x]
    assert seen(x) == BY_CALLER + 1
    held.append(x)
    assert seen(x) == BY_CALLER + 2
    held.clear()
    view = x[1:]
    assert seen(x) == BY_CALLER + 1  # a view holds what it views
    del view
    assert seen(x) == BY_CALLER


def test_memory_that_may_be_written_to():
    x = np.empty((3, 2))
    assert writeable(x) and writeable(x.copy("F"))
    assert not writeable(x[1:]) and not writeable(x.T) and not writeable(np.broadcast_to(1.0, 3))
    reference = weakref.ref(x)  # such as a cache has
    assert not writeable(x)
    del reference
    assert writeable(x)
    x.flags.writeable = False
    assert not writeable(x)
