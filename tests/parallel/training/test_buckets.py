"""Buckets of gradients: which leaves go together, and in which order they go."""

import numpy as np

from polyad.parallel.training.buckets import Buckets, Sums


class Begun:
    """A sum over two ranks that have the same."""

    def __init__(self, flat, log):
        self.flat, self.tests = flat, 0
        log.append(flat.size)

    def test(self):
        self.tests += 1

    def wait(self):
        return 2 * self.flat


FORMS = [((3,), "float64"), ((2, 2), "float64"), ((), "float32"), ((10,), "float64"), ((1,), "float64")]


def test_leaves_used_last_go_first_in_buckets_of_one_dtype():
    buckets = Buckets(FORMS, first=88, most=64)
    assert buckets.members == [[4, 3], [2], [1, 0]] and buckets.of_leaf == {4: 0, 3: 0, 2: 1, 1: 2, 0: 2}
    assert Buckets(FORMS).members == [[4, 3, 1, 0], [2]]
    assert Buckets([((100,), "float64")], first=8, most=8).members == [[0]]  # larger than a bucket: one by itself


def test_a_bucket_goes_when_it_and_those_before_are_complete():
    log = []
    sums = Sums(Buckets(FORMS, first=88, most=64), lambda flat: Begun(flat, log))
    gradients = [np.full(shape, k + 1.0, dtype) for k, (shape, dtype) in enumerate(FORMS)]
    for k in (1, 0, 2):
        sums.take(k, gradients[k])
    assert log == []  # the first bucket is not complete
    sums.take(4, gradients[4])
    sums.take(3, gradients[3])
    assert log == [11, 1, 7] and all(begun.tests for begun in sums.started)
    found = sums.finish()
    for k, gradient in enumerate(gradients):
        np.testing.assert_array_equal(found[k], 2 * gradient)
        assert found[k].dtype == gradient.dtype and found[k].shape == gradient.shape


def test_what_does_not_come_counts_as_zero():
    log = []
    sums = Sums(Buckets(FORMS, first=88, most=64), lambda flat: Begun(flat, log))
    sums.take(3, np.ones(10))
    found = sums.finish()
    assert log == [11, 1, 7] and found[3].tolist() == [2.0] * 10 and found[0].tolist() == [0.0] * 3 and found[2] == 0.0
