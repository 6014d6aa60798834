"""Operations that have their C expression as their kernel: those of others, which no library has a function for."""

import threading
import weakref

import numpy as np

from ..dispatch import CUDA, DTypeError, HostArray, PolyadError, RegistrationError, describe, is_number, isa
from ..dispatch.device_kinds import common_device
from ..dispatch.explain import no_method
from ..dispatch.generic import Generic
from .device import Device
from .kernels import kernel
from .lowering import forgets

_made = weakref.WeakKeyDictionary()  # generic -> (C, parameters, …) -> what was made of it
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
    if not on_host:
        return kernel(op, lambda *xs, **params: _cuda(op, xs, numbers(op, params))(*xs), "c")
    if not generic.params:
        made = _ufunc(op, {}, types, args)
        return kernel(op, made, "c", made)
    return kernel(op, lambda *xs, **params: _ufunc(op, numbers(op, params), types, args)(*xs), "c")


def own_dtype(op, xs, params):
    """The dtype of the result of an operation that has its C as its kernel, for arrays and numbers, without compiling anything;
    None for others."""
    card, generic = op.card, op.generic
    if card.c is None or card.kind != "elementwise" or generic.methods or generic.arity is None:
        return None
    from .codegen.text.scalars import Unsupported
    from .codegen.ufuncs import ufunc_of_types

    params = numbers(op, params)
    try:
        made = _once(op, params, "types", lambda: ufunc_of_types(op, params))
        return made(*[x if is_number(x) else np.empty(0, x.dtype) for x in xs]).dtype
    except (TypeError, Unsupported):  # which a call explains
        return None


def numbers(op, params):
    """The parameters, those that stand in the expression as plain numbers. Raises DTypeError for what is none, and what a value
    that a transformation follows raises when it is asked for its number."""
    named = repr(op.card.c)
    return {k: _number(op.__name__, k, v) if f"{{{k}}}" in named else v for k, v in params.items()}


def _number(op, name, value):
    if isa(value, (int, float, complex, np.generic)):
        return value
    try:
        return float(value)
    except PolyadError:
        raise
    except (TypeError, ValueError):
        raise DTypeError(
            f"{op}: its parameter {name} is {describe(value)}, but it stands in the C expression as a number; what is an array "
            "belongs before the / of its declaration"
        ) from None


def _once(op, params, what, make):
    """Return what is made of an operation's C with these parameters, once for all threads."""
    key = repr(op.card.c), tuple(sorted(params.items())), what
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


def _ufunc(op, params, types, args):
    """The ufunc of an operation with these parameters, made once. Raises MethodError, RegistrationError."""
    from .codegen.text.scalars import Unsupported
    from .codegen.toolchain.library import NoCompiler
    from .codegen.ufuncs import ufunc
    from .compilers import find_compiler

    name, c = op.__name__, op.card.c
    try:
        return _once(op, params, "ufunc", lambda: ufunc(op, params))
    except NoCompiler as error:
        if find_compiler() is None:
            hint = f"its kernel is made of its C expression, and {error}; or register one with @{name}.method"
            raise no_method(op.generic, args, hint, types) from None
        raise RegistrationError(f"{name}: c={c!r} is no expression in C of its arrays: {error}") from None
    except Unsupported as error:
        raise RegistrationError(
            f"{name}: no C can be made of c={c!r}: {error}; what stands before a parenthesis is a function of C's math "
            "library, such as exp, log1p, hypot or fabs"
        ) from None


Generic.own_kernel, Generic.own_dtype = staticmethod(own_kernel), staticmethod(own_dtype)
