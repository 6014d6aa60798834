"""A model of the network: what LogGP's parameters are on two ranks here, and what it predicts for very many.

    mpiexec -n 2 python tests/benchmarks/loggp.py

L: seconds that a small message is under way. o: seconds of a rank's processor for sending or receiving one. g: seconds between
small messages, one after another. G: seconds for each further byte. Measured as Culler and others did (LogP, 1993; LogGP,
Alexandrov and others, 1995), of mpi4py's calls, so that o is that of Python. tutorials/decisions/0031-what-a-network-costs.md
has what it printed.
"""

import math
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

REPEAT = 30
AGREEING, WORD = 2, 32  # messages of a map with one psum besides the sum (tests/parallel/test_agreement.py), and their bytes


class LogGP(NamedTuple):
    """Seconds, and for G seconds per byte."""

    L: float
    o: float
    g: float
    G: float

    def message(self, size):
        """Of a message of so many bytes, from the call that sends it to the end of the call that receives it."""
        return self.L + 2 * self.o + max(size - 1, 0) * self.G

    def tree(self, ranks, size):
        """Of an all-reduce by recursive doubling: each of log2(ranks) rounds sends all of it."""
        return math.ceil(math.log2(ranks)) * max(self.message(size), self.g)

    def ring(self, ranks, size):
        """Of an all-reduce around a ring: 2 (ranks - 1) rounds of a part for each rank."""
        return 2 * (ranks - 1) * max(self.message(size / ranks), self.g)

    def halves(self, ranks, size):
        """Of a reduce-scatter by halves and an all-gather by doubling: twice log2(ranks) rounds, twice all bytes."""
        return 2 * math.ceil(math.log2(ranks)) * max(self.message(1), self.g) + 2 * size * (1 - 1 / ranks) * self.G

    def gathered(self, ranks, size):
        """Of an all-gather by doubling of so many bytes of each rank."""
        return math.ceil(math.log2(ranks)) * max(self.message(1), self.g) + (ranks - 1) * size * self.G


# of a cluster's network, in round numbers of what makers say of 200 Gbit/s: they are assumed, not measured
CLUSTER = LogGP(L=1e-6, o=1e-6, g=1e-6, G=1 / 25e9)


def best(comm, function, count):
    """Seconds of one of `count` calls in a row on the slower rank, the best of several times."""
    from mpi4py import MPI

    times = []
    for _ in range(REPEAT):
        comm.Barrier()
        start = time.perf_counter()
        for _ in range(count):
            function()
        times.append((time.perf_counter() - start) / count)
    return comm.allreduce(min(times), MPI.MAX)


def measure(comm):
    """The LogGP of this network, between two ranks."""
    here, there = comm.rank, 1 - comm.rank

    def there_and_back(x):
        if here == 0:
            comm.Send(x, there)
            comm.Recv(x, there)
        else:
            comm.Recv(x, there)
            comm.Send(x, there)

    small = np.zeros(1)
    trip = best(comm, lambda: there_and_back(small), 1000) / 2
    # the processor's time of a call alone: to oneself there is nothing to wait for
    own = comm.Split(here)
    received = np.zeros(1)

    def to_oneself():
        request = own.Irecv(received, 0)
        own.Send(small, 0)
        request.Wait()

    o = best(comm, to_oneself, 1000) / 2

    def stream(count=1000):
        for _ in range(count):
            comm.Send(small, there) if here == 0 else comm.Recv(small, there)

    g = best(comm, stream, 1) / 1000
    sizes = [1 << 18, 1 << 23]
    long = [best(comm, lambda x=np.zeros(size // 8): there_and_back(x), max(1, (1 << 23) // size)) / 2 for size in sizes]
    return LogGP(max(trip - 2 * o, 0.0), o, g, (long[1] - long[0]) / (sizes[1] - sizes[0]))


def software(ranks):
    """Seconds of one rank's software in a map with one psum, among so many, whose messages arrive at once."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))
    from many_ranks import many_ranks

    import polyad as pa

    comm, _ = many_ranks(ranks)
    for name in ("polyad.parallel.mesh", "polyad.parallel.pmap"):
        if hasattr(sys.modules[name], "world"):
            sys.modules[name].world = lambda: comm
    mapped, x = pa.pmap(lambda x: pa.psum(x, "i"), axis_name="i", out_axes=None), np.ones(ranks, np.float32)
    times = []
    for _ in range(12):
        start = time.perf_counter()
        mapped(x)
        times.append(time.perf_counter() - start)
    return min(times)


def rows(network):
    """(what, seconds among 10^3 ranks, among 10^5) as the model has it."""
    counts = (10**3, 10**5)
    yield "a map with one psum of a number", *[AGREEING * network.tree(n, WORD) + network.tree(n, 8) for n in counts]
    yield "8 B of each lane, gathered by all", *[network.gathered(n, 8) for n in counts]
    for what, size in (("8 B", 8), ("8 KiB", 1 << 13), ("8 MiB", 1 << 23)):
        for name in ("tree", "halves", "ring"):
            yield f"all-reduce of {what}, {name}", *[getattr(network, name)(n, size) for n in counts]


def main():
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    assert comm.size == 2, "start it on two ranks"
    here = measure(comm)
    sums = {}
    for size in (8, 1 << 13, 1 << 23):
        x, y = np.zeros(size // 8), np.zeros(size // 8)
        sums[size] = best(comm, lambda x=x, y=y: comm.Allreduce(x, y), max(1, (1 << 19) // size))
    if comm.rank:
        return
    for name, network in (("here", here), ("a cluster", CLUSTER)):
        print(f"{name}: L {network.L * 1e6:.2f} µs, o {network.o * 1e6:.2f} µs, g {network.g * 1e6:.2f} µs, "
              f"G {network.G * 1e9:.3f} ns a byte")  # fmt: skip
        for what, *times in rows(network):
            print(f"  {what:34}", *[f"{seconds * 1e3:12.4f} ms" for seconds in times])
    for size, seconds in sums.items():
        models = ", ".join(f"{name} {getattr(here, name)(2, size) * 1e6:.1f}" for name in ("tree", "halves", "ring"))
        print(f"all-reduce of {size} B on the two ranks here: {seconds * 1e6:.1f} µs; the model has {models}")
    print("software of one rank among 10, 10^3 and 10^5:", *[f"{software(n) * 1e3:.2f} ms" for n in (10, 10**3, 10**5)])


if __name__ == "__main__":
    main()
