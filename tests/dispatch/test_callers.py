"""Whose code is running: the innermost line outside of the library, and warnings that are given there, once for each."""

import warnings
from pathlib import Path

import pytest

import polyad as pa
from polyad.dispatch import callers

pytestmark = pytest.mark.quick
PACKAGE = Path(callers.__file__).parent.parent


def test_the_innermost_line_outside_of_the_library():
    assert callers.caller() == (__file__, test_the_innermost_line_outside_of_the_library.__code__.co_firstlineno + 1)
    found = []

    @pa.generic
    def noted(x, /): ...

    @noted.method
    def noted_here(x: object):
        found.append(callers.caller())

    noted(1.0)
    assert found == [(__file__, noted_here.__code__.co_firstlineno + 2)]


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (PACKAGE / "dispatch" / "generic.py", True),
        ("<generic sin>", True),
        (PACKAGE / "tests" / "test_x.py", False),
        (PACKAGE / "tutorials" / "x.py", False),
        (f"{PACKAGE}_beside/x.py", False),
        ("<string>", False),
    ],
)
def test_files_of_the_library(file, expected):
    assert callers.is_library(str(file)) is expected


def test_a_warning_is_of_the_users_line():
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for _ in range(3):
            callers.warn("once", pa.PerformanceWarning)
        callers.warn("another line", pa.PerformanceWarning)
    assert [(w.filename, str(w.message)) for w in found] == [(__file__, "once"), (__file__, "another line")]
    assert found[1].lineno == found[0].lineno + 1
