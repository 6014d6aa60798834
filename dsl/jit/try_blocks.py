"""Whether a step that fails for some values would be caught: it is then a question of its own, so that the user's `try`
sees the failure where it happens. Elsewhere it runs within its segment, and the error leaves the function in any case.
"""

import sys

from .bytecode import caught_parts
from .libraries import is_ours


def called(f, args, kwargs):
    """f(*args, **kwargs), the user's function: `caught` looks for its `try` up to here."""
    return f(*args, **kwargs)


def caught():
    """Return whether a `try` or `with` of the user's is around the operation called now."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code is not called.__code__:
        if not is_ours(frame.f_code) and any([start <= frame.f_lasti < end for start, end in caught_parts(frame.f_code)]):
            return True
        frame = frame.f_back
    return False
