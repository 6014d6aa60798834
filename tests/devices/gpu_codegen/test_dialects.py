"""What a dialect's words say for each dtype, and what kernels cannot have."""

import dataclasses

import numpy as np
import pytest

from polyad.devices.codegen.text.expressions import Name
from polyad.devices.codegen.text.math_functions import Functions
from polyad.devices.codegen.text.scalars import Unsupported
from polyad.devices.cuda_codegen.dialect import CUDA
from polyad.devices.gpu_codegen.dialects import KernelFunctions, Word
from polyad.devices.opencl_codegen.dialect import OPENCL

pytestmark = pytest.mark.quick


def test_types():
    assert [CUDA.type(t) for t in ("double", "float complex", "double complex *", "int64_t *")] == [
        "double",
        "c8",
        "c16 *",
        "int64_t *",
    ]
    for name in ("float complex", "double complex *"):
        with pytest.raises(Unsupported, match=r"^no complex numbers in OpenCL C$"):
            OPENCL.type(name)
    assert OPENCL.type("complex_of_mine") == "complex_of_mine"


@pytest.mark.parametrize("dialect", [CUDA, OPENCL], ids=lambda d: d.name)
def test_what_is_the_hosts_alone(dialect):
    words = dialect.functions()
    with pytest.raises(Unsupported, match="C code of the host"):
        words.host_only()
    with pytest.raises(Unsupported):
        words.check(np.dtype("e"))
    words.check(np.dtype("d"))
    assert words.blocks is False and Functions.blocks is True
    assert words.place(Name("v")).name == "v" and words.text == ""  # gcc's fault needs no care here
    assert words.word("exp", "d") == "exp" or "exp" in words.text  # the device's own, not ours


def test_helpers_have_no_words_of_gnu_c():
    for dialect in (CUDA, OPENCL):
        words = dialect.functions()
        for name in ("ldexp", "signbit"):
            words.word(name, "d")
        assert "__builtin_" not in words.text and "ldexp(" in words.text


def test_dialects_of_others_say_all_that_is_missing():
    words = KernelFunctions()
    for missing in (lambda: words.prelude([]), lambda: words.added(np.dtype("d")), lambda: words.raised(np.dtype("u4"))):
        with pytest.raises(NotImplementedError):
            missing()
    with pytest.raises(dataclasses.FrozenInstanceError):
        CUDA.name = "another"
    assert repr(Word("thread")) == "Word('thread')"
