"""Every module has tests, and they lie at its path, `tests/<folder>/test_<module>.py`."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.quick

TESTS = Path(__file__).parent
ROOT = TESTS.parent


def modules():
    """The paths of the package's modules, those of front doors apart."""
    floors = [path.parent for path in ROOT.glob("*/__init__.py")]
    found = [*ROOT.glob("*.py"), *(path for floor in floors for path in floor.rglob("*.py"))]
    return {path.relative_to(ROOT).as_posix() for path in found if path.name != "__init__.py"}


def twin(module):
    path = Path(module)
    return TESTS / path.parent / f"test_{path.name}"


def test_every_module_has_tests_at_its_path():
    lacking = [
        f"{module}: write {twin(module).relative_to(ROOT)}" for module in sorted(modules()) if not twin(module).is_file()
    ]
    assert not lacking, "modules without tests at their path:\n" + "\n".join(lacking)
