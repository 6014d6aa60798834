"""What CONTRIBUTING.md says: the files that it and the README name are there, its steps are enough, and they touch no more
than it says."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from polyad import PASSES
from polyad.devices.compilers import flag_sets

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
SECTIONS = dict(re.findall(r"^## (.*)\n((?:(?!## ).*\n)+)", PAGE, re.M))
FLOORS = [path.parent.name for path in ROOT.glob("*/__init__.py")]
FOLDERS = [*FLOORS, "tests", "tutorials"]
BLOCK = re.compile(r"```python\n# (\S+)\n(.*?)```", re.S)


def touched(section):
    """The paths that a section's first sentence names."""
    sentence = re.match(r"\nTouches (.*?)(?::|\. )", SECTIONS[section], re.S)[1]
    return re.findall(r"`(\w+/[\w/]+(?:\.\w+)?)`", sentence)


def blocks(section):
    return BLOCK.findall(SECTIONS[section])


def test_its_files_are_there():
    names = re.findall(r"`([\w./-]+/[\w./-]+|[\w-]+\.(?:py|md|yaml))`", PAGE)
    assert len(names) >= 20
    missing = [name for name in names if not name.startswith(".venv") and not (ROOT / name).exists()]
    assert not missing, missing


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "README.md"])
def test_paths_in_text_and_commands_are_there(page):
    """Whatever begins with one of our folders, in backticks or not; new files of the steps apart."""
    folders = "|".join(FOLDERS)
    text = re.sub(r"^# \S+$", "", (ROOT / page).read_text(), flags=re.M)
    names = re.findall(rf"(?<![\w./])((?:{folders})/[\w./-]*\w)", text)
    names += re.findall(r"`([\w-]+\.(?:py|md|yaml|txt|toml))`", text)
    assert len(names) >= 20
    missing = [name for name in names if not any((home / name).exists() for home in (ROOT, ROOT / "tutorials"))]
    assert not missing, missing


def test_tables_of_the_readme_are_whole():
    readme = (ROOT / "README.md").read_text()
    assert sorted(re.findall(r"^\| `(\w+)/` \|", readme, re.M)) == sorted(FOLDERS)
    assert re.findall(r"^\| `(\w+\.py)` \|", readme, re.M) == sorted(path.name for path in (ROOT / "tutorials").glob("*.py"))


def test_the_tutorial_names_each_pass():
    tutorial = (ROOT / "tutorials/06_trace_to_machine_code.py").read_text()
    listed = re.search(r"## 2. The passes\n(.*?)# %%", tutorial, re.S)[1]
    assert not [name for name in PASSES if f"`{name}`" not in listed]


def test_what_it_says_is_touched():
    assert [len(touched(f"Add {what}")) for what in ("an operation", "a compiler pass", "a collective")] == [4, 6, 2]
    for what in ("an array type", "a device", "a transformation"):
        assert SECTIONS[f"Add {what}"].startswith("\nTouches one file, which imports only ")


def test_programs_of_the_tests_are_compiled_quickly():
    assert os.environ.get("POLYAD_TESTS_OPTIMIZE", "-O1") in flag_sets(("gcc",))[0]


@pytest.mark.parametrize("path", ["tests/outside/toeplitz.py", "tutorials/07_a_transformation_of_your_own.py"])
def test_one_file_of_public_names(path):
    """An array type and a transformation from outside: of ours they import the front door alone."""
    imported = {
        name
        for node in ast.walk(ast.parse((ROOT / path).read_text()))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in ([a.name for a in node.names] if isinstance(node, ast.Import) else [node.module])
    }
    assert {name for name in imported if name.startswith("polyad")} <= {"polyad", "polyad.testing"}


def test_a_device_from_outside_is_one_file_of_public_names():
    text = (ROOT / "tests/devices/test_strict.py").read_text().partition("# ---")[0]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("polyad"):
            module = __import__(node.module, fromlist=["x"])
            assert all(not a.name.startswith("_") and hasattr(module, a.name) for a in node.names)


def followed(root):
    """Follow the steps of the sections with code in a copy of the package; the paths that changed."""
    changed = set()

    def write(name, change):
        path = root / name
        path.write_text(change(path.read_text() if path.exists() else ""))
        changed.add(name)

    for section in SECTIONS:
        for name, code in blocks(section):
            write(name, lambda text, code=code: text + "\n\n" + code if text else code)
    into = lambda text, after, new: text.replace(after, after + new, 1)
    passes = "dsl/ir/passes/__init__.py"
    write(passes, lambda text: into(text, "import dead_code\n", "from .double_negations import double_negations\n"))
    write(passes, lambda text: into(text, "for f in (", "double_negations, "))
    write(passes, lambda text: into(text, "ORDER = (", '"double_negations", '))
    write("dsl/ir/pass_selection.py", lambda text: into(text, "PASSES = (\n", '    "double_negations",\n'))
    tests = "tests/dsl/ir/passes/test_passes.py"
    write(tests, lambda text: into(text, "PROGRAMS = {\n", '    "double_negations": lambda x: [pa.sin(-(-x))],\n'))
    fault = 'lambda m: m.setitem(TABLE, "double_negations", one_too_few)'
    write(tests, lambda text: into(text, "FAULTS = {\n", f'    "double_negations": {fault},\n'))
    write("tutorials/06_trace_to_machine_code.py", lambda text: into(text, "`dead_code`", ", `double_negations`"))
    changed.add("tutorials/accuracy.md")  # by `make accuracy`
    return changed


# In a process of its own, for the copy: what the suite demands of every operation and public name, and what the new ones give.
CHECK = """
import importlib.util, inspect, sys
from pathlib import Path
import numpy as np
import polyad as pa
from polyad import testing
from polyad.dsl import operations
from polyad.dsl.ir.passes import optimized

assert Path(pa.__file__).parent == Path(sys.argv[1])
spec = importlib.util.spec_from_file_location("complete", sys.argv[2])
complete = importlib.util.module_from_spec(spec)
spec.loader.exec_module(complete)
seen, ours = set(), lambda cases, check: [check(*cases[name]) for name in ("mish", "softsign") if name in cases]
for name, test in vars(complete).items():
    if name.startswith("test_") and [*inspect.signature(test).parameters] == ["each"]:
        test(ours)
        seen.add(name)
assert {"test_derivatives", "test_lanes_and_shapes", "test_kernel", "test_docstring", "test_public_name"} <= seen, seen
complete.test_public_names_have_docstrings()
for op in (pa.mish, pa.softsign):
    for make in operations[op.__name__].card.samples:
        args, params = make(np.random.default_rng(0))
        testing.check_rule(op, *args, **params)

x = np.linspace(-3, 3, 7)
mish = lambda x: x * np.tanh(np.log1p(np.exp(x)))
softsign = lambda x: x / (1 + np.abs(x))
slope = lambda f, x: (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
for op, right in ((pa.mish, mish), (pa.softsign, softsign)):
    for f in (op, pa.jit(op), pa.vmap(op)):
        np.testing.assert_allclose(f(x), right(x), rtol=1e-12)
        np.testing.assert_allclose(pa.grad(lambda x: pa.sum(f(x)))(x), slope(right, x), rtol=1e-5)

negated = lambda x: pa.sin(-(-x))
program = pa.make_ir(negated)(x)
count = lambda program: sum(e.op.card.name == "negative" for e in program.equations)
assert count(program) == 2 and "double_negations" in pa.PASSES
assert count(optimized(program, passes=("double_negations",))) == 1  # of the other nothing is read any more
assert count(optimized(program, passes=("double_negations", "dead_code"))) == 0
for passes in (pa.PASSES, [p for p in pa.PASSES if p != "double_negations"]):
    np.testing.assert_allclose(pa.jit(negated, passes=passes)(x), np.sin(x), rtol=1e-14)

for mapped in (pa.vmap, pa.pmap):
    np.testing.assert_allclose(mapped(lambda v: pa.pvar(v, "i"), axis_name="i", out_axes=None)(x), np.var(x))
    total = lambda x: mapped(lambda v: pa.pvar(v, "i"), axis_name="i", out_axes=None)(x)
    np.testing.assert_allclose(pa.grad(total)(x), 2 * (x - x.mean()) / 7, atol=1e-12)
"""


# The tests that the new operation and the new pass bring with them, and those that miss something.
TESTS = [
    "tests/accuracy/test_accuracy.py",
    "tests/dsl/ir/passes/test_double_negations.py",
    "tests/dsl/ir/passes/test_passes.py",
]
ASKED = "softsign or has_a_reference or is_what_page_py_writes or test_double_negations or (fault and double_negations)"


def copied(copy):
    """The package, and what the steps touch beside it, in a folder."""
    copy.mkdir()
    for path in (*ROOT.glob("*.py"), *ROOT.glob("tutorials/*.*")):
        (copy / path.relative_to(ROOT)).parent.mkdir(exist_ok=True)
        shutil.copy(path, copy / path.relative_to(ROOT))
    for folder in (*FLOORS, "tests/accuracy", "tests/helpers", "tests/dsl/ir/passes"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))


def test_its_steps_are_enough(tmp_path):
    copy = tmp_path / "polyad"
    copied(copy)
    changed = followed(copy)
    said = {name for section in SECTIONS if blocks(section) for name in touched(section)}
    folders = {name for name in said if (ROOT / name).is_dir()}
    files = {"dsl/ir/passes/double_negations.py", "tests/dsl/ir/passes/test_double_negations.py"}
    assert folders == {str(Path(name).parent) for name in files} and changed == said - folders | files
    run = lambda *command, path: subprocess.run(
        [sys.executable, "-P", *command], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=300
    )
    job = run("-c", CHECK, str(copy), str(ROOT / "tests/test_complete.py"), path=str(tmp_path))
    assert job.returncode == 0, job.stderr
    settings = ["-q", "-c", os.devnull, "--rootdir", str(copy), "-p", "no:cacheprovider", "-k", ASKED]
    path = os.pathsep.join([str(tmp_path), str(copy / "tests/helpers")])
    job = run("-m", "pytest", *settings, *[str(copy / name) for name in TESTS], path=path)
    assert re.findall(r"^FAILED .*?::([\w\[\]]+)", job.stdout, re.M) == ["test_the_page_is_what_page_py_writes"], job.stdout
    assert "1 failed, 4 passed" in job.stdout, job.stdout
