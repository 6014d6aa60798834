"""Promotion: common types by rules, symmetric and cached, and conversion."""

import itertools

import numpy as np
import pytest

import polyad as pa
from polyad.dispatch import promotion

pytestmark = pytest.mark.quick


class Metre:
    def __init__(self, value):
        self.value = value


class Foot(Metre): ...


class Mile(Metre): ...


class Length: ...


@pytest.fixture(autouse=True)
def rules(monkeypatch):
    """Rules of one test only."""
    for name in ("_promotion_rules", "_cache", "_converters"):
        monkeypatch.setattr(promotion, name, dict(getattr(promotion, name)))


PYTHON = [bool, int, float, complex]
NUMBERS = [*PYTHON, np.float32, np.float64, np.int64, np.bool_, np.complex64, np.complex128, np.ndarray]


@pytest.mark.parametrize("pair", list(itertools.combinations_with_replacement(NUMBERS, 2)), ids=str)
def test_symmetric(pair):
    """[dask 2913, cupy 4118: x + y and y + x differed in type]"""
    first, second = pair
    try:
        common = pa.promote_type(first, second)
    except pa.PromotionError:
        with pytest.raises(pa.PromotionError):
            pa.promote_type(second, first)
    else:
        assert pa.promote_type(second, first) is common


def test_numbers():
    assert pa.promote_type(bool, int) is int
    assert pa.promote_type(bool, int, float, complex) is complex
    assert pa.promote_type(np.float32, np.ndarray) is np.ndarray
    assert pa.promote(True, 2.5) == (1.0, 2.5) and type(pa.promote(True, 2.5)[0]) is float
    x, y = pa.promote(2, np.ones(3))
    assert type(x) is np.ndarray and x.shape == ()


def test_one_type_and_equal_types():
    assert pa.promote_type(Metre) is pa.promote_type(Metre, Metre) is Metre
    values = (Metre(1), Metre(2))
    assert pa.promote(*values) == values


def test_superclass_is_the_common_type():
    assert pa.promote_type(Foot, Metre) is pa.promote_type(Metre, Foot) is Metre


def test_no_common_type():
    with pytest.raises(pa.PromotionError, match="no common type of .*Foot and .*Length; say one with polyad.prom"):
        pa.promote_type(Foot, Length)


def test_rule_is_seen_at_once_and_cached():
    with pytest.raises(pa.PromotionError):
        pa.promote_type(Foot, Mile)
    pa.promotion_rule(Foot, Mile, Metre)
    assert pa.promote_type(Foot, Mile) is pa.promote_type(Mile, Foot) is Metre
    assert promotion._cache[Foot, Mile] is promotion._cache[Mile, Foot] is Metre


def test_conflict_is_refused():
    pa.promotion_rule(Foot, Mile, Metre)
    pa.promotion_rule(Mile, Foot, Metre)  # the same rule again
    for pair in ((Foot, Mile), (Mile, Foot)):
        with pytest.raises(pa.RegistrationError, match="is .*Metre already, not .*Length"):
            pa.promotion_rule(*pair, Length)
    assert pa.promote_type(Foot, Mile) is Metre


def test_rule_of_base_classes_is_inherited_and_the_closest_counts():
    pa.promotion_rule(Metre, Length, Length)
    assert pa.promote_type(Foot, Length) is pa.promote_type(Length, Foot) is Length
    pa.promotion_rule(Foot, Length, Metre)
    assert pa.promote_type(Foot, Length) is pa.promote_type(Length, Foot) is Metre
    assert pa.promote_type(Mile, Length) is Length


def test_equally_close_rules_that_disagree():
    """Whichever argument came first used to decide."""

    class P: ...

    class P1(P): ...

    class Q: ...

    class Q1(Q): ...

    pa.promotion_rule(P1, Q, Metre)
    pa.promotion_rule(P, Q1, Length)
    for pair in ((P1, Q1), (Q1, P1)):
        with pytest.raises(pa.PromotionError, match="disagree on .*; say which with polyad.promotion_rule"):
            pa.promote_type(*pair)
    pa.promotion_rule(P1, Q1, Foot)
    assert pa.promote_type(P1, Q1) is pa.promote_type(Q1, P1) is Foot


def test_several_types_from_left_to_right():
    class Raw: ...

    pa.promotion_rule(Foot, Mile, Metre)
    pa.promotion_rule(Metre, Raw, Length)
    assert pa.promote_type(Foot, Mile, Raw) is Length
    assert pa.promote_type(Mile, Foot, Raw) is Length


def test_promotion_that_changes_no_type():
    """[julia 22801: the fallback promoted for ever]"""
    pa.promotion_rule(Foot, Mile, Metre)
    with pytest.raises(pa.PromotionError, match="did not change any type; register conversions to .*Metre"):
        pa.promote(Foot(1), Mile(2))


def test_convert():
    @pa.conversion(Foot, Length)
    def length_of_foot(x):
        return Length()

    assert isinstance(pa.convert(Foot(1), Length), Length)
    foot = Foot(1)
    assert pa.convert(foot, Metre) is pa.convert(foot, Foot) is foot
    with pytest.raises(pa.PromotionError, match="no conversion of .*Mile to .*Length; register one with polyad.con"):
        pa.convert(Mile(1), Length)


def test_conversion_is_inherited_by_subclasses():
    pa.conversion(Metre, Length)(lambda x: Length())
    assert isinstance(pa.convert(Mile(1), Length), Length)
    pa.promotion_rule(Metre, Length, Length)
    assert [type(x) for x in pa.promote(Foot(1), Length())] == [Length, Length]


def test_conversion_that_returns_another_type():
    pa.conversion(Foot, Length)(lambda x: 3)
    with pytest.raises(pa.PromotionError, match="the conversion of .*Foot to .*Length returned int"):
        pa.convert(Foot(1), Length)


def test_error_inside_a_conversion_is_unchanged():
    @pa.conversion(Foot, Length)
    def failing(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        pa.convert(Foot(1), Length)


def test_dense():
    x = np.ones(3)
    assert pa.dense(x) is x and pa.dense(2) == 2
    np.testing.assert_array_equal(pa.dense(pa.Diagonal(x)), np.eye(3))


def test_numpy_scalars_promote_as_their_dtypes():
    assert pa.promote_type(np.float32, np.int64) is np.float64
    assert pa.promote_type(np.int8, np.uint8) is np.int16


def test_values_are_not_types():
    with pytest.raises(pa.PromotionError, match="takes classes such as float, not 1; for values use polyad.promote"):
        pa.promote_type(1, 2)
