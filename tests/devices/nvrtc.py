"""NVIDIA's run-time compiler from its wheel `nvidia-cuda-nvrtc-cu12` (or cu13): CUDA text to PTX, which needs no GPU."""

import ctypes
import functools
import importlib.util
from pathlib import Path

# what CuPy gives beside our own options (cupy/cuda/compiler.py of CuPy 13 and 14)
OPTIONS = ("-arch=compute_75", "-std=c++14", "--device-as-default-execution-space", "-ftz=true")


@functools.cache
def library():
    """The compiler, or None where its wheel is missing."""
    for package in ("nvidia.cuda_nvrtc", "nvidia.cu13"):
        try:
            spec = importlib.util.find_spec(package)
        except ImportError:
            continue
        for folder in spec.submodule_search_locations if spec else ():
            found = sorted(Path(folder, "lib").glob("libnvrtc.so*"))
            if found:
                return ctypes.CDLL(str(found[0]))
    return None


def ptx(code, options=()):
    """PTX of a CUDA source. Raises AssertionError with the compiler's complaints."""
    nvrtc, program, given = library(), ctypes.c_void_p(), [o.encode() for o in (*options, *OPTIONS)]
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), code.encode(), b"kernels.cu", 0, None, None) == 0
    failed = nvrtc.nvrtcCompileProgram(program, len(given), (ctypes.c_char_p * len(given))(*given))
    said = _text(nvrtc, program, "ProgramLog")
    made = "" if failed else _text(nvrtc, program, "PTX")
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    assert not failed, f"{said}\n{code}"
    return made


def _text(nvrtc, program, what):
    size = ctypes.c_size_t()
    getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{what}")(program, buffer)
    return buffer.value.decode()
