"""Numbers in C: constants mean the number that NumPy has, types have NumPy's sizes, and what C lacks is refused."""

import math
import re

import numpy as np
import pytest

from polyad.devices.codegen.text.scalars import Long, Unsupported, code, ctype, literal, memory_type, real_dtype


def number(text):
    """What a constant in C means."""
    text = re.sub(r"(?<=[\dA-Fa-f.)p])(ULL|LL|u|f)\b", "", text.strip("()"))
    return float.fromhex(text) if "x" in text else float(text) if "." in text else int(text)


@pytest.mark.parametrize("dtype", "bhilqBHILQ")
def test_whole_numbers(dtype):
    limits = np.iinfo(dtype)
    for n in (0, 1, 7, limits.max, limits.max - 1, limits.min, limits.min + 1):
        text = literal(n, dtype)
        assert n == (-(2**63) if str(text) == "INT64_MIN" else number(str(text)))
        assert str(text).endswith("u") == (dtype == "I")
        assert isinstance(text, Long) == (limits.bits == 64 and n != -(2**63))
    for n in (limits.max + 1, limits.min - 1):
        with pytest.raises(Unsupported):
            literal(n, dtype)


@pytest.mark.parametrize("dtype", "fd")
def test_floating_numbers_are_exact(dtype):
    limits = np.finfo(dtype)
    for x in (0.0, 1.0, -3.0, 0.1, -1 / 3, 1e15, 1e16, limits.max, limits.tiny, limits.smallest_subnormal):
        text = literal(x, dtype)
        assert number(text) == float(np.dtype(dtype).type(x)) and text.rstrip(")").endswith("f") == (dtype == "f")
    assert literal(-0.0, dtype).startswith("(-0.0") and literal(math.inf, dtype) == "INFINITY"
    assert literal(-math.inf, dtype) == "(-INFINITY)" and literal(-math.nan, dtype) == "(-NAN)"
    assert literal(math.nan, dtype) == f"(({'float' if dtype == 'f' else 'double'})NAN)"


def test_complex_numbers_and_truth_values():
    assert literal(1 - 2j, "D") == "CMPLX(1.0, (-2.0))" and literal(0.5j, "F") == "CMPLXF(0.0f, 0x1.0000000000000p-1f)"
    assert literal(3, "?") == "1" and literal(0.0, "?") == "0"


@pytest.mark.parametrize("dtype", "?bhilqBHILQfdFD")
def test_types_have_numpys_sizes(dtype):
    name, size = code(dtype), np.dtype(dtype).itemsize
    assert int(name[1:]) == size and name[0] == np.dtype(dtype).kind
    assert memory_type(dtype) == ("uint8_t" if dtype == "?" else ctype(dtype))
    assert real_dtype(dtype) == np.zeros(1, dtype).real.dtype
    if np.dtype(dtype).kind in "iu":
        assert ctype(dtype) == f"{'u' if np.dtype(dtype).kind == 'u' else ''}int{8 * size}_t"


@pytest.mark.parametrize("dtype", "egGOU")
def test_what_c_has_no_type_for(dtype):
    with pytest.raises(Unsupported, match="no C type for"):
        code(dtype)
