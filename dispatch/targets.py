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
        raise MutationError(
            f"{generic.name}: its rule returned a {type(y).__name__} while it computed the value inside a {cls.__name__}; "
            "in rules, create arrays like an argument, polyad.zeros_like(x, shape=…), not with polyad.zeros(shape)"
        )
