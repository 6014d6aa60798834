"""What a word of a card's expression is in C, for each dtype: a function of libm, a helper, a pointer, or nothing."""

import numpy as np
import pytest

from polyad.devices.codegen.text.helper_functions import HELPERS
from polyad.devices.codegen.text.math_functions import COMPLEX, LIBM, Functions
from polyad.devices.codegen.text.printer import Printer
from polyad.devices.codegen.text.scalars import Unsupported

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(("word", "dtype", "name"), [
    ("cos", "d", "cos"), ("cos", "f", "cosf"), ("cos", "D", "ccos"), ("cos", "F", "ccosf"),
    ("real", "D", "creal"), ("conj", "F", "conjf"),
    ("exp", "d", "exp_f8"), ("exp", "f", "exp_f4"), ("exp", "D", "cexp"),  # written here, or the library's
    ("abs", "d", "abs_f8"), ("abs", "D", "abs_c16"), ("abs", "?", "abs_b1"), ("abs", "H", "abs_u2"),
    ("unless_zero", "l", "unless_zero_i8"), ("unless_zero", "?", "unless_zero_b1"), ("gcd", "H", "gcd_u2"),
    ("maximum", "f", "maximum_f4"), ("sign", "b", "sign_i1"),
    ("erfinv", "d", "special_erfinv"), ("erfinv", "f", "special_erfinv"),
])  # fmt: skip
def test_words(word, dtype, name):
    functions = Functions()
    assert functions.word(word, dtype) == functions.word(word, np.dtype(dtype)) == name
    text = functions.text
    assert (name in text) == (np.dtype(dtype).kind != "c" or word == "abs")  # complex.h declares its own
    assert functions.text == text and text.count(f" {name}(") <= 2


@pytest.mark.parametrize(("word", "dtype"), [
    ("sine", "d"), ("cos", "i"), ("cos", "?"), ("erfinv", "D"), ("floor", "D"), ("sign", "?"), ("gcd", "d"), ("less", "d"),
])  # fmt: skip
def test_words_that_are_nothing(word, dtype):
    functions = Functions()
    with pytest.raises(Unsupported, match=rf"^no {word} for {np.dtype(dtype)}$"):
        functions.word(word, dtype)
    assert functions.text == ""


@pytest.mark.parametrize("dtype", ["e", "g", "O", "U"])
def test_numbers_that_c_does_not_have(dtype):
    with pytest.raises(Unsupported, match="no C type for"):
        Functions().check(np.dtype(dtype))


def test_what_is_called_comes_before_what_calls():
    functions = Functions()
    assert functions.word("maximum", "F") == "maximum_c8"
    text = functions.text
    inner = [text.index(f" {name}(") for name in ("isnan_c8", "less_equal_c8", "select_c8")]
    assert max(inner) < text.index(" maximum_c8(") and text.count(" isnan_c8(float complex") == 1
    functions.word("abs", "F")
    assert "hypotf(" in functions.text.splitlines()[0]  # of the parts, and declarations come first


@pytest.mark.parametrize("dtype", "?bhilBHILfdFD")
def test_templates_are_filled_whole(dtype):
    """No sign of a template is left in any helper of any dtype; each is defined once, under its own name."""
    functions, kind = Functions(), np.dtype(dtype).kind
    for word in {word for word, known in HELPERS if known == kind}:
        name, text = functions.word(word, dtype), functions.text
        assert text.count(f" {name}(") - text.count(f"return {name}(") >= 1
    for sign in ("@", "%(", "NAME", "BITS", "PARTS", " T ", "(T)", "(T ", " R ", "(R)"):
        assert sign not in functions.text, sign


def test_functions_that_are_called_by_their_addresses():
    functions = Functions()
    functions.word("erfinv", "d"), functions.word("ndtri", "f"), functions.word("erfinv", "f")
    functions.blas("dgemm")
    assert list(functions.pointers) == ["erfinv", "ndtri", "dgemm"]  # in the order of the struct
    (struct,) = [line for line in functions.text.splitlines() if line.startswith("struct pointers {")]
    places = [struct.index(f"(*p_{name})") for name in functions.pointers]
    assert places == sorted(places) and struct.endswith(" pointers;")


def test_expressions():
    functions = Functions()
    made = functions.expression("sin({0}) + {rate} * cos(sin({1}))", "f", ["a", "b"], {"rate": "2.0f"})
    assert Printer().expression(made) == "sinf(a) + 2.0f * cosf(sinf(b))" and made.calls == {"sinf", "cosf"}
    with pytest.raises(Unsupported, match="no sine for float64"):
        functions.expression("sine({0})", np.dtype("d"), ["a"], {})


def test_names_occur_once():
    functions = Functions()
    assert [functions.unique(p) for p in ("b", "arena", "b", "b")] == ["b1", "arena1", "b2", "b3"]


def test_libm_is_declared_with_as_many_arguments_as_it_has():
    for dtype, real in (("d", "double"), ("f", "float")):
        functions = Functions()
        for word in LIBM:
            functions.word(word, dtype)
        for full, line in functions.declared.items():
            assert (
                line.removeprefix("VECTORIZED ")
                == f"{real} {full}({', '.join([real] * LIBM[full.removesuffix('f') if dtype == 'f' else full])});"
            )
    assert not {"real", "imag", "conj"} & set(LIBM) and set(COMPLEX) - set(LIBM) == {"real", "imag", "conj"}
