"""Finding a C compiler, `$CC`, gcc, clang or the one in the `ziglang` wheel, and compiling with it."""

import functools
import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

# IEEE arithmetic as written: no contraction of a * b + c, no assumptions about NaN, infinities or signs of zero. Not
# respected are only errno and the exception flags, which nobody reads.
STRICT = (
    "-O3", "-pipe", "-std=gnu11", "-fPIC", "-shared", "-w", "-Werror=implicit-function-declaration",
    "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-fwrapv",
)  # fmt: skip
# gcc makes one sincos of a sine and a cosine, which has no vector version
NO_SINCOS = ("-fno-builtin-sin", "-fno-builtin-cos", "-fno-builtin-sinf", "-fno-builtin-cosf")


@functools.cache
def find_compiler():
    """The command of the first C compiler found, as a tuple of words, or None.

    `$CC` is taken at its word if its program exists; otherwise the next is tried.
    """
    for words in (tuple(shlex.split(os.environ.get("CC", ""))), ("gcc",), ("clang",)):
        if words and shutil.which(words[0]):
            return words
    if importlib.util.find_spec("ziglang") is not None:
        return (sys.executable, "-m", "ziglang", "cc")
    return None


@functools.cache
def compiler_version(words):
    """The first line of what a compiler says of its version, or why it says nothing."""
    try:
        answer = subprocess.run([*words, "--version"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"does not run: {error}"
    said = (answer.stdout or answer.stderr).strip().splitlines()
    return said[0] if said else f"says nothing and ends with {answer.returncode}"


@functools.cache
def processor():
    """Return what distinguishes this processor for compilers: its features."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith(("flags", "Features")))
    except (OSError, StopIteration):
        return f"{platform.machine()} {platform.processor()}"


def flag_sets(words):
    """The options to try with a compiler, best ones first: threads and vector functions are not everywhere."""
    native = ("-march=native",) if platform.machine() in ("x86_64", "AMD64") else ("-mcpu=native",)
    if "avx512f" in processor():
        native += ("-mprefer-vector-width=512",)
    clang = "clang" in compiler_version(words) or "ziglang" in words
    vector = ("-fveclib=libmvec", "-lmvec") if clang else ("-lmvec",)
    # with `POOL`, gcc's calls of OpenMP's library are answered by a pool of our own (codegen/text/threads.py); libm is there
    pool = [] if clang else [("-fopenmp", "-DPOOL", "-nodefaultlibs", *more, "-lgcc") for more in (vector, ())]
    openmp = [(threads, *more, "-lm") for threads in ("-fopenmp", "-fopenmp-simd") for more in (vector, ())]
    strict = STRICT if clang else STRICT + NO_SINCOS
    return [*[(*strict, *native, *flags) for flags in (*pool, *openmp)], (*strict, "-lm")]


def command_line(words, flags, source, target):
    """The words of a command that compiles a C file to a shared library."""
    libraries = [f for f in flags if f.startswith("-l")]
    return [*words, *[f for f in flags if f not in libraries], str(source), "-o", str(target), *libraries]


def compile_c(words, flags, source, target):
    """Compile a C file to a shared library. Returns None, or what the compiler says against it."""
    try:
        answer = subprocess.run(command_line(words, flags, source, target), capture_output=True, text=True, timeout=300)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if answer.returncode:
        return (answer.stderr or answer.stdout or f"ends with {answer.returncode}").strip()
    return None if Path(target).exists() else "it made no file"
