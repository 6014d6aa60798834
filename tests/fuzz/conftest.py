"""The modules beside this file as one package, without a folder on `sys.path`."""

import importlib.util
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location("_package", Path(__file__).with_name("package.py"))
_package = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_package)
_package.install()


@pytest.fixture
def run_of_program():
    """The command's own way to run a random program: function(kind, seed, steps) that says what is wrong."""
    spec = importlib.util.spec_from_file_location("polyad_fuzz_run", Path(__file__).with_name("run.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.program_wrong
