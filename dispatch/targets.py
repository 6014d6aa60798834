"""What the targets of layers are written with: checks of what they are given and of what they return."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .errors import MutationError
from .layers import Layer, Run


def captured(generic, whose, target):
    """The target of a layer, where a trace under way inside takes calls over; args[whose] is a value of the layer."""

    def run(*args, **params):
        inner = args[whose].run.inner
        return target(*args, **params) if inner is None else inner.capture(generic, args, params)

    return run


def bounded(generic, cls, target):
    """The target of a class that others write: what calls itself without an end says what it forgot."""

    def run(*args, **params):
        try:
            return target(*args, **params)
        except RecursionError as error:
            own, frames, tb = run.__code__, 0, error.__traceback__
            while tb is not None:
                frames, tb = frames + (tb.tb_frame.f_code is own and tb.tb_frame.f_locals.get("target") is target), tb.tb_next
            if frames < 3:
                raise
        raise RecursionError(
            f"{generic.name}: the target of {cls.__name__} calls itself again and again: it calls the operation on the values "
            "that it was given; it has to call it on those below: "
            "`generic.spread(*[a.value if type(a) is cls else a for a in args], **params)`"
        )

    return run


def check_runs(run: Run, args: Iterable[Any], *classes: type) -> None:
    """Check that all values of these classes are of this run, and that it is still open.

    run: a `polyad.Run`. args: the arguments of an operation. classes: classes of layer values (`Kind[depth]`). The first thing
    that the target of a layer does. Raises LeakedLayerError, which names the transformation and where it was entered.
    """
    for a in args:
        if type(a) in classes and a.run is not run:
            raise run.foreign(a.run)
    if run.closed:
        raise run.leaked()


def several(y, parts):
    """The results of an operation that gives several, in the kind of tuple that its kernel gives."""
    return tuple(parts) if type(y) is tuple else type(y)(*parts)


def check_level(generic: Any, y: Any, cls: type[Layer]) -> None:
    """Check that what a rule returned belongs to what is around the transformation that runs it.

    generic: the operation, as `Layer.target` gets it. y: the value. cls: the class of the transformation's values. Raises
    MutationError if y is a value of this transformation or of one inside.
    """
    if Layer in type(y).__mro__ and type(y).depth >= cls.depth:
        plain = ", ".join(generic.params)
        followed = (
            f"; or one of its parameters ({plain}) is followed: declare that one as an array, before the /" if plain else ""
        )
        raise MutationError(
            f"{generic.name}: its rule returned a {type(y).__name__} while it computed the value inside a {cls.__name__}; "
            f"in rules, create arrays like an argument, polyad.zeros_like(x, shape=…), not with polyad.zeros(shape){followed}"
        )
