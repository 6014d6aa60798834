"""`disable_jit`: functions under jit run as they are."""

from contextvars import ContextVar
from typing import Any

from ...dispatch.settings import Setting

_off = ContextVar("polyad_disable_jit", default=False)
switches = []  # the switches in use anywhere, so that a call need not look where there is none


class disable_jit(Setting):
    """Run jitted functions as the Python functions that they are, to look into them with a debugger or print.

    disable: whether to. Used as a function it sets that from here on, as a context manager for a block; it holds for this
    thread.

    >>> import polyad as pa
    >>> f = pa.jit(lambda x: (print(x), x + 1)[1])
    >>> with pa.disable_jit():
    ...     f(1.0)
    1.0
    2.0
    """

    variable = _off

    def __init__(self, disable: bool = True) -> None:
        switches.append(self)
        super().__init__(disable)

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        switches.remove(self)


def switched():
    """Return whether jit is disabled here."""
    return _off.get()
