"""Which passes compile a program: chosen by name, and remembered by each program that is made meanwhile."""

from contextlib import contextmanager
from contextvars import ContextVar

from ...dispatch import StructureError, describe

PASSES = (
    "fold_constants", "common_subexpressions", "specialize_shapes", "simplify", "dead_code",  # on programs: `passes`
    "fusion", "buffer_reuse", "in_place",  # where code is made of them: what shares a loop nest, and what shares memory
)  # fmt: skip
_selected_passes = ContextVar("polyad_passes", default=PASSES)


def chosen():
    """Names of the passes that are on here."""
    return _selected_passes.get()


def on(name):
    """Return whether a pass is on here."""
    return name in _selected_passes.get()


@contextmanager
def using(passes):
    """Have programs that are made or compiled inside use these passes. passes: as `checked` gives them."""
    token = _selected_passes.set(passes)
    try:
        yield
    finally:
        _selected_passes.reset(token)


def checked(name, passes):
    """The names of some passes, in the order in which they run. name: of the function asked, for the error.

    Raises StructureError for what is no collection of names in `PASSES`.
    """
    try:
        given = None if isinstance(passes, str) else list(passes)
    except TypeError:
        given = None
    wrong = [] if given is None else [p for p in given if p not in PASSES]
    if given is None or wrong:
        what = describe(passes) if given is None else " and ".join([repr(p) for p in wrong])
        raise StructureError(f"{name}: passes is {what}; give a tuple of names among {', '.join(PASSES)}")
    return tuple([p for p in PASSES if p in given])
