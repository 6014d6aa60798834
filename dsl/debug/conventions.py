"""Derivatives that a convention may have cost something: said once per place, and raised under `debug_conventions`.

A slope at a point without one (0 of `sqrt`, `abs`, `hypot` at 0) is finite by convention. Differentiated again it may stand for
a smooth whole whose second derivative it is not, and nobody can tell from the number.
"""

from contextvars import ContextVar

import numpy as np

from ...dispatch import ConventionError, ConventionWarning, Layer, layers_of
from ...dispatch.callers import warn
from ...dispatch.settings import Setting
from ..array_libraries import bottom, host_copy
from ..layers.tracing import Traced
from ..roots import watchers

_raises = ContextVar("polyad_debug_conventions", default=False)
# list for what may prove to be part of a whole
deferred: ContextVar[list | None] = ContextVar("polyad_conventions_deferred", default=None)
ADVICE = (
    "a smooth function of it may have another second derivative: write squared distances as such (sqeuclidean, sum(x**2), "
    "norm(x)**2), or keep away from that point"
)
ADVICE_AT_TIES = (
    "a smooth function of the matrix may have another second derivative: write it in operations on the matrix (trace, "
    "sum(x**2), det, matrix_power, expm), or set the values apart, as by x + 1e-6 * diag(arange(n))"
)

LOST = (
    "{}: a derivative comes through vectors of equal values, whose turn among each other counts as 0, a convention: of "
    "(v * h(w)) @ v.T and its kin, smooth functions of the matrix, the slope between equal values is lost. Use an operation on "
    "the matrix (expm, matrix_power, inv, solve, pinv, cholesky, svdvals, eigvalsh), or set the values apart, as by "
    "x + 1e-6 * diag(arange(n)). What reads the whole space of equal values alone, such as a projection onto it, loses nothing"
)


class debug_conventions(Setting):
    """Raise ConventionError where a convention may cost a derivative something, instead of a warning once per place.

    That is where a slope that is one is differentiated again, and where functions of equal eigenvalues and their vectors are.

    on: whether to raise. Used as a function it sets that from here on, as a context manager for a block; it holds for this
    thread, and for programs that are traced while it is on.

    >>> import polyad as pa
    >>> with pa.debug_conventions():
    ...     try:
    ...         pa.grad(pa.grad(lambda x: pa.cosh(pa.abs(x))))(0.0)
    ...     except pa.ConventionError as error:
    ...         print(str(error).partition(":")[0])
    a second derivative comes through the slope of abs at 0, a convention
    """

    variable = _raises


def _watch(name, here, y, point):
    """Return whether a slope that is a convention is differentiated again, and there: see `at_convention`."""
    if not isinstance(y, Layer) or not any([part.follows for part in layers_of(y)]):
        return
    text = f"a second derivative comes through the slope of {name} at {point}, a convention: "
    text += ADVICE_AT_TIES if point == "equal values" else ADVICE
    if any([isinstance(part, Traced) for part in layers_of(here)]):
        if _raises.get():
            _check_in_program(text, here)
        return
    if not np.any(host_copy(bottom(here))):
        return
    waiting = deferred.get()
    if waiting is None:
        say(text)
    else:
        waiting.append(text)


watchers.append(_watch)


def look_for_lost(generic, which, given, y, xs, params):
    """Say it where functions of values and vectors lose a slope: by the card's rule `which`, if it has one (ops/ties.py).

    given: what comes in, cotangents of y or tangents of xs. A program is looked at under `debug_conventions`.
    """
    rule = generic.card.rules.get(which)
    if rule is None:
        return
    traced = any([isinstance(part, Traced) for x in (*given, *y, *xs) if x is not None for part in layers_of(x)])
    if traced and not _raises.get():
        return
    here = rule(given, y, *xs, **params)
    if here is None:
        return
    if traced:
        _check_in_program(LOST.format(generic.name), here)
    elif np.any(host_copy(bottom(here))):
        say(LOST.format(generic.name))


def say(text):
    """Warn, once per place, or raise."""
    if _raises.get():
        raise ConventionError(text)
    warn(text, ConventionWarning)


def _check_in_program(text, here):
    from ..effects import io_callback

    def check(here):
        if np.any(here):
            raise ConventionError(text)

    io_callback(check, None, here)
