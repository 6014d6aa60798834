"""Prototypes of generic functions and operations: a name, parameters and a docstring, without a body that never runs."""

import dis

from .errors import RegistrationError

STUB = {"RESUME", "NOP", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST", "POP_TOP"}
LIBRARY = __name__.partition(".")[0]


def check_empty(prototype, otherwise=""):
    """A body that is a docstring, `...` or `pass`, or that raises: any other would never run. Raises RegistrationError.

    otherwise: what else there is to write. The library's own are not looked at.
    """
    code = getattr(prototype, "__code__", None)
    if code is None or (prototype.__module__ or "").partition(".")[0] == LIBRARY:
        return
    steps = list(dis.get_instructions(code))
    if any([s.opname == "RAISE_VARARGS" for s in steps]):
        return
    constants = [s.argval for s in steps if s.opname in ("LOAD_CONST", "RETURN_CONST")]
    if not {s.opname for s in steps} <= STUB or any([x is not None and x is not Ellipsis for x in constants]):
        name = prototype.__name__
        raise RegistrationError(
            f"{name} ({code.co_filename}:{code.co_firstlineno}): the body of its declaration never runs; leave the docstring "
            f"alone, and register the function below: @{name}.method above `def {name}_…` with the types it is for{otherwise}"
        )
