"""`cupy.RawModule` on the host: CUDA text compiled as C++ with `cuda_on_host.h`, kernels run on the arrays of the stand-in."""

import atexit
import ctypes
import functools
import hashlib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

HEADER = Path(__file__).with_name("cuda_on_host.h")
# without C++'s library, neither its headers nor its file: most of the time would be theirs
FLAGS = (
    "-std=c++17",
    "-nostdinc++",
    "-O0",
    "-U_FORTIFY_SOURCE",
    "-fPIC",
    "-w",
    "-ffp-contract=off",
    "-fwrapv",
    "-fno-strict-aliasing",
)
LIBRARIES = ("-nodefaultlibs", "-lm", "-lc", "-lgcc")
KERNEL = re.compile(r'extern "C" __global__ void (\w+)\(([^)]*)\) \{(.*?)(?=extern "C"|\Z)', re.S)


class CompileException(Exception):
    """The compiler has complaints."""


@functools.cache
def compiler():
    """A C++ compiler, or None."""
    return next((word for word in ("g++", "clang++") if shutil.which(word)), None)


@functools.cache
def folder():
    """A directory with the header, which is read once for all."""
    made = Path(tempfile.mkdtemp(prefix="polyad-emulation-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    shutil.copy(HEADER, made)
    subprocess.run([compiler(), *FLAGS, "-x", "c++-header", str(made / HEADER.name)], check=True)
    return made


@functools.cache
def library(code):
    """The kernels of a source, compiled. Raises CompileException."""
    wrappers = []
    for name, parameters, body in KERNEL.findall(code):
        types = [p.removeprefix("const ").partition("*")[0] for p in parameters.split(", ")]
        given = ", ".join(f"({t} *)a[{k}]" for k, t in enumerate(types))
        wrappers.append(f"static void run_{name}(void **a) {{ {name}({given}); }}")
        barriers = int("__syncthreads" in body)
        wrappers.append(f'extern "C" void call_{name}(void **a, unsigned x, unsigned y, unsigned t) '
                        f"{{ launch(run_{name}, a, x, y, t, {barriers}); }}")  # fmt: skip
    source = folder() / f"{hashlib.sha256(code.encode()).hexdigest()[:20]}.cpp"
    source.write_text("\n".join([code, *wrappers]) + "\n")
    target = source.with_suffix(".so")
    command = [compiler(), *FLAGS, "-shared", "-include", str(folder() / HEADER.name), str(source), "-o", str(target)]
    answer = subprocess.run([*command, *LIBRARIES], capture_output=True, text=True)
    if answer.returncode:
        raise CompileException(answer.stderr)
    return ctypes.CDLL(str(target))


class RawModule:
    """CuPy's class: kernels of a source. launched: (name, blocks, threads) of all that ran."""

    launched = []
    compiler = staticmethod(compiler)

    def __init__(self, *, code, options=()):
        self.code = code

    def get_function(self, name):
        call = getattr(library(self.code), f"call_{name}")

        def kernel(grid, block, args):
            arrays = [x.on_device() for x in args]
            x, y = (*grid, 1)[:2]
            assert x > 0 and y > 0 and 0 < block[0] <= 1024
            call((ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays]), x, y, block[0])
            RawModule.launched.append((name, grid, block[0]))

        return kernel
