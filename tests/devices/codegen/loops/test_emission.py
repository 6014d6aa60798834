"""Loops of a nest: sums in blocks and chunks, axes in the order of memory, lengths at both sides of each bound."""

import importlib.util
import math
import re
from pathlib import Path

import numpy as np
import pytest

import polyad as pa
from polyad.devices.codegen.loops import emission

_spec = importlib.util.spec_from_file_location("comparing", Path(__file__).parents[1] / "comparing.py")
comparing = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(comparing)
run = comparing.run

rng = np.random.default_rng(3)


def test_long_sums_are_accurate():
    """Blocks and pairs: the error is near that of NumPy's pairwise sum, far below that of one running sum."""
    x = rng.uniform(0, 1, 10**6).astype(np.float32)
    (found,) = run(lambda x: pa.sum(x), x, rtol=1e-6)
    exact = x.astype(np.float64).sum()
    assert abs(found - exact) <= 4 * max(abs(np.sum(x) - exact), np.spacing(np.float32(exact)))


@pytest.mark.parametrize("n", [513, 1000, 1024, 1536, 4100])
def test_blocks_of_any_length(n):
    x = rng.normal(size=(40, n))
    np.testing.assert_allclose(pa.jit(pa.softmax)(x), pa.softmax(x), rtol=1e-13)
    np.testing.assert_allclose(pa.jit(lambda x: pa.sum(x * x))(x[0]), np.sum(x[0] ** 2), rtol=1e-14)


def test_results_at_both_sides_of_blocks():
    """An element on each side of a block, of the next one, and of chunks that threads share."""
    lengths = [emission.BLOCK + k for k in (-1, 0, 1)] + [2 * emission.BLOCK + 1, emission.BLOCK * emission.CHUNKS + 1]
    xs = [rng.normal(size=n) for n in lengths]
    found = run(lambda xs: [(pa.sum(x), pa.max(x), pa.any(x > 3.9), pa.sum(x[::-1] * 1j)) for x in xs], xs, rtol=1e-11)
    for x, (total, largest, above, turned) in zip(xs, [found[k : k + 4] for k in range(0, len(found), 4)], strict=True):
        exact = math.fsum(x)
        assert abs(total - exact) <= 1e-15 * np.sum(np.abs(x)) and abs(turned - 1j * exact) <= 1e-15 * np.sum(np.abs(x))
        assert largest == max(x) and above == (max(x) > 3.9)


@pytest.mark.parametrize(
    "length, most, size", [(512, 512, 512), (513, 512, 512), (544, 512, 272), (960, 512, 320), (1000, 512, 512), (96, 64, 48)]
)
def test_sizes_of_blocks(length, most, size):
    """Whole tiles, or else whole vectors, as many as leave no shorter block over, if they can."""
    assert emission.block_size(length, most) == size


@pytest.mark.parametrize("many", [0, 1, 2, 3, 7, 8, 9])
def test_elements_are_put_together_two_and_two(many):
    """Each once, in as few rounds as there can be, and in order."""
    depth = {k: 0 for k in range(many)}
    parts = {k: [k] for k in range(many)}

    class Total:
        def combine(self, a, b):
            i, j = (int(str(x.place)) for x in (a, b))
            parts[i] += parts[j]
            depth[i] = 1 + max(depth[i], depth[j])
            return a

    made = emission.pairwise(Total(), "part", many)
    assert len(made) == max(many - 1, 0)
    assert not many or (parts[0] == list(range(many)) and depth[0] == math.ceil(math.log2(many)))


def test_axes_in_the_order_of_memory():
    """Reductions over several axes of an array that lies otherwise are those of the array as it lies."""
    x = rng.normal(size=(6, 5, 7))
    f = lambda x: [pa.sum(pa.transpose(x, p), axis=a) for p in ((2, 0, 1), (1, 2, 0), (2, 1, 0)) for a in (0, (0, 2), (1, 2))]
    run(f, x, rtol=1e-13)
    text = lambda f: pa.compile_program(pa.make_ir(f)(x), pa.devices.Device("cpu")).sources[0].partition("int run(")[2]
    turned, plain = text(lambda x: pa.sum(pa.transpose(x, (2, 1, 0)) * 2.0)), text(lambda x: pa.sum(x * 2.0))
    assert re.sub(r"\bi\d", "i", turned) == re.sub(r"\bi\d", "i", plain)


def test_rows_are_added_in_blocks_too():
    """Equal numbers, whose sums are all rounded to the same side."""
    x = np.full((2, 50_000), 0.1, "f")
    (found,) = run(lambda x: pa.sum(x, axis=1), x, rtol=1e-6)
    np.testing.assert_allclose(found, 50_000 * float(np.float32(0.1)), rtol=16 * np.finfo("f").eps)
