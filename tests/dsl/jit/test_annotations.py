"""What type checkers are told of `jit` is so: its parameters, and what it and jitted functions have beside."""

import inspect
import types
import typing

import pytest

import polyad as pa
from polyad.dsl.jit import annotations

pytestmark = pytest.mark.quick

# a protocol keeps no function of these, so they are asked for by name
NAMED = types.SimpleNamespace(__module__=annotations.__name__, __qualname__="Jit.__call__")
OVERLOADS = typing.get_overloads(NAMED)
JIT = inspect.signature(pa.jit)


def attributes(protocol):
    return [name for name in protocol.__annotations__ if not name.startswith("__")]


@pytest.mark.parametrize("form", OVERLOADS, ids=["of a function", "as a decorator"])
def test_the_parameters_are_those_of_jit(form):
    shown = dict(inspect.signature(form).parameters)
    del shown["self"]
    assert list(shown) == list(JIT.parameters)
    for name, p in JIT.parameters.items():
        assert shown[name].kind == p.kind
        assert shown[name].default == p.default or name == "f"
    assert len(OVERLOADS) == 2 and shown["f"].default in (None, inspect.Parameter.empty)


def test_jit_has_what_it_is_said_to_have():
    assert attributes(annotations.Jit) and all(callable(getattr(pa.jit, name)) for name in attributes(annotations.Jit))


def test_a_jitted_function_has_what_it_is_said_to_have():
    f = pa.jit(lambda x: x)
    assert f.__wrapped__(3) == 3 and type(f.jitted).__name__ == annotations.JitFunction.__annotations__["jitted"]
    assert all(hasattr(f, name) for name in annotations.JitFunction.__annotations__)
    assert f.clear_cache() is None


def test_in_a_class_it_is_a_method_and_with_options_alone_a_decorator():
    class Model:
        @pa.jit(static_argnums=2)
        def power(self, x, n):
            return x**n

    with pa.disable_jit():
        assert Model().power(3.0, 2) == 9.0
    assert Model.power.__name__ == "power"
    assert Model.power is Model.__dict__["power"]  # of the class it is the function itself
