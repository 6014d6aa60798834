"""Buckets: gradients that are added up over the ranks together, while others are still computed.

One sum of a flat buffer costs less than one of each array (Li et al. 2020, PyTorch Distributed). A bucket goes on its way as
soon as all its gradients are there and the buckets before it have gone: every rank sends them in one order, whatever order they
come in. MPI moves on only where it is called: each gradient that comes looks after those under way.
"""

import math

import numpy as np

from ...dispatch import isa

FIRST, MOST = 1 << 20, 25 << 20  # bytes of the first bucket, which so goes early, and of the others


class Buckets:
    """The way in which leaves, given by shapes and dtypes, are put together. Those that are used last come first, since their
    gradients do."""

    def __init__(self, forms, first=FIRST, most=MOST):
        self.forms, self.members, self.of_leaf = forms, [], {}
        sizes: dict = {}  # dtype -> (number of its open bucket, bytes in it)
        for k in reversed(range(len(forms))):
            shape, dtype = forms[k]
            nbytes = math.prod(shape) * np.dtype(dtype).itemsize
            number, filled = sizes.get(dtype, (None, 0))
            limit = first if number == 0 else most
            if number is None or filled and filled + nbytes > limit:
                number, filled = len(self.members), 0
                self.members.append([])
            self.members[number].append(k)
            self.of_leaf[k] = number
            sizes[dtype] = number, filled + nbytes


class Sums:
    """The sums of one step: takes gradients as they come and gives what all ranks have together.

    begin: function of a flat buffer that starts its sum over the ranks and returns what has `test()` and `wait()`."""

    def __init__(self, buckets, begin):
        self.buckets, self.begin = buckets, begin
        self.here: dict = {}
        self.missing = [len(members) for members in buckets.members]
        self.started: list = []

    def take(self, k, gradient):
        """Note the gradient of leaf k, and send what can be sent."""
        self.here[k] = gradient
        self.missing[self.buckets.of_leaf[k]] -= 1
        while len(self.started) < len(self.missing) and not self.missing[len(self.started)]:
            self._start()
        for sum_under_way in self.started:
            sum_under_way.test()

    def _start(self):
        members = self.buckets.members[len(self.started)]
        dtype = np.dtype(self.buckets.forms[members[0]][1])
        flat = np.empty(sum([self._size(k) for k in members]), dtype)
        end = 0
        for k in members:
            size = self._size(k)
            flat[end : end + size] = self._flat(k, size)  # zeros for a leaf that the loss does not depend on here
            end += size
        self.started.append(self.begin(flat))

    def _size(self, k):
        return math.prod(self.buckets.forms[k][0])

    def _flat(self, k, size):
        gradient = self.here.pop(k, None)
        return 0 if gradient is None else gradient.reshape(size) if isa(gradient, np.ndarray) else np.reshape(gradient, size)

    def give_up(self):
        """Wait for the sums under way where the walk back ends with an error: their buffers are MPI's until then."""
        self.here.clear()
        while len(self.started) < len(self.missing):
            self._start()
        for under_way in self.started:
            under_way.wait()

    def finish(self):
        """leaf -> gradient over all ranks, of all leaves that have one."""
        while len(self.started) < len(self.missing):
            self._start()
        found = {}
        for members, under_way in zip(self.buckets.members, self.started, strict=True):
            flat, end = under_way.wait(), 0
            for k in members:
                shape, size = self.buckets.forms[k][0], self._size(k)
                found[k] = flat[end : end + size].reshape(shape)
                end += size
        return found
