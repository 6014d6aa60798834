"""Whether a layer of one's own has what it needs, and what is said where it lacks something."""

import inspect

from .errors import ConcreteValueError, MissingRuleError, RegistrationError


def slot_below(cls, name):
    """The slot that a kind calls `holds`. Raises RegistrationError."""
    slot = next((vars(c)[name] for c in cls.__mro__ if name in vars(c)), None) if isinstance(name, str) else None
    if not inspect.ismemberdescriptor(slot):
        raise RegistrationError(
            f"{cls.__qualname__}: holds = {name!r} names none of its slots ({', '.join(cls.state) or 'it has none'}); it is "
            'the slot with the value below, as in `__slots__ = ("run", "value"); holds = "value"`'
        )
    if "run" not in cls.state:
        raise RegistrationError(
            f'{cls.__qualname__}: it has no slot "run" for the polyad.Run of its values; add it to __slots__'
        )
    return slot


def no_target(generic, cls):
    """The error for an operation on values of a kind that does not say what becomes of it."""
    return MissingRuleError(
        f"{generic.name} of a {cls.__name__}: the class defines no `target`, which says what an operation does with its "
        "values; write `@classmethod def target(cls, generic, types)`, which returns a function (*arrays, **params) -> "
        "result, as in help(polyad.Layer)"
    )


def no_concrete(x):
    """The error where Python asks for the value of a kind that does not say which it is."""
    return ConcreteValueError(
        f"a {type(x).__name__} of {x.dtype}{list(x.shape)} has no value for Python's `if` and indices: its class defines no "
        "`concrete`; write `def concrete(self): return polyad.concrete(…)` of the value below, if that is the answer, or "
        "choose without Python, with polyad.where or polyad.cond"
    )


def not_there(run, name, slots):
    """The error for an attribute that a run has not, or not yet."""
    cls = type(run).__name__
    if name in ("depth", "outer"):
        return AttributeError(f"{cls}: this run has not been entered, so that it has no {name!r}; enter it, `with run:`")
    begun = "; an __init__ of your own has to call super().__init__(name)" if name in slots else ""
    return AttributeError(f"{cls!r} object has no attribute {name!r}{begun}")
