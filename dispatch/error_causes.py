"""The reason behind an error of Python or NumPy: ours, where C code raised its own in the place of it.

`b[0] = x` asks a followed value for a number. The refusal says what to write, but NumPy hands on "setting an array element with
a sequence", with the refusal as its cause, or as nothing at all. When the transformation is left the reason takes its place
again; an error that the user's own code made of one stays what it is. What the standard library says of a value that it did not
even ask gets what to write instead.

`try: y = float(x)` with `except TypeError` takes a branch that it would not take for the plain number. So a refusal that code
caught without naming its class, and went on after, is raised again where the transformation ends.
"""

import re

from .errors import ConcreteValueError, PolyadError

NAMES = {"ConcreteValueError", "PolyadError"}  # who catches these knows what is caught
questions = set()  # code of the methods by which Python and C ask for a number, as far as these refuse it
REPORTING = ("logging",)  # libraries whose handlers say what was raised, and compute nothing
VALUE = r"'?[A-Z]\w*\[\d+\]'?"  # the name of a layer's class
# errors of the standard library that have met a followed value without asking it: who raised them, what to write instead
STANDARD_LIBRARY_ERRORS = [
    (rf"can't convert type {VALUE} to numerator/denominator", "statistics", "np.mean, np.std, np.var and np.median"),
    (rf"conversion from {VALUE} to Decimal is not supported", "a Decimal", "NumPy's operations on floating numbers"),
    (rf"unsupported type for timedelta .*: {VALUE}", "a timedelta", "a floating number of seconds"),
    (rf"memoryview: .*, not {VALUE}", "a memoryview", "indices and slices of the value, which share its elements"),
    (r"required argument is not an? (float|integer)$", "struct", "polyad.stack or polyad.concatenate to put values together"),
    (rf"bytes-like object is required, not {VALUE}", "a function of bytes", "the value itself"),
]


def reason(error, traceback, refusal, inside):
    """The error of ours that C code replaced by this one, or None.

    traceback: how it came. refusal: pair (the last error of ours for a question of Python's, place of that), or None.
    inside: function of a file's name, whether it is the library's.
    """
    if isinstance(error, PolyadError) or not isinstance(error, Exception):
        return None
    cause = error.__cause__
    if isinstance(cause, PolyadError) and _unseen(cause, inside):
        return cause
    if refusal is not None and _unseen(refusal[0], inside):
        while traceback.tb_next is not None:
            traceback = traceback.tb_next
        if refusal[1] == (traceback.tb_frame.f_code.co_filename, traceback.tb_lineno):
            return refusal[0]
    return _of_plain_numbers(error)


def _of_plain_numbers(error):
    """An error of ours for one of the standard library's, which takes plain numbers alone and did not ask for one; or None."""
    if not isinstance(error, (TypeError, AttributeError)) and type(error).__module__ != "struct":
        return None
    text = str(error)
    for pattern, who, instead in STANDARD_LIBRARY_ERRORS:
        if re.search(pattern, text):
            return ConcreteValueError(
                f"{text}: {who} takes plain numbers, which would lose what the transformation follows; use {instead}, or "
                "float(polyad.stop_gradient(x)) for the number alone"
            )
    return None


def _unseen(error, inside):
    """Return whether no Python code but ours has met an error: it went from us to what is written in C."""
    first = error.__traceback__
    return first is not None and inside(first.tb_frame.f_code.co_filename)


def explain(error, traceback, run, layer):
    """Note on an error about the class of a followed value, raised where C code or a library took it for a plain one.

    run: the transformation that the error leaves; layer: the base class of followed values.
    """
    if not isinstance(error, (TypeError, AttributeError)) or isinstance(error, PolyadError) or hasattr(error, "__notes__"):
        return
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    for name, x in traceback.tb_frame.f_locals.items():
        if layer in type(x).__mro__ and any([kind.__name__ in str(error) for kind in (type(x), x.standing())]):
            error.add_note(
                f"{run.name} follows {name}, a {type(x).__name__} of {x.dtype}{list(x.shape)}: what takes plain values only "
                "cannot have it; use operations of polyad or NumPy, or cut it off with polyad.stop_gradient"
            )
            return


def caught(refusal, inside):
    """The error for a refusal that code outside of the library caught without naming its class, or None. To be asked where
    that code has gone on.

    refusal, inside: as for `reason`.
    """
    if refusal is None or refusal[0].__traceback__ is None:
        return None
    first = refusal[0].__traceback__
    frame = first.tb_frame
    code, module = frame.f_code, frame.f_globals.get("__name__", "")
    if code in questions and refusal[1] is not None:
        where = "{}:{}".format(*refusal[1])
        text = f"asked at {where} by C code, whose own error was caught; let polyad.stop_gradient give the number there"
    elif inside(code.co_filename) or not NAMES.isdisjoint(code.co_names) or module.partition(".")[0] in REPORTING:
        return None
    else:
        text = (
            f"caught at {code.co_filename}:{first.tb_lineno}, after which the code went another way than with a plain number; "
            "if that is meant, write `except polyad.ConcreteValueError` there"
        )
    error = ConcreteValueError(f"{refusal[0]} ({text})")
    error.__cause__ = refusal[0]
    return error
