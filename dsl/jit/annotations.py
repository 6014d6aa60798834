"""Types of `jit` and of what it returns, for type checkers alone: a function that has attributes beside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, overload

from ...dispatch.annotations import P, R_co, T

if TYPE_CHECKING:
    from ..ir.programs import Program
    from .wrapper import Jitted

Rest = ParamSpec("Rest")


class JitFunction(Protocol[P, R_co]):
    """A jitted function; in a class, a method."""

    __name__: str
    __wrapped__: Callable[..., Any]
    jitted: Jitted
    clear_cache: Callable[[], None]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    @overload
    def __get__(self, instance: None, owner: Any = None, /) -> JitFunction[P, R_co]: ...
    @overload
    def __get__(
        self: JitFunction[Concatenate[Any, Rest], R_co], instance: object, owner: Any = None, /
    ) -> Callable[Rest, R_co]: ...


class Jit(Protocol):
    """`jit`: of a function, or with options alone as a decorator."""

    __name__: str
    explain: Callable[[Callable[..., Any]], str]
    programs: Callable[[Callable[..., Any]], list[Program]]
    source: Callable[[Callable[..., Any]], list[str]]

    @overload
    def __call__(
        self,
        f: Callable[P, T],
        *,
        static_argnums: int | Sequence[int] = (),
        static_argnames: str | Sequence[str] = (),
        donate_argnums: int | Sequence[int] = (),
        donate_argnames: str | Sequence[str] = (),
        passes: Iterable[str] | None = None,
        in_shardings: Any = None,
        out_shardings: Any = None,
    ) -> JitFunction[P, T]: ...
    @overload
    def __call__(
        self,
        f: None = None,
        *,
        static_argnums: int | Sequence[int] = (),
        static_argnames: str | Sequence[str] = (),
        donate_argnums: int | Sequence[int] = (),
        donate_argnames: str | Sequence[str] = (),
        passes: Iterable[str] | None = None,
        in_shardings: Any = None,
        out_shardings: Any = None,
    ) -> DecorateJit: ...


class DecorateJit(Protocol):
    """`jit(static_argnums=…)`, a decorator."""

    def __call__(self, f: Callable[P, T], /) -> JitFunction[P, T]: ...
