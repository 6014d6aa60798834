"""Settings: called as a function they hold from there on, as a context manager for a block, in their own context alone."""

from contextvars import ContextVar, copy_context

import pytest

from polyad.dispatch.settings import Setting

pytestmark = pytest.mark.quick


class loud(Setting):
    variable = ContextVar("loud", default=False)


def test_a_block_ends_with_what_was_before():
    with loud() as here:
        assert loud.variable.get() is True and isinstance(here, loud)
        with loud(0):
            assert loud.variable.get() is False  # a truth value, whatever was given
        assert loud.variable.get() is True
        with pytest.raises(KeyError), loud(False):
            raise KeyError
        assert loud.variable.get() is True
    assert loud.variable.get() is False


def test_a_call_holds_from_there_on_and_not_elsewhere():
    def switched():
        loud(True)
        return loud.variable.get()

    assert copy_context().run(switched) is True
    assert loud.variable.get() is False
