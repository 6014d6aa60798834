
from polyad.parallel import world
w = world()

def test_one():
    assert w.rank != 1, "this rank's own"
    w.barrier(label="one")

def test_two():
    assert w.allreduce(1.0, label="two") == w.size
