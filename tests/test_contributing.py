"""What CONTRIBUTING.md says: the files it names are there, its steps are enough, and they touch no more than it says."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from polyad.devices.compilers import flag_sets

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
SECTIONS = dict(re.findall(r"^## (.*)\n((?:(?!## ).*\n)+)", PAGE, re.M))
BLOCK = re.compile(r"```python\n# (\S+)\n(.*?)```", re.S)


def touched(section):
    """The paths that a section's first sentence names."""
    sentence = re.match(r"\nTouches (.*?)(?::|\. )", SECTIONS[section], re.S)[1]
    return re.findall(r"`(\w+/[\w/]+(?:\.py)?)`", sentence)


def blocks(section):
    return BLOCK.findall(SECTIONS[section])


def test_its_files_are_there():
    names = re.findall(r"`([\w./-]+/[\w./-]+|[\w-]+\.(?:py|md|yaml))`", PAGE)
    assert len(names) >= 20
    missing = [name for name in names if not name.startswith(".venv") and not (ROOT / name).exists()]
    assert not missing, missing


def test_what_it_says_is_touched():
    assert [len(touched(f"Add {what}")) for what in ("an operation", "a compiler pass", "a collective")] == [2, 3, 2]
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
seen, ours = set(), lambda cases, check: check(*cases["mish"])
for name, test in vars(complete).items():
    if name.startswith("test_") and [*inspect.signature(test).parameters] == ["each"]:
        test(ours)
        seen.add(name)
assert {"test_derivatives", "test_lanes_and_shapes", "test_kernel", "test_docstring", "test_public_name"} <= seen, seen
complete.test_public_names_have_docstrings()
for make in operations["mish"].card.samples:
    args, params = make(np.random.default_rng(0))
    testing.check_rule(pa.mish, *args, **params)

x = np.linspace(-3, 3, 7)
mish = lambda x: x * np.tanh(np.log1p(np.exp(x)))
slope = lambda f, x: (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
for f in (pa.mish, pa.jit(pa.mish), pa.vmap(pa.mish)):
    np.testing.assert_allclose(f(x), mish(x), rtol=1e-12)
    np.testing.assert_allclose(pa.grad(lambda x: pa.sum(f(x)))(x), slope(mish, x), rtol=1e-7)

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


def test_its_steps_are_enough(tmp_path):
    copy = tmp_path / "polyad"
    floors = [path.parent.name for path in ROOT.glob("*/__init__.py")]
    copy.mkdir()
    for path in ROOT.glob("*.py"):
        shutil.copy(path, copy)
    for floor in floors:
        shutil.copytree(ROOT / floor, copy / floor, ignore=shutil.ignore_patterns("__pycache__"))
    changed = followed(copy)
    said = {name for section in SECTIONS if blocks(section) for name in touched(section)}
    assert changed == (said - {"dsl/ir/passes"}) | {"dsl/ir/passes/double_negations.py"}
    command = [sys.executable, "-P", "-c", CHECK, str(copy), str(ROOT / "tests/test_complete.py")]
    job = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, timeout=300)
    assert job.returncode == 0, job.stderr
