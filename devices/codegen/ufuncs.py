"""NumPy ufuncs of C expressions on cards: kernels of operations that no library has a function for.

NumPy does what a ufunc does: it broadcasts, converts by its rules, takes arrays of any layout and order of bytes, and lets
other threads run meanwhile. Ours are the loops, one for each dtype, written and compiled as in programs. They warn of no
infinity or NaN, as compiled programs do not.
"""

import ctypes
import functools
from dataclasses import dataclass

import numpy as np

from ...dsl.avals import Aval, aval_of, infer, is_number
from ...dsl.ir.programs import Equation, Var
from ..compilers import find_compiler
from ..lowering import record
from .loops.elementwise import expression, loop_dtypes, template
from .source import COMPLEX, HEAD
from .text.expressions import Name
from .text.half import HALF
from .text.math_functions import Functions
from .text.printer import Printer
from .text.scalars import Unsupported, cast, ctype, literal, memory_type
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


class Loops:
    """The loops of an operation's expression, one for each dtype of which it can be written, and ufuncs of them.

    params: of the operation; variable: the names of those that are no part of the C, but come with each ufunc, so that one
    library serves all their values. Raises Unsupported where there is no dtype of which the expression can be written.
    """

    def __init__(self, op, params, variable=()):
        self.op, self.params, self.variable = op, params, variable
        self.loops, self.reasons, self.library = [], [], None
        for char in DTYPES if isinstance(op.card.c, dict) else WITHOUT_KINDS:
            try:
                self.loops.append(self._loop(char, Functions()))
            except Unsupported as error:
                self.reasons.append(str(error))
        if not self.loops:
            raise Unsupported(self.reasons[-1 if isinstance(op.card.c, dict) else 2])

    def _loop(self, char, functions):
        return loop(self.op, self.params, np.dtype(char), functions, self.variable)

    def compiled(self):
        """These loops, compiled. Raises NoCompiler."""
        try:
            self._compile()
        except NoCompiler:
            real = [one for one in self.loops if one.dtype.kind != "c"]
            if len(real) in (0, len(self.loops)) or isinstance(self.op.card.c, dict) or find_compiler() is None:
                raise
            self.loops = real  # comparisons, say, are not C of complex numbers
            self._compile()
        return self

    def _compile(self):
        functions = Functions()
        self.loops = [self._loop(one.dtype.char, functions) for one in self.loops]
        complex_ = any(["c" in (one.dtype.kind, one.out.kind) for one in self.loops])
        text = "\n".join([functions.text, FLAGS, HALF, *{one.name: one.text for one in self.loops}.values()]) + "\n"
        self.library = load(HEAD + (COMPLEX if complex_ else "") + in_library(functions.needs) + text, list(functions.pointers))

    def ufunc(self, params):
        """(the ufunc for these values of the variable parameters, what it points to, which must live as long). Without a
        library it computes nothing, but its results have the dtypes. Raises Unsupported where no dtype holds the values."""
        count, loops, data, types, error = self.op.generic.arity, [], [], [], None
        for one in self.loops:
            try:
                with np.errstate(all="ignore"):  # single precision has infinities for larger numbers
                    values = [literal(params[name], one.leader) and one.leader.type(params[name]) for name in one.named]
                for name, default in one.defaults.items():
                    if params[name] is not default:
                        raise Unsupported(
                            f"{self.op.__name__} with {name}={params[name]!r}, which its C of {one.dtype} does not name"
                        )
            except Unsupported as unfit:
                error = error or unfit
                continue
            loops.append(one)
            data.append(np.array(values, one.leader))
            types += [one.dtype.num] * count + [one.out.num]
        if not loops:
            raise error or Unsupported("no dtype")
        idle = ctypes.cast(_idle, ctypes.c_void_p).value
        addresses = [self.library.address(one.name) if self.library else idle for one in loops]
        return _ufunc_object(self.op, addresses, types, data)


def promoting(op, made, promoted, params):
    """A ufunc of `Loops` for these `promoted_dtypes`: itself, or, where the parameters change them, one of its loops."""
    alone, dtype = promoted
    fit = [kinds[0] for kinds in made.types if np.can_cast(dtype, kinds[0])]
    if alone == dtype or not fit:
        return made
    signature, rule = (*[np.dtype(fit[0])] * op.generic.arity, None), op.card.rules.get("shape")
    if rule is None:
        return functools.partial(made, signature=signature)

    def run(*xs):
        out = infer(op, [x if is_number(x) else aval_of(x) for x in xs], params).dtype
        with np.errstate(all="ignore"):
            return made(*xs, signature=signature).astype(out, copy=False)

    return run


def results(op, params):
    """The dtypes of the results that an operation's shape rule says, for arguments of each dtype, None where it fails."""
    found = []
    for dtype in map(np.dtype, DTYPES):
        try:
            found.append(infer(op, [Aval((), dtype)] * op.generic.arity, params).dtype.char)
        except Exception:  # a rule of somebody else's, which a call of that dtype explains
            found.append(None)
    return tuple(found)


def ufunc(op, params):
    """The ufunc of an operation's expression without parameters, for as long as the process lives. Raises NoCompiler,
    Unsupported."""
    made, held = Loops(op, params).compiled().ufunc(params)
    _kept.append(held)
    return made


@ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)
def _idle(arrays, count, steps, data):
    """A loop without rounds."""


def _ufunc_object(op, addresses, types, values):
    """(NumPy's object for loops at these addresses, what it points to). types: numbers of the dtypes of each, arguments and
    result; values: an array for each, which its loop is given."""
    count = len(addresses)
    loops, data = (ctypes.c_void_p * count)(*addresses), (ctypes.c_void_p * count)(*[v.ctypes.data for v in values])
    types, name = ctypes.create_string_buffer(bytes(types)), ctypes.create_string_buffer(op.__name__.encode())
    doc = ctypes.create_string_buffer((op.__doc__ or "").encode())
    pointers, ints = [ctypes.c_void_p] * 3, [ctypes.c_int] * 4
    make = ctypes.PYFUNCTYPE(ctypes.py_object, *pointers, *ints, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
    at = lambda cell: ctypes.cast(cell, ctypes.c_void_p)
    no_identity = -1
    made = make(numpy_function(FROM_FUNCTIONS))(
        at(loops), at(data), at(types), count, op.generic.arity, 1, no_identity, at(name), at(doc), 0
    )
    return made, (loops, data, types, name, doc, values)


def numpy_function(number):
    """The address of a function of NumPy's C interface for ufuncs. Raises Unsupported where it is another than we know."""
    from numpy._core import _multiarray_umath  # pyright: ignore[reportAttributeAccessIssue]  # compiled, without a stub

    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = (ctypes.c_void_p * (number + 1)).from_address(get(_multiarray_umath._UFUNC_API, None))
    if table[0] != id(np.ufunc):
        raise Unsupported(f"NumPy {np.__version__} has another interface for ufuncs")
    return table[number]


@dataclass
class Loop:
    """A loop over arguments of one dtype: the dtypes of its result and of its variable parameters, and their names; values of
    those that this dtype's expression does not name, for which alone it stands; its name in C, and C."""

    dtype: np.dtype
    out: np.dtype
    leader: np.dtype
    named: list
    defaults: dict
    name: str
    text: str


def loop(op, params, dtype, functions, variable):
    """The Loop of an expression for arguments of this dtype. Raises Unsupported."""
    half = dtype.char == "e"
    inside = np.dtype("f") if half else dtype
    xs = [Var(Aval((), inside)) for _ in range(op.generic.arity)]
    given = [Var(Aval((), dtype)) for _ in xs]
    out = infer(op, [v.aval for v in given], params).dtype if "shape" in op.card.rules else dtype
    made = np.dtype("f") if out.char == "e" else out
    e = Equation(op, xs, {k: v for k, v in params.items() if k not in variable}, [Var(Aval((), made))])
    leader = np.dtype(loop_dtypes(e)[0][record(e).leader or 0])
    named = [name for name in variable if f"{{{name}}}" in template(op.card, leader.kind)]
    places = {name: Name(f"p{k}") for k, name in enumerate(named)}
    defaults = {name: op.generic.signature.parameters[name].default for name in variable}
    e.params.update({**defaults, **places})
    defaults = {name: x for name, x in defaults.items() if name not in named}
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
    kinds = [f"const {ctype(leader)} {place.name}" for place in places.values()]
    arguments = ", ".join([arguments, *kinds])
    lines = [f"static __attribute__((noinline)) {ctype(made)} of_{name}({arguments}) {{ return {text}; }}"]
    lines += [
        f"void {name}(char **a, const intptr_t *count, const intptr_t *steps, void *data) {{",
        "const int64_t n = *count;",
    ]
    lines += [f"char *{x} = a[{i}]; const int64_t s{i} = steps[{i}];" for i, x in enumerate(names)]
    lines += [f"{kind} = ((const {ctype(leader)} *)data)[{k}];" for k, kind in enumerate(kinds)]
    lines.append("")
    for tests, place in ways if dtype.char not in SELDOM else ():
        local = [f"const {ctype(inside)} a{i} = {x};" for i, x in enumerate(given(place))]
        put = f"const {ctype(made)} a = {text}; {place('y', out, n)} = {store.format('a')};"
        lines[-1] += f"if ({' && '.join(tests)}) {{"
        lines += ["#pragma omp simd", "for (int64_t k = 0; k < n; k++) {", *local, put, "}", "} else "]
    called = store.format(f"of_{name}({', '.join([*given(apart), *[place.name for place in places.values()]])})")
    lines[-1] += f"for (int64_t k = 0; k < n; k++) {apart('y', out, n)} = {called};"
    return Loop(dtype, out, leader, named, defaults, name, "\n".join([*lines, "forget_flags();", "}"]))
