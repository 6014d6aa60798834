"""A module's tests lie at its path, `tests/<folder>/test_<module>.py`; modules that have none are listed, and get fewer."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.quick

TESTS = Path(__file__).parent
ROOT = TESTS.parent
LIST = TESTS / "without_twins.txt"


def modules():
    """The paths of the package's modules, those of front doors apart."""
    floors = [path.parent for path in ROOT.glob("*/__init__.py")]
    found = [*ROOT.glob("*.py"), *(path for floor in floors for path in floor.rglob("*.py"))]
    return {path.relative_to(ROOT).as_posix() for path in found if path.name != "__init__.py"}


def twin(module):
    path = Path(module)
    return TESTS / path.parent / f"test_{path.name}"


def test_modules_without_tests_of_their_own_get_fewer():
    lacking = {module for module in modules() if not twin(module).is_file()}
    listed = LIST.read_text().split()
    assert listed == sorted(set(listed)), f"{LIST.name} is not in order, or names a module twice"
    new = "\n".join(f"{module}: write {twin(module).relative_to(ROOT)}" for module in sorted(lacking - set(listed)))
    assert not new, f"modules without tests at their path:\n{new}"
    done = "\n".join(sorted(set(listed) - lacking))
    assert not done, f"these have tests now, or are gone; take them out of {LIST.name}:\n{done}"
