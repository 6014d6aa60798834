"""What type checkers say: nothing of right programs, and of a wrong one what is wrong.

pyright and mypy --strict run once each, over the README's code, a user's module, every public name and a wrong program.
They see the package as users' tools do, as a typed package beside others: a link to it stands on the path, since an editable
installation shows them nothing.
"""

import importlib.util
import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import polyad as pa

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
README = (HERE.parent / "README.md").read_text()
LOSS = """
def loss(w, x, y):
    return np.sum((x * w - y) ** 2)
"""
MYPY = """
[mypy]
strict = true
mypy_path = {path}
cache_dir = {path}/cache

[mypy-polyad.*]
follow_imports = silent

# The README's class and method say no types, and a lambda calls the name that it is given, which mypy does not infer.
[mypy-readme]
disable_error_code = has-type
disallow_untyped_defs = false
disallow_incomplete_defs = false
disallow_untyped_calls = false
"""


def public_names():
    """Every public name, and those of the namespaces."""
    names = [f"pa.{name}" for name in (*pa.__all__, "__version__", "__array_api_version__")]
    for space in ("fft", "linalg", "random"):
        names += [f"pa.{space}.{name}" for name in getattr(pa, space).__all__]
    own = [name for name, value in vars(pa.tree).items() if getattr(value, "__module__", None) == "polyad.dispatch.tree"]
    return names + [f"pa.tree.{name}" for name in own if not name.startswith("_")]


PARAMETERS = {"custom_jvp": "[..., Any]", "custom_vjp": "[..., Any]"}  # of the classes that are generic


def public_classes():
    """Name -> class, of those that are our own."""
    found = {name: getattr(pa, name) for name in pa.__all__ if inspect.isclass(getattr(pa, name))}
    return {name: cls for name, cls in found.items() if cls.__module__.startswith("polyad")}


def attributes(name, cls):
    """The public ones of a class; of `Array`, which stands for NumPy's arrays too, those that both have."""
    shared = lambda attribute: name != "Array" or hasattr(np.ndarray, attribute) and attribute not in ("real", "imag")
    return [attribute for attribute in dir(cls) if not attribute.startswith("_") and shared(attribute)]


def uses():
    """Programs that use each public attribute of each public class, and call whatever can be called."""
    used, called = [
        ["from typing import Any", "", "import polyad as pa", "", "a: list[Any] = []", "k: dict[str, Any] = {}"]
        for program in range(2)
    ]
    abstract = ("pa.Array", "pa.HostArray")  # classes for annotations
    called += [f"{name}(*a, **k)" for name in public_names() if callable(eval(name)) and name not in abstract]
    for name, cls in public_classes().items():
        given = f"def of_{name}(x: pa.{name}{PARAMETERS.get(name, '')}) -> None:"
        used += [given, "    print(x)", *[f"    print(x.{attribute})" for attribute in attributes(name, cls)]]
        called += [given, "    print(x)"]
        called += [f"    x.{attribute}(*a, **k)" for attribute in attributes(name, cls) if callable(getattr(cls, attribute))]
        called += ["    with x:", "        pass"] if hasattr(cls, "__enter__") else []
    return "\n".join(used), "\n".join(called)


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """A folder with the programs, and the package beside them."""
    folder = tmp_path_factory.mktemp("types")
    (folder / "site").mkdir()
    (folder / "site" / "polyad").symlink_to(Path(pa.__file__).parent, target_is_directory=True)
    first, *rest = re.findall(r"```python\n(.*?)```", README, re.S)
    (folder / "readme.py").write_text("\n".join([first, LOSS, *rest]))
    for name in ("user.py", "faults.py"):
        (folder / name).write_text((HERE / "types" / name).read_text())
    (folder / "names.py").write_text("\n".join(["import polyad as pa", *(f"print({name})" for name in public_names())]))
    for name, text in zip(("attributes.py", "calls.py"), uses(), strict=True):
        (folder / name).write_text(text)
    return folder


def tool(name):
    """Skip where a type checker is not installed; in CI it has to be (it is among the `dev` extras)."""
    if importlib.util.find_spec(name) is None:
        assert not os.environ.get("CI"), f"{name} is not installed; CI installs the extra `dev`, which names it"
        pytest.skip(f"{name} is not installed: pip install 'polyad[dev]'")


@pytest.fixture(scope="module")
def pyright(programs):
    """file -> its errors by line."""
    tool("pyright")
    (programs / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard", "exclude": ["site"]}')
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    environment = {**os.environ, "PYTHONPATH": str(programs / "site"), "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    done = subprocess.run(command, cwd=programs, env=environment, capture_output=True, text=True, timeout=600)
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] == 6, done.stderr
    return by_file(
        (Path(d["file"]).name, d["range"]["start"]["line"] + 1, d["message"])
        for d in report["generalDiagnostics"]
        if d["severity"] == "error"
    )


@pytest.fixture(scope="module")
def mypy(programs):
    """file -> its errors by line."""
    tool("mypy")
    (programs / "mypy.ini").write_text(MYPY.format(path=programs / "site"))
    files = [path.name for path in programs.glob("*.py")]
    command = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", *files]
    done = subprocess.run(command, cwd=programs, capture_output=True, text=True, timeout=600)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found = re.findall(r"^([\w/]+\.py):(\d+): error: (.*)$", done.stdout, re.M)
    return by_file((name, int(line), text) for name, line, text in found)


def by_file(errors):
    found = {}
    for name, line, text in errors:
        found.setdefault(name, {}).setdefault(line, text)
    return found


both = pytest.mark.parametrize("checker", ["pyright", "mypy"])


@both
@pytest.mark.parametrize("program", ["readme.py", "user.py", "names.py", "attributes.py", "calls.py"])
def test_right_programs(checker, program, request):
    """A name of names.py that has an error is public, but not to be seen as such: dsl/names.py lists them as `x as x`. An
    attribute that is set from outside of its class is to be declared in it, under TYPE_CHECKING; and what mypy finds in
    calls.py are functions without annotations, which --strict forbids users to call."""
    assert request.getfixturevalue(checker).get(program, {}) == {}


@both
def test_faults_are_found(checker, request):
    """Those lines of the wrong program, and no others."""
    lines = (HERE / "types" / "faults.py").read_text().splitlines()
    wrong = {number: line for number, line in enumerate(lines, 1) if "  # " in line}
    found = request.getfixturevalue(checker).get("faults.py", {})
    assert len(wrong) >= 10
    assert [wrong[n] for n in wrong if n not in found] == []
    assert {n: text for n, text in found.items() if n not in wrong} == {}


def test_user_module_runs(programs):
    done = subprocess.run([sys.executable, "-P", "user.py"], cwd=programs, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
