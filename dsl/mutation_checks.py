"""`debug_mutation`: find arrays that were changed after a derivative or a trace had kept them."""

import zlib
from contextvars import ContextVar

import numpy as np

from ..dispatch import MutationError
from ..dispatch.settings import Setting

watching = ContextVar("polyad_debug_mutation", default=False)  # whether arrays that are kept are to be checked


class debug_mutation(Setting):
    """Check that no NumPy array changes between its use in a derivative and the walk back, where the rule reads it again.

    on: whether to check. Used as a function it sets that from here on, as a context manager for a block. The arrays are
    checked by checksums, at some cost; a changed one raises MutationError with the operation, dtype and shape.

    >>> import numpy as np, polyad as pa
    >>> with pa.debug_mutation():
    ...     x = np.ones(2)
    ...     y, pull = pa.vjp(lambda x: x * x, x)
    ...     x[0] = 5.0
    ...     pull(y)
    Traceback (most recent call last):
        ...
    polyad.dispatch.errors.MutationError: multiply: an array of float64[2] was changed after its derivative had kept it; \
write to a copy of it (y = x.copy())
    """

    variable = watching


def sealed(xs):
    """The plain arrays among some values, each with its checksum."""
    return [(x, _checksum(x)) for x in xs if type(x) is np.ndarray]


def check_sealed(seals, name, keeper):
    """Raise MutationError if one of the arrays has changed. name: of the operation; keeper: what kept it."""
    for x, checksum in seals:
        if _checksum(x) != checksum:
            raise MutationError(
                f"{name}: an array of {x.dtype}{list(x.shape)} was changed after {keeper} had kept it; write to a copy "
                "of it (y = x.copy())"
            )


def _checksum(x):
    return zlib.crc32(np.ascontiguousarray(x).view(np.uint8).data) if x.size else 0
