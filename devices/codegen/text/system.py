"""What this system offers beside a compiler: vector functions of libmvec, SciPy's special functions, BLAS."""

import ctypes
import functools
import importlib.machinery
import importlib.util
import os
import re
import sys

# functions of which libmvec may have vector versions, which differ by at most 4 units in the last place
VECTOR = {
    "sin": 1, "cos": 1, "tan": 1, "exp": 1, "log": 1, "pow": 2, "tanh": 1, "exp2": 1, "expm1": 1, "log1p": 1, "log2": 1,
    "log10": 1, "asin": 1, "acos": 1, "atan": 1, "atan2": 2, "sinh": 1, "cosh": 1, "asinh": 1, "acosh": 1, "atanh": 1,
    "cbrt": 1, "erf": 1, "erfc": 1, "hypot": 2,
}  # fmt: skip


@functools.cache
def vector_functions():
    """Names of the functions, such as `sin` and `sinf`, that libmvec has vector versions of."""
    import platform

    if platform.machine() not in ("x86_64", "AMD64"):
        return frozenset()
    try:
        library = ctypes.CDLL("libmvec.so.1")
    except OSError:
        return frozenset()
    names = []
    for name, arity in VECTOR.items():
        for suffix, lanes in (("", 2), ("f", 4)):
            if hasattr(library, f"_ZGVbN{lanes}{'v' * arity}_{name}{suffix}"):
                names.append(name + suffix)
    return frozenset(names)


# words of card expressions -> SciPy's names for them
SPECIAL = {"digamma": "psi", "lgamma": "gammaln", "tgamma": "gamma"}
SPECIAL_NAMES = (
    "erfinv", "erfcinv", "erfcx", "expi", "ndtr", "ndtri", "log_ndtr", "logit", "i0", "i1", "i0e", "i1e", "j0", "j1",
    "digamma", "lgamma", "tgamma", "betaln", "beta", "betainc", "gammainc", "gammaincc", "gammaincinv",
)  # fmt: skip
SIGNATURE = re.compile(r"double \((double(?:, double)*), int __pyx_skip_dispatch\)")


@functools.cache
def _special_capsules():
    try:
        from scipy.special import cython_special

        capi, found = cython_special.__pyx_capi__, {}  # Cython makes it for its own imports
    except (ImportError, AttributeError):
        return {}
    for word in SPECIAL_NAMES:
        name = SPECIAL.get(word, word)
        for full in (name, f"__pyx_fuse_0{name}", f"__pyx_fuse_1{name}"):
            signature = SIGNATURE.fullmatch(_name(capi[full])) if full in capi else None
            if signature:
                found[word] = (signature.group(1).count("double"), capi[full])
                break
    return found


def special_arity(word):
    """Count the arguments that SciPy's special function of this name takes, None if it cannot be called from C."""
    if word not in SPECIAL_NAMES:  # without importing SciPy
        return None
    return _special_capsules().get(word, (None,))[0]


GEMM = ("dgemm", "sgemm", "zgemm", "cgemm")


@functools.cache
def blas_functions():
    """name -> capsule of BLAS's matrix products, empty without SciPy."""
    try:
        capi = _cython_blas().__pyx_capi__
        return {name: capi[name] for name in GEMM}
    except (ImportError, AttributeError, KeyError):
        return {}


def _cython_blas():
    """SciPy's module of this name, alone: all of `scipy.linalg` takes longer to import than most programs to compile."""
    name = "scipy.linalg.cython_blas"
    if "scipy.linalg" in sys.modules:
        return importlib.import_module(name)
    import scipy

    spec = importlib.machinery.PathFinder.find_spec(name, [os.path.join(p, "linalg") for p in scipy.__path__])
    if spec is None or spec.loader is None:
        return importlib.import_module(name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules.pop(name, None)  # so that importing it sets it in its package
    return module


def address(name):
    """The address of a function that C code calls by pointer."""
    capsule = blas_functions()[name] if name in GEMM else _special_capsules()[name][1]
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get(capsule, _name(capsule).encode())


def _name(capsule):
    get = ctypes.pythonapi.PyCapsule_GetName
    get.restype, get.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return get(capsule).decode()
