"""The last state of a rank, as it writes it and as others read it."""

import pytest
from many_ranks import many_ranks

from polyad.parallel import board as boards

pytestmark = pytest.mark.quick


@pytest.fixture
def board():
    return many_ranks(3)[0]._link._guard.board


def test_a_row_is_read_as_it_was_written(board):
    assert board.ranks == [0] and board.read(0)[0] == boards.STARTED and board.read(1) is None
    board.post(boards.INSIDE, b" of the axis 'row', barrier", 7, 99)
    row = board.read(0)
    assert (row.state, row.communicator, row.number, row.text) == (boards.INSIDE, 99, 7, " of the axis 'row', barrier")
    assert 0 <= row.age < 60
    board.post_state(boards.LEFT)
    assert board.read(0)[2:] == row[2:] and board.read(0).state == boards.LEFT
    board.post(boards.RAISED, b"ValueError: boom")  # the collective that it was in last stays known
    assert board.read(0)[2:] == (99, 7, "ValueError: boom")
    board.post(boards.FINISHED, "é".encode() * boards.RECORD_BYTES)  # cut, wherever that is
    assert board.read(0).text.startswith("éé") and len(board.read(0).text) < boards.RECORD_BYTES


@pytest.mark.parametrize(("state", "text", "told"), [
    (boards.STARTED, b"", "has started, made no collective yet, "),
    (boards.INSIDE, b", barrier", "waits in collective 3, barrier, since "),
    (boards.LEFT, b" of the axis 'row', barrier", "has left collective 3 of the axis 'row', barrier, "),
    (boards.FINISHED, b" by sys.exit(3) at a.py:1", "has finished its program by sys.exit(3) at a.py:1, "),
    (boards.RAISED, b"ValueError: boom", "has raised ValueError: boom, "),
])  # fmt: skip
def test_a_state_as_a_phrase(board, state, text, told):
    board.post(state, text, 3)
    assert board.describe(0).startswith(told), board.describe(0)
    assert board.describe(2) == "on another node, its state is not known here"
