"""What the README promises: its code runs, and the path a reader follows is as short as it says."""

import json
import re
import subprocess
import sys
import types
from pathlib import Path

import numpy as np

import polyad as pa
from polyad.testing import check_array_type

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_code_blocks_run(monkeypatch):
    blocks = re.findall(r"```python\n(.*?)```", README, re.S)
    assert len(blocks) >= 3
    module = types.ModuleType("readme")
    monkeypatch.setitem(sys.modules, "readme", module)  # where pickle looks
    namespace = vars(module)
    namespace["loss"] = lambda w, x, y: np.sum((x * w - y) ** 2)
    for block in blocks:
        exec(compile(block, "README.md", "exec"), namespace)
    w, x = np.float64(2.0), np.arange(4.0)
    value, slope = namespace["step"](w, x, x)
    assert float(value) == np.sum((x * w - x) ** 2)
    np.testing.assert_allclose(slope, np.sum(2 * (x * w - x) * x))
    Scaled = namespace["Scaled"]
    assert pa.grad(lambda s: pa.sum(s @ np.ones(3)))(Scaled(np.float64(2.0), 3)).value == 3.0
    check_array_type(lambda rng: Scaled(np.float64(rng.normal()), 3))
    check_array_type(lambda rng: Scaled(rng.normal(size=2), 3))
    values, matrix = np.arange(4.0), np.arange(6.0).reshape(3, 2)
    for b in (np.ones(3), matrix):
        for f in (lambda s, b=b: s @ b, lambda s, b=b: pa.sum(pa.sin(s @ b)), pa.grad(lambda s, b=b: pa.sum(pa.sin(s @ b)))):
            lanes = [f(Scaled(value, 3)) for value in values]
            found = pa.vmap(f)(Scaled(values, 3))
            if type(found) is Scaled:
                found, lanes = found.value, [lane.value for lane in lanes]
            np.testing.assert_allclose(found, np.stack(lanes))


def test_ten_lines_are_ten():
    first = re.search(r"## Ten lines\n\n```python\n(.*?)```", README, re.S)[1]
    assert len(first.strip().splitlines()) <= 10


def steps():
    section = re.search(r"## One derivative, step by step\n(.*?)\n## ", README, re.S)[1]
    return re.findall(r"^\d+\. `([\w/]+\.py)`", section, re.M)


# In a process of its own, as a user meets it: operations that other tests gave rules by type take a longer path. Printed
# are the library's functions that run at a first and at a second call, what was written for an operation among them.
PROGRAM = """
import json, sys
from pathlib import Path
import numpy as np
import polyad as pa

derivative = pa.grad(lambda x: pa.sum(pa.sin(x)))
home = Path(pa.__file__).parent
for _ in range(2):
    entered = set()
    sys.setprofile(lambda frame, event, arg: event == "call" and entered.add(frame.f_code))
    derivative(np.ones(3))
    sys.setprofile(None)
    named = {(Path(c.co_filename), c.co_qualname, c.co_firstlineno) for c in entered}
    ours = [(f.relative_to(home).as_posix(), *rest) for f, *rest in named if f.is_relative_to(home)]
    ours = [(f, *rest) for f, *rest in ours if not f.startswith(".venv")]
    written = [(f.name, *rest) for f, *rest in named if f.name.startswith("<generic ")]
    print(json.dumps([ours, written]))
"""


def test_reading_path():
    """The README names each file that a derivative runs through from the second call on, beside some of the first one."""
    done = subprocess.run([sys.executable, "-P", "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=120)
    first, again = (json.loads(line) for line in done.stdout.splitlines())
    files, of_first = ({file for file, *_ in ours} for ours, _ in (again, first))
    assert files <= set(steps()) <= of_first, (files - set(steps()), set(steps()) - of_first)
    assert len(files) <= 10, sorted(files)
    assert len(again[0]) + len(again[1]) <= 40, sorted(map(str, again[0] + again[1]))
