"""The modules of this folder as the package `polyad_fuzz`, for pytest and for the command: neither puts it on `sys.path`."""

import importlib.machinery
import importlib.util
import sys
from pathlib import Path

NAME = "polyad_fuzz"


def install():
    """Make `import polyad_fuzz.cases` work."""
    if NAME not in sys.modules:
        spec = importlib.machinery.ModuleSpec(NAME, None, is_package=True)
        spec.submodule_search_locations = [str(Path(__file__).parent)]
        sys.modules[NAME] = importlib.util.module_from_spec(spec)


def beside(folder, name):
    """A module of another folder of the tests, which is no package: `beside("dsl/jit", "random_programs")`."""
    whole = f"{NAME}_{name}"
    if whole not in sys.modules:
        path = Path(__file__).parents[1] / folder / f"{name}.py"
        spec = importlib.util.spec_from_file_location(whole, path)
        sys.modules[whole] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[whole])
    return sys.modules[whole]
