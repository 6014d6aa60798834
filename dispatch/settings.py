"""Settings of a thread, such as `densify`: called as a function they hold from there on, as a context manager for a block."""

from contextvars import ContextVar
from typing import Any, Self


class Setting:
    """Base class of settings that are on or off. variable: where the value is kept."""

    variable: ContextVar[Any]

    def __init__(self, on: bool = True) -> None:
        self.token = self.variable.set(bool(on))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self.variable.reset(self.token)
