"""Products of small matrices in C: each part of the kernels, strides of any kind, lengths at both sides of vectors."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import polyad as pa
from polyad.devices.codegen.text.small_products import FEW, LANES, PARTS, product, text

_spec = importlib.util.spec_from_file_location("comparing", Path(__file__).parents[1] / "comparing.py")
comparing = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(comparing)
run = comparing.run

pytestmark = pytest.mark.optimized


@pytest.mark.parametrize("m", [1, 31, 32, 64, 300])
@pytest.mark.parametrize("k", [1, 3, 4, 300])
def test_one_row(k, m):
    rng = np.random.default_rng(0)
    x, a = rng.normal(size=k), rng.normal(size=(k, m))
    run(lambda x, a: (x @ a, x[None] @ a, a.T @ x, pa.sum(a * x[:, None], 0)), x, a, rtol=1e-11)
    run(lambda x, a: x @ a.T, x, np.ascontiguousarray(a.T), rtol=1e-11)
    run(lambda x, a: x[None, ::-1] @ a.T, x, np.ascontiguousarray(a.T), rtol=1e-11)


def part(n, m, k, code="f8", yj=1):
    return product(n, m, k, code, "x", "y", "o", (k, 1, m, yj, m, 1))[0]


@pytest.mark.parametrize("code", LANES)
def test_which_part_computes_it(code):
    """Whole vectors of y are read as they lie; what is left, or has other strides, is packed."""
    lanes = LANES[code]
    assert [part(3, m, 5, code) for m in (lanes - 1, lanes, lanes + 1, 2 * lanes)] == ["packed", "rows", "packed", "rows"]
    assert [part(1, m, 5, code) for m in (4 * lanes - 1, 4 * lanes, 4 * lanes + 1)] == ["packed", "row", "row"]
    assert part(3, lanes, 5, code, yj=2) == part(1, 4 * lanes, 5, code, yj=2) == "packed"


def test_only_what_is_used_is_written():
    whole = "\n".join(text({("f8", "packed")}))
    assert "double" in whole and "float" not in whole and "rows_f8(" in whole and " row_f8(" not in whole
    assert text(set()) == []
    both = "\n".join(text({("f4", name) for name in PARTS} | {("f8", "row")}))
    assert both.count("static void rows_f4(") == both.count("static void packed_f4(") == both.count("static void row_f8(") == 1
    assert "TYPE" not in both and "CODE" not in both


@pytest.mark.parametrize("dtype", ["d", "f"])
def test_shapes_at_both_sides_of_vectors(rng, dtype):
    """Rows of the result four at a time, whole vectors and what is over, an inner axis as long as what is packed; y as it lies,
    turned, and in steps."""
    lanes, pack = LANES[np.dtype(dtype).str[1:]], 16384 // np.dtype(dtype).itemsize
    shapes = [(n, m, 3) for n in (1, 4, 5) for m in (lanes - 1, lanes, 2 * lanes + 1)]
    shapes += [(2, 3, pack // lanes), (2, 3, pack + 1), (5, lanes, FEW), (1, 4 * lanes + 1, 7), (3, 5, 4097)]
    make = lambda *shape: rng.normal(size=shape).astype(dtype)
    xs = [(make(n, k), make(k, m), make(m, k), make(k, 2 * m)) for n, m, k in shapes]
    run(lambda xs: [(x @ y, x @ t.T, x @ w[:, ::2]) for x, y, t, w in xs], xs, rtol=1e-12 if dtype == "d" else 1e-3)
