"""What a message says of itself, and the order of those of one channel."""

import numpy as np
import pytest

import polyad as pa
from polyad.parallel.messages.mailbox import Mailbox, form_of
from polyad.parallel.wire import LocalWire


def test_form():
    xs = [np.zeros((2, 3)), np.zeros((), np.int32)]
    assert str(form_of(xs[:1], None)) == "float64[2, 3]" and form_of(xs, None).nbytes == 52
    assert str(form_of(xs, "a tree")) == "a tree of 2 arrays (float64[2, 3], int32[])"
    assert "and 2 more" in str(form_of(xs * 5, "a tree"))
    assert form_of(xs, None).fits(form_of(xs, None, number=3)) and not form_of(xs, None).fits(form_of(xs, "a tree"))


def test_order_within_a_channel():
    mailbox = Mailbox(LocalWire(), 1)
    first, second, other = mailbox.receive(0, 0), mailbox.receive(0, 0), mailbox.receive(0, 1)
    for k, tag in ((0, 1), (1, 0), (2, 0)):
        mailbox.send([np.array(k), np.arange(k)], None, 0, tag)
    assert [int(mailbox.finish(m)[0]) for m in (second, other, first)] == [2, 0, 1]
    assert second.form.number == 1 and len(second.arrays[1]) == 2
    mailbox.check_end(False)
    mailbox.check_end(True)


def test_what_is_left_at_the_end(monkeypatch):
    monkeypatch.setattr("polyad.parallel.messages.mailbox.SETTLE", 0.01)
    mailbox = Mailbox(LocalWire(), 1)
    mailbox.receive(0, 0)
    with pytest.raises(pa.CollectiveError, match="was never waited for: recv of a message from rank 0, tag 0, at test_mailbox"):
        mailbox.check_end(False)
    mailbox.send([np.zeros(2)], None, 0, 1)
    with pytest.raises(pa.CollectiveError, match=r"was never received: send of float64\[2\] to rank 0, tag 1, at test_mailbox"):
        mailbox.check_end(True)


def test_a_refused_message_stays_refused():
    mailbox = Mailbox(LocalWire(), 1)
    message = mailbox.receive(0, 0, form_of([np.zeros(3)], None))
    mailbox.send([np.zeros(2)], None, 0, 0)
    for _ in range(2):
        with pytest.raises(pa.CollectiveMismatch, match=r"recv of float64\[3\] .*: float64\[2\] was sent at test_mailbox.py"):
            mailbox.finish(message)
