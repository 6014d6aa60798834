"""The house: who imports whom, what ships, and what must not be in any file."""

import ast
import functools
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.quick

ROOT = Path(__file__).parents[1]
FLOORS = sorted(path.parent for path in ROOT.glob("*/__init__.py"))
LIBRARY = sorted([*ROOT.glob("*.py"), *(path for floor in FLOORS for path in floor.rglob("*.py"))])
CEILING = 450  # lines; a longer file asks for a split


def relative(path):
    return path.relative_to(ROOT).as_posix()


def python(*arguments, cwd, **options):
    return subprocess.run([sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, timeout=300, **options)


@functools.cache
def nodes(path):
    """The nodes of a module's syntax tree that are looked at here."""
    kinds = ast.Import, ast.ImportFrom, ast.Call, ast.Attribute, ast.Compare
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kinds)]


def each_module(check):
    """A test that makes the check for every module of the package."""
    return lambda each: each({relative(path): (path,) for path in LIBRARY}, check)


# --- imports ---------------------------------------------------------------------------------------------------


def test_import_contracts(tmp_path):
    """The ladder, no cycles, cupy and mpi4py on their floors: the contracts in pyproject.toml."""
    lint = Path(sys.executable).with_name("lint-imports")
    command = [lint, "--no-cache", "--no-logo", ROOT / "pyproject.toml"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


def imported(node):
    """Top-level names of the outside modules that this statement or call imports."""
    match node:
        case ast.Import(names=names):
            return {alias.name.partition(".")[0] for alias in names}
        case ast.ImportFrom(level=0, module=module):
            return {module.partition(".")[0]}
        case ast.Call(
            func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
            args=[ast.Constant(value=str(name)), *_],
        ):
            return {name.partition(".")[0]}
    return set()


WHOLE = {"__init__.py": "dsl.names", "dsl/__init__.py": "names"}  # who takes over a module's names, and of which


@each_module
def test_imports_of_a_module(path):
    """No star imports but of the list of public names; cupy and mpi4py on their floors, imports by name included (the
    contracts do not see those)."""
    for node in nodes(path):
        where = f"{relative(path)}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.ImportFrom):
            listed = node.level == 1 and node.module == WHOLE.get(relative(path))
            assert listed or all(alias.name != "*" for alias in node.names), f"{where}: star import"
        for module, floor in {"cupy": "devices", "mpi4py": "parallel"}.items():
            allowed = path.is_relative_to(ROOT / floor)
            assert allowed or module not in imported(node), f"{where}: {module} belongs in {floor}/"


def test_one_copy():
    """Every module loaded from our files is called polyad: a second copy would have second types and tables."""
    import polyad

    homes = (ROOT, Path(polyad.__file__).parent)
    inside = {str(home / path.relative_to(ROOT)) for home in homes for path in LIBRARY}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file in inside:
            assert name.partition(".")[0] == "polyad", f"{file} was imported as {name}"


BARE = """
import sys

absent = {"cupy", "mpi4py", "scipy", "matplotlib", "pandas", "plum", "beartype"}

class Without:
    def __init__(self, finder):
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.finder, name)

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in absent:
            return self.finder.find_spec(name, path, target)

sys.meta_path[:] = map(Without, sys.meta_path)
import polyad

# cffi is installed, but what only compiled code needs is loaded with the first of it
loaded = {name.partition(".")[0] for name in sys.modules} & (absent | {"cffi", "_cffi_backend"})
assert not loaded, sorted(loaded)
"""


def test_import_without_extras(tmp_path):
    """With none of the optional modules and no compiler in reach, `import polyad` works and looks for none."""
    result = python("-c", BARE, cwd=tmp_path, env={"PATH": "", "HOME": str(tmp_path)})
    assert result.returncode == 0, result.stderr


def test_info(tmp_path):
    result = python("-m", "polyad", "info", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    for subject in ("device", "mpi", "compiler"):
        assert subject in result.stdout.lower(), f"no line on {subject}:\n{result.stdout}"


# --- files -----------------------------------------------------------------------------------------------------


@each_module
def test_size(path):
    lines = len(path.read_text().splitlines())
    assert lines <= CEILING, f"{relative(path)} has {lines} lines"


@pytest.mark.slow
def test_wheel_is_complete(tmp_path):
    """The wheel holds the folders' modules and py.typed, nothing less and nothing more."""
    tree = tmp_path / "tree"
    tree.mkdir()
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, tree)
    for floor in FLOORS:
        shutil.copytree(floor, tree / floor.name, ignore=shutil.ignore_patterns("__pycache__"))
    build = ["wheel", ".", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(tmp_path)]
    result = python("-m", "pip", *build, cwd=tree)
    assert result.returncode == 0, result.stdout + result.stderr

    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    shipped = {name for name in names if ".dist-info/" not in name}
    assert shipped == {f"polyad/{relative(path)}" for path in [*LIBRARY, ROOT / "py.typed"]}
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


# Written so that this file passes its own test.
LOCAL_PATH = re.compile(r"(?<![\w.])/(?:work|root|home)/")
INDEX_HOST = re.compile(r"py[p]i\.(?:python\.)?org|python[h]osted\.org|npm[j]s\.org|deb\.[d]ebian\.org|ana[c]onda\.org")


def test_files_name_no_machine():
    """No tracked file holds a path of one machine or the host of a package index."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        names = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    found = []
    for path in (ROOT / name for name in names.split("\0") if name):
        data = path.read_bytes() if path.is_file() else b""
        if b"\0" in data:  # not text
            continue
        for number, line in enumerate(data.decode().splitlines(), 1):
            if LOCAL_PATH.search(line) or INDEX_HOST.search(line):
                found.append(f"{relative(path)}:{number}: {line.strip()}")
    assert not found, "\n".join(found)


# Classes of plain values, one of which a followed value stands for: `isinstance` (dispatch/type_tests.py).
PLAIN = {"ndarray", "generic", "number", "integer", "floating", "bool_", "float", "int", "complex", "bool"}
OWNERS = {"np", "numbers", "cupy", "xp"}


def plain_class(node):
    match node:
        case ast.Name(id=name):
            return name in PLAIN
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            return owner == "numbers" or owner in OWNERS and name in PLAIN
        case ast.Tuple(elts=parts):
            return any(map(plain_class, parts))
    return False


@each_module
def test_type_tests_see_layers(path):
    """The package asks `isa(x, np.ndarray)`, which sees a followed value as what it is, not as what it stands for."""
    for node in nodes(path):
        match node:
            case ast.Call(func=ast.Name(id="isinstance"), args=[found, kind]) if plain_class(kind):
                raise AssertionError(f"{relative(path)}:{node.lineno}: isinstance({ast.unparse(found)}, {ast.unparse(kind)})")
            case ast.Attribute(attr="__class__"):
                raise AssertionError(f"{relative(path)}:{node.lineno}: {ast.unparse(node)}; take type(x)")


# Text that others hand in, not what the package has printed: statements are records (devices/codegen/text/statements.py).
PATTERNS = {
    "devices/codegen/text/math_functions.py": "words in cards' expressions and in helpers' templates",
    "devices/codegen/text/system.py": "signatures that SciPy gives its functions",
    "devices/codegen/toolchain/compiler_probes.py": "functions that helpers' templates define",
    "devices/cuda_codegen/dialect.py": "words in helpers' templates",
}
ROOMS = tuple(f"devices/{kind}codegen/" for kind in ("", "gpu_", "cuda_", "opencl_"))


def looks_into_lines(node):
    """Whether an expression asks for a string within what is called a line or lines."""
    match node:
        case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[ast.Name(id=name) | ast.Attribute(attr=name)]):
            return name in ("line", "lines")
        case ast.Call(func=ast.Attribute(value=ast.Name(id="line" | "lines"), attr=method)):
            return method in ("replace", "startswith", "endswith", "find", "partition", "split")
    return False


@each_module
def test_code_is_not_read_back(path):
    """No regular expression in what writes C, but for the listed ones, and nothing found by looking into its lines."""
    if relative(path).startswith(ROOMS):
        patterns = any("re" in imported(node) for node in nodes(path))
        assert patterns == (relative(path) in PATTERNS), f"{relative(path)}: regular expressions"
        for node in nodes(path):
            assert not looks_into_lines(node), f"{relative(path)}:{node.lineno}: {ast.unparse(node)}"
