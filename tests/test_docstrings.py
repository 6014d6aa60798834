"""Every example in a docstring runs and prints what it says."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import polyad

# found from the package itself, so that an editable and a regular installation are alike
SKIPPED = ("polyad.__main__", "polyad.tests", "polyad.tutorials", "polyad.build")


def folders():
    """Name of a package -> its modules in which there are examples."""
    found = {"polyad": ["polyad"]}
    for module in pkgutil.walk_packages(polyad.__path__, "polyad.", onerror=lambda name: None):
        file = Path(module.module_finder.find_spec(module.name).origin)
        if not module.name.startswith(SKIPPED) and ">>>" in file.read_text():
            found.setdefault(module.name if module.ispkg else module.name.rpartition(".")[0], []).append(module.name)
    return found


@pytest.mark.parametrize(("package", "names"), folders().items())
def test_examples(package, names, each):
    each({name: (name,) for name in names}, run_examples)


def run_examples(name):
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        if (error.name or "").partition(".")[0] in ("cupy", "mpi4py", "torch", "array_api_strict"):
            return  # as it is where that is not installed
        raise
    # under a name of their own, so that a type declared in an example is not one of the library
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS, extraglobs={"__name__": "docstring_example"})
    assert result.failed == 0, f"{result.failed} of {result.attempted} examples of {name} (see the output)"


def test_examples_are_found():
    assert doctest.testmod(importlib.import_module("polyad.dsl.layers.vmap")).attempted >= 2
