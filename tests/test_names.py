"""One word, one meaning: names of module level, first words of docstrings, the glossary."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
FLOORS = sorted(path.parent for path in ROOT.glob("*/__init__.py"))
LIBRARY = sorted([*ROOT.glob("*.py"), *(path for floor in FLOORS for path in floor.rglob("*.py"))])
TREES = {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text()) for path in LIBRARY}

# Names defined in three or more files. One that is no longer must leave the list; none may be added: find another word, or
# one place. Names of operations that programs, passes and compiled code treat in turn are meant to be the same.
OPERATIONS = {
    "choice", "concatenate", "elementwise", "index", "loop", "masked_product", "power", "real", "reduction",
    "reshape", "steps_of", "transpose",
}  # fmt: skip
REPEATED = {
    "COMPLEX", "HEAD", "LANES", "LARGE", "LIBRARY", "LONGEST", "MOST", "NUMBERS", "RULES", "SMALL",
    "SOURCE", "_called", "_compiled", "_lock", "above_zero", "fill", "one",
    "rows", "shown", "split", "text", "two", "within", "written",
}  # fmt: skip

# Docstrings that begin with one of these words say what something is about, not what the function does ("Return whether …",
# "Find the …", "Count …").
ASKING = re.compile(r"(What|Where|Whether|How|Which)\b")


def is_stored(node):
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def defined(tree):
    """The names that a module defines at its top level."""
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (part.id for target in targets for part in ast.walk(target) if is_stored(part))


def places():
    """name -> the files that define it."""
    found = {}
    for path, tree in TREES.items():
        for name in set(defined(tree)):
            if not name.startswith("__"):
                found.setdefault(name, []).append(path)
    return found


def test_few_names_are_defined_in_three_files():
    found = {name: where for name, where in places().items() if len(where) >= 3}
    new = {name: where for name, where in found.items() if name not in REPEATED | OPERATIONS}
    assert not new, f"defined in three or more files: {new}; find another word for one of them, or one place for all"
    gone = sorted((REPEATED | OPERATIONS) - set(found))
    assert not gone, f"no longer defined in three files: take {gone} out of the list"


def test_docstrings_say_what_functions_do():
    asking = []
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ASKING.match((ast.get_docstring(node) or "").lstrip()):
                asking.append(f"{path}:{node.lineno} {node.name}")
    assert not asking, f"begin with a verb: {asking}"


def rows():
    """(words, file) of each row of the glossary."""
    for line in (ROOT / "tutorials/glossary.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if len(cells) == 3 and cells[2].startswith("`"):
            yield re.findall(r"`([^`]+)`", cells[0]), cells[2].strip("`")


def test_the_glossary_is_true():
    """Each word stands in the file that its row names."""
    assert len(list(rows())) > 50
    for words, path in rows():
        assert (ROOT / path).is_file(), path
        text = (ROOT / path).read_text()
        missing = [word for word in words if not re.search(rf"\b{re.escape(word)}", text)]
        assert words and not missing, f"{path}: {missing}"
