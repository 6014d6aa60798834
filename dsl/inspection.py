"""What the namespace says of itself: devices, dtypes, defaults, capabilities (array API standard, "inspection")."""

from types import MappingProxyType
from typing import Any

import numpy as np

from ..dispatch import DTypeError
from .dtypes import DTYPES, LETTERS, isdtype

CAPABILITIES = MappingProxyType({"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64})
DEFAULTS = MappingProxyType(
    {
        "real floating": np.dtype("float64"),
        "complex floating": np.dtype("complex128"),
        "integral": np.dtype(np.int_),
        "indexing": np.dtype(np.intp),
    }
)


class NamespaceInfo:
    """Answers to questions about the namespace; `__array_namespace_info__()` makes it.

    >>> import polyad as pa
    >>> info = pa.__array_namespace_info__()
    >>> info.default_device(), info.default_dtypes()["real floating"]
    ('cpu', dtype('float64'))
    >>> list(info.dtypes(kind="real floating"))
    ['float32', 'float64']
    """

    # put here by devices/standard.py, for `dsl` names no device: functions () -> names of devices, the current device
    available: Any = None
    current: Any = None

    def capabilities(self):
        """Return whether boolean indexing and shapes that depend on values work, and how many axes an array can have.

        They work wherever values are known; in a traced program they raise an error that names the way out.
        """
        return dict(CAPABILITIES)

    def default_device(self):
        """The device on which creation functions make arrays here: that of the enclosing `with polyad.device(…)`."""
        return self.current()

    def devices(self):
        """All devices that can be used here, as a tuple; the host is "cpu", the name that NumPy's arrays give it."""
        return tuple(self.available())

    def default_dtypes(self, *, device=None):
        """Dtypes of new arrays unless one is given, by kind; the same on every device."""
        return dict(DEFAULTS)

    def dtypes(self, *, device=None, kind=None):
        """The dtypes of the standard by name, all of a kind (see `isdtype`) if one is given; the same on every device."""
        if kind is not None and not isinstance(kind, (str, tuple)):
            raise DTypeError(f"dtypes: {kind!r} is no kind; kinds are {', '.join(map(repr, LETTERS))}, and tuples of them")
        return {name: np.dtype(d) for name, d in DTYPES.items() if kind is None or isdtype(d, kind)}


def __array_namespace_info__():
    """Questions to the namespace by the array API standard: devices, dtypes, defaults and capabilities."""
    return NamespaceInfo()
