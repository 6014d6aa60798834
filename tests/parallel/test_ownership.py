"""Who may make collectives: threads take turns while no map is under way."""

import os

import pytest

from polyad.parallel.communicator import CollectiveError
from polyad.parallel.ownership import Owners

pytestmark = pytest.mark.quick


def test_threads_without_a_map_may_take_turns():
    owners = Owners(0)
    owners.require("a sum")
    with owners.map_under_way("one"), owners.map_under_way("one inside"):
        owners.require("a sum")
    assert owners.owner is None
    owners.pid = os.getppid()
    with pytest.raises(CollectiveError, match="forked child"):
        owners.require("a sum")
