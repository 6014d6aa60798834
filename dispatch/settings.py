"""Settings of a thread, such as `densify`: called as a function they hold from there on, as a context manager for a block."""

from contextvars import ContextVar
from typing import Any


class Setting:
    """Base class of settings that are on or off. variable: where the value is kept."""

    variable: ContextVar[Any]

    def __init__(self, on=True):
        self.token = self.variable.set(bool(on))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.variable.reset(self.token)
