"""Timing two ways of doing the same thing in turn, so that both meet the same machine."""

import timeit


def ratio(ours, theirs, repeat=15, seconds=0.02):
    """(our time, their time) per call in µs: each the minimum of `repeat` runs of about `seconds`, taken alternately."""
    counts = []
    for function in (ours, theirs):
        function()  # warm up: caches, first dispatch
        once = min(timeit.repeat(function, number=1, repeat=5))
        counts.append(max(1, int(seconds / max(once, 1e-9))))
    best = [float("inf"), float("inf")]
    for _ in range(repeat):
        for k, function in enumerate((ours, theirs)):
            best[k] = min(best[k], timeit.timeit(function, number=counts[k]) / counts[k])
    return best[0] * 1e6, best[1] * 1e6
