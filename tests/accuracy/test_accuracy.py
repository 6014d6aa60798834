"""Every elementwise operation and its first derivatives at some fifty points, both tails among them, within the goals or the
bounds that `exceptions.py` gives reasons for; the whole table is `make accuracy`'s."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from exceptions import EXCEPTIONS, GOALS, bound, reason  # noqa: E402
from measure import largest, names, rows  # noqa: E402
from page import PAGE, derivative, page  # noqa: E402
from references import REFERENCES  # noqa: E402

pytestmark = pytest.mark.optimized

FEW = 0.02  # of the usual number of points: about fifty


def test_every_elementwise_operation_has_a_reference():
    assert not set(names()) - set(REFERENCES), "tests/accuracy/references.py needs a line for them"
    measured = {(name, by, order) for name in names() for by, order in rows(name)}
    assert not set(EXCEPTIONS) - measured


@pytest.mark.parametrize("name", names())
def test_values_and_first_derivatives(name):
    for by, order in rows(name):
        if GOALS[order] is None:
            continue
        for dtype in (np.float64, np.float32, np.float16):
            found, where = largest(name, dtype, by, order, count=FEW)
            assert found is None or found <= bound(name, by, order), (name, by, order, dtype, found, where)


def test_the_page_is_what_page_py_writes():
    """All but the measured numbers follows from what is here: nothing on the page is written by hand."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    expected = [(f"`{name}`", derivative(name, by, order), name, by, order) for name in names() for by, order in rows(name)]
    assert [tuple(c[:2]) for c in cells] == [row[:2] for row in expected]
    reasons, met = [], 0
    goals = [(c, row) for c, row in zip(cells, expected, strict=True) if GOALS[row[4]] is not None]
    for c, (_, _, *row) in goals:
        numbers = [float(e) for e in c[2:7] if e != "—"]
        if not c[7]:
            assert max(numbers, default=0.0) <= GOALS[row[2]], row
            met += 1
            continue
        why = reason(*row)
        reasons += [why] if why not in reasons else []
        assert max(numbers) >= GOALS[row[2]] and c[7] == str(reasons.index(why) + 1), row
    assert PAGE.read_text() == page(lines, reasons, len(goals), met)
    assert not [c for c, row in zip(cells, expected, strict=True) if row[4] == 2 and c[7]]
    second = [c for c, row in zip(cells, expected, strict=True) if row[4] == 2 and c[2] != "—"]
    assert second and not [c for c in second if "—" in (c[3], c[5])]  # in programs, too


COMPILED = ("tanh", "exp", "arctan2", "erf", "ndtr", "log_ndtr", "logaddexp", "expm1", "arcsinh", "power")


@pytest.mark.parametrize("name", COMPILED)
def test_compiled(name):
    """Those whose C is ours, or whose slopes go through helpers of ours."""
    for by, order in rows(name):
        for dtype in (np.float64, np.float32):
            if GOALS[order] is not None:
                found, where = largest(name, dtype, by, order, compiled=True, count=FEW)
                assert found <= bound(name, by, order), (name, by, order, dtype, found, where)
