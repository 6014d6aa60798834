"""C functions on one small matrix: pivots, what is singular, what is no number."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import polyad as pa
from polyad.devices.codegen.text.small_solves import DENSE, LARGEST, WORDS, text

_spec = importlib.util.spec_from_file_location("agreeing", Path(__file__).parents[1] / "lowerings" / "agreeing.py")
agreeing = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(agreeing)
same = agreeing.same
L = pa.linalg


def test_order_of_rows():
    swapped = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 2.0], [3.0, 0.0, 0.0]])
    same(lambda a: (L.solve(a, a[0]), L.inv(a), L.det(a), *L.slogdet(a)), swapped)
    scaled = np.diag([1.0, 1e-20, 1e20])
    same(lambda a: (L.solve(a, a[0] + 1), L.inv(a), L.det(a)), scaled)


def test_determinants_of_singular_matrices():
    singular = np.array([[1.0, 2.0], [2.0, 4.0]])
    g = same(lambda a: (L.det(a), *L.slogdet(a)), singular)
    assert g(singular)[2] == -np.inf
    assert np.isnan(g(np.full((2, 2), np.nan))[0])


def test_signs_and_what_is_no_number():
    """Rows are exchanged once, or twice; logarithms say NaN of what is none, and that there is nothing of what is 0."""
    once, nan = np.array([[0.0, 2.0], [3.0, 1.0]]), np.array([[np.nan, 1.0], [1.0, 2.0]])
    g = same(lambda a: (L.det(a), *L.slogdet(a)), once)
    assert g(once)[0] == -6.0 and g(once)[1] == -1.0 and g(-once)[1] == -1.0
    assert np.isnan(g(nan)).all() and g(np.diag([-1.0, 2.0]))[1] == -1.0
    sign, logarithm = g(np.zeros((2, 2)))[1:]
    assert sign == 0.0 and logarithm == -np.inf


def test_pivots_that_are_small_by_themselves():
    for dtype in "df":
        solve = pa.jit(lambda a, b: L.solve(a, b) * 1)
        for a in (np.diag([1.0, 1e-30]), np.diag([1e-30, 1e-40]), np.diag([1e-40, 1.0]), np.array([[1e-30, 1.0], [1.0, 0.0]])):
            found = solve(a.astype(dtype), (a @ [1.0, 2.0]).astype(dtype))
            np.testing.assert_allclose(found, [1.0, 2.0], rtol=1e-4)
        with pytest.raises(np.linalg.LinAlgError):
            solve(np.ones((2, 2), dtype), np.ones(2, dtype))


def test_factors_of_matrices_that_are_not_positive():
    """The factor itself says so: of a pivot that is not a number, that is 0, or that is negative."""
    factor = pa.jit(lambda a: L.cholesky(a) * 1)
    np.testing.assert_allclose(factor(np.array([[4.0, 2.0], [2.0, 5.0]])), [[2, 0], [1, 2]])
    for bad in ([[1.0, 1.0], [1.0, 1.0]], [[1.0, 2.0], [2.0, 1.0]], [[0.0, 0.0], [0.0, 1.0]]):
        with pytest.raises(np.linalg.LinAlgError, match="cholesky"):
            factor(np.array(bad))


def test_only_what_is_used_is_written_and_whole():
    assert text(set()) == []
    (only,) = text({("determinant", "f4")})
    assert "determinant_f4(" in only and "solve_f4(" not in only and "double" not in only and "__builtin_fabsf(" in only
    for code in WORDS:
        (whole,) = text({(name, code) for name in DENSE})
        for word in ("TYPE", "CODE", "LARGEST", "EPSILON", "FABS", "SQRT", "LOG("):
            assert word not in whole
        assert f"[{LARGEST} * {LARGEST}]" in whole and whole.count("static __attribute__((unused)) ") == whole.count("static ")
