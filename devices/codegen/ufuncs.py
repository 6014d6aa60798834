"""NumPy ufuncs of C expressions on cards: kernels of operations that no library has a function for.

NumPy does what a ufunc does: it broadcasts, converts by its rules, takes arrays of any layout and order of bytes, and lets
other threads run meanwhile. Ours are the loops, one for each dtype, written and compiled as in programs. They warn of no
infinity or NaN, as compiled programs do not.
"""

import ctypes

import numpy as np

from ...dsl.avals import Aval, infer
from ...dsl.ir.programs import Equation, Var
from ..compilers import find_compiler
from .loops.elementwise import expression
from .source import COMPLEX, HEAD
from .text.expressions import Name
from .text.half import HALF
from .text.math_functions import Functions
from .text.printer import Printer
from .text.scalars import Unsupported, cast, ctype, memory_type
from .toolchain.library import NoCompiler, load
from .toolchain.runtime import in_library

DTYPES = "?bBhHiIlLqQefdFD"  # in NumPy's order: a call takes the first to which its arguments can be converted
SELDOM = "eFD"  # those that are not worth loops of vectors, which compilers take long for
WITHOUT_KINDS = "efdFD"  # those for which an expression stands that says no kinds: whole numbers are taken as floating ones
FLAGS = """\
#include <fenv.h>
static void forget_flags(void) {
  const int seen = FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID;
  if (fetestexcept(seen)) feclearexcept(seen);
}
"""
FROM_FUNCTIONS = 1  # number of PyUFunc_FromFuncAndData in NumPy's table of functions for ufuncs
_kept = []  # what ufuncs point to: they live as long as the process


def dtypes(op, params):
    """The dtypes, by their letters, of which an operation's expression can be written. Raises Unsupported for none."""
    found, reasons = [], []
    for char in DTYPES if isinstance(op.card.c, dict) else WITHOUT_KINDS:
        try:
            _loop(op, params, np.dtype(char), Functions())
            found.append(char)
        except Unsupported as error:
            reasons.append(str(error))
    if not found:
        raise Unsupported(reasons[-1 if isinstance(op.card.c, dict) else 2])
    return found


def ufunc_of_types(op, params):
    """A ufunc with the types of an operation's, which computes nothing: its results have the dtype. Raises Unsupported."""
    types = []
    for dtype in map(np.dtype, dtypes(op, params)):
        types += [dtype.num] * op.generic.arity + [_loop(op, params, dtype, Functions())[1].num]
    return _ufunc_object(op, [ctypes.cast(_idle, ctypes.c_void_p).value] * (len(types) // (op.generic.arity + 1)), types)


@ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)
def _idle(arrays, count, steps, data):
    """A loop without rounds."""


def ufunc(op, params):
    """The ufunc of an operation's expression with these parameters. Raises NoCompiler, and Unsupported where there is no dtype
    of which the expression can be written."""
    found = dtypes(op, params)
    try:
        return _compiled(op, params, found)
    except NoCompiler:
        real = [char for char in found if char not in "FD"]
        if real == found or not real or isinstance(op.card.c, dict) or find_compiler() is None:
            raise
        return _compiled(op, params, real)  # comparisons, say, are not C of complex numbers


def _compiled(op, params, chars):
    """The ufunc with a loop for each of these dtypes."""
    functions, loops, types, names, complex_ = Functions(), {}, [], [], False
    for dtype in map(np.dtype, chars):
        name, out, text = _loop(op, params, dtype, functions)
        loops[name] = text
        names.append(name)
        types += [dtype.num] * op.generic.arity + [out.num]
        complex_ = complex_ or "c" in (dtype.kind, out.kind)
    text = "\n".join([functions.text, FLAGS, HALF, *loops.values()]) + "\n"
    library = load(HEAD + (COMPLEX if complex_ else "") + in_library(functions.needs) + text, list(functions.pointers))
    return _ufunc_object(op, [library.address(name) for name in names], types)


def _ufunc_object(op, addresses, types):
    """NumPy's object for loops at these addresses; types: numbers of the dtypes of each, arguments and result."""
    count = len(addresses)
    loops, data = (ctypes.c_void_p * count)(*addresses), (ctypes.c_void_p * count)()
    types, name = ctypes.create_string_buffer(bytes(types)), ctypes.create_string_buffer(op.__name__.encode())
    doc = ctypes.create_string_buffer((op.__doc__ or "").encode())
    pointers, ints = [ctypes.c_void_p] * 3, [ctypes.c_int] * 4
    make = ctypes.PYFUNCTYPE(ctypes.py_object, *pointers, *ints, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
    at = lambda cell: ctypes.cast(cell, ctypes.c_void_p)
    no_identity = -1
    made = make(numpy_function(FROM_FUNCTIONS))(
        at(loops), at(data), at(types), count, op.generic.arity, 1, no_identity, at(name), at(doc), 0
    )
    _kept.append((loops, data, types, name, doc))
    return made


def numpy_function(number):
    """The address of a function of NumPy's C interface for ufuncs. Raises Unsupported where it is another than we know."""
    from numpy._core import _multiarray_umath  # pyright: ignore[reportAttributeAccessIssue]  # compiled, without a stub

    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = (ctypes.c_void_p * (number + 1)).from_address(get(_multiarray_umath._UFUNC_API, None))
    if table[0] != id(np.ufunc):
        raise Unsupported(f"NumPy {np.__version__} has another interface for ufuncs")
    return table[number]


def _loop(op, params, dtype, functions):
    """(name, dtype of the result, C) of a loop over arguments of this dtype."""
    half = dtype.char == "e"
    inside = np.dtype("f") if half else dtype
    xs = [Var(Aval((), inside)) for _ in range(op.generic.arity)]
    given = [Var(Aval((), dtype)) for _ in xs]
    out = infer(op, [v.aval for v in given], params).dtype if "shape" in op.card.rules else dtype
    made = np.dtype("f") if out.char == "e" else out
    e = Equation(op, xs, params, [Var(Aval((), made))])
    text = Printer().expression(expression(e, functions, lambda i, wanted: cast(Name(f"a{i}"), inside, wanted)))
    name, n = f"loop_{'e' if half else dtype.str[1:]}", len(xs)
    load = "half_up({0})" if half else "{0} != 0" if dtype.kind == "b" else "{0}"
    store = "half_down({0})" if out.char == "e" else "{0}"
    kind = lambda d: "uint16_t" if d.char == "e" else memory_type(d)
    row = lambda x, d, i: f"(({kind(d)} *){x})[k]"
    fixed = lambda one: lambda x, d, i: f"(({kind(d)} *){x})[{'0' if i == one else 'k'}]"
    apart = lambda x, d, i: f"*({kind(d)} *)({x} + k * s{i})"
    names = [*[f"x{i}" for i in range(n)], "y"]
    given = lambda place: [load.format(place(x, dtype, i)) for i, x in enumerate(names[:-1])]
    steps = [f"s{i} == {(dtype if i < n else out).itemsize}" for i in range(n + 1)]
    ways = [(steps, row)]  # all arrays lie in rows, or all but one number
    ways += [([f"s{i} == 0" if i == one else step for i, step in enumerate(steps)], fixed(one)) for one in range(n) if n > 1]
    # any other: by a function, so that the expression is compiled for vectors no more often than that is worth
    arguments = ", ".join([f"const {ctype(inside)} a{i}" for i in range(n)])
    lines = [f"static __attribute__((noinline)) {ctype(made)} of_{name}({arguments}) {{ return {text}; }}"]
    lines += [
        f"void {name}(char **a, const intptr_t *count, const intptr_t *steps, void *data) {{",
        "const int64_t n = *count;",
    ]
    lines += [f"char *{x} = a[{i}]; const int64_t s{i} = steps[{i}];" for i, x in enumerate(names)]
    lines.append("")
    for tests, place in ways if dtype.char not in SELDOM else ():
        local = [f"const {ctype(inside)} a{i} = {x};" for i, x in enumerate(given(place))]
        put = f"const {ctype(made)} a = {text}; {place('y', out, n)} = {store.format('a')};"
        lines[-1] += f"if ({' && '.join(tests)}) {{"
        lines += ["#pragma omp simd", "for (int64_t k = 0; k < n; k++) {", *local, put, "}", "} else "]
    called = store.format(f"of_{name}({', '.join(given(apart))})")
    lines[-1] += f"for (int64_t k = 0; k < n; k++) {apart('y', out, n)} = {called};"
    return name, out, "\n".join([*lines, "forget_flags();", "}"])
