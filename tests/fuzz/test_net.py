"""The net at its finest mesh for CI: each operation at few sizes, dtypes, layouts and modes, so chosen that each pair meets."""

import contextlib

import numpy as np
import pytest
from polyad_fuzz import bounds, cases, pairs, products, programs, randoms, running
from polyad_fuzz.compare import quiet
from polyad_fuzz.layouts import LAYOUTS

from polyad.devices import compilers
from polyad.dsl import operations

pytestmark = [pytest.mark.optimized, pytest.mark.slow]

GROUP = 12  # operations in one program, to compile less often
kind = lambda name: operations[name].card.kind if name in operations else "composite"
NAMES = sorted(pairs.names(), key=lambda item: (kind(item[0]), item[0]))
groups = [NAMES[k : k + GROUP] for k in range(0, len(NAMES), GROUP)]


def assert_nothing(findings):
    new = [str(f) for f in findings]
    assert not new, "\n".join(new)


@pytest.mark.parametrize("names", groups, ids=lambda names: f"{names[0][0]}-{names[-1][0]}".replace(" ", "_"))
def test_operations(names, monkeypatch):
    """Elementwise operations as they are compiled for users; all others without optimization, in a fifth of the time."""
    if kind(names[0][0]) != "elementwise":
        monkeypatch.setattr(compilers, "STRICT", ("-O0", *compilers.STRICT[1:]))
    with quiet():
        calls = [call for name, count in names for call in [*pairs.calls_of(name, count), pairs.empty(name, count)] if call]
        assert len(calls) > len(names)
        assert_nothing(running.run(calls))


@pytest.mark.parametrize("form", products.FORMS)
def test_products_with_axes_of_length_1(form):
    """m, n and k of 1 and 300 in every place, values and gradients; on both sides of the bound from which BLAS is called."""
    with quiet():
        calls = [
            products.build(form, *lengths, dtype, layout, mode)
            for long in (300, 3)
            for lengths in products.lengths(long)
            for dtype, layout, mode in (("f8", "plain", "value"), ("f8", "reverse", "gradient"), ("c8", "swapped", "value"))
        ]
        assert_nothing(running.run(calls, reference=False))


def test_gradients_by_complex_numbers(monkeypatch):
    """Of all elementwise operations that take them, in vectors: products and quotients of these are chosen by zeros."""
    monkeypatch.setattr(compilers, "STRICT", ("-O1", *compilers.STRICT[1:]))  # which makes vectors, too
    with quiet():
        calls = []
        for name, _ in NAMES:
            if kind(name) == "elementwise":
                with contextlib.suppress(cases.Refused):
                    calls.append(cases.build(cases.Case(name, 0, 17, "c16", "plain", "gradient")))
        assert len(calls) > 25
        assert_nothing(running.run(calls, reference=False))


def test_sums_of_many_narrow_numbers():
    """Up to a million in single precision, 100 000 in half: as exact as NumPy's sums, which are not one running sum."""
    with quiet():
        calls = []
        for name in programs.SUMS:
            for size, dtype, mode in ((10**6, "f4", "value"), (10**5, "f2", "value"), (10**5, "f2", "gradient")):
                with contextlib.suppress(cases.Refused):
                    calls.append(cases.build(cases.Case(name, 0, size, dtype, "plain", mode)))
        assert len(calls) > 12
        assert_nothing(running.run(calls))


@pytest.mark.parametrize("lowered", [False, True], ids=["bounds as they are", "bounds low"])
@pytest.mark.parametrize("kind", randoms.KINDS)
def test_random_programs(kind, lowered, run_of_program):
    with bounds.low() if lowered else contextlib.nullcontext():
        wrong = run_of_program(kind, 1, 6)
    assert wrong is None, wrong


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_keep_values(layout):
    """An array in another layout has the same elements, but for those that repeat some."""
    for shape in ((3, 4), (5,), (0, 3), (1, 1), (), (2, 3, 4)):
        x = np.arange(np.prod(shape)).reshape(shape)
        y = LAYOUTS[layout](x)
        assert (y.shape, y.dtype) == (x.shape, x.dtype)
        expected = {"broadcast": x[:1] if x.ndim else x, "repeated": x[..., :1] if x.ndim else x}.get(layout, x)
        np.testing.assert_array_equal(y, np.broadcast_to(expected, x.shape))


def test_all_sizes_and_dtypes_take_part():
    """Each size, dtype and layout is in the set, and each operation that can have its axes changed."""
    members = [{m for level in levels.values() for m in level} for levels in (pairs.SIZES, pairs.DTYPES, pairs.LAYOUTS)]
    assert members == [set(cases.SIZES), set(cases.DTYPES), set(LAYOUTS)]
    sampled = {name for name, op in operations.items() if op.card.samples and not op.card.collective}
    assert sampled <= {name for name, _ in NAMES}
