"""Operations that have their C expression as their kernel: those of others, which no library has a function for."""

import threading
import weakref

import numpy as np

from ..dispatch import (
    CUDA,
    ConcreteValueError,
    DTypeError,
    HostArray,
    PolyadError,
    RegistrationError,
    describe,
    is_number,
    isa,
)
from ..dispatch.device_kinds import common_device
from ..dispatch.explain import no_method
from ..dispatch.generic import Generic
from ..dsl.declaration_checks import place_text
from .compilers import find_compiler
from .device import Device
from .kernels import kernel
from .lowering import forgets

PLAIN_NUMBERS = frozenset((bool, int, float, complex))
MOST_VALUES = 256  # values of parameters of an operation whose ufuncs are kept
_made = weakref.WeakKeyDictionary()  # generic -> (C, parameters, …) -> what was made of it
_constant = weakref.WeakSet()  # generics whose parameters are no values in their C, so that it is compiled for each
_lock = threading.RLock()
forgets(_made.clear)


def own_kernel(generic, types, args):
    """A target for arrays of NumPy's or CuPy's, and numbers, where no method takes them: the card's `c`, compiled at the first
    call; None where it has none. Raises MethodError where it has nothing at all."""
    card, op = generic.card, generic.function
    if card.kind != "elementwise" or generic.arity is None:
        return None
    on_host = all([issubclass(t, HostArray) for t in types])
    if not on_host and not any([isinstance(x, Device) and x.kind is CUDA for x in [common_device(card.name, args)]]):
        return None
    if card.c is None:
        if generic.methods:
            return None
        given = ", ".join([f"{x}: polyad.HostArray" for x in generic.arrays])
        written = f"@{card.name}.method above `def {card.name}_kernel({given}, /)`"
        lacking = f"it has neither a kernel nor C to make one of: write {written}, or give its declaration c='…', C of {{0}}"
        raise no_method(generic, args, lacking, types)
    made = None
    if not on_host:
        function = lambda *xs, **params: _cuda(op, xs, numbers(op, params))(*xs)
    elif generic.params:
        function = _with_parameters(op, types, args)
    else:
        function = made = _made_of_c(op, types, args, lambda ufuncs: _once(op, {}, "ufunc", lambda: ufuncs.ufunc(op, {})))
    found = kernel(op, function, "c", made)
    found.told = f"compiled from c={card.c!r}{place_text(generic.prototype)}"
    return found


def _with_parameters(op, types, args):
    """The kernel of an operation with parameters: a ufunc for each of their values, all of one library."""
    known = {}  # text of the parameters, dtypes or types of the arguments -> (function, what it points to)

    def run(*xs, **params):
        plain = PLAIN_NUMBERS.issuperset(map(type, params.values()))
        key = (repr(params), *[getattr(x, "dtype", None) or type(x) for x in xs]) if plain else None
        found = known.get(key) if plain else None
        if found is None:
            values = numbers(op, params)
            found = _made_of_c(op, types, args, lambda ufuncs: _promoting(op, xs, values, ufuncs, compiled=True))
            if plain:
                if len(known) >= MOST_VALUES:
                    known.pop(next(iter(known)), None)
                known[key] = found
        return found[0](*xs)

    return run


def _promoting(op, xs, params, ufuncs, compiled):
    """(the function for these values of parameters and arguments of these dtypes, what it points to)."""
    from .codegen.loops.elementwise import promoted_dtypes

    given = [type(x) if type(x) in PLAIN_NUMBERS else getattr(x, "dtype", None) or np.asarray(x).dtype for x in xs]
    promoted = promoted_dtypes(op, given, params)
    made, held = _loops(op, params, ufuncs, compiled).ufunc(params)
    return ufuncs.promoting(op, made, promoted, params), held


def _loops(op, params, ufuncs, compiled):
    """The loops of an operation with these parameters, made once for all values of those that C can read as numbers."""
    named = tuple([k for k in params if _stands_in_c(op, k)])
    template = op.card.lowering is not None and op.card.lowering.template is not None
    variable = () if template or op.generic in _constant else named
    fixed = {k: v for k, v in params.items() if k not in variable}
    shape = op.card.rules.get("shape")  # where what it gives may depend on the values
    kinds = None if shape is None else ufuncs.results(op, params)
    make = lambda: ufuncs.Loops(op, params, variable)
    key = (variable, kinds, compiled)
    if not compiled:
        return _once(op, fixed, key, make)
    try:
        return _once(op, fixed, key, lambda: make().compiled())
    except ufuncs.NoCompiler:
        if not variable or find_compiler() is None:
            raise
    made = _once(op, params, ((), kinds, compiled), lambda: ufuncs.Loops(op, params).compiled())
    _constant.add(op.generic)  # its parameters are no values in C
    return made


def _stands_in_c(op, parameter):
    return f"{{{parameter}}}" in repr(op.card.c)


def own_dtype(op, xs, params):
    """The dtype of the result of an operation that has its C as its kernel, for arrays and numbers, without compiling anything;
    None for others."""
    card, generic = op.card, op.generic
    if card.c is None or card.kind != "elementwise" or generic.methods or generic.arity is None:
        return None
    from .codegen import ufuncs
    from .codegen.text.scalars import Unsupported

    params = numbers(op, params)
    xs = [x if is_number(x) else np.empty(0, x.dtype) for x in xs]
    try:
        made, held = _promoting(op, xs, params, ufuncs, compiled=False)
        return made(*xs).dtype
    except (TypeError, OverflowError, Unsupported):  # which a call explains
        return None


def numbers(op, params):
    """The parameters, those that stand in the expression as plain numbers. Raises DTypeError for what is none, and what a value
    that a transformation follows raises when it is asked for its number."""
    return {k: _number(op.__name__, k, v) if _stands_in_c(op, k) else v for k, v in params.items()}


def _number(op, name, value):
    if isa(value, (np.generic, np.ndarray)) and value.size == 1 and value.dtype.kind in "biufc":
        return value.item()
    if isa(value, (int, float, complex)):
        return value
    try:
        return float(value)
    except ConcreteValueError as error:
        raise ConcreteValueError(
            f"{op}: its parameter {name} is {describe(value)}, but parameters are plain values, which no transformation "
            f"follows; declare {name} as an array, before the /"
        ) from error
    except PolyadError:
        raise
    except (TypeError, ValueError):
        raise DTypeError(
            f"{op}: its parameter {name} is {describe(value)}, but it stands in the C expression as a number; what is an array "
            "belongs before the / of its declaration"
        ) from None


def _once(op, params, what, make):
    """Return what is made of an operation's C with these parameters, once for all threads."""
    key = repr(op.card.c), repr(sorted(params.items())), what
    with _lock:
        known = _made.setdefault(op.generic, {})
        if key not in known:
            known[key] = make()
        return known[key]


def _cuda(op, xs, params):
    """The function of an operation for arrays on a CUDA device."""
    from .cuda_codegen.own_kernels import run_of

    what = tuple([type(x) if is_number(x) else (x.dtype, x.shape) for x in xs])
    return _once(op, params, what, lambda: run_of(op, xs, params))


def _made_of_c(op, types, args, make):
    """Return what `make` gives of the module of ufuncs. Raises MethodError, RegistrationError."""
    from .codegen import ufuncs
    from .codegen.text.scalars import Unsupported
    from .codegen.toolchain.library import NoCompiler

    name, c, place = op.__name__, op.card.c, place_text(op.generic.prototype)
    try:
        return make(ufuncs)
    except NoCompiler as error:
        if find_compiler() is None:
            hint = f"its kernel is made of its C expression, and {error}; or register one with @{name}.method"
            raise no_method(op.generic, args, hint, types) from None
        raise RegistrationError(f"{name}{place}: c={c!r} is no expression in C of its arrays: {error}") from None
    except Unsupported as error:
        words = str(error).startswith("no ")
        remedy = "what stands before a parenthesis is a function of C's math library, such as exp, log1p, hypot or fabs"
        raise RegistrationError(
            f"{name}{place}: no C can be made of c={c!r}: {error}{'; ' + remedy if words else ''}"
        ) from None


Generic.own_kernel, Generic.own_dtype = staticmethod(own_kernel), staticmethod(own_dtype)
