"""Operations that have their C expression as their kernel: those of others, which no library has a function for."""

import threading
import weakref

from ..dispatch import HostArray, RegistrationError
from ..dispatch.explain import no_method
from ..dispatch.generic import Generic
from .compilers import find_compiler
from .kernels import kernel
from .lowering import forgets

_ufuncs = weakref.WeakKeyDictionary()  # generic -> (C, parameters) -> ufunc
_lock = threading.RLock()
forgets(_ufuncs.clear)


def own_kernel(generic, types, args):
    """A target for NumPy's arrays and numbers where no method takes them: the card's `c`, compiled at the first call; None
    where it has none. Raises MethodError where it has nothing at all."""
    card, op = generic.card, generic.function
    if card.kind != "elementwise" or not all([issubclass(t, HostArray) for t in types]):
        return None
    if card.c is None:
        if generic.methods:
            return None
        given = ", ".join([f"{x}: polyad.HostArray" for x in generic.arrays])
        written = f"@{card.name}.method above `def {card.name}_kernel({given}, /)`"
        lacking = f"it has neither a kernel nor C to make one of: write {written}, or give its declaration c='…', C of {{0}}"
        raise no_method(generic, args, lacking, types)
    if not generic.params:
        made = _ufunc(op, {}, types, args)
        return kernel(op, made, "c", made)

    def call(*xs, **params):
        return _ufunc(op, params, types, args)(*xs)

    return kernel(op, call, "c")


def _ufunc(op, params, types, args):
    """The ufunc of an operation with these parameters, made once. Raises MethodError, RegistrationError."""
    from .codegen.text.scalars import Unsupported
    from .codegen.toolchain.library import NoCompiler
    from .codegen.ufuncs import ufunc

    name, c, key = op.__name__, op.card.c, (repr(op.card.c), tuple(sorted(params.items())))
    with _lock:
        known = _ufuncs.setdefault(op.generic, {})
        if key not in known:
            try:
                known[key] = ufunc(op, params)
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
        return known[key]


Generic.own_kernel = staticmethod(own_kernel)
