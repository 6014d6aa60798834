"""The words of CUDA C++: functions of its library, complex numbers as a class, and what it has not."""

import numpy as np
import pytest

from polyad.devices.codegen.text.scalars import Unsupported
from polyad.devices.cuda_codegen.dialect import COMPLEX, CUDA, SPECIAL

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(("word", "dtype", "name"), [
    ("exp", "d", "exp"), ("exp", "f", "expf"), ("exp", "D", "cexp"), ("exp", "F", "cexp"),  # one template for both precisions
    ("abs", "D", "cabs"), ("angle", "F", "carg"), ("real", "D", "creal"),
    ("erfinv", "d", "erfinv"), ("erfinv", "f", "erfinvf"), ("ndtr", "d", "normcdf"), ("i0", "f", "cyl_bessel_i0f"),
    ("y1", "d", "::y1"), ("y1", "f", "::y1f"),  # arrays of results are called y1, too
    ("lgamma", "d", "lgamma"), ("sign", "f", "sign_f4"), ("gcd", "l", "gcd_i8"), ("unless_zero", "i", "unless_zero_i4"),
])  # fmt: skip
def test_words(word, dtype, name):
    assert CUDA.functions().word(word, dtype) == CUDA.functions().word(word, np.dtype(dtype)) == name


@pytest.mark.parametrize(("word", "dtype", "said"), [
    ("i0e", "d", "no i0e in CUDA's library"), ("digamma", "f", "no digamma in CUDA's library"),
    ("gammainc", "d", "no gammainc"),
    ("asin", "D", "no asin for complex128"), ("tgamma", "F", "no tgamma for complex64"), ("sine", "d", "no sine for float64"),
    ("erfinv", "i", "no erfinv for int32"), ("cos", "i", "no cos for int32"),
])  # fmt: skip
def test_words_that_are_nothing(word, dtype, said):
    with pytest.raises(Unsupported, match=f"^{said}"):
        CUDA.functions().word(word, dtype)


def test_libraries_functions_need_no_declaration():
    words = CUDA.functions()
    for word in (*SPECIAL, "sin", "hypot"):
        words.word(word, "d")
    for word in COMPLEX:
        words.word(word, "D")
    assert words.text == "" and not words.pointers


def test_helpers_are_the_devices_and_speak_of_parts_as_members():
    """Also complex ones that call others, of the same type and of the parts."""
    words = CUDA.functions()
    assert words.word("maximum", "F") == "maximum_c8" and words.word("divide", "D") == "divide_c16"
    text = words.text
    assert text.count("static __device__ ") == text.count("static ") >= 5
    assert "__real__" not in text and "__imag__" not in text and "y.re = " in text and "b.im" in text
    assert "c8 maximum_c8(c8 a, c8 b)" in text and "c16 divide_c16(c16 a, c16 b)" in text and " complex" not in text
    assert "fabs(" in text


def test_what_the_source_is_asked_for():
    words = CUDA.functions()
    assert "atomicAdd" not in words.prelude([])
    assert words.added(np.dtype("d")) == "add_at" and words.raised(np.dtype("u8")) == "atomicMax"
    assert "atomicAdd" in words.prelude([])
