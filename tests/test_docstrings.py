"""Every example in a docstring runs and prints what it says."""

import doctest
import importlib
import pkgutil

import pytest

import polyad

# found from the package itself, so that an editable and a regular installation are alike
SKIPPED = ("polyad.__main__", "polyad.tests", "polyad.tutorials", "polyad.build")


def modules():
    yield "polyad"
    for found in pkgutil.walk_packages(polyad.__path__, "polyad.", onerror=lambda name: None):
        if not found.name.startswith(SKIPPED):
            yield found.name


@pytest.mark.parametrize("name", list(modules()))
def test_examples(name):
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        if (error.name or "").partition(".")[0] in ("cupy", "mpi4py", "torch", "array_api_strict"):
            pytest.skip(f"{error.name} is not installed")
        raise
    # under a name of their own, so that a type declared in an example is not one of the library
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS, extraglobs={"__name__": "docstring_example"})
    assert result.failed == 0, f"{result.failed} of {result.attempted} examples of {name} (see the output)"


def test_examples_are_found():
    assert doctest.testmod(importlib.import_module("polyad.dsl.layers.vmap")).attempted >= 2
