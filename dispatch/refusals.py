"""The reason behind an error of Python or NumPy: ours, where C code raised its own in the place of it.

`b[0] = x` asks a followed value for a number. The refusal says what to write, but NumPy hands on "setting an array element with
a sequence", with the refusal as its cause, or as nothing at all. When the transformation is left the reason takes its place
again; an error that the user's own code made of one stays what it is.
"""

from .errors import PolyadError


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
    return None


def _unseen(error, inside):
    """Whether no Python code but ours has met an error: it went from us to what is written in C."""
    first = error.__traceback__
    return first is not None and inside(first.tb_frame.f_code.co_filename)
