"""The wire of one rank: a queue for each tag."""

import numpy as np

from polyad.parallel.wire import LocalWire


def test_order_and_tags():
    wire = LocalWire()
    assert wire.probe(0, 1) is None
    one, two = (np.frombuffer(text, np.uint8) for text in (b"one", b"two"))
    ((first,), (second,)) = wire.post(one, 0, 1, True), wire.post(two, 0, 2, True)
    assert not first.Test() and bytes(wire.take(3, 0, 2)[0]) == b"two" and second.Test() and not first.Test()
    assert bytes(wire.probe(0, 1)[0]) == b"one" and first.Test() and wire.probe(0, 1) is None
